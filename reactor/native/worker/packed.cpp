// Hosting: actors come and go, their calls run in turn, one of the threads is the server.
//
// The server takes one call of each actor after another. When its own call waits, another thread becomes the server, so that one
// always is: the inboxes have one reader at a time. A thread whose call ends when there is a server already is parked.
//
// An actor leaves the worker when it was killed, has left by itself, could not be made, or nobody holds it. Its inbox is first
// forgotten here, then the supervisor is told, which alone marks it dead and drains it: an inbox never has two readers. Killed
// anywhere in between, the worker leaves the actor among those that the supervisor settles for it (reap.cpp). What
// has left the channels is settled here, in the order "complete, clear the hold list's note, give the holds back": killed in
// between, a hold is leaked and none is given back twice.
#include "worker/packed.h"
#include "worker/leaving.h"
#include <utility>
#include "worker/actor_states.h"
#include "supervise/restarts.h"

namespace reactor {
namespace {

constexpr uint64_t kTickNs = 2000000;
constexpr int kLongTicks = 5;      // a call that runs through so many is stopped for its neighbours
constexpr int kBarrierTicks = 500; // that a call may sleep as at a barrier before it is passed over
constexpr int kIdleTicks = 500;    // then the watchdog sleeps until a call runs
constexpr uint64_t kBetweenCollections = 9;  // times as long as the last one took

void wake_thread(TurnThread* h) {
  h->word.fetch_add(1, memory_order_release);
  futex_wake(&h->word);
}

// The caller's core has the lines of the messages to come and of their results. While an actor's call runs, those of the next actor's come here, in two
// steps, because the message names the result.
void bring_near(const std::vector<std::unique_ptr<PackedActor>>& actors, size_t now) {
  if (now + 2 < actors.size() && !actors[now + 2]->inbox_server.incoming.empty())
    actors[now + 2]->inbox_server.incoming.front()->receiver.prefetch();
  if (now + 1 >= actors.size() || actors[now + 1]->inbox_server.incoming.empty()) return;
  const Message* m = actors[now + 1]->inbox_server.incoming.front()->receiver.ahead();
  if (!m || m->kind == MessageKind::Skip) return;
  const auto* result = ctx->heap->at<uint8_t>(m->result);
  __builtin_prefetch(result, 1);
}

}  // namespace

// ---- threads

int Packed::serve(TurnThread* me) {
  turns.take(me);
  coming_ = false;
  for (;;) {
    if (server_ && server_ != me) {
      park(me);
      continue;
    }
    server_ = me;
    settle_ended(me);
    if (PyErr_CheckSignals() != 0) return -1;
    answer();
    take_notes();
    bool any = remove_those_leaving();  // runs destructors, which may wait
    if (server_ != me) continue;
    any |= serve_round();
    if (server_ != me) continue;
    if (!any && collect_ && now_ns() >= collect_at_) {
      collect_garbage();
    } else if (!any && !turns.wanted()) {
      turns.give();
      int e;
      const uint64_t deadline = std::min(held_until(), collect_ ? collect_at_ : UINT64_MAX);
      Py_BEGIN_ALLOW_THREADS
      e = wait_on(ctx->heap, &ctx->proc->bell, ctx->proc, ctx->spin, deadline, [&] { return ready(); });
      Py_END_ALLOW_THREADS
      turns.take(me);
      if (e == ETIMEDOUT || e == EDEADLK) look_at_holds(e == EDEADLK);
    } else if (turns.wanted()) {
      turns.give();
      turns.take(me);
    }
  }
}

// Collects cycles of actors that have left. If the worker has imported much, a collection takes a tenth of a second, so calls run between two
// collections.
void Packed::collect_garbage() {
  collect_ = false;
  const uint64_t begun = now_ns();
  PyGC_Collect();
  const uint64_t now = now_ns();
  collect_at_ = now + kBetweenCollections * (now - begun);
}

void Packed::park(TurnThread* me) {
  if (ready()) ring(ctx->heap, &ctx->proc->bell);
  settle_ended(me);
  me->parked = true;
  parked_.push_back(me);
  turns.give();
  while (me->parked) {
    uint32_t seen = me->word.load(memory_order_acquire);
    sleep_on(me, seen);
  }
  turns.take(me);
}

void Packed::see_that_one_serves() {
  if (server_ || coming_) return;
  if (!parked_.empty()) {
    server_ = parked_.back();
    parked_.pop_back();
    server_->parked = false;
    return wake_thread(server_);
  }
  coming_ = true;
  if (!hooks.thread(false)) {
    coming_ = false;  // the neighbours wait for this call
    hooks.thread.complain();
  }
}

void Packed::give_turn(TurnThread* me) {
  me->suspended = put_away();
  if (server_ == me) server_ = nullptr;
  if (server_ && ready()) ring(ctx->heap, &ctx->proc->bell);
  turns.give();
  see_that_one_serves();  // last: it runs Python code
}

void Packed::take_turn(TurnThread* me) {
  turns.take(me);
  Execution suspended = std::exchange(me->suspended, {});
  const bool interrupt = suspended.call && suspended.call->to_interrupt;
  if (interrupt) PyThreadState_SetAsyncExc(me->ident, nullptr);  // it is for the actor's code
  ctx->states->enter(suspended.call ? suspended.call->actor
                                    : 0);  // before the watchdog looks at it: a state is not to be left half exchanged
  take_back(std::move(suspended));
  if (interrupt) PyThreadState_SetAsyncExc(me->ident, PyExc_SystemExit);
}

TurnThread* Packed::thread_with_turn() const { return own_turn_thread() == turns.holder() ? own_turn_thread() : nullptr; }

uint32_t Packed::actor_of_thread() { return thread_with_turn() ? ctx->call->actor : 0; }

TurnThread* Packed::wait_begins() {
  TurnThread* me = keeps_turn_ ? nullptr : thread_with_turn();
  if (!me) return nullptr;
  me->waits = true;
  ++waiting_;
  tell_busy();
  give_turn(me);
  return me;
}

void Packed::wait_ends(TurnThread* me) {
  --waiting_;
  tell_busy();
  take_turn(me);
  me->waits = false;
}

// A call under way in another thread than the server's is told of as one of a threaded actor is: while the server sleeps, the
// process does not. Calls that all wait may all wait for ever.
void Packed::tell_busy() {
  auto tell = [](atomic<uint32_t>& word, uint32_t now, std::memory_order order) {
    if (word.load(memory_order_relaxed) != now) word.store(now, order);
  };
  tell(ctx->proc->loop_idle, busy_ > 0 && waiting_ == busy_, memory_order_relaxed);
  tell(ctx->proc->deferred, busy_, memory_order_seq_cst);
}

// A call counts as under way until its results are done and somebody has looked at what its actor has to do next: beside a server
// that sleeps the process would look asleep, with all that the call has set going still to come.
void Packed::settle_ended(TurnThread* me) {
  if (me->ended == 0) return;
  busy_ -= me->ended;
  me->ended = 0;
  tell_busy();
}

void Packed::regain() {
  if (own_turn_thread() && own_turn_thread()->passed_over) come_back(own_turn_thread());
}

// At a bytecode of a call that was to stop, and when a method returns.
void come_back(TurnThread* me) {
  if (!me->passed_over) {
    if (packed().turns.holder() != me) return;
    packed().give_turn(me);
  }
  me->passed_over = false;
  packed().take_turn(me);
}

PyObject* Packed::beside(PyObject* call, PyObject* argument) {
  TurnThread* me = in_method() && !keeps_turn_ ? thread_with_turn() : nullptr;
  if (!me) return PyObject_CallOneArg(call, argument);
  give_turn(me);
  PyObject* r = PyObject_CallOneArg(call, argument);
  take_turn(me);
  return r;
}

void Packed::watch() {
  uint64_t seen = 0, ran = 0;                // at the last tick: turns and calls, and the processor time of whose turn it is
  int same = 0, asleep = 0, idle = 0;        // ticks: that it is the same call, that this has not run, that none has
  for (;;) {
    PyThreadState* state = PyEval_SaveThread();
    for (bool enough = false; !enough;) {
      timespec t{0, kTickNs};
      nanosleep(&t, nullptr);
      const bool runs = in_method_.load(memory_order_relaxed);
      TurnThread* h = runs ? turns.holder() : nullptr;
      const uint64_t now = turns.count() + ctx->proc->executed.load(memory_order_relaxed), time = h ? time_run(h) : 0;
      same = h && now == seen ? same + 1 : 0;
      asleep = same && time == ran ? asleep + 1 : 0;
      seen = now;
      ran = time;
      enough = asleep || (same && same % kLongTicks == 0);
      idle = runs ? 0 : idle + 1;
      if (idle < kIdleTicks) continue;
      uint32_t word = watch_word_.load(memory_order_acquire);
      watch_asleep_.store(true, memory_order_seq_cst);
      if (!in_method_.load(memory_order_seq_cst)) futex_wait(&watch_word_, word, 1000000000);
      watch_asleep_.store(false, memory_order_relaxed);
      idle = 0;
    }
    PyEval_RestoreThread(state);
    TurnThread* h = turns.holder();
    if (!h || !in_method_.load(memory_order_relaxed) || seen != turns.count() + ctx->proc->executed.load(memory_order_relaxed)) continue;
    if (call && call->to_interrupt) PyThreadState_SetAsyncExc(h->ident, PyExc_SystemExit);  // it has caught the first
    if (!turns.wanted() && !ready()) continue;
    const bool pass = asleep && sleeps(h) && (asleep >= kBarrierTicks || !may_be_a_barrier(h)) && time_run(h) == ran;
    if (pass || same >= kLongTicks) stop_at_next_bytecode(h);
    if (!pass) continue;
    h->passed_over = true;
    give_turn(h);
  }
}

// ---- calls

void Packed::begin() {
  ctx->bell_thread = 0;
  ctx->states = new ActorStates(0);
}

void Packed::call_begins(RunningCall& call) {
  running->busy.store(true, memory_order_relaxed);
  busy_ += 1 - std::exchange(own_turn_thread()->ended, 0u);  // settled, because whoever serves looks at all actors
  tell_busy();
  running->turn_thread = own_turn_thread();
  running->call = this->call = &call;
  ctx->caller = call.actor;
  ctx->states->enter(running->inbox_server.actor);
}

void Packed::method_begins() {
  in_method_.store(true, memory_order_relaxed);
  if (watch_asleep_.load(memory_order_relaxed)) {
    watch_word_.fetch_add(1, memory_order_release);
    futex_wake(&watch_word_);
  }
}

bool Packed::method_returned(RunningCall& call) {
  TurnThread* me = own_turn_thread();
  stop_no_more(me);
  regain();
  if (!call.discarded) return call.storing = true;
  PyThreadState_SetAsyncExc(me->ident, nullptr);
  return false;
}

void Packed::call_ends(RunningCall& call, ExitReason why) {
  regain();
  if (why != ExitReason::Unknown) {
    running->why = why;
    running->leaving.store(true, memory_order_relaxed);
  }
  ++own_turn_thread()->ended;
  in_method_.store(false, memory_order_relaxed);
  if (call.to_interrupt) PyThreadState_SetAsyncExc(own_turn_thread()->ident, nullptr);  // meant for this call, it would hit the next
  if (!call.discarded) {
    running->turn_thread = nullptr;
    running->call = nullptr;
    running->unseen.store(true, memory_order_relaxed);
    running->busy.store(false, memory_order_release);
  } else {
    ctx->states->forget(call.actor);  // it has gone on, and so had its state again, after the actor had left
  }
  running = nullptr;
  this->call = nullptr;
  ctx->caller = kDriverParty;
}

// ---- actors

bool Packed::serve(PackedActor& h) {
  running = &h;
  ctx->mark = ctx->slot | h.place << kHostBit;
  bool ran = serve_one(h.inbox_server);
  running = nullptr;
  ctx->mark = ctx->slot;
  return ran;
}

bool Packed::serve_round() {
  TurnThread* me = own_turn_thread();
  bool any = false;
  for (size_t n = actors_.size(); n-- > 0;) {
    next_ = next_ + 1 < actors_.size() ? next_ + 1 : 0;
    PackedActor* h = actors_[next_].get();
    bring_near(actors_, next_);
    if (h->busy.load(memory_order_relaxed) || h->leaving.load(memory_order_relaxed)) continue;
    h->unseen.store(false, memory_order_relaxed);
    bool ran = serve(*h);
    any |= ran;
    if (server_ != me || (ran && turns.wanted())) return any;
    if (!ran && is_over(h->inbox_server)) {
      h->why = ExitReason::OutOfScope;
      h->leaving.store(true, memory_order_relaxed);
      any = true;
    }
  }
  return any;
}

InboxServer* Packed::server_of(uint32_t actor) {
  for (auto& h : actors_)
    if (h->inbox_server.actor == actor) return &h->inbox_server;
  return nullptr;
}

uint64_t Packed::held_until() const {
  uint64_t until = UINT64_MAX;
  for (auto& h : actors_) until = std::min(until, reactor::held_until(h->inbox_server));
  return until;
}

// One that is given up because of an error has its next message run at once: the error is for that.
void Packed::look_at_holds(bool alone) {
  TurnThread* me = own_turn_thread();
  for (size_t i = 0; i < actors_.size() && server_ == me; ++i) {
    PackedActor* h = actors_[i].get();
    if (h->busy.load(memory_order_relaxed) || h->leaving.load(memory_order_relaxed) || !h->inbox_server.hold.active) continue;
    look_at_hold(h->inbox_server, alone && busy_ == 0, busy_ != waiting_);
    if (h->inbox_server.refuse) serve(*h);
  }
}

bool Packed::ready() const {
  if (process_asked() || ctx->proc->host_notes.load(memory_order_acquire)) return true;
  for (auto& h : actors_) {
    if (h->busy.load(memory_order_acquire)) continue;
    if (h->leaving.load(memory_order_relaxed) || h->unseen.load(memory_order_relaxed) || may_have_work(h->inbox_server)) return true;
  }
  return false;
}

void Packed::take_notes() {
  Heap* heap = ctx->heap;
  Off newest = ctx->proc->host_notes.load(memory_order_relaxed) ? ctx->proc->host_notes.exchange(0, memory_order_acq_rel) : 0;
  std::vector<Off> notes;
  for (Off off = newest; off; off = heap->at<HostNote>(off)->next) notes.push_back(off);
  for (size_t i = notes.size(); i-- > 0;) {
    auto* note = heap->at<HostNote>(notes[i]);
    auto* actor = heap->at<Object>(note->actor);
    if (note->remove) {
      for (auto& h : actors_)
        if (h->object == actor && !h->leaving.exchange(true)) settle_call(*h);
    } else {
      ActorBody body;
      memcpy(&body, actor->body, sizeof body);
      auto* in = heap->at<Inbox>(body.inbox);
      actors_.push_back(std::make_unique<PackedActor>(actor, in, note->place));
      ctx->inboxes[body.actor] = body.inbox;
      in->proc.store(ctx->slot, memory_order_seq_cst);  // who sends from now on rings; what was sent before is looked at now
    }
    Off facts = note->facts;
    ctx->local.alloc.free(notes[i]);
    if (facts) learn(actor, ctx->heap->at<Object>(facts));
  }
}

void Packed::learn(Object* actor, Object* facts) {
  ActorBody body;
  memcpy(&body, actor->body, sizeof body);
  if (hooks.actor_arrived) hooks.actor_arrived.tell(body.actor, Owned(decode_object(facts)));
  drop_hold(ctx->local, facts);
}

// The running call of an actor that was killed: it ends now, whatever it is doing, and is interrupted if that is possible. One
// that is writing its result is let do so; one that gives a stream ends by the interruption.
void Packed::settle_call(PackedActor& h) {
  if (!h.call || (h.call->storing && !h.call->streaming)) return;
  h.call->to_interrupt = true;
  if (!h.turn_thread->waits) PyThreadState_SetAsyncExc(h.turn_thread->ident, PyExc_SystemExit);  // one that waits looks itself
  if (h.call->storing) return;
  h.call->discarded = true;
  for (uint32_t i = 0; i < h.call->n; ++i) {
    auto* o = ctx->heap->at<Object>(h.call->results[i]);
    if (!is_done(o)) complete_died(ctx->local, o, h.inbox_server.in->reason.load(memory_order_acquire));
  }
  h.busy.store(false, memory_order_relaxed);
}

// The first actor that is to leave does so; its destructor may run code, so the list is not gone through here.
bool Packed::remove_those_leaving() {
  size_t i = 0;
  while (i < actors_.size() && (actors_[i]->busy.load(memory_order_relaxed) || !actors_[i]->leaving.load(memory_order_relaxed))) ++i;
  if (i == actors_.size()) return false;
  std::unique_ptr<PackedActor> h = std::move(actors_[i]);
  actors_.erase(actors_.begin() + long(i));
  InboxServer& s = h->inbox_server;
  Off reason = s.in->reason.load(memory_order_acquire);
  for (DetachedCall k : forget_detached(s)) {
    auto* m = ctx->heap->at<Message>(k.block);
    for (uint32_t r = 0; r < m->results; ++r) {
      auto* o = ctx->heap->at<Object>(m->result_at(r));
      if (!is_done(o)) complete_died(ctx->local, o, reason);
    }
    ctx->local.hold_list.retag(k.note, Entry::Finished);
    for (uint32_t r = 0; r < m->results; ++r) drop_hold(ctx->local, ctx->heap->at<Object>(m->result_at(r)));
    release_detached(k);
  }
  for (auto& c : s.incoming)
    if (c->argument_wait.missing) let_go(ctx->local, c->argument_wait.node);
  ctx->inboxes.erase(s.actor);
  forget_instance(s.actor);
  collect_ = true;
  ctx->states->forget(s.actor);
  hooks.actor_left.tell(s.actor, ctx->heap->off(h->object), h->why);
  return true;
}

// ---- entries

int serve_packed() {
  ctx->serving = true;
  ctx->proc->loaded.store(1, memory_order_release);
  if (!hooks.thread(true)) return -1;
  return packed().serve(make_turn_thread());
}

void serve_beside() { packed().serve(make_turn_thread()); }
void watch_packed() { packed().watch(); }

}  // namespace reactor
