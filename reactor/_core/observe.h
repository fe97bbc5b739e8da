// What can be seen of a run: recordings, counters, the state of processes, the machine's floor.
#pragma once
#include <nanobind/nanobind.h>
#include "calls.h"

namespace reactor {

// For all bindings: a new reference, or the Python error that is set.
inline nanobind::object steal(PyObject* o) {
  if (!o) throw nanobind::python_error();
  return nanobind::steal(o);
}
inline void need_ctx() {
  if (ctx && !ctx->closing) return;
  PyErr_SetString(PyExc_RuntimeError, "the runtime is not running");
  throw nanobind::python_error();
}

// For nanobind::call_guard: of a function that needs the context.
class Using {
 public:
  Using() { need_ctx(); }

 private:
  Inside inside_;
};

nanobind::list recordings(double timeout);
void move_ended();
// {process and place, as in Object::runner: (pid, number of its actor or 0, [(uid, who runs the call or -1, number of its actor or 0)], Python's
// name of the thread that waits or 0)}: of all calls that can be waited for, what they must have to go on; with `from` of that one and of those it waits for,
// directly or not.
nanobind::dict waits(int64_t from);
nanobind::dict counters();
uint64_t digest();          // sum over all processes, see digest.h
nanobind::dict stats();
nanobind::dict proc_info(uint32_t slot);
double futex_ping_pong(int rounds);

}  // namespace reactor
