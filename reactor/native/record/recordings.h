// Facts about a run for its user and its tests: recordings, counters, the state of processes, the machine's floor.
#pragma once
#include "bindings/bindings.h"

namespace reactor {

nanobind::list recordings(double timeout);
void move_ended();
void add_wait_types(nanobind::module_& m);
// {process and place, as in Object::runner: Waiter}: of all calls that can be waited for, what they must have to go on; with `from` of that one and of
// those it waits for, directly or not.
nanobind::dict waits(int64_t from);
// [(uid of its first result, uid of its function)] of the tasks that no worker has taken; without those that lack an argument.
nanobind::list queued_tasks();
nanobind::dict counters();
uint64_t digest();          // sum over all processes, see digest.h
nanobind::dict proc_info(uint32_t slot);

}  // namespace reactor
