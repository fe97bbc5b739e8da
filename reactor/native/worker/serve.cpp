// The worker's side: which message or task runs next.
#include <csignal>
#include "store/garbage.h"
#include "inbox/inbox_server.h"
#include "supervise/orphans.h"
#include "worker/run.h"
#include "record/recordings.h"

namespace reactor {

static void answer_recording();

namespace {

std::unique_ptr<InboxServer> inbox_server;  // the inbox of this process's actor; none in a task worker

}  // namespace

// Callers push new channels at the head of the inbox's list; only this process takes any out.
void find_channels(InboxServer& s) {
  Off head = s.in->channels.load(memory_order_acquire);
  if (head == s.known_channels) return;
  for (Off off = head; off && off != s.known_channels;) {
    auto* c = ctx->heap->at<Channel>(off);
    s.incoming.push_back(std::make_unique<Incoming>(Receiver(ctx->heap, &ctx->local.alloc, c)));
    s.incoming.back()->mixed = c->mixed;
    off = c->next;
  }
  s.known_channels = head;
}

namespace {

void drop_channel(InboxServer& s, size_t i) {
  Channel* c = s.incoming[i]->receiver.channel();
  Off off = ctx->heap->off(c);
  Off head = off;
  if (!s.in->channels.compare_exchange_strong(head, c->next, memory_order_acq_rel)) {
    auto* before = ctx->heap->at<Channel>(head);
    while (before->next != off) before = ctx->heap->at<Channel>(before->next);
    before->next = c->next;
  }
  if (s.known_channels == off) s.known_channels = c->next;  // the newest known, perhaps no longer the head of the list
  std::atomic_signal_fence(memory_order_seq_cst);       // killed from here on: it is in the list no more
  ctx->local.alloc.free(c->read);
  ctx->local.alloc.free(off);
  s.incoming.erase(s.incoming.begin() + long(i));
}

// In which order a call of the actor stands.
int32_t lane_of(const ActorEntry* actor, const Message* m) {
  if (m->kind != MessageKind::Call) return 0;
  return m->method < actor->lanes.size() ? actor->lanes[m->method] : -1;
}

void drop_closed_channels(InboxServer& s) {
  for (size_t i = 0; i < s.incoming.size(); ++i)
    if (s.incoming[i]->receiver.closed() && !s.incoming[i]->receiver.peek()) drop_channel(s, i--);
}

// See kMostScannedChannels. A call that waits for an argument stays, with those behind it.
void take_closed(InboxServer& s) {
  if (s.incoming.size() <= kMostScannedChannels) return;
  for (size_t i = 0; i < s.incoming.size(); ++i) {
    Incoming& c = *s.incoming[i];
    if (!c.receiver.closed()) continue;
    Message* m;
    while ((m = c.receiver.peek()) && m->kind == MessageKind::Call && arguments_ready(c.argument_wait, m)) {
      const uint64_t key = m->order_key;
      s.of_closed.emplace(key, detach_call(m, c.receiver));
    }
    if (!m) drop_channel(s, i--);
  }
}

// The order of an actor's messages is decided here, and nowhere else. Where several callers may send it some, it is that of the
// program's serial run (next_in_order). Else, and where order is not asked for: each caller's messages in the order of its calls;
// of several callers' heads, the one that was sent first, but an actor's constructor before all its calls. A message whose
// arguments are not there yet then holds back its caller's later messages and nobody else's; in an actor whose calls have lanes (its
// concurrency groups, or no order at all) it leaves the channel, and holds back those of its lane.
Next next_message(InboxServer& s) {
  find_channels(s);
  if (in_order(s) && s.of_closed.empty()) {  // those were taken before its order mattered: first
    drop_closed_channels(s);
    return next_in_order(s);
  }
  const ActorEntry* actor = ctx->actors.find(s.actor);
  const bool out_of_order = actor && !actor->lanes.empty();
  if (actor && s.pending_arguments.empty()) take_closed(s);  // else a call with pending arguments may be of the same caller and come before
  Next best;
  uint64_t best_key = UINT64_MAX;
  if (!s.of_closed.empty()) {
    best.of_closed = true;
    best_key = s.of_closed.begin()->first;
  }
  if (long at = s.pending_arguments.next(best_key); at >= 0) {
    best = {};
    best.pending_arguments = at;
  }
  // A message that caused the best one was sent before it, but perhaps after its channel was looked at: look again until
  // nothing older turns up.
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < s.incoming.size(); ++i) {
      Incoming* c = s.incoming[i].get();
      bool closed = c->receiver.closed();
      Message* m = c->receiver.peek();
      if (!m) {
        if (closed) drop_channel(s, i--);
        continue;
      }
      c->early = m->kind == MessageKind::Call && !actor;
      if (c->early) continue;
      if (out_of_order && s.pending_arguments.take(c->argument_wait, c->receiver, m, lane_of(actor, m))) {
        --i;
      } else if (m->order_key < best_key && arguments_ready(c->argument_wait, m)) {
        best = {c};
        best_key = m->order_key;
        again = s.incoming.size() > 1;
      }
    }
  }
  return best;
}

