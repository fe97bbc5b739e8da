#include "supervise/orphans.h"
#include "calls/calls.h"
#include "channels/tasks.h"
#include "supervise/retries.h"
#include "worker/results.h"

namespace reactor {
namespace {

Heap* heap() { return ctx->heap; }

// The submitter of a task that may be freed, and its memory used again, while this looks; 0 if there is none. Who acts on the answer looks again
// when the task is his.
uint64_t submitter_in(Off task) {
  if (task == 0 || task % alignof(Message) != 0 || task > heap()->capacity - sizeof(Message)) return 0;
  auto* m = heap()->at<Message>(task);
  const uint64_t size = std::atomic_ref(m->size).load(memory_order_relaxed);
  const uint64_t behind = align_up(uint64_t(4) * m->depth, 8) + sizeof(uint64_t);
  if (m->kind != MessageKind::Task || size % 8 != 0 || size < sizeof(Message) + behind || size > heap()->capacity - task) return 0;
  return std::atomic_ref(*reinterpret_cast<uint64_t*>(reinterpret_cast<uint8_t*>(m) + size - behind)).load(memory_order_relaxed);
}

// What the results of its tasks get if the submitter has ended, else 0.
Off reason_if_ended(uint64_t submitter) {
  for (Off off = heap()->header->ended_submitters.load(memory_order_acquire); off;) {
    auto* c = heap()->at<EndedSubmitters>(off);
    const uint32_t n = c->n.load(memory_order_acquire);
    for (uint32_t i = 0; i < n; ++i)
      if (is_of(submitter, c->ended[i].submitter)) return c->ended[i].reason;
    off = c->next;
  }
  return 0;
}

void note_ended(uint64_t ended, Object* reason) {
  atomic<Off>& list = heap()->header->ended_submitters;
  Off off = list.load(memory_order_relaxed);
  if (!off || heap()->at<EndedSubmitters>(off)->n.load(memory_order_relaxed) == EndedSubmitters::kEntries) {
    const Off more = ctx->local.alloc.alloc_record(sizeof(EndedSubmitters));
    auto* c = heap()->at<EndedSubmitters>(more);
    c->next = off;
    c->n.store(0, memory_order_relaxed);
    list.store(off = more, memory_order_release);
  }
  auto* c = heap()->at<EndedSubmitters>(off);
  const uint32_t n = c->n.load(memory_order_relaxed);
  take_hold(reason);
  c->ended[n] = {ended, heap()->off(reason)};
  c->n.store(n + 1, memory_order_release);
}

// Completes the results of a task that nobody runs. If it was cancelled, it ends as that.
void end_results(Message* m, Off reason) {
  State pending = State::Pending;
  auto* first = heap()->at<Object>(m->result);
  const bool cancelled =
      !first->state.compare_exchange_strong(pending, State::Running, memory_order_acq_rel) && pending == State::Cancelled;
  for (uint32_t i = 0; i < m->results; ++i) {
    auto* o = heap()->at<Object>(m->result_at(i));
    if (is_done(o)) continue;
    if (cancelled) complete(ctx->local, o, State::Cancelled);
    else complete_died(ctx->local, o, reason);
  }
}

// One that nobody else has.
void fail_task(Off task, Off reason) {
  auto* m = heap()->at<Message>(task);
  end_results(m, reason);
  for (uint32_t i = 0; i < m->results; ++i) drop_hold(ctx->local, heap()->at<Object>(m->result_at(i)));
  release_message(ctx->local, m);
  ctx->local.alloc.free(task);
}

// The task has been claimed.
void is_late_no_more(Message* m) {
  if (m->flags & kLate) heap()->header->late_tasks.fetch_sub(1, memory_order_seq_cst);
}

// Nobody looks at the list but for a task that is counted.
void forget_ended() {
  for (Off off = heap()->header->ended_submitters.exchange(0, memory_order_acq_rel); off;) {
    auto* c = heap()->at<EndedSubmitters>(off);
    const Off next = c->next;
    for (uint32_t i = 0; i < c->n.load(memory_order_relaxed); ++i) drop_hold(ctx->local, heap()->at<Object>(c->ended[i].reason));
    ctx->local.alloc.free(off);
    off = next;
  }
}

void claim_all(TaskQueue* q, uint64_t ended, Off reason) {
  for (Off ring = q->current.load(memory_order_acquire); ring;) {
    auto* r = heap()->at<TaskRing>(ring);
    ring = r->next.load(memory_order_acquire);  // before the tail: with the next ring seen, this one's tail is final
    const uint64_t tail = r->tail.load(memory_order_acquire);
    for (uint64_t at = r->head.load(memory_order_acquire); at < tail; ++at) {
      const Off task = r->at(at).load(memory_order_acquire);
      if (task & 1 || !is_of(submitter_in(task), ended)) continue;
      if (!claim(ctx->slot, {r, at, task}, [](Off) {}, [] {})) continue;
      if (!is_of(submitter_in(task), ended)) {  // the slot was taken and filled again meanwhile
        queue_task(task);
        continue;
      }
      is_late_no_more(heap()->at<Message>(task));
      fail_task(task, reason);
    }
  }
}

}  // namespace

bool end_if_orphaned(Message* m, uint32_t note) {
  if (!(m->flags & kLate)) return false;
  std::atomic_thread_fence(memory_order_seq_cst);
  const Off reason = reason_if_ended(*m->submitter());
  if (!reason) {
    is_late_no_more(m);
    return false;
  }
  end_results(m, reason);
  is_late_no_more(m);
  ctx->local.hold_list.retag(note, Entry::Finished);  // as finish_results() does
  for (uint32_t i = 0; i < m->results; ++i) drop_hold(ctx->local, heap()->at<Object>(m->result_at(i)));
  return true;
}

void run_again(Off task) {
  auto* m = heap()->at<Message>(task);
  if (const Off reason = reason_if_ended(*m->submitter())) return fail_task(task, reason);
  m->flags |= kLate;
  heap()->header->late_tasks.fetch_add(1, memory_order_seq_cst);
  task_ready(ctx->local, task);
}

void submitter_ended(uint64_t ended, Object* reason, bool put_off) {
  if (!put_off && heap()->header->late_tasks.load(memory_order_seq_cst) == 0) forget_ended();
  note_ended(ended, reason);
  std::atomic_thread_fence(memory_order_seq_cst);
  for (Off off = heap()->header->queues.load(memory_order_acquire); off;) {
    auto* q = heap()->at<TaskQueue>(off);
    off = q->next.load(memory_order_acquire);
    claim_all(q, ended, heap()->off(reason));
  }
}

Runs runs_task_of(uint32_t slot, uint64_t ended) {
  Runs found = Runs::No;
  for (Off off = heap()->procs[slot].hold_list.load(memory_order_acquire); off; off = heap()->at<HoldChunk>(off)->next)
    for (auto& e : heap()->at<HoldChunk>(off)->entry) {
      const uint64_t v = e.load(memory_order_acquire);
      const auto tag = Entry(v & uint64_t(Entry::Mask));
      if (tag != Entry::Task && tag != Entry::Trying) continue;
      if (!is_of(submitter_in(Off(v & ~uint64_t(Entry::Mask))), ended)) continue;
      if (tag == Entry::Task) return Runs::Runs;
      found = Runs::Claims;
    }
  return found;
}

std::vector<uint32_t> runners_of(uint64_t ended) {
  std::vector<uint32_t> slots;
  const uint32_t high = heap()->header->pool_high.load(memory_order_acquire);
  for (uint32_t i = 0; i < high; ++i)
    if (const uint32_t p = heap()->header->pool[i].load(memory_order_acquire); p && runs_task_of(p - 1, ended) != Runs::No)
      slots.push_back(p - 1);
  return slots;
}

}  // namespace reactor
