// The Python module reactor._core: registers what the files in bindings/ define.
#include "bindings/bindings.h"
#include "types/refs.h"

NB_MODULE(_core, m) {
  using namespace reactor;
  m.doc() = "Shared memory, channels and calls between the processes of one run.";
  if (!make_types(m.ptr())) throw nb::python_error();
  bind_constants(m);
  bind_run(m);
  bind_waiting(m);
  bind_values(m);
  bind_running_call(m);
  bind_actors(m);
  bind_placement(m);
  bind_resources(m);
  bind_workers(m);
  bind_observation(m);
#ifdef REACTOR_TESTING
  bind_testing(m);
#endif
}
