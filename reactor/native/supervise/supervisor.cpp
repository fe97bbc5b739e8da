#include <algorithm>
#include "supervise/restarts.h"

namespace reactor {

void fail_results(Message* m, Off reason, std::unordered_set<Off>* failed) {
  for (uint32_t i = 0; i < m->results; ++i) {
    Off off = m->result_at(i);
    auto* o = ctx->heap->at<Object>(off);
    if (!is_done(o)) complete_died(ctx->local, o, reason);
    if (failed) failed->insert(off);
    drop_hold(ctx->local, o);
  }
}

// Frees what a dead runner had stored in a result that it did not complete. Its size is set when all of it was written.
void forget_value(Object* o, std::unordered_set<Off>& freed) {
  if (o->size) drop_value_refs(ctx->local, reinterpret_cast<ValueHeader*>(value_of(ctx->heap, o)));
  if (o->block && freed.insert(o->block).second) ctx->local.alloc.free_value(o->block, [] {});
  o->block = 0;
  o->size = 0;
}

// Tells the waiters of an object that a dead runner had completed without telling them. Those of a cancelled call are told by who cancelled it.
void finish_walk(Object* o) {
  uint64_t word = o->wait.load(memory_order_acquire);
  if (word != 1 && o->state.load(memory_order_acquire) != State::Cancelled) walk_waiters(ctx->local, o, word);
}

bool any_done(Message* m) {
  for (uint32_t i = 0; i < m->results; ++i)
    if (is_done(ctx->heap->at<Object>(m->result_at(i)))) return true;
  return false;
}

// A result that a dead runner may have stored and not shown. `shown`: another result of the call can be seen; then all are stored, and this one
// is shown, too. Else what was stored is forgotten.
void settle_stored(Object* o, bool shown, std::unordered_set<Off>& freed) {
  const State stored = o->state.load(memory_order_acquire);
  if (is_done(o)) finish_walk(o);
  else if (shown && kind_of(o) != kStreamLink && (stored == State::Value || stored == State::Error)) complete(ctx->local, o, stored);
  else forget_value(o, freed);
}

Inbox* inbox_of(Object* actor) {
  ActorBody body;
  memcpy(&body, actor->body, sizeof body);
  return ctx->heap->at<Inbox>(body.inbox);
}

void drain_inbox(Inbox* in, std::unordered_set<Off>* failed) {
  Heap* h = ctx->heap;
  Off reason = in->reason.load(memory_order_acquire);
  for (Off off = in->channels.load(memory_order_acquire); off;) {
    auto* c = h->at<Channel>(off);
    off = c->next;
    Receiver r(h, &ctx->local.alloc, c);
    while (Message* m = r.peek()) {
      std::vector<uint64_t> copy(reinterpret_cast<uint64_t*>(m), reinterpret_cast<uint64_t*>(m) + m->size / 8);
      r.pop(m);
      m = reinterpret_cast<Message*>(copy.data());
      fail_results(m, reason, failed);
      release_message(ctx->local, m);
    }
  }
}

Object* new_actor(Local& l, bool restarts, bool physical, bool loop) {
  Off off = l.alloc.alloc(sizeof(Inbox));
  if (!off) throw NoRoom();
  auto* in = l.heap->at<Inbox>(off);
  in->channels.store(0);
  in->proc.store(kNoProc);
  in->state.store(InboxState::Open);
  in->reason.store(0);
  in->creation.store(0);
  in->unavailable.store(0);
  in->reasons[0] = in->reasons[1] = 0;
  in->order.store((physical ? kPhysical : 0) | (loop ? kLoop : 0));
  in->restarts = restarts;
  in->timed = 0;
  Object* o = new_object(l, 1, kActorObject);
  in->actor = l.heap->header->next_actor.fetch_add(1, memory_order_relaxed);
  ActorBody body{off, in->actor, 0};
  memcpy(o->body, &body, sizeof body);
  return o;
}

// The last handle is gone. The actor ends when it has done what was sent to it; a dead one's memory can be freed.
void actor_unheld(Local& l, Object* actor) {
  ActorBody body;
  memcpy(&body, actor->body, sizeof body);
  auto* in = l.heap->at<Inbox>(body.inbox);
  InboxState open = InboxState::Open;
  // A worker says that it serves the inbox [seq_cst], and looks at its state after a fence: one of the two sees the other.
  if (in->state.compare_exchange_strong(open, InboxState::Ending, memory_order_seq_cst)) {
    uint32_t p = in->proc.load(memory_order_seq_cst);
    if (p != kNoProc) ring(l.heap, &l.heap->procs[p].bell);
    send_control(Control::Release, l.heap->off(actor));  // it may not have a process yet
  } else if (open == InboxState::Dead) {
    send_control(Control::Release, l.heap->off(actor));
  }
}

static uint32_t living = 0;  // processes with an entry, of those that new_proc gave one

uint32_t new_proc(Heap* h, ProcKind kind, Off inbox, uint32_t setting) {
  static uint32_t next = 2;
  // Entries are used in turn: what was rung, or said of a process, just before its death should not meet its successor.
  const uint32_t rotation = std::min(kMaxProcs, std::max(kProcRotation, 2 * living));
  for (uint32_t tries = 0; tries < kMaxProcs; ++tries) {
    uint32_t slot = next;
    next = next + 1 < (tries < rotation ? rotation : kMaxProcs) ? next + 1 : 2;
    Proc& p = h->procs[slot];
    if (p.state.load(memory_order_acquire) != ProcState::Free) continue;
    ++living;
    p.bell.word.store(0);
    p.bell.sleeping.store(0);
    p.kind = kind;
    p.pid = 0;
    p.setting = setting;
    p.exit_reason.store(ExitReason::Unknown);
    p.awake.store(0);
    has_none(h->header, &p);
    p.core.store(0);
    p.demand.store(0);
    p.blocked.store(0);
    p.lent.store(0);
    p.idle.store(0);
    p.held.store(0);
    p.waits.store(0);
    p.loop_idle.store(0);
    p.deferred.store(0);
    p.constructed.store(0);
    p.running_class.store(0);
    p.running_task.store(0);
    p.cancel.store(0);
    p.cancel_children.store(0);
    p.cancels.store(0);
    p.inbox.store(inbox);
    p.host_notes.store(0);
    p.hold_list.store(0);
    ++p.generation;
    for (auto& list : p.remote_free) list.store(empty_list(owner_of(h, slot)));
    p.dropping.store(0);
    p.fallen.store(0);
    p.apart.store(0);
    p.bytes_native.store(0);
    p.bytes_pickled.store(0);
    p.calls.store(0);
    p.in_patterns.store(0);
    p.recording_round.store(h->header->recording_round.load());
    p.collect_round.store(h->header->collect_round.load());
    p.recording.store(0);
    p.wakes.store(0);
    p.sleeps.store(0);
    p.physical.store(0);
    p.digest.store(0);
    p.executed.store(0);
    p.loaded.store(0);
    p.submits.store(0);
    p.put_offs.store(0);
    p.walk.object.store(0);
    end_count(&p);
    p.running[0] = 0;
    p.state.store(ProcState::Starting, memory_order_release);
    uint32_t high = h->header->proc_high.load();
    if (slot >= high) h->header->proc_high.store(slot + 1);
    return slot;
  }
  return kNoProc;
}

void tell_host(uint32_t slot, Object* actor, uint32_t place, Object* facts) {
  Off off = ctx->local.alloc.alloc(sizeof(HostNote));
  if (!off) throw NoRoom();
  auto* note = ctx->heap->at<HostNote>(off);
  note->actor = ctx->heap->off(actor);
  note->place = place;
  note->remove = !facts;
  note->facts = 0;
  if (facts) {
    take_hold(facts);
    note->facts = ctx->heap->off(facts);
  }
  Proc& p = ctx->heap->procs[slot];
  note->next = p.host_notes.load(memory_order_relaxed);
  while (!p.host_notes.compare_exchange_weak(note->next, off, memory_order_release, memory_order_relaxed)) {}
  ring(ctx->heap, &p.bell);
}

void free_proc(Proc& p) {
  --living;
  p.state.store(ProcState::Free, memory_order_release);
}

void fail_tasks(Object* reason, int64_t demand, uint32_t setting) {
  Heap* h = ctx->heap;
  for (Off off = h->header->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    off = q->next.load(memory_order_acquire);
    if (demand >= 0 ? q->demand != uint32_t(demand) : h->header->demand[q->demand].setting != setting) continue;
    while (Off task = claim_task(h, ctx->slot, q, [](Off) {}, [] {})) {
      auto* m = h->at<Message>(task);
      if (m->flags & kLate) h->header->late_tasks.fetch_sub(1);
      fail_results(m, h->off(reason), nullptr);
      release_message(ctx->local, m);
      ctx->local.alloc.free(task);
    }
  }
}

// A task that is taken and freed meanwhile shows another's uid, or none: the answer is then one look late.
bool task_before(Heap* h, const Object* actor) {
  for (Off off = h->header->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    off = q->next.load(memory_order_acquire);
    const Off task = startable(h, q).task;
    if (!task) continue;
    Off result = h->at<Message>(task)->result;
    if (result && result < h->capacity && h->at<Object>(result)->uid < actor->uid) return true;
  }
  return false;
}

namespace {

// What is at an offset that was read from memory which its owner may have freed and used again meanwhile; null if it cannot be an offset.
template <typename T> const T* doubtful(Heap* h, Off off) {
  return off == 0 || off % alignof(Off) != 0 || off > h->capacity - sizeof(T) ? nullptr : h->at<const T>(off);
}

constexpr int kDoubtfulChannels = 1 << 16;  // a list that is read while it changes could lead in a circle

// Whether this call has its result, which its worker takes note of a moment later.
bool is_settled(Heap* h, const Message* m) {
  const auto* o = doubtful<Object>(h, m->result);
  return m->kind == MessageKind::Call && o && is_done(o);
}

// Bytes of the first record in a segment of a channel, from `head` on, if nothing is left to do for it: a constructor's, or a call's that is settled.
uint64_t first_done(Heap* h, const Segment* s, uint64_t head) {
  if (s->capacity == 0) return 0;
  const Off at = h->off(s) + sizeof(Segment) + head % s->capacity;
  const auto* m = doubtful<Message>(h, at);
  return m && (m->kind == MessageKind::Create || is_settled(h, m)) ? m->size : 0;
}

// Whether the inbox has a message, other than the constructor's, that has not been taken out. Its consumer may be taking messages out and freeing
// channels just now: then this is what was a moment ago, or, where freed memory was read, a guess. So nothing is read but words, at offsets that
// lie in the heap.
bool has_messages(Heap* h, const Inbox* in) {
  Off off = in->channels.load(memory_order_acquire);
  for (int n = 0; n < kDoubtfulChannels; ++n) {
    const auto* c = doubtful<Channel>(h, off);
    if (!c) return false;
    if (const auto* s = doubtful<Segment>(h, c->read)) {
      uint64_t head = s->head.load(memory_order_acquire);
      const uint64_t tail = s->tail.load(memory_order_acquire);
      if (head != tail) head += first_done(h, s, head);
      if (head != tail || s->next.load(memory_order_acquire) != 0) return true;
    }
    off = c->next;
  }
  return false;
}

// Whether this entry of a hold list is a call of the actor that has not ended.
bool is_call_of(Heap* h, uint64_t entry, uint32_t actor) {
  const Off off = entry & ~uint64_t(Entry::Mask);
  const auto tag = Entry(entry & uint64_t(Entry::Mask));
  if (tag == Entry::Call) {
    const auto* m = h->at<Message>(off);
    return m->actor == actor && !is_settled(h, m);
  }
  if (tag != Entry::Run) return false;
  auto* o = h->at<Object>(off);
  uint32_t called_actor;
  memcpy(&called_actor, o->body, sizeof called_actor);
  return called_actor == actor && !is_done(o);
}

}  // namespace

bool has_calls(Object* actor) {
  Heap* h = ctx->heap;
  Inbox* in = inbox_of(actor);
  if (has_messages(h, in)) return true;
  const uint32_t slot = in->proc.load(memory_order_acquire);
  if (slot == kNoProc) return false;
  const Proc& p = h->procs[slot];
  if (p.kind == ProcKind::Actor && p.inbox.load() && !p.constructed.load(memory_order_acquire)) return false;  // it runs the constructor
  for (Off off = p.hold_list.load(memory_order_acquire); off; off = h->at<HoldChunk>(off)->next)
    for (auto& e : h->at<HoldChunk>(off)->entry)
      if (uint64_t v = e.load(memory_order_acquire); v && is_call_of(h, v, in->actor)) return true;
  return false;
}

void drain(Object* actor) {
  Inbox* in = inbox_of(actor);
  if (in->state.load(memory_order_acquire) == InboxState::Dead) drain_inbox(in, nullptr);
}

bool free_actor(Object* actor) {
  Heap* h = ctx->heap;
  Inbox* in = inbox_of(actor);
  ActorBody body;
  memcpy(&body, actor->body, sizeof body);
  if (body.weak || actor->holds.load(memory_order_acquire) != 0 || in->state.load(memory_order_acquire) != InboxState::Dead) return false;
  drain_inbox(in, nullptr);
  forget_creation(in);
  for (Off off = in->channels.load(memory_order_acquire); off;) {
    auto* c = h->at<Channel>(off);
    Off next = c->next;
    for (Off s = c->read; s;) {
      Off after = h->at<Segment>(s)->next.load(memory_order_acquire);
      ctx->local.alloc.free(s);
      s = after;
    }
    ctx->local.alloc.free(off);
    off = next;
  }
  if (Off reason = in->reason.load()) drop_hold(ctx->local, h->at<Object>(reason));
  for (Off reason : in->reasons)
    if (reason) drop_hold(ctx->local, h->at<Object>(reason));
  ctx->local.alloc.free(h->off(in));
  ctx->local.alloc.free(h->off(actor));
  return true;
}

}  // namespace reactor
