// Facts about a run for its user and its tests: recordings, counters, the state of processes, the machine's floor.
#pragma once
#include "bindings/bindings.h"

namespace reactor {

nanobind::list recordings(double timeout);
void move_ended();
// {process and place, as in Object::runner: (pid, number of its actor or 0, [(uid, who runs the call or -1, number of its actor or 0)], Python's
// name of the thread that waits or 0)}: of all calls that can be waited for, what they must have to go on; with `from` of that one and of those it waits for,
// directly or not.
nanobind::dict waits(int64_t from);
// [(uid of its first result, uid of its function)] of the tasks that no worker has taken; without those that lack an argument.
nanobind::list queued_tasks();
nanobind::dict counters();
uint64_t digest();          // sum over all processes, see digest.h
nanobind::dict stats();
nanobind::dict proc_info(uint32_t slot);

}  // namespace reactor
