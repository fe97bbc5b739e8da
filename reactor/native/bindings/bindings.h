// The Python module reactor._core, one file per subject. This header is for those files alone.
#pragma once
#include "calls/calls.h"
#include "process/using.h"
#include "python/nanobind.h"

namespace reactor {

void bind_constants(nb::module_& m);     // enums and units
void bind_run(nb::module_& m);           // opening and closing the run, hooks, the supervisor's socket
void bind_waiting(nb::module_& m);       // get, wait, streams
void bind_values(nb::module_& m);        // put, refs and holds
void bind_running_call(nb::module_& m);  // what is known of the call that runs, cancelling
void bind_actors(nb::module_& m);        // actors and their ends
void bind_placement(nb::module_& m);     // several actors in one process: their states, packed workers
void bind_resources(nb::module_& m);     // resources, demands and the tasks that wait for them
void bind_workers(nb::module_& m);       // processes of the run
void bind_observation(nb::module_& m);   // recordings, counters, the store
void bind_testing(nb::module_& m);       // with REACTOR_TESTING: for tests and benchmarks

uint32_t add_demand(Header* h, const std::vector<Part>& parts, uint32_t setting = 0);  // its number (resources.cpp)

enum class Cancelled : int { Done = 0, Unbegun, Running };  // what became of a call that was to be cancelled

}  // namespace reactor