// Whether anything is queued at all, arguments there or not.
bool inbox_has_work(InboxServer& s) {
  find_channels(s);
  for (auto& c : s.incoming)
    if (c->receiver.peek()) return true;
  return !s.pending_arguments.empty() || !s.parked.empty() || !s.of_closed.empty();
}

// Runs a call that has a block of its own, which stays noted until it is done.
void run_detached(const DetachedCall& k) {
  if (!run_message(ctx->heap->at<Message>(k.block), nullptr, k.note)) release_detached(k);
}

void run_next(InboxServer& s, const Next& next) {
  Inbox* in = s.in;
  s.refuse = false;
  if (next.parked) return run_detached(s.parked.take(*next.parked));
  if (next.of_closed) return run_detached(s.of_closed.extract(s.of_closed.begin()).mapped());
  if (next.pending_arguments >= 0) return run_detached(s.pending_arguments.remove(next.pending_arguments));
  Receiver& from = next.head->receiver;
  Message* m = from.peek();
  if (m->kind == MessageKind::Call && m->retries) return run_detached(detach_call(m, from));
  if (m->kind == MessageKind::Create) s.created.assign(tag_of(m));
  if (m->kind == MessageKind::Create && in->restarts && !in->creation.load(memory_order_relaxed)) {
    // It stays in the inbox with all that it holds, for the actor that may be restarted.
    Off block = ctx->local.alloc.alloc_record(m->size);
    memcpy(ctx->heap->at<Message>(block), m, m->size);
    ctx->local.alloc.publish(block, kPlain);
    in->creation.store(block, memory_order_release);
    // Read copy-on-write: the next life is to find what this one was given.
    if (m->args_object) ctx->heap->at<Object>(m->args_object)->use.store(ArgumentsUse::InCommon, memory_order_relaxed);
    from.pop(m);
    run_message(ctx->heap->at<Message>(block), nullptr);
    return;
  }
  run_message(m, &from);
}

bool serve_inbox(InboxServer& s) {
  bool any = false;
  for (int i = 0; i < 64; ++i) {
    if (!serve_one(s)) break;
    if (ctx->proc->cancels.load(memory_order_relaxed)) pass_on_cancels();
    any = true;
    if (ctx->leave_after) break;
  }
  return any;
}

void set_idle(bool idle) {
  if (ctx->proc->kind != ProcKind::Pool) return;
  // Killed between the two, the count is one too low, and a task worker more is started; one too high, and none would be.
  if (idle) ctx->proc->idle.store(1, memory_order_relaxed);
  ctx->header->pool_idle.fetch_add(idle ? 1 : -1, memory_order_seq_cst);
  if (!idle) ctx->proc->idle.store(0, memory_order_relaxed);
  // Who queues a task from here on sees that this one is not idle; those that were queued before kick_queues() sees, which follows.
  if (!idle) std::atomic_thread_fence(memory_order_seq_cst);
}

// Proc::demand says what reap() gives back when this process is killed. It is set before the resources are taken and cleared after they are given back: a kill
// between the two makes one amount too much free, and not one too little for good. The surplus ends here, when nobody holds any of the resource.
void give_back(uint32_t demand) {
  Header* hdr = ctx->header;
  give_resources(hdr, demand);
  ctx->proc->demand.store(0, memory_order_release);
  const Demand& d = hdr->demand[demand];
  for (const Part* part = hdr->part + d.first; part != hdr->part + d.first + d.n; ++part) {
    Resource& resource = hdr->resource[part->index];
    int64_t free = resource.free.load(memory_order_relaxed);
    const int64_t total = resource.total.load(memory_order_relaxed);
    if (free > total) resource.free.compare_exchange_strong(free, total, memory_order_acq_rel);
  }
  if (ctx->header->actors_waiting.load(memory_order_seq_cst)) send_control(Control::Resources, 0);
}

// Whether tasks of this demand are for workers such as this one.
bool mine(uint32_t demand) { return ctx->header->demand[demand].setting == ctx->proc->setting; }

// See supervise/retries.h.
void give_to_supervisor(Off task, uint32_t note) {
  auto* m = ctx->heap->at<Message>(task);
  m->missing = 1;
  m->flags |= kLate;
  const uint32_t serial = ctx->proc->put_offs.load(memory_order_relaxed) + 1;
  ctx->proc->put_offs.store(serial, memory_order_release);
  REACTOR_KILL_POINT();
  ctx->local.hold_list.retag(note, Entry::PutOff);
  REACTOR_KILL_POINT();
  hooks.put_off.tell(uint64_t(task), serial);
  REACTOR_KILL_POINT();
  ctx->local.hold_list.clear(note);
}

