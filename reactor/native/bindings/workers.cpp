// The processes of the run.
#include "bindings.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <cstring>
#include "supervise/orphans.h"
#include "supervise/retries.h"
#include "supervise/supervisor.h"

namespace reactor {
namespace {

// `actors`: (offset of the actor, reason of its death, its place) of each that a packed worker hosted.
bool reap_process(uint32_t slot, nb::handle reason, nb::handle unavailable,
                  std::vector<std::tuple<uint64_t, nb::object, uint32_t>> packed_actor, uint32_t retry, uint32_t taken) {
  Object* r = ref_object(reason.ptr());
  Object* u = !r || unavailable.is_none() ? nullptr : ref_object(unavailable.ptr());
  if (!r || (!u && !unavailable.is_none())) throw nb::python_error();
  std::vector<DeadActor> dead;
  for (auto& [actor, why, place] : packed_actor) {
    dead.push_back({ctx->heap->at<Object>(actor), ref_object(why.ptr()), place});
    if (!dead.back().reason) throw nb::python_error();
  }
  return reap(slot, r, u, dead, Retry(retry), taken);
}

template <typename Is>
bool any_worker(Is is) {
  for (uint32_t i = 2; i < ctx->header->proc_high.load(); ++i) {
    Proc& p = ctx->heap->procs[i];
    if (p.kind != ProcKind::Driver && is(p, p.state.load())) return true;
  }
  return false;
}

// Whether any worker does not look for work yet.
bool workers_start() {
  need_ctx();
  return any_worker([](Proc& p, ProcState s) { return s == ProcState::Starting || (s == ProcState::Live && !p.loaded.load()); });
}

// Whether any worker starts or runs something, or a task waits in a queue.
bool workers_busy() {
  need_ctx();
  if (any_worker([](Proc& p, ProcState s) { return s == ProcState::Starting || (s == ProcState::Live && p.awake.load()); })) return true;
  for (Off off = ctx->header->queues.load(memory_order_acquire); off;) {
    auto* q = ctx->heap->at<TaskQueue>(off);
    if (has_task(ctx->heap, q)) return true;
    off = q->next.load(memory_order_acquire);
  }
  return false;
}

nb::dict proc_info(uint32_t slot) {
  Proc& p = ctx->heap->procs[slot];
  nb::dict d;
  d["pid"] = p.pid;
  d["state"] = int(p.state.load());
  d["kind"] = int(p.kind);
  d["exit_reason"] = int(p.exit_reason.load());
  d["executed"] = p.executed.load();
  d["had_task"] = p.running_class.load() != 0;
  const uint64_t task = p.running_task.load();
  d["task"] = task >> 1;
  d["has_retries"] = bool(task & 1);
  d["cancelled"] = task && p.cancel.load() == task >> 1;
  d["demand"] = p.demand.load();
  d["running"] = nb::steal(
      PyUnicode_DecodeUTF8(p.running, Py_ssize_t(strnlen(p.running, sizeof p.running)), "ignore"));  // a cut may be inside of a letter
  return d;
}

}  // namespace

void bind_workers(nb::module_& m) {
  m.def(
      "serve",
      [](double idle) {
        int r = serve(idle);
        if (r < 0) throw nb::python_error();
        return r;
      },
      nb::arg("idle_seconds"));
  m.def(
      "new_proc",
      [](int kind, uint64_t inbox, uint32_t setting) { return int64_t(int32_t(new_proc(ctx->heap, ProcKind(kind), inbox, setting))); },
      nb::arg("kind"), nb::arg("inbox"), nb::arg("setting") = 0);
  m.def("free_proc", [](uint32_t slot) { free_proc(ctx->heap->procs[slot]); }, nb::arg("slot"));
  m.def(
      "set_proc_demand", [](uint32_t slot, uint32_t demand) { ctx->heap->procs[slot].demand.store(demand + 1); }, nb::arg("slot"),
      nb::arg("demand"));
  m.def("reap", &reap_process, nb::arg("slot"), nb::arg("reason"), nb::arg("unavailable").none(),
        nb::arg("actors") = std::vector<std::tuple<uint64_t, nb::object, uint32_t>>(), nb::arg("retry") = uint32_t(Retry::Counted),
        nb::arg("taken") = 0);
  m.def("retried", [] { return retried; });
  m.def("put_off", [] { return nb::make_tuple(put_off, put_off_serial); });
  m.def("run_again", &run_again, nb::arg("task"));
  m.def("spawn_taken", [] { ctx->header->spawn_asked.store(ctx->slot + 1); });
  m.def("submitter", [](uint32_t slot, uint32_t actor) { return submitter_of(ctx->heap, slot, actor); }, nb::arg("slot"), nb::arg("actor"));
  m.def(
      "submitter_ended",
      [](uint64_t ended, nb::handle reason, bool put_off) {
        Object* r = ref_object(reason.ptr());
        if (!r) throw nb::python_error();
        submitter_ended(ended, r, put_off);
      },
      nb::arg("submitter"), nb::arg("reason"), nb::arg("put_off"));
  m.def("submits", [](uint32_t slot) { return ctx->heap->procs[slot].submits.load() != 0; }, nb::arg("slot"));
  m.def("runners_of", &runners_of, nb::arg("submitter"));
  m.def(
      "runs_task_of", [](uint32_t slot, uint64_t submitter) { return uint32_t(runs_task_of(slot, submitter)); }, nb::arg("slot"),
      nb::arg("submitter"));
  m.def("spawn_answered", [] {
    ctx->header->spawn_asked.store(0);
    kick_queues();
  });
  m.def("pool_surplus", [] { return ctx->header->pool_idle.load() > ctx->header->resource[kCpu].total.load() / kUnit; });
  m.def("workers_busy", &workers_busy);
  m.def("workers_start", &workers_start);
  m.def("all_sleep", [] { return !ctx || (ctx->header->held.load() == 0 && all_sleep(ctx->heap, ctx->slot)); });
  m.def("loop_idle", [](bool idle) {
    if (ctx) ctx->proc->loop_idle.store(idle, memory_order_seq_cst);
  });
  m.def("proc_info", &proc_info, nb::arg("slot"), nb::call_guard<Using>());
  m.def("set_exit_reason", [](uint32_t r) { ctx->proc->exit_reason.store(ExitReason(r)); }, nb::arg("reason"));
  m.def("wake_on_signal", &wake_on_signal, nb::arg("number"));
  m.def(
      "set_titles", [](const std::string& idle, const std::string& prefix) { titles.set(idle, prefix); }, nb::arg("idle"),
      nb::arg("prefix"));
}

}  // namespace reactor
