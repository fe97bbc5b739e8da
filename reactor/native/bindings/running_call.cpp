// What is known of the call that runs here, and cancelling calls.
#include "bindings.h"
#include <nanobind/stl/string.h>
#include "inline.h"

namespace reactor {
namespace {

// Of one that runs, the process is told by a signal.
Cancelled cancel_object(Object* o, bool children) {
  if (is_done(o)) return Cancelled::Done;
  State pending = State::Pending;
  if (o->state.compare_exchange_strong(pending, State::Cancelled, memory_order_acq_rel)) {
    complete(ctx->local, o, State::Cancelled);
    return Cancelled::Unbegun;
  }
  uint16_t before = pending == State::Running ? kNotCancelled : kYielding;
  if (!o->cancellation.compare_exchange_strong(before, kCancelledRunning)) {
    if (pending != State::Running || before == kStreamOver) return Cancelled::Done;
    if (before == kYielding) o->cancellation.compare_exchange_strong(before, kCancelledRunning);
  }
  uint32_t runner = slot_of(o->runner.load(memory_order_seq_cst));
  if (runner != kNoProc && kind_of(o) == kMethodResult) {
    // Its process hears of it when its main thread is free, as that of an async or threaded actor is.
    Off off = ctx->local.alloc.alloc(sizeof(CancelNote));
    if (!off) throw NoRoom();
    Proc& p = ctx->heap->procs[runner];
    auto* n = ctx->heap->at<CancelNote>(off);
    n->uid = o->uid;
    n->children = children;
    Off head = p.cancels.load(memory_order_relaxed);
    do n->next = head;
    while (!p.cancels.compare_exchange_weak(head, off, memory_order_release, memory_order_relaxed));
    ring(ctx->heap, &p.bell);
  } else if (runner != kNoProc) {
    ctx->heap->procs[runner].cancel_children.store(children, memory_order_relaxed);
    ctx->heap->procs[runner].cancel.store(o->uid, memory_order_release);
  }
  return Cancelled::Running;
}

int cancel(nb::handle ref, bool children) {
  need_ctx();
  Object* o = ref_object(ref.ptr());
  if (!o) throw nb::python_error();
  return int(cancel_object(o, children));
}

// Cancels the tasks that the running, cancelled task has started; gives the slots of processes to be interrupted.
nb::list cancel_children() {
  nb::list slots;
  if (!ctx->proc->cancel_children.load()) return slots;
  for (auto [off, uid] : ctx->children) {
    auto* o = ctx->heap->at<Object>(off);
    if (o->uid != uid || o->holds.load() <= 0 || cancel_object(o, true) != Cancelled::Running) continue;
    uint32_t runner = slot_of(o->runner.load());
    if (runner != kNoProc) slots.append(runner);
  }
  return slots;
}

nb::object method_name(uint32_t actor, uint32_t index) {
  auto it = ctx->actors.find(actor);
  if (it == ctx->actors.end() || Py_ssize_t(index) >= PyList_GET_SIZE(it->second.methods.get())) return nb::none();
  return nb::handle(PyList_GET_ITEM(it->second.methods.get(), index)).attr("__name__");
}

}  // namespace

void bind_running_call(nb::module_& m) {
  m.def("cancel", &cancel, nb::arg("ref"), nb::arg("children"), nb::call_guard<Using>());
  m.def("limit_streams", &limit_streams, nb::arg("most"), nb::arg("by"));
  m.def("cancel_children", &cancel_children, nb::call_guard<Using>());
  m.def("cancel_wanted", [] { return ctx && ctx->call->uid && ctx->proc->cancel.load() == ctx->call->uid; });
  m.def("take_retry", [] { return ctx && take_retry(ctx->call->message); });
  m.def("is_cancelled",
        [] { return ctx && ctx->call->n && ctx->heap->at<Object>(ctx->call->results[0])->cancellation.load() == kCancelledRunning; });
  m.def("leave_after_task", [] {  // by any thread: the main thread may be asleep
    if (!ctx) return;
    std::atomic_ref(ctx->leave_after).store(true);
    ring(ctx->heap, &ctx->proc->bell);
  });
  m.def("depart", [] {
    if (ctx) ctx->departing = ctx->call->actor;
  });
  m.def("mark_unflushed", [] {
    if (ctx) ctx->unflushed = true;
  });
  m.def("served_actor", [] { return ctx ? ctx->serves : 0; });  // whose message is read, or run; 0: a task's
  m.def("running", [] { return ctx ? nb::make_tuple(ctx->call->uid, ctx->call->actor) : nb::make_tuple(0, 0); });
  m.def("actor_of_thread", [] { return ctx ? ctx->placement->actor_of_thread() : 0; });
  m.def("running_tag", [] { return steal(ctx && ctx->level ? tag_tuple(ctx->here) : PyTuple_New(0)); });
  m.def("running_name", []() -> nb::object {
    if (!ctx || !ctx->call->callable) return nb::none();
    return nb::getattr(nb::handle(ctx->call->callable), "__name__", nb::none());
  });
  m.def("running_callable", []() -> nb::object {  // None, too, while an actor is constructed
    return ctx && ctx->call->callable ? nb::borrow(nb::handle(ctx->call->callable)) : nb::none();
  });
  m.def("method_name", &method_name);
  m.def("in_inline_call", [] { return ctx && ctx->placement->in_nested_call(); });
}

}  // namespace reactor