// Takes and runs one task of any queue whose demand can be met now.
bool serve_tasks() {
  Heap* h = ctx->heap;
  for (Off off = ctx->header->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    off = q->next.load(memory_order_acquire);
    uint32_t demand = q->demand;
    if (!mine(demand)) continue;
    const TaskAt next = startable(h, q, true);
    if (!next.task) continue;
    bool disturbed = false;
    ctx->proc->demand.store(demand + 1, memory_order_release);
    if (!take_resources(ctx->header, demand, &disturbed)) {
      ctx->proc->demand.store(0, memory_order_release);
      if (disturbed && ctx->header->actors_waiting.load(memory_order_seq_cst)) send_control(Control::Resources, 0);
      continue;
    }
    uint32_t note = kNoEntry;
    Off task = claim(
        ctx->slot, next, [&](Off t) { note = ctx->local.hold_list.add(t, Entry::Trying); }, [&] { ctx->local.hold_list.clear(note); });
    if (!task) {
      give_back(demand);
      continue;
    }
    ctx->local.hold_list.set(note, task, Entry::Task);
    set_idle(false);
    if (ctx->header->actors_waiting.load(memory_order_seq_cst)) send_control(Control::Resources, 0);  // one may have let it go first
    auto* m = h->at<Message>(task);
    ctx->proc->running_class.store(class_of(m), memory_order_release);  // before others look how many are under way
    ctx->proc->running_task.store(h->at<Object>(m->result)->uid << 1 | (m->retries > 0), memory_order_relaxed);
    // Claiming makes room for one more worker where tasks are left, in any queue, and resources are free.
    kick_queues();
    ctx->depth = m->nesting;
    ctx->caller = party_of(0, h->at<Object>(m->function)->uid);
    if (!end_if_orphaned(m, note)) run_message(m, nullptr, note);
    ctx->proc->running_class.store(0, memory_order_relaxed);
    ctx->proc->running_task.store(0, memory_order_relaxed);
    ctx->depth = 0;
    ctx->children.clear();
    if (std::exchange(ctx->was_put_off, false)) give_to_supervisor(task, note);
    else release_detached({task, note});
    give_back(demand);
    if (ctx->leave_after) return true;
    set_idle(true);
    if (ctx->header->settings.load(memory_order_relaxed)) kick_queues();  // it may be the turn of another kind of worker
    return true;
  }
  return false;
}

bool runnable_task() {
  if (ctx->header->recording_round.load(memory_order_relaxed) != ctx->proc->recording_round.load(memory_order_relaxed)) return true;
  if (asked_to_collect()) return true;
  Heap* h = ctx->heap;
  for (Off off = ctx->header->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    if (mine(q->demand) && may_start(h, q)) return true;
    off = q->next.load(memory_order_acquire);
  }
  return false;
}

bool inbox_ready(const InboxServer& s) {
  if (std::atomic_ref(ctx->leave_after).load())
    return ctx->deferred_open == 0 || (ctx->timed && is_timed(s) && ctx->timed->granted(s.in->timed));
  return process_asked() || may_have_work(s);
}

}  // namespace

void pass_on_cancels() {
  for (Off off = ctx->proc->cancels.exchange(0, memory_order_acq_rel); off;) {
    auto* n = ctx->heap->at<CancelNote>(off);
    hooks.cancelled.tell(n->uid, n->children != 0);
    Off next = n->next;
    ctx->local.alloc.free(off);
    off = next;
  }
}

bool serve_one(InboxServer& s) {
  Next next = next_message(s);
  if (!next) return false;
  run_next(s, next);
  ctx->children.clear();
  return true;
}

bool process_asked() {
  return ctx->header->recording_round.load(memory_order_relaxed) != ctx->proc->recording_round.load(memory_order_relaxed) ||
         asked_to_collect() || ctx->proc->cancels.load(memory_order_relaxed);
}

void answer() {
  answer_recording();
  if (!collect_if_asked()) PyErr_Clear();  // a worker's run does not end so
  if (ctx->proc->cancels.load(memory_order_relaxed)) pass_on_cancels();
}

bool is_over(InboxServer& s) {
  return s.in->state.load(memory_order_acquire) == InboxState::Ending && !inbox_has_work(s) && ctx->deferred_open == 0;
}

bool may_have_work(const InboxServer& s) {
  if (s.in->channels.load(memory_order_acquire) != s.known_channels || s.pending_arguments.ready() || order_ready(s)) return true;
  if (!s.of_closed.empty()) return true;
  bool held = ctx->deferred_open > 0 || !s.pending_arguments.empty() || !s.parked.empty();
  for (auto& c : s.incoming) {
    if (c->argument_wait.missing) {
      if (is_done(c->argument_wait.missing)) return true;
      held = true;
    } else if (c->early || c->passed_over) {
      held = true;
    } else if (c->receiver.pending() || c->receiver.closed()) {
      return true;
    }
  }
  return !held && s.in->state.load(memory_order_acquire) == InboxState::Ending;
}

