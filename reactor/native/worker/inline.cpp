#include "worker/inline.h"
#include <algorithm>
#include "worker/actor_states.h"
#include "worker/leaving.h"
#include "supervise/supervisor.h"
#include "worker/results.h"
#include "worker/run.h"

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

// The last handle is gone: the actor ends.
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

}  // namespace

bool breaks_off() {
  if (!hooks.breaks_off || PyThread_get_thread_ident() != ctx->main_thread || !PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_Exception))
    return false;
  SavedError error;
  const bool yes = Owned(hooks.breaks_off(error.exception())).get() == Py_True;
  if (yes) ctx->breaking_off = Owned::share(error.exception());
  return yes;
}

void Inline::begin() {
  ctx->local.actor_unheld = inline_actor_unheld;
  ctx->states = new ActorStates(ActorStates::kDriver);
}

void Inline::end() {
  ctx->states->enter(ActorStates::kDriver);
  delete std::exchange(ctx->states, nullptr);
}

// From here on what runs, the decoding of arguments too, is the actor's.
void Inline::call_begins(RunningCall& call) {
  calls_.push_back({&call, PyThread_get_thread_ident(), ++begun_});
  enter_own_state();
}

// Its caller goes on with its own.
void Inline::task_left() { hooks.task_random.tell(Owned::share(Py_None)); }

// The one that began last of those that are left goes on.
void Inline::call_left(RunningCall& call) {
  std::erase_if(calls_, [&](const Begun& b) { return b.call == &call; });
  if (!calls_.empty()) ctx->call = calls_.back().call;
  enter_own_state();
}

// The caller itself would have to compute what it waits for.
bool Inline::may_wait(const char* what) {
  PyErr_Format(PyExc_RuntimeError, "waiting for %s by the caller itself would never end", what);
  return false;
}

bool Inline::in_nested_call() {
  return own_state() != ActorStates::kDriver || (!calls_.empty() && PyThread_get_thread_ident() != ctx->main_thread);
}

const RunningCall* Inline::outermost(uint64_t& number) {
  for (const Begun& begun : calls_)
    if (begun.thread == ctx->main_thread) {
      number = begun.number;
      return begun.call;
    }
  return nullptr;
}

uint32_t Inline::own_state() const {
  const unsigned long me = PyThread_get_thread_ident();
  for (size_t i = calls_.size(); i--;)
    if (calls_[i].thread == me) return calls_[i].call->actor ? calls_[i].call->actor : ActorStates::kTasks;
  return ActorStates::kDriver;  // a thread that a call has started is not told from another
}

void Inline::enter_own_state() { ctx->states->enter(own_state()); }

void Inline::actor_died(Inbox* in) { in->state.store(InboxState::Dead, memory_order_release); }

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

}  // namespace reactor
