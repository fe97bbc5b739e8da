#include "supervisor.h"
#include <unordered_set>

namespace reactor {
namespace {

Inbox* inbox_of(Object* actor) {
  ActorBody body;
  memcpy(&body, actor->body, sizeof body);
  return ctx->heap->at<Inbox>(body.inbox);
}

void fail_results(Message* m, Off reason, std::unordered_set<Off>* failed) {
  for (uint32_t i = 0; i < m->results; ++i) {
    Off off = m->result_at(i);
    auto* o = ctx->heap->at<Object>(off);
    if (!is_done(o)) complete_died(ctx->local, o, reason);
    if (failed) failed->insert(off);
    drop_hold(ctx->local, o);
  }
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

// A task whose worker died: run it again if it may be, else fail it.
void retry_or_fail(Off task, Off reason, uint64_t cancelled, std::unordered_set<Off>& failed, std::unordered_set<Off>& freed) {
  auto* m = ctx->heap->at<Message>(task);
  bool cancel = cancelled == ctx->heap->at<Object>(m->result)->uid;
  bool again = m->retries > 0 && !cancel;
  for (uint32_t i = 0; i < m->results; ++i) {
    Off off = m->result_at(i);
    auto* o = ctx->heap->at<Object>(off);
    if (is_done(o)) finish_walk(o);
    else forget_value(o, freed);
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
  PyObject* methods = it->second.methods;
  ctx->actors.erase(it);
  Py_XDECREF(methods);
}

Object* new_actor(Local& l) {
  Off off = l.alloc.alloc(sizeof(Inbox));
  if (!off) throw std::bad_alloc();
  auto* in = l.heap->at<Inbox>(off);
  in->channels.store(0);
  in->proc.store(kNoProc);
  in->state.store(InboxState::Open);
  in->reason.store(0);
  Object* o = new_object(l, 1, kActorObject);
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
    PyObject *type, *error, *trace;  // this may run in the dealloc of a handle while an exception is on its way
    PyErr_Fetch(&type, &error, &trace);
    forget_instance(body.actor);
    if (hooks.switched) {
      PyObject* done = PyObject_CallFunction(hooks.switched, "Ii", body.actor, -1);
      if (!done) PyErr_WriteUnraisable(hooks.switched);
      Py_XDECREF(done);
    }
    PyErr_Restore(type, error, trace);
    ctx->inboxes.erase(body.actor);
    in->state.store(InboxState::Dead);
    free_actor(actor);
    return;
  }
  InboxState open = InboxState::Open;
  if (in->state.compare_exchange_strong(open, InboxState::Ending, memory_order_acq_rel)) {
    uint32_t p = in->proc.load(memory_order_seq_cst);
    if (p != kNoProc) ring(&l.heap->procs[p].bell);
    send_control(Control::Release, l.heap->off(actor));  // it may not have a process yet
  } else if (open == InboxState::Dead) {
    send_control(Control::Release, l.heap->off(actor));
  }
}

uint32_t new_proc(Heap* h, ProcKind kind, Off inbox) {
  static uint32_t next = 2;
  for (uint32_t tries = 0; tries < kMaxProcs; ++tries) {
    uint32_t slot = next;
    next = next + 1 < kMaxProcs ? next + 1 : 2;
    Proc& p = h->procs[slot];
    if (p.state.load(memory_order_acquire) != ProcState::Free) continue;
    p.bell.word.store(0);
    p.bell.sleeping.store(0);
    p.kind = kind;
    p.pid = 0;
    p.exit_reason.store(ExitReason::Unknown);
    p.awake.store(0);
    p.demand.store(0);
    p.blocked.store(0);
    p.lent.store(0);
    p.idle.store(0);
    p.cancel.store(0);
    p.cancel_children.store(0);
    p.inbox.store(inbox);
    p.journal.store(0);
    for (auto& list : p.remote_free) list.store(0);
    p.bytes_native.store(0);
    p.bytes_pickled.store(0);
    p.calls.store(0);
    p.replayed.store(0);
    p.recording_round.store(h->header->recording_round.load());
    p.recording.store(0);
    p.wakes.store(0);
    p.sleeps.store(0);
    p.executed.store(0);
    p.state.store(ProcState::Starting, memory_order_release);
    uint32_t high = h->header->proc_high.load();
    if (slot >= high) h->header->proc_high.store(slot + 1);
    return slot;
  }
  return kNoProc;
}

void reap(uint32_t slot, Object* reason) {
  Heap* h = ctx->heap;
  Header* hdr = h->header;
  Proc& p = h->procs[slot];
  Off why = reason ? h->off(reason) : 0;
  p.state.store(ProcState::Dead, memory_order_release);
  if (p.awake.exchange(0)) hdr->awake.fetch_sub(1);
  if (p.idle.exchange(0)) hdr->pool_idle.fetch_sub(1);
  if (p.kind == ProcKind::Pool)
    for (auto& entry : hdr->pool) {
      uint32_t mine = slot + 1;
      entry.compare_exchange_strong(mine, 0);
    }

  std::unordered_set<Off> failed;  // results that are settled, and their message's hold given back
  std::unordered_set<Off> freed;   // blocks of values
  if (Off in_off = p.inbox.load()) {
    auto* in = h->at<Inbox>(in_off);
    if (in->reason.load() == 0 && reason) {
      take_hold(reason);
      in->reason.store(why, memory_order_release);
    }
    why = in->reason.load();
    in->state.store(InboxState::Dead, memory_order_seq_cst);
    std::atomic_thread_fence(memory_order_seq_cst);
    drain_inbox(in, &failed);
  }

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
  for (uint64_t v : entries)
    if (tag_of(v) == Entry::Task || (tag_of(v) == Entry::Trying && queue_holds(h, claimed(slot, off_of(v))) &&
                                     !queue_holds(h, off_of(v)))) {
      auto* m = h->at<Message>(off_of(v));
      if (m->kind != MessageKind::Task) continue;
      auto* o = h->at<Object>(m->result);
      if (tag_of(v) == Entry::Trying && o->runner.load() != kNoProc) continue;  // an old claim of the same memory
      retry_or_fail(off_of(v), why, p.cancel.load(), failed, freed);
    }
  for (uint64_t v : entries) {
    Off off = off_of(v);
    switch (tag_of(v)) {
      case Entry::Run: {
        if (failed.count(off)) break;
        auto* o = h->at<Object>(off);
        if (is_done(o)) {
          finish_walk(o);
        } else {
          forget_value(o, freed);
          complete_died(ctx->local, o, why);
        }
        drop_hold(ctx->local, o);
        break;
      }
      case Entry::Hold: drop_hold(ctx->local, h->at<Object>(off)); break;
      case Entry::Weak: drop_weak(ctx->local, h->at<Object>(off)); break;
      case Entry::Block:
        break;  // below: a result's own comes first
      case Entry::Channel: h->at<Channel>(off)->closed.store(ProducerState::Closed, memory_order_release); break;
      default: break;
    }
  }
  for (uint64_t v : entries) {
    if (tag_of(v) != Entry::Block || !freed.insert(off_of(v)).second) continue;
    uint32_t state = h->page_state[h->page_of(off_of(v))].load();
    if (state == kSlab || state == kRun) ctx->local.alloc.free(off_of(v));  // else it was being filled: reap_memory
  }
  for (Off off : chunks) ctx->local.alloc.free(off);
  if (uint32_t demand = p.demand.exchange(0))
  {
    if (p.lent.load()) take_cpus_anyway(hdr, demand - 1);  // they are back already
    give_resources(hdr, demand - 1);
  }
  for (Off off = hdr->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    if (q->producer == slot) std::atomic_ref(q->producer).store(kNoProc, memory_order_release);
    off = q->next.load(memory_order_acquire);
  }
  atomic<uint64_t>* counters[] = {&p.bytes_native, &p.bytes_pickled, &p.calls, &p.replayed};
  for (int i = 0; i < 4; ++i) hdr->past[i].fetch_add(counters[i]->load());
  if (Off recording = p.recording.exchange(0)) drop_hold(ctx->local, h->at<Object>(recording));
  reap_memory(h, slot);
  p.state.store(ProcState::Free, memory_order_release);
  kick_queues();
  for (uint32_t i = 0; i < hdr->proc_high.load(); ++i)
    if (h->procs[i].state.load() == ProcState::Live) wake(&h->procs[i].bell);  // see bell.h
}

void fail_tasks(Object* reason) {
  Heap* h = ctx->heap;
  for (Off off = h->header->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    off = q->next.load(memory_order_acquire);
    while (Off task = claim_task(h, ctx->slot, q, [](Off) {}, [] {})) {
      auto* m = h->at<Message>(task);
      fail_results(m, h->off(reason), nullptr);
      release_message(ctx->local, m);
      ctx->local.alloc.free(task);
    }
  }
}

void drain(Object* actor) { drain_inbox(inbox_of(actor), nullptr); }

bool free_actor(Object* actor) {
  Heap* h = ctx->heap;
  Inbox* in = inbox_of(actor);
  ActorBody body;
  memcpy(&body, actor->body, sizeof body);
  if (body.weak || actor->holds.load(memory_order_acquire) != 0 || in->state.load(memory_order_acquire) != InboxState::Dead) return false;
  drain_inbox(in, nullptr);
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