// Somebody wants this process's recording: leaves it in the process entry.
static void answer_recording() {
  uint32_t round = ctx->header->recording_round.load(memory_order_acquire);
  if (round == ctx->proc->recording_round.load(memory_order_relaxed)) return;
  Owned data(recording_data());
  Owned ref(data ? put_value(data.get(), Exempt::All) : nullptr);
  if (ref) {
    auto* o = reinterpret_cast<PyRef*>(ref.get())->object;
    take_hold(o);
    if (Off old = ctx->proc->recording.exchange(ctx->heap->off(o), memory_order_acq_rel)) drop_hold(ctx->local, ctx->heap->at<Object>(old));
  }
  PyErr_Clear();
  ctx->proc->recording_round.store(round, memory_order_release);
}

void forget_channels() { inbox_server.reset(); }

InboxServer* Placement::server_of(uint32_t actor) { return inbox_server && inbox_server->actor == actor ? inbox_server.get() : nullptr; }

bool Placement::runs_in_thread() { return PyThread_get_thread_ident() == ctx->main_thread; }

void follow_script(uint32_t actor, PyObject* tags) {
  InboxServer* s = ctx->placement->server_of(actor);
  if (s && PyList_Check(tags)) add_to_script(*s, tags);
}

void was_given() {
  if (InboxServer* s = ctx->placement->server_of(ctx->receiving_actor)) actor_was_given(*s);
}

// A signal that comes while the main thread looks for work, and not in a system call, would be handled when it wakes the next time, perhaps never.
// So its handler also bumps the bell's word, and a sleep that begins after it does not begin.
static std::atomic<bool> signalled{false};
static struct sigaction handled;
static void note_signal(int number) {
  handled.sa_handler(number);
  signalled.store(true, memory_order_relaxed);
  if (ctx) ctx->proc->bell.word.fetch_add(1, memory_order_release);
}
void wake_on_signal(int number) {
  struct sigaction mine;
  if (sigaction(number, nullptr, &mine) != 0 || mine.sa_flags & SA_SIGINFO || mine.sa_handler == SIG_DFL || mine.sa_handler == SIG_IGN ||
      mine.sa_handler == note_signal)
    return;
  handled = mine;
  mine.sa_handler = note_signal;
  sigaction(number, &mine, nullptr);
}

// Serves this process's inbox, or the task queues, until the process is told to end. Returns why it should leave; -1 with a
// Python error when a signal handler raised.
int serve(double idle_seconds) {
  Inbox* in = inbox();
  if (in) {
    inbox_server = std::make_unique<InboxServer>(in);
    ctx->caller = in->actor;
  }
  set_idle(true);
  if (ctx->proc->setting) ctx->header->spawn_asked.store(0, memory_order_release);
  if (ctx->header->settings.load()) kick_queues();  // another kind of worker may have been asked for meanwhile, in vain
  ctx->serving = true;
  ctx->proc->loaded.store(1, memory_order_release);
  for (;;) {
    signalled.store(false, memory_order_relaxed);
    if (PyErr_CheckSignals() != 0) return -1;
    answer();
    if (ctx->leave_after && ctx->deferred_open == 0) {
      leave_recording();
      return int(ExitReason::Drained);
    }
    if (ctx->leave_after && in && ctx->timed && is_timed(*inbox_server))  // for the calls that it ends with
      while (const uint32_t coroutine = ctx->timed->wakes_only(in->timed)) hooks.woken.tell(coroutine);
    if (!ctx->leave_after && (in ? serve_inbox(*inbox_server) : serve_tasks())) continue;
    if (in && is_over(*inbox_server)) {
      leave_recording();
      return int(ExitReason::OutOfScope);
    }
    uint64_t deadline = in ? held_until(*inbox_server) : idle_seconds > 0 ? now_ns() + uint64_t(idle_seconds * 1e9) : UINT64_MAX;
    int e;
    Py_BEGIN_ALLOW_THREADS
    e = wait_on(ctx->heap, &ctx->proc->bell, ctx->proc, ctx->spin, deadline,
                [&] { return signalled.load(memory_order_relaxed) || (in ? inbox_ready(*inbox_server) : runnable_task()); });
    Py_END_ALLOW_THREADS
    if (in && (e == ETIMEDOUT || e == EDEADLK)) {
      look_at_hold(*inbox_server, e == EDEADLK);
    } else if (e == ETIMEDOUT) {
      set_idle(false);
      leave_recording();
      return int(ExitReason::IdlePool);
    }
  }
}

}  // namespace reactor
