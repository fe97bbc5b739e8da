// Actors, and how they end.
#include "bindings.h"
#include "worker/leaving.h"
#include "supervise/restarts.h"
#include "supervise/supervisor.h"

namespace reactor {
namespace {

nb::object actor(bool restarts, bool physical, bool loop) {
  need_ctx();
  Object* o = new_actor(ctx->local, restarts, physical, loop);
  if (uint64_t hash = ctx->hash_made(Made::Actor)) set_tag_hash(o, hash);
  return steal(new_link(o, false));
}

// Anybody may come by a handle of the actor: it was given a name (`named`), or was pickled outside of any call.
void offer(nb::handle link, bool named) {
  need_ctx();
  if (!ctx->logical) return;
  auto* l = reinterpret_cast<PyLink*>(link.ptr());
  give_handle(l->object, true);
  if (!named) return;
  l->inbox->order.fetch_or(kNamed, memory_order_seq_cst);
  ctx->header->names.store(1, memory_order_seq_cst);
}

uint64_t inbox_at(uint64_t actor_off) {
  ActorBody body;
  memcpy(&body, ctx->heap->at<Object>(actor_off)->body, sizeof body);
  return body.inbox;
}

// Why an actor is about to die; the first reason counts.
void set_death_reason(uint64_t actor_off, nb::object reason) {
  auto* in = ctx->heap->at<Inbox>(inbox_at(actor_off));
  Object* r = ref_object(reason.ptr());
  if (!r) throw nb::python_error();
  Off none = 0;
  take_hold(r);
  if (!in->reason.compare_exchange_strong(none, ctx->heap->off(r), memory_order_acq_rel)) drop_hold(ctx->local, r);
}

// Marks an actor that has no process, or that its worker has let go, as dead.
void kill_inbox(uint64_t actor_off, nb::object reason) {
  auto* in = ctx->heap->at<Inbox>(inbox_at(actor_off));
  set_death_reason(actor_off, reason);
  in->state.store(InboxState::Dead, memory_order_seq_cst);
  std::atomic_thread_fence(memory_order_seq_cst);
  drain(ctx->heap->at<Object>(actor_off));
  forget_creation(in);
  forget_instance(in->actor);
}

}  // namespace

void bind_actors(nb::module_& m) {
  m.def("actor", &actor, nb::arg("restarts") = false, nb::arg("physical") = false, nb::arg("loop") = false, nb::call_guard<Using>());
  m.def("offer", &offer, nb::arg("link"), nb::arg("named") = false, nb::call_guard<Using>());
  m.def("inbox_at", &inbox_at, nb::arg("actor"), nb::call_guard<Using>());
  m.def("kill_inbox", &kill_inbox, nb::arg("actor"), nb::arg("reason"), nb::call_guard<Using>());
  m.def("set_death_reason", &set_death_reason, nb::arg("actor"), nb::arg("reason"));
  m.def("has_calls", [](uint64_t actor) { return has_calls(ctx->heap->at<Object>(actor)); }, nb::arg("actor"), nb::call_guard<Using>());
  m.def("drain", [](uint64_t actor) { drain(ctx->heap->at<Object>(actor)); }, nb::arg("actor"), nb::call_guard<Using>());
  m.def("free_actor", [](uint64_t actor) { return free_actor(ctx->heap->at<Object>(actor)); }, nb::arg("actor"), nb::call_guard<Using>());
}

}  // namespace reactor
