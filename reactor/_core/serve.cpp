// The worker's side: which message or task runs next.
#include "calls.h"
#include "recorder.h"

namespace reactor {
namespace {

struct Incoming {
  Receiver receiver;
  Object* missing = nullptr;   // argument that the head message waits for
  WaitNode* node = nullptr;
  bool early = false;          // its head is a call of an actor that is not made yet
};

std::vector<Incoming*> incoming;
Off known_channels = 0;

// Callers push new channels at the head of the inbox's list; only this process takes any out.
void find_channels(Inbox* in) {
  Off head = in->channels.load(memory_order_acquire);
  if (head == known_channels) return;
  for (Off off = head; off && off != known_channels;) {
    auto* c = ctx->heap->at<Channel>(off);
    incoming.push_back(new Incoming{Receiver(ctx->heap, &ctx->local.alloc, c)});
    off = c->next;
  }
  known_channels = head;
}

void drop_channel(Inbox* in, size_t i) {
  Channel* c = incoming[i]->receiver.channel();
  Off off = ctx->heap->off(c);
  Off head = off;
  if (!in->channels.compare_exchange_strong(head, c->next, memory_order_acq_rel)) {
    auto* before = ctx->heap->at<Channel>(head);
    while (before->next != off) before = ctx->heap->at<Channel>(before->next);
    before->next = c->next;
  }
  if (known_channels == off) known_channels = c->next;  // the newest known, perhaps no longer the head of the list
  std::atomic_signal_fence(memory_order_seq_cst);       // killed from here on: it is in the list no more
  ctx->local.alloc.free(c->read);
  ctx->local.alloc.free(off);
  delete incoming[i];
  incoming.erase(incoming.begin() + long(i));
}

// Whether all arguments of the head message are there. If not, asks to be rung when the missing one is.
bool arguments_ready(Incoming* c, Message* m) {
  if (c->missing) {
    if (!is_done(c->missing)) return false;
    let_go(ctx->local, c->node);
    c->missing = nullptr;
  }
  auto* v = message_value(ctx->heap, m);
  Off* deps = value_refs(v);
  for (uint32_t i = 0; i < v->deps; ++i) {
    auto* o = ctx->heap->at<Object>(deps[i]);
    if (is_done(o)) continue;
    WaitNode* n = new_node(ctx->local, NodeKind::Bell, ctx->heap->off(&ctx->proc->bell));
    if (!link(ctx->local, o, n)) {
      ctx->local.alloc.free(ctx->heap->off(n));
      continue;
    }
    c->missing = o;
    c->node = n;
    return false;
  }
  return true;
}

// The order of an actor's messages is decided here, and nowhere else: each caller's messages in the order of its calls; of
// several callers' heads, the one that was sent first, but an actor's constructor before all its calls. A message whose
// arguments are not there yet holds back its caller's later messages and nobody else's.
Incoming* next_message(Inbox* in) {
  find_channels(in);
  Incoming* best = nullptr;
  uint64_t best_stamp = UINT64_MAX;
  // A message that caused the best one was sent before it, but perhaps after its channel was looked at: look again until
  // nothing older turns up.
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < incoming.size(); ++i) {
      Incoming* c = incoming[i];
      bool closed = c->receiver.closed();
      Message* m = c->receiver.peek();
      if (!m) {
        if (closed) drop_channel(in, i--);
        continue;
      }
      c->early = m->kind == MessageKind::Call && ctx->actors.empty();
      if (!c->early && m->stamp < best_stamp && arguments_ready(c, m)) {
        best = c;
        best_stamp = m->stamp;
        again = incoming.size() > 1;
      }
    }
  }
  return best;
}

// Whether anything is queued at all, arguments there or not.
bool inbox_has_work(Inbox* in) {
  find_channels(in);
  for (Incoming* c : incoming)
    if (c->receiver.peek()) return true;
  return false;
}

bool serve_inbox(Inbox* in) {
  bool any = false;
  for (int i = 0; i < 64; ++i) {
    Incoming* c = next_message(in);
    if (!c) break;
    run_message(c->receiver.peek(), &c->receiver);
    any = true;
  }
  return any;
}

void set_idle(bool idle) {
  if (ctx->proc->kind != ProcKind::Pool) return;
  // Killed between the two, the count is one too low, and a task worker more is started; one too high, and none would be.
  if (idle) ctx->proc->idle.store(1, memory_order_relaxed);
  ctx->header->pool_idle.fetch_add(idle ? 1 : -1, memory_order_seq_cst);
  if (!idle) ctx->proc->idle.store(0, memory_order_relaxed);
}

void give_back(uint32_t demand) {
  give_resources(ctx->header, demand);
  if (ctx->header->actors_waiting.load(memory_order_seq_cst)) send_control(Control::Resources, 0);
}

