#include <algorithm>
#include "actor_states.h"
#include "aside.h"
#include "observe.h"
#include "restarts.h"
#include "spill.h"
#include "stream.h"

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
  if (o->block && freed.insert(o->block).second) {
    ctx->local.alloc.count_value(o->block, -1);
    ctx->local.alloc.free(o->block);
  }
  o->block = 0;
  o->size = 0;
}

// Tells the waiters that a dead runner was not through with. Those of a cancelled call are told by who cancelled it.
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

namespace {

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

// Whether some queue's slot holds `value`: a task's offset while it waits, claimed(...) after.
bool queue_holds(Heap* h, uint64_t value) {
  for (Off off = h->header->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    off = q->next.load(memory_order_acquire);
    for (Off ring = q->current.load(memory_order_acquire); ring;) {
      auto* r = h->at<TaskRing>(ring);
      for (uint64_t i = 0; i < r->capacity; ++i)
        if (r->slot[i].load(memory_order_acquire) == value) return true;
      ring = r->next.load(memory_order_acquire);
    }
  }
  return false;
}

// A task whose worker died: run it again if it may be, else fail it.
void retry_or_fail(Off task, Off reason, uint64_t cancelled, std::unordered_set<Off>& failed, std::unordered_set<Off>& freed) {
  auto* m = ctx->heap->at<Message>(task);
  bool cancel = cancelled == ctx->heap->at<Object>(m->result)->uid;
  bool again = m->retries > 0 && !cancel;
  std::vector<Off> settled;
  if (m->flags & kStreaming) find_pending_link(m, settled);
  for (Off off : settled) {
    finish_walk(ctx->heap->at<Object>(off));
    failed.insert(off);
    drop_hold(ctx->local, ctx->heap->at<Object>(off));
  }
  const bool shown = !(m->flags & kStreaming) && any_done(m);
  for (uint32_t i = 0; i < m->results; ++i) {
    Off off = m->result_at(i);
    auto* o = ctx->heap->at<Object>(off);
    settle_stored(o, shown, freed);
    again = again && !is_done(o);
    failed.insert(off);
  }
  if (again) {
    --m->retries;
    for (uint32_t i = 0; i < m->results; ++i) {
      auto* o = ctx->heap->at<Object>(m->result_at(i));
      o->runner.store(kNoProc, memory_order_relaxed);
      o->state.store(State::Pending, memory_order_release);
    }
    m->actor = 1;
    task_ready(ctx->local, task);
    return;
  }
  for (uint32_t i = 0; cancel && i < m->results; ++i) {
    auto* o = ctx->heap->at<Object>(m->result_at(i));
    if (!is_done(o)) complete(ctx->local, o, State::Cancelled);
  }
  fail_results(m, reason, nullptr);
  release_message(ctx->local, m);
  ctx->local.alloc.free(task);
}

}  // namespace

void forget_instance(uint32_t actor) {
  auto it = ctx->actors.find(actor);
  if (it == ctx->actors.end()) return;
  Owned methods = std::move(it->second.methods);  // the instance ends when the list of actors does not have it any more
  ctx->method_notes[it->second.noted].gone = true;
  ctx->actors.erase(it);
}

Object* new_actor(Local& l, bool restarts, bool physical) {
  Off off = l.alloc.alloc(sizeof(Inbox));
  if (!off) throw NoRoom();
  auto* in = l.heap->at<Inbox>(off);
  in->channels.store(0);
  in->proc.store(kNoProc);
  in->state.store(InboxState::Open);
  in->reason.store(0);
  in->creation.store(0);
  in->order.store(physical ? uint32_t(kPhysical) : 0);
  in->restarts = restarts;
  Object* o = new_object(l, 1, kActorObject);
  in->actor = uint32_t(o->uid);
  ActorBody body{off, uint32_t(o->uid), 0};
  memcpy(o->body, &body, sizeof body);
  return o;
}

