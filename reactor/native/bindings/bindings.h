// The Python module reactor._core, one file per subject. This header is for those files alone.
#pragma once
#include <nanobind/nanobind.h>
#include "calls.h"

namespace reactor {

namespace nb = nanobind;

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

enum class Cancelled : int { Done = 0, Unbegun, Running };  // what became of a call that was to be cancelled

// A new reference, or the Python error that is set.
inline nb::object steal(PyObject* o) {
  if (!o) throw nb::python_error();
  return nb::steal(o);
}
inline void need_ctx() {
  if (ctx && !ctx->closing) return;
  PyErr_SetString(PyExc_RuntimeError, "the runtime is not running");
  throw nb::python_error();
}

// For nanobind::call_guard: of a function that needs the context.
class Using {
 public:
  Using() { need_ctx(); }

 private:
  Inside inside_;
};

}  // namespace reactor