// Takes and runs one task of any queue whose demand can be met now.
bool serve_tasks() {
  Heap* h = ctx->heap;
  for (Off off = ctx->header->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    off = q->next.load(memory_order_acquire);
    uint32_t demand = q->demand;
    if (!has_task(h, q)) continue;
    bool disturbed = false;
    if (!take_resources(ctx->header, demand, &disturbed)) {
      if (disturbed && ctx->header->actors_waiting.load(memory_order_seq_cst)) send_control(Control::Resources, 0);
      continue;
    }
    ctx->proc->demand.store(demand + 1, memory_order_release);  // at once: a kill before it loses them
    uint32_t note = kNoEntry;
    Off task = claim_task(
        h, ctx->slot, q, [&](Off t) { note = ctx->local.journal.add(t, Entry::Trying); }, [&] { ctx->local.journal.clear(note); });
    if (!task) {
      ctx->proc->demand.store(0, memory_order_release);
      give_back(demand);
      continue;
    }
    ctx->local.journal.set(note, task, Entry::Task);
    set_idle(false);
    // Claiming makes room for one more worker where tasks are left, in any queue, and resources are free.
    kick_queues();
    auto* m = h->at<Message>(task);
    run_message(m, nullptr, note);
    ctx->children.clear();
    release_message(ctx->local, m);
    ctx->local.alloc.free(task);
    ctx->proc->demand.store(0, memory_order_relaxed);
    give_back(demand);
    set_idle(true);
    return true;
  }
  return false;
}

bool runnable_task() {
  if (ctx->header->recording_round.load(memory_order_relaxed) != ctx->proc->recording_round.load(memory_order_relaxed)) return true;
  Heap* h = ctx->heap;
  for (Off off = ctx->header->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    if (has_task(h, q) && can_take(ctx->header, q->demand)) return true;
    off = q->next.load(memory_order_acquire);
  }
  return false;
}

bool inbox_ready(Inbox* in) {
  if (in->channels.load(memory_order_acquire) != known_channels) return true;
  if (ctx->header->recording_round.load(memory_order_relaxed) != ctx->proc->recording_round.load(memory_order_relaxed)) return true;
  bool held = ctx->deferred_open > 0;
  for (Incoming* c : incoming) {
    if (c->missing) {
      if (is_done(c->missing)) return true;
      held = true;
    } else if (c->early) {
      held = true;
    } else if (c->receiver.pending() || c->receiver.closed()) {
      return true;
    }
  }
  return !held && in->state.load(memory_order_acquire) == InboxState::Ending;
}

}  // namespace

// Somebody wants this process's recording: leaves it in the process entry.
void answer_recording() {
  uint32_t round = ctx->header->recording_round.load(memory_order_acquire);
  if (round == ctx->proc->recording_round.load(memory_order_relaxed)) return;
  PyObject* data = recording_data();
  PyObject* ref = data ? put_value(data) : nullptr;
  Py_XDECREF(data);
  if (ref) {
    auto* o = reinterpret_cast<PyRef*>(ref)->object;
    take_hold(o);
    if (Off old = ctx->proc->recording.exchange(ctx->heap->off(o), memory_order_acq_rel)) drop_hold(ctx->local, ctx->heap->at<Object>(old));
    Py_DECREF(ref);
  }
  PyErr_Clear();
  ctx->proc->recording_round.store(round, memory_order_release);
}

void forget_channels() {
  incoming.clear();
  known_channels = 0;
}

// Serves this process's inbox, or the task queues, until the process is told to end. Returns why it should leave; -1 with a
// Python error when a signal handler raised.
int serve(double idle_seconds) {
  Inbox* in = inbox();
  set_idle(true);
  ctx->serving = true;
  for (;;) {
    if (PyErr_CheckSignals() != 0) return -1;
    answer_recording();
    if (in ? serve_inbox(in) : serve_tasks()) continue;
    if (in && in->state.load(memory_order_acquire) == InboxState::Ending && !inbox_has_work(in) && ctx->deferred_open == 0) return int(ExitReason::OutOfScope);
    uint64_t deadline = idle_seconds > 0 ? now_ns() + uint64_t(idle_seconds * 1e9) : UINT64_MAX;
    int e;
    Py_BEGIN_ALLOW_THREADS
    e = wait_on(ctx->heap, &ctx->proc->bell, ctx->proc, ctx->spin, deadline, [&] { return in ? inbox_ready(in) : runnable_task(); });
    Py_END_ALLOW_THREADS
    if (e == ETIMEDOUT) {
      set_idle(false);
      return int(ExitReason::IdlePool);
    }
  }
}

}  // namespace reactor
