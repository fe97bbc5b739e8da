// The Python module reactor._core, one file per subject. This header is for those files alone.
#pragma once
#include <nanobind/nanobind.h>
#include <initializer_list>
#include "calls/calls.h"

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

uint32_t add_demand(Header* h, const std::vector<Part>& parts, uint32_t setting = 0);  // its number (resources.cpp)

enum class Cancelled : int { Done = 0, Unbegun, Running };  // what became of a call that was to be cancelled

// The type of a tuple whose places have names (Python's struct sequence), also an attribute of the module. `name`: with the module's; it and the names
// of the fields live on.
struct Field {
  const char* name;
  const char* meaning;
};
PyTypeObject* add_named_tuple(nb::module_& m, const char* name, const char* meaning, std::initializer_list<Field> fields);

// A new reference, or the Python error that is set.
inline nb::object steal(PyObject* o) {
  if (!o) throw nb::python_error();
  return nb::steal(o);
}
// A tuple of such a type.
template <class... Values> nb::object named_tuple(PyTypeObject* type, Values&&... values) {
  nb::object named = steal(PyStructSequence_New(type));
  Py_ssize_t i = 0;
  (PyStructSequence_SetItem(named.ptr(), i++, nb::cast(std::forward<Values>(values)).release().ptr()), ...);
  return named;
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
