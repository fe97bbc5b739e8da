// Facts about a run for its user and its tests: recordings, counters, the store.
#include "bindings.h"
#include <nanobind/stl/string.h>
#include "codec/digest.h"
#include "record/journal_lines.h"
#include "record/recordings.h"
#include "record/line_counter.h"
#include "record/site.h"
#include "store/garbage.h"
#include "store/spill.h"

namespace reactor {
namespace {

void set_recording(bool on) {
  need_ctx();
  delete ctx->recorder;
  ctx->recorder = on ? new Recorder(ctx->proc) : nullptr;
}

nb::dict spilling() {
  need_ctx();
  Header* h = ctx->header;
  nb::dict d;
  d["away"] = h->away.load();
  d["spilled"] = h->spilled.load();
  d["values"] = h->spilled_values.load();
  d["seconds"] = 1e-9 * double(h->spilled_ns.load());
  return d;
}

}  // namespace

void bind_observation(nb::module_& m) {
  add_line_counter(m);
  m.def("set_recording", &set_recording, nb::arg("on"));
  m.def("set_own_directory", [](const std::string& path) { reactor_own_directory(path.c_str()); }, nb::arg("path"));
  m.def(
      "set_tracing",
      [](bool on) {
        need_ctx();
        ctx->tracing = on;
      },
      nb::arg("on"));
  m.def("recordings", &recordings, nb::arg("timeout"), nb::call_guard<Using>());
  m.def("counters", &counters, nb::call_guard<Using>());
  m.def("count_physical", [] {
    need_ctx();
    ctx->proc->physical.fetch_add(1);
  });
  m.def("slot_of", &slot_of, nb::arg("runner"));
  add_wait_types(m);
  m.def("waits", &waits, nb::arg("from_") = -1, nb::call_guard<Using>());
  m.def("queued_tasks", &queued_tasks, nb::call_guard<Using>());
  m.def("digest", &digest, nb::call_guard<Using>());
  bind_journal_lines(m);
  m.def(
      "hash_bytes",
      [](nb::handle buffer) {
        Py_buffer view;
        if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_ANY_CONTIGUOUS) != 0) throw nb::python_error();
        const uint64_t found = hash_bytes(static_cast<const uint8_t*>(view.buf), uint64_t(view.len), 0);
        PyBuffer_Release(&view);
        return found;
      },
      nb::arg("buffer"), "a hash of the bytes of a contiguous buffer, about 10 GB/s");
  m.def("memory_page", &memory_page, "bytes of the pages that values are aligned for");
  m.def("store_used", [] {
    need_ctx();
    return store_used(ctx->heap);
  });
  m.def("store_limit", [] {
    need_ctx();
    return ctx->header->store_limit;
  });
  m.def("spilling", &spilling);
  m.def("collect_if_asked", [] {
    if (ctx && !collect_if_asked()) PyErr_Clear();  // the run has ended, in a destructor
  });
  m.def(
      "collect_everywhere",
      [] {
        if (!collect_everywhere(ctx->header->store_limit + 1, true)) throw nb::python_error();
      },
      nb::call_guard<Using>());
  m.def("large_values", [] {
    need_ctx();
    return ctx->header->runs_used.load();
  });
}

}  // namespace reactor
