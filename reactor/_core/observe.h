// What can be seen of a run: recordings, counters, the state of processes, the machine's floor.
#pragma once
#include <nanobind/nanobind.h>
#include "calls.h"

namespace reactor {

nanobind::list recordings(double timeout);
nanobind::dict counters();
nanobind::dict stats();
nanobind::dict proc_info(uint32_t slot);
double futex_ping_pong(int rounds);

}  // namespace reactor