// The last handle is gone. The actor ends when it has done what was sent to it; a dead one's memory can be freed.
void actor_unheld(Local& l, Object* actor) {
  ActorBody body;
  memcpy(&body, actor->body, sizeof body);
  auto* in = l.heap->at<Inbox>(body.inbox);
  if (ctx->inline_mode) {
    {
      SavedError error;  // this may run in the dealloc of a handle while an exception is on its way
      const uint32_t current = ctx->states->current();
      ctx->states->enter(body.actor);  // its destructor is its own code
      forget_instance(body.actor);
      ctx->states->forget(body.actor);
      ctx->states->enter(current);
    }
    ctx->inboxes.erase(body.actor);
    in->state.store(InboxState::Dead);
    free_actor(actor);
    return;
  }
  InboxState open = InboxState::Open;
  if (in->state.compare_exchange_strong(open, InboxState::Ending, memory_order_acq_rel)) {
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
    p.running_class.store(0);
    p.cancel.store(0);
    p.cancel_children.store(0);
    p.cancels.store(0);
    p.inbox.store(inbox);
    p.host_notes.store(0);
    p.journal.store(0);
    ++p.generation;
    for (auto& list : p.remote_free) list.store(empty_list(owner_of(h, slot)));
    p.bytes_native.store(0);
    p.bytes_pickled.store(0);
    p.calls.store(0);
    p.replayed.store(0);
    p.recording_round.store(h->header->recording_round.load());
    p.recording.store(0);
    p.wakes.store(0);
    p.sleeps.store(0);
    p.physical.store(0);
    p.digest.store(0);
    p.executed.store(0);
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

bool reap(uint32_t slot, Object* reason, Object* unavailable, const std::vector<DeadActor>& hosted) {
  Heap* h = ctx->heap;
  Header* hdr = h->header;
  Proc& p = h->procs[slot];
  Off why = reason ? h->off(reason) : 0;
  p.state.store(ProcState::Dead, memory_order_seq_cst);
  if (p.awake.exchange(0)) hdr->awake.fetch_sub(1);
  forget(hdr, &p, slot);
  if (p.idle.exchange(0)) hdr->pool_idle.fetch_sub(1);
  if (p.held.exchange(0)) hdr->held.fetch_sub(1);
  if (p.kind == ProcKind::Pool)
    for (auto& entry : hdr->pool) {
      uint32_t mine = slot + 1;
      entry.compare_exchange_strong(mine, 0);
    }

  std::unordered_set<Off> failed;  // results that are settled, and their message's hold given back
  std::unordered_set<Off> freed;   // blocks of values
  std::unordered_set<Off> held;    // those that an object which the dead process held has by now
  std::vector<uint64_t> entries;
  std::vector<Off> chunks;
  for (Off off = p.journal.load(memory_order_acquire); off;) {
    auto* c = h->at<JournalChunk>(off);
    for (auto& e : c->entry)
      if (uint64_t v = e.load(memory_order_acquire)) entries.push_back(v);
    chunks.push_back(off);
    off = c->next;
  }
  auto tag_of = [](uint64_t v) { return Entry(v & uint64_t(Entry::Mask)); };
  auto off_of = [](uint64_t v) { return Off(v & ~uint64_t(Entry::Mask)); };

  bool anew = false;
  if (Off in_off = p.inbox.load()) {
    auto* in = h->at<Inbox>(in_off);
    std::vector<Off> kept;
    for (uint64_t v : entries)
      if (tag_of(v) == Entry::Call) kept.push_back(off_of(v));
    DeadCalls calls(in, kept, failed);
    anew = unavailable && (in->state.load(memory_order_acquire) == InboxState::Open || calls.any_left());
    if (anew) {
      why = h->off(unavailable);
      calls.settle(true, why, failed, freed);
    } else {
      if (in->reason.load() == 0 && reason) {
        take_hold(reason);
        in->reason.store(why, memory_order_release);
      }
      why = in->reason.load();
      in->state.store(InboxState::Dead, memory_order_seq_cst);
      std::atomic_thread_fence(memory_order_seq_cst);
      calls.settle(false, why, failed, freed);
      drain_inbox(in, &failed);
      forget_creation(in);
    }
  }
  std::unordered_map<uint32_t, Off> reasons;  // of the actors of a packed worker, by their places
  for (const DeadActor& d : hosted) {
    auto* in = inbox_of(d.actor);
    std::vector<Off> kept;
    for (uint64_t v : entries)
      if (tag_of(v) == Entry::Call && h->at<Message>(off_of(v))->actor == in->actor) kept.push_back(off_of(v));
    DeadCalls calls(in, kept, failed);
    if (in->reason.load() == 0) {
      take_hold(d.reason);
      in->reason.store(h->off(d.reason), memory_order_release);
    }
    Off of_actor = reasons[d.place] = in->reason.load();
    in->state.store(InboxState::Dead, memory_order_seq_cst);
    std::atomic_thread_fence(memory_order_seq_cst);
    calls.settle(false, of_actor, failed, freed);
    drain_inbox(in, &failed);
    forget_creation(in);
  }
  for (uint64_t v : entries)
    if (tag_of(v) == Entry::Task ||
        (tag_of(v) == Entry::Trying && queue_holds(h, claimed(slot, off_of(v))) && !queue_holds(h, off_of(v)))) {
      auto* m = h->at<Message>(off_of(v));
      if (m->kind != MessageKind::Task) continue;
      auto* o = h->at<Object>(m->result);
      if (tag_of(v) == Entry::Trying && o->runner.load() != kNoProc) continue;  // an old claim of the same memory
      retry_or_fail(off_of(v), why, p.cancel.load(), failed, freed);
    }
  for (uint64_t v : entries)
    if (tag_of(v) == Entry::Finished) release_kept({off_of(v), kNoEntry});
  // The block of a value that was just being stored goes with the object if that has it already.
  for (uint64_t v : entries)
    if (tag_of(v) == Entry::Hold)
      if (Off block = h->at<Object>(off_of(v))->block) held.insert(block);
  // The results of a call are shown one after the other while all are noted. (One that another call had stored is shown as well: it has run.)
  bool shown = false;
  for (uint64_t v : entries)
    if (tag_of(v) == Entry::Run && !failed.count(off_of(v)) && kind_of(h->at<Object>(off_of(v))) != kStreamLink)
      shown |= is_done(h->at<Object>(off_of(v)));
  for (uint64_t v : entries) {
    Off off = off_of(v);
    switch (tag_of(v)) {
      case Entry::Run: {
        if (failed.count(off)) break;
        auto* o = h->at<Object>(off);
        settle_stored(o, shown, freed);
        if (!is_done(o)) {
          if (o->unwanted.load() == 1) complete(ctx->local, o, State::Cancelled);
          else if (auto it = reasons.find(place_of(o->runner.load())); it != reasons.end()) complete_died(ctx->local, o, it->second);
          else complete_died(ctx->local, o, why);
        }
        drop_hold(ctx->local, o);
        break;
      }
      case Entry::Hold: drop_hold(ctx->local, h->at<Object>(off)); break;
      case Entry::View:
        unpin(residence_of(h, h->at<Object>(off)));
        drop_hold(ctx->local, h->at<Object>(off));
        break;
      case Entry::Weak: drop_weak(ctx->local, h->at<Object>(off)); break;
      case Entry::Block: break;  // below: a result's own comes first
      case Entry::Channel: h->at<Channel>(off)->closed.store(ProducerState::Closed, memory_order_release); break;
      default: break;
    }
  }
  for (uint64_t v : entries) {
    if (tag_of(v) != Entry::Block || held.count(off_of(v)) || !freed.insert(off_of(v)).second) continue;
    uint32_t state = h->page_state[h->page_of(off_of(v))].load();
    if (state == kSlab || state == kRun) ctx->local.alloc.free(off_of(v));  // else it was being filled: reap_memory
  }
  for (Off off : chunks) ctx->local.alloc.free(off);
  for (Off off = p.cancels.exchange(0); off;) {
    Off next = h->at<CancelNote>(off)->next;
    ctx->local.alloc.free(off);
    off = next;
  }
  for (Off off = p.host_notes.exchange(0); off;) {
    Off next = h->at<HostNote>(off)->next;
    if (Off facts = h->at<HostNote>(off)->facts) drop_hold(ctx->local, h->at<Object>(facts));
    ctx->local.alloc.free(off);
    off = next;
  }
  if (uint32_t demand = p.demand.exchange(0)) {
    if (p.lent.exchange(0)) {
      take_cpus_anyway(hdr, demand - 1);  // they are back already
      hdr->lenders.fetch_sub(1);
    }
    give_resources(hdr, demand - 1);
  }
  for (Off off = hdr->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    if (q->producer == slot) std::atomic_ref(q->producer).store(kNoProc, memory_order_release);
    off = q->next.load(memory_order_acquire);
  }
  for (Off off = hdr->boards.load(memory_order_acquire); off;) {
    auto* b = h->at<Board>(off);
    uint32_t mine = slot;
    b->producer.compare_exchange_strong(mine, kNoProc, memory_order_acq_rel);  // it shows its open calls until the next one takes it
    off = b->next.load(memory_order_acquire);
  }
  auto counters = p.counters();
  for (int i = 0; i < kCounters; ++i) hdr->past[i].fetch_add(counters[size_t(i)]->load());
  if (Off recording = p.recording.exchange(0)) drop_hold(ctx->local, h->at<Object>(recording));
  reap_memory(h, slot);
  move_ended();
  --living;
  p.state.store(ProcState::Free, memory_order_release);
  kick_queues();
  for (uint32_t i = 0; i < hdr->proc_high.load(); ++i)
    if (h->procs[i].state.load() == ProcState::Live) wake(&h->procs[i].bell);  // see bell.h
  return anew;
}

void fail_tasks(Object* reason, int64_t demand, uint32_t setting) {
  Heap* h = ctx->heap;
  for (Off off = h->header->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    off = q->next.load(memory_order_acquire);
    if (demand >= 0 ? q->demand != uint32_t(demand) : h->header->demand[q->demand].setting != setting) continue;
    while (Off task = claim_task(h, ctx->slot, q, [](Off) {}, [] {})) {
      auto* m = h->at<Message>(task);
      fail_results(m, h->off(reason), nullptr);
      release_message(ctx->local, m);
      ctx->local.alloc.free(task);
    }
  }
}

// A task that is taken and freed meanwhile shows another's uid, or none: the answer is then one look late.
bool task_before(Heap* h, uint64_t uid) {
  for (Off off = h->header->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    off = q->next.load(memory_order_acquire);
    if (!has_task(h, q) || !may_start(h, q)) continue;
    TaskRing* r = live_ring(h, q);
    Off task = r->slot[r->head.load(memory_order_acquire) % r->capacity].load(memory_order_acquire);
    if (!task || (task & 1)) continue;
    Off result = h->at<Message>(task)->result;
    if (result && result < h->capacity && h->at<Object>(result)->uid < uid) return true;
  }
  return false;
}

void drain(Object* actor) { drain_inbox(inbox_of(actor), nullptr); }

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
  ctx->local.alloc.free(h->off(in));
  ctx->local.alloc.free(h->off(actor));
  return true;
}

}  // namespace reactor
