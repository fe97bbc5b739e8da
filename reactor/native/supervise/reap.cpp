// Settles all that a dead process leaves in the shared heap.
#include "inbox/pending_arguments.h"
#include "record/recordings.h"
#include "supervise/restarts.h"
#include "supervise/retries.h"
#include "store/spill.h"
#include "calls/stream.h"
#include "worker/results.h"

namespace reactor {

std::vector<uint32_t> retried;
std::vector<Off> put_off;
uint32_t put_off_serial = 0;

namespace {

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
void retry_or_fail(Off task, Off reason, Retry retry, uint64_t cancelled, std::unordered_set<Off>& failed, std::unordered_set<Off>& freed) {
  auto* m = ctx->heap->at<Message>(task);
  bool cancel = cancelled == ctx->heap->at<Object>(m->result)->uid;
  bool again = m->retries > 0 && retry != Retry::Never && !cancel;
  std::vector<Off> settled;
  if (m->flags & kStreaming) find_pending_link(m, settled);
  for (Off off : settled) {
    finish_walk(ctx->heap->at<Object>(off));
    failed.insert(off);
    drop_hold(ctx->local, ctx->heap->at<Object>(off));
  }
  if ((m->flags & kStreaming) && !cancel) complete_if_ended(m, freed);
  const bool shown = !(m->flags & kStreaming) && any_done(m);
  for (uint32_t i = 0; i < m->results; ++i) {
    Off off = m->result_at(i);
    auto* o = ctx->heap->at<Object>(off);
    settle_stored(o, shown, freed);
    again = again && !is_done(o);
    failed.insert(off);
  }
  if (again) {
    if (retry == Retry::Counted) retried.push_back(take_retry(m));
    put_off.push_back(task);
    for (uint32_t i = 0; i < m->results; ++i) {
      auto* o = ctx->heap->at<Object>(m->result_at(i));
      o->runner.store(kNoProc, memory_order_relaxed);
      o->state.store(State::Pending, memory_order_release);
    }
    m->missing = 1;
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

// Tasks whose demand nobody gets any more fail when a message asks for that; who queued one of them may have died before it could send it.
void refuse_retired() {
  Heap* h = ctx->heap;
  for (Off off = h->header->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    off = q->next.load(memory_order_acquire);
    if (h->header->demand[q->demand].retired.load(memory_order_acquire) && has_task(h, q)) send_control(Control::Refuse, q->demand);
  }
}

Entry tag_of(uint64_t noted) { return Entry(noted & uint64_t(Entry::Mask)); }
Off off_of(uint64_t noted) { return Off(noted & ~uint64_t(Entry::Mask)); }

// The steps of reap(), in their order.
class DeadProcess {
 public:
  DeadProcess(uint32_t slot, Object* reason, Retry retry)
      : slot_(slot), p_(h_->procs[slot]), reason_(reason), retry_(retry), why_(reason ? h_->off(reason) : 0) {}
  void leave_counts();
  void read_hold_list();
  bool settle_actor(Object* unavailable);
  void settle_actors(const std::vector<DeadActor>& packed_actor);
  void settle_tasks();
  void take_put_off(uint32_t taken);
  void settle_entries();
  void free_waits();
  void free_blocks();
  void finish_fallen() { reactor::finish_fallen(ctx->local, p_, fallen_); }
  void drop_notes();
  void return_resources();
  void take_back_words();
  void leave_lists();
  void free_entry();

 private:
  std::vector<Off> calls_of(Inbox* in, bool only_its);
  void bury_actor(Inbox* in, Object* reason, DeadCalls& calls);
  void settle_result(Off off, bool shown);

  Heap* const h_ = ctx->heap;
  Header* const header_ = h_->header;
  const uint32_t slot_;
  Proc& p_;
  Object* const reason_;
  const Retry retry_;
  const Off fallen_ = note_fallen(h_, p_);     // by it, and perhaps noted still
  Off why_;                                    // what those get who waited for it
  std::vector<uint64_t> entries_;              // of its hold list
  std::vector<Off> chunks_;                    // the hold list's memory
  std::unordered_set<Off> failed_;             // results that are settled, and their message's hold given back
  std::unordered_set<Off> freed_;              // blocks of values
  std::unordered_set<Off> held_;               // those that an object which the dead process held has by now
  std::unordered_map<uint32_t, Off> reasons_;  // of the actors of a packed worker, by their places
};

void DeadProcess::leave_counts() {
  p_.state.store(ProcState::Dead, memory_order_seq_cst);
  if (p_.awake.exchange(0)) header_->awake.fetch_sub(1);
  forget(header_, &p_, slot_);
  if (p_.idle.exchange(0)) header_->pool_idle.fetch_sub(1);
  if (p_.held.exchange(0)) header_->held.fetch_sub(1);
  if (p_.kind != ProcKind::Pool) return;
  for (auto& entry : header_->pool) {
    uint32_t mine = slot_ + 1;
    entry.compare_exchange_strong(mine, 0);
  }
}

void DeadProcess::read_hold_list() {
  for (Off off = p_.hold_list.load(memory_order_acquire); off;) {
    auto* c = h_->at<HoldChunk>(off);
    for (auto& e : c->entry)
      if (uint64_t v = e.load(memory_order_acquire)) entries_.push_back(v);
    chunks_.push_back(off);
    off = c->next;
  }
}

// The calls that it had copied out of the actor's channels; `only_its`: the process had other actors, too.
std::vector<Off> DeadProcess::calls_of(Inbox* in, bool only_its) {
  std::vector<Off> calls;
  for (uint64_t v : entries_)
    if (tag_of(v) == Entry::Call && (!only_its || h_->at<Message>(off_of(v))->actor == in->actor)) calls.push_back(off_of(v));
  return calls;
}

// The actor is dead, for `reason` if none was said before: fails its calls.
void DeadProcess::bury_actor(Inbox* in, Object* reason, DeadCalls& calls) {
  if (in->reason.load() == 0 && reason) {
    take_hold(reason);
    in->reason.store(h_->off(reason), memory_order_release);
  }
  in->state.store(InboxState::Dead, memory_order_seq_cst);
  std::atomic_thread_fence(memory_order_seq_cst);
  calls.settle(false, in->reason.load(), false, failed_, freed_);
  drain_inbox(in, &failed_);
  forget_creation(in);
}

// The actor that had the process to itself. Whether it is to be restarted.
bool DeadProcess::settle_actor(Object* unavailable) {
  Off off = p_.inbox.load();
  if (!off) return false;
  auto* in = h_->at<Inbox>(off);
  DeadCalls calls(in, calls_of(in, false), failed_);
  const bool unborn = !p_.constructed.load(memory_order_acquire);
  if (unavailable && (in->state.load(memory_order_acquire) == InboxState::Open || calls.any_left(unborn))) {
    why_ = h_->off(unavailable);
    calls.settle(true, why_, unborn, failed_, freed_);
    return true;
  }
  bury_actor(in, reason_, calls);
  why_ = in->reason.load();
  return false;
}

void DeadProcess::settle_actors(const std::vector<DeadActor>& packed_actor) {
  for (const DeadActor& d : packed_actor) {
    Inbox* in = inbox_of(d.actor);
    DeadCalls calls(in, calls_of(in, true), failed_);
    bury_actor(in, d.reason, calls);
    reasons_[d.place] = in->reason.load();
  }
}

void DeadProcess::settle_tasks() {
  for (uint64_t v : entries_) {
    const bool tried = tag_of(v) == Entry::Trying && queue_holds(h_, claimed(slot_, off_of(v))) && !queue_holds(h_, off_of(v));
    if (tag_of(v) != Entry::Task && !tried) continue;
    auto* m = h_->at<Message>(off_of(v));
    if (m->kind != MessageKind::Task) continue;
    auto* o = h_->at<Object>(m->result);
    if (tried && o->runner.load() != kNoProc) continue;  // an old claim of the same memory
    retry_or_fail(off_of(v), why_, retry_, p_.cancel.load(), failed_, freed_);
  }
  for (uint64_t v : entries_)
    if (tag_of(v) == Entry::Finished) release_detached({off_of(v), kNoEntry});
}

void DeadProcess::take_put_off(uint32_t taken) {
  for (uint64_t v : entries_) {
    if (tag_of(v) != Entry::PutOff || p_.put_offs.load() == taken) continue;
    put_off.push_back(off_of(v));
    put_off_serial = p_.put_offs.load();
  }
}

void DeadProcess::settle_result(Off off, bool shown) {
  if (failed_.count(off)) return;
  auto* o = h_->at<Object>(off);
  settle_stored(o, shown, freed_);
  if (!is_done(o)) {
    if (o->cancellation.load() == Cancellation::Running) complete(ctx->local, o, State::Cancelled);
    else if (auto it = reasons_.find(place_of_runner(o->runner.load())); it != reasons_.end()) complete_died(ctx->local, o, it->second);
    else complete_died(ctx->local, o, why_);
  }
  drop_hold(ctx->local, o);
}

// The results that it was to give, and what it held.
void DeadProcess::settle_entries() {
  // The block of a value that was just being stored goes with the object if that has it already.
  for (uint64_t v : entries_)
    if (tag_of(v) == Entry::Hold || tag_of(v) == Entry::SmallView || tag_of(v) == Entry::Code)
      if (Off block = h_->at<Object>(off_of(v))->block) held_.insert(block);
  // The results of a call are shown one after the other while all are noted. (One that another call had stored is shown as well: it has run.)
  bool shown = false;
  for (uint64_t v : entries_)
    if (tag_of(v) == Entry::Run && !failed_.count(off_of(v)) && kind_of(h_->at<Object>(off_of(v))) != kStreamLink)
      shown |= is_done(h_->at<Object>(off_of(v)));
  for (uint64_t v : entries_) {
    Off off = off_of(v);
    switch (tag_of(v)) {
      case Entry::Run: settle_result(off, shown); break;
      case Entry::Hold:
      case Entry::SmallView: drop_hold(ctx->local, h_->at<Object>(off)); break;
      case Entry::Code: drop_code(ctx->local, h_->at<Object>(off)); break;
      case Entry::View:
        unpin(residence_of(h_, h_->at<Object>(off)));
        drop_hold(ctx->local, h_->at<Object>(off));
        break;
      case Entry::Weak: drop_weak(ctx->local, h_->at<Object>(off)); break;
      case Entry::Channel: h_->at<Channel>(off)->closed.store(ProducerState::Closed, memory_order_release); break;
      default: break;  // blocks come after the results, whose own they may be
    }
  }
}

// Frees the wait nodes of the dead process. A completer that has claimed a node may be counting in the node's group, or ringing its bell, just now.
// Such a node stays, and with it its page. (While this is possible, the node is in the hold list: GroupWait::take_back.)
void DeadProcess::free_waits() {
  std::unordered_set<Off> in_use;
  for (uint64_t v : entries_) {
    if (tag_of(v) != Entry::Node) continue;
    auto* n = h_->at<WaitNode>(off_of(v));
    const bool claimed = !n->armed.exchange(0, memory_order_acq_rel) && n->target;
    if (claimed && n->kind == NodeKind::Group && n->life.load(memory_order_acquire) == Life::Linked) {
      in_use.insert(n->target);
      in_use.insert(h_->at<WaitGroup>(n->target)->bell);
    }
    n->note = kNoEntry;
    let_go(ctx->local, n);
  }
  for (uint64_t v : entries_)
    if (tag_of(v) == Entry::Group && !in_use.count(off_of(v))) ctx->local.alloc.free(off_of(v));
}

void DeadProcess::free_blocks() {
  for (uint64_t v : entries_) {
    if (tag_of(v) != Entry::Block || held_.count(off_of(v)) || !freed_.insert(off_of(v)).second) continue;
    uint32_t state = h_->page_state[h_->page_of(off_of(v))].load();
    if (state == kSlab || state == kRun) ctx->local.alloc.free(off_of(v));  // else it was being filled: reap_memory
  }
  for (Off off : chunks_) ctx->local.alloc.free(off);
}

// Frees the notes that other processes had sent to the dead one.
void DeadProcess::drop_notes() {
  for (Off off = p_.cancels.exchange(0); off;) {
    Off next = h_->at<CancelNote>(off)->next;
    ctx->local.alloc.free(off);
    off = next;
  }
  for (Off off = p_.host_notes.exchange(0); off;) {
    Off next = h_->at<HostNote>(off)->next;
    if (Off facts = h_->at<HostNote>(off)->facts) drop_hold(ctx->local, h_->at<Object>(facts));
    ctx->local.alloc.free(off);
    off = next;
  }
}

void DeadProcess::return_resources() {
  uint32_t demand = p_.demand.exchange(0);
  if (!demand) return;
  if (p_.lent.exchange(0)) {
    take_cpus_anyway(header_, demand - 1);  // they are back already
    header_->lenders.fetch_sub(1);
  }
  give_resources(header_, demand - 1);
}

// Words of the header that name it: what it was about to do is not done. For task workers, see kick_pool().
void DeadProcess::take_back_words() {
  for (auto* word : {&header_->spawn_asked, &header_->ended_busy}) {
    uint32_t mine = slot_ + 1;
    word->compare_exchange_strong(mine, 0, memory_order_acq_rel);
  }
}

// Its queues and boards go to whoever takes them next.
void DeadProcess::leave_lists() {
  for (Off off = header_->queues.load(memory_order_acquire); off;) {
    auto* q = h_->at<TaskQueue>(off);
    if (q->producer == slot_) std::atomic_ref(q->producer).store(kNoProc, memory_order_release);
    off = q->next.load(memory_order_acquire);
  }
  for (Off off = header_->boards.load(memory_order_acquire); off;) {
    auto* b = h_->at<Board>(off);
    uint32_t mine = slot_;
    b->producer.compare_exchange_strong(mine, kNoProc, memory_order_acq_rel);  // it shows its open calls until the next one takes it
    off = b->next.load(memory_order_acquire);
  }
}

void DeadProcess::free_entry() {
  auto counters = p_.counters();
  for (int i = 0; i < kCounters; ++i) header_->past[i].fetch_add(counters[size_t(i)]->load());
  if (Off recording = p_.recording.exchange(0)) drop_hold(ctx->local, h_->at<Object>(recording));
  reap_memory(h_, slot_);
  move_ended();
  free_proc(p_);
}

}  // namespace

bool reap(uint32_t slot, Object* reason, Object* unavailable, const std::vector<DeadActor>& packed_actor, Retry retry, uint32_t taken) {
  retried.clear();
  put_off.clear();
  put_off_serial = 0;
  DeadProcess dead(slot, reason, retry);
  dead.leave_counts();
  finish_walk_of_dead(ctx->local, slot, queue_task);
  dead.read_hold_list();
  const bool restarts = dead.settle_actor(unavailable);
  dead.settle_actors(packed_actor);
  dead.settle_tasks();
  dead.take_put_off(taken);
  dead.settle_entries();
  dead.free_waits();
  dead.free_blocks();
  dead.finish_fallen();
  dead.drop_notes();
  dead.return_resources();
  dead.take_back_words();
  dead.leave_lists();
  dead.free_entry();
  refuse_retired();
  kick_queues();
  Header* header = ctx->heap->header;
  for (uint32_t i = 0; i < header->proc_high.load(); ++i)
    if (ctx->heap->procs[i].state.load() == ProcState::Live) wake(&ctx->heap->procs[i].bell);  // see bell.h
  return restarts;
}

}  // namespace reactor
