// For functions that Python calls: the run that they use must be there.
#pragma once
#include "process/context.h"
#include "python/nanobind.h"

namespace reactor {

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
