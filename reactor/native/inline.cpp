#include "inline.h"
#include "actor_states.h"
#include "leaving.h"
#include "supervisor.h"

namespace reactor {
namespace {

// False, and a Python error: the call was broken off, and so is what has made it.
bool run_here(Outgoing& out, MessageKind kind, uint32_t actor, uint32_t index, Off function, uint32_t retries) {
  std::vector<uint64_t> record(out.record_size() / 8);
  auto* m = reinterpret_cast<Message*>(record.data());
  out.fill(m, kind);
  m->actor = actor;
  m->method = uint16_t(index);
  m->function = function;
  m->retries = retries;
  out.sent = true;
  Encoding::Hidden hidden;
  Owned broken_off;
  run_message(m, nullptr, kNoEntry, &broken_off);
  release_message(ctx->local, m);
  if (!broken_off) return true;
  for (uint32_t i = 0; i < out.results.size(); ++i) mark_seen(out.results[i]);  // who has made the call is told by the error
  set_error(broken_off.get());
  return false;
}

}  // namespace

bool breaks_off() {
  if (!hooks.breaks_off || PyThread_get_thread_ident() != ctx->main_thread || !PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_Exception))
    return false;
  SavedError error;
  const bool yes = Owned(hooks.breaks_off(error.exception())).get() == Py_True;
  if (yes) ctx->breaking_off = Owned::share(error.exception());
  return yes;
}

void begin_inline() {
  ctx->local.actor_unheld = inline_actor_unheld;
  ctx->states = new ActorStates(ActorStates::kDriver);
}

void end_inline() {
  ctx->states->enter(ActorStates::kDriver);
  delete std::exchange(ctx->states, nullptr);
}

bool run_method_here(Outgoing& out, MessageKind kind, PyLink* link, uint32_t index, PyRef* options, uint32_t retries) {
  if (kind == MessageKind::Create) ctx->inboxes[link->actor] = ctx->heap->off(link->inbox);
  if (options) take_hold(options->object);
  return run_here(out, kind, link->actor, index, options ? ctx->heap->off(options->object) : 0, retries);
}

bool run_task_here(Outgoing& out, PyFunction* f) {
  take_hold(f->function->object);
  uint32_t outer = ctx->proc->demand.exchange(f->demand + 1);
  const bool done = run_here(out, MessageKind::Task, 0, 0, ctx->heap->off(f->function->object), f->retries);
  ctx->proc->demand.store(outer);
  return done;
}

bool in_inline_call() {
  return ctx && ctx->inline_mode &&
         (own_state() != ActorStates::kDriver || (!ctx->inline_calls.empty() && PyThread_get_thread_ident() != ctx->main_thread));
}

bool waits_for_itself(const char* what) {
  if (ctx->inline_mode) PyErr_Format(PyExc_RuntimeError, "waiting for %s by the caller itself would never end", what);
  return ctx->inline_mode;
}

void inline_actor_unheld(Local&, Object* actor) {
  const uint32_t number = inbox_of(actor)->actor;
  {
    SavedError error;  // this may run in the dealloc of a handle while an exception is on its way
    const uint32_t current = ctx->states->current();
    ctx->states->enter(number);  // its destructor is its own code
    forget_instance(number);
    ctx->states->forget(number);
    ctx->states->enter(current);
  }
  ctx->inboxes.erase(number);
  inbox_of(actor)->state.store(InboxState::Dead);
  free_actor(actor);
}

}  // namespace reactor
