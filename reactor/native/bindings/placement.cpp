// Several actors in one process: what each has of its own, and packed workers.
#include "bindings.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <algorithm>
#include "worker/actor_states.h"
#include "worker/packed.h"
#include "supervise/supervisor.h"

namespace reactor {
namespace {

void tell_host_of(uint32_t slot, uint64_t actor, uint32_t place, nb::handle facts) {
  Object* f = facts.is_none() ? nullptr : ref_object(facts.ptr());
  if (!f && !facts.is_none()) throw nb::python_error();
  tell_host(slot, ctx->heap->at<Object>(actor), place, f);
}

// For as long as the process lives.
void begin_packed() {
  need_ctx();
  ctx->placement = std::make_unique<Packed>();
  ctx->placement->begin();
}

// Audit events of Python that somebody wants to be told of. In C, because the hook is called for much else, such as each id().
struct WatchedEvents {
  std::vector<std::string> names;
  Owned callback;
};

int on_event(const char* event, PyObject*, void* watched) {
  auto& w = *static_cast<WatchedEvents*>(watched);
  if (std::find(w.names.begin(), w.names.end(), event) == w.names.end()) return 0;
  return Owned(PyObject_CallFunction(w.callback.get(), "s", event)) ? 0 : -1;
}

// From now on, to the end of the process, calls `callback(name)` at each audit event of one of these names.
void watch_events(std::vector<std::string> names, nb::object callback) {
  auto watched = std::make_unique<WatchedEvents>(std::move(names), Owned::share(callback.ptr()));
  if (PySys_AddAuditHook(on_event, watched.release()) != 0) throw nb::python_error();
}

}  // namespace

void bind_placement(nb::module_& m) {
  m.def("begin_packed", &begin_packed);
  m.def("tell_host", &tell_host_of, nb::arg("slot"), nb::arg("actor"), nb::arg("place"), nb::arg("facts").none());
  m.def("serve_packed", [] {
    int r = serve_packed();
    if (r < 0) throw nb::python_error();
    return r;
  });
  m.def("serve_beside", &serve_beside);
  m.def("watch_packed", &watch_packed);
  m.def("watch_events", &watch_events, nb::arg("names"), nb::arg("callback"));
  m.def(
      "beside",
      [](nb::object call, nb::object argument) {
        PyObject* r = ctx ? ctx->placement->beside(call.ptr(), argument.ptr()) : PyObject_CallOneArg(call.ptr(), argument.ptr());
        if (!r) throw nb::python_error();
        return steal(r);
      },
      nb::arg("call"), nb::arg("argument").none());
  m.def("renew_state", [](uint32_t actor) { ctx->states->renew(actor); }, nb::arg("actor"), nb::call_guard<Using>());
  m.def("entered_state", [] { return ctx->states->current(); }, nb::call_guard<Using>());
  m.def("enter_state", [](uint32_t actor) { ctx->states->enter(actor); }, nb::arg("actor"), nb::call_guard<Using>());
  m.def("always_exchange", [](bool on) { ctx->states->always_call(on); }, nb::arg("on"), nb::call_guard<Using>());
  m.def(
      "exchange_memory",
      [](std::vector<std::tuple<uint64_t, uint64_t>> places, nb::handle gauss_of) {
        for (auto [at, size] : places) ctx->states->add(reinterpret_cast<uint8_t*>(at), size);
        if (!gauss_of.is_none()) ctx->states->keep_gauss(gauss_of.ptr());
      },
      nb::arg("places"), nb::arg("gauss_of").none());
  m.def(
      "exchange_threads",
      [](uint64_t get, uint64_t set, int most, bool of_thread) {
        ctx->states->add(reinterpret_cast<int (*)()>(get), reinterpret_cast<void (*)(int)>(set), most, of_thread);
      },
      nb::arg("get"), nb::arg("set"), nb::arg("most"), nb::arg("of_thread"));
  m.def(
      "exchange_environment", [](nb::dict environ, nb::bytes name) { ctx->states->keep_variable(environ.ptr(), name.ptr()); },
      nb::arg("environ"), nb::arg("name"));
  m.def(
      "exchange_variable", [](nb::dict module, nb::str name, nb::object make) { ctx->states->add(module.ptr(), name.ptr(), make.ptr()); },
      nb::arg("module"), nb::arg("name"), nb::arg("make"));
}

}  // namespace reactor
