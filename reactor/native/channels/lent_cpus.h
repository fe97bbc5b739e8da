// The limit of tasks of one class that run at once while CPUs are lent out.
//
// A task that waits in get lends its CPUs, and what starts on them may wait and lend in its turn: a thousand tasks that wait for
// the same thing would be a thousand processes. So while anything is lent, of one class (function, depth of nesting, demand)
// only as many are under way as there are CPUs for. Since what they wait for may be just one more of them, one more is let in
// after 50 ms, the next after 100, 200, up to ten seconds. When one that was let in ends, another takes its place at once: this
// makes no process more. Tasks of another function or one level deeper, as those of a recursion are, start at once, also where they lie
// behind such a task in its queue.
//
// Whoever lets one more in moves TaskQueue::held_until with a compare-and-swap, so that it is one. The look at a queued
// task may meet memory that was freed meanwhile: the answer is then that for another class, one look late.
#pragma once
#include "channels/tasks.h"

namespace reactor {

constexpr uint64_t kFirstHoldNs = 50000000, kLongestHoldNs = 10000000000;

inline uint64_t class_of(const Message* m) { return (m->function ^ uint64_t(m->nesting) << 48 ^ m->demand * 0x9e3779b97f4a7c15ull) | 1; }

// The number of tasks of the class that run beyond the CPUs; negative: one more may start.
inline int64_t above_cap(Heap* h, uint32_t demand, uint64_t of) {
  Header* hdr = h->header;
  const Demand& d = hdr->demand[demand];
  const Part* parts = hdr->part + d.first;
  int64_t cap = INT64_MAX;
  for (int i = 0; i < d.n; ++i)
    if (hdr->resource[parts[i].index].lent.load(memory_order_relaxed) && parts[i].amount > 0)
      cap = std::min(cap, std::max<int64_t>(1, hdr->resource[parts[i].index].total.load(memory_order_relaxed) / parts[i].amount));
  if (cap == INT64_MAX) return -1;
  int64_t above = -cap;
  uint32_t high = hdr->pool_high.load(memory_order_acquire);
  for (uint32_t i = 0; i < high; ++i) {
    uint32_t p = hdr->pool[i].load(memory_order_relaxed);
    if (p && h->procs[p - 1].running_class.load(memory_order_relaxed) == of) ++above;
  }
  return above;
}

inline uint64_t hold_ns(int64_t above) { return above < 8 ? kFirstHoldNs << above : kLongestHoldNs; }

// Whether the oldest task of the queue, which is of this class, has to wait though its CPUs are free. `take`: if it has not, the caller starts it.
inline bool held(Heap* h, TaskQueue* q, uint64_t of, bool take) {
  const int64_t above = above_cap(h, q->demand, of);
  const bool other = q->held_class.exchange(of, memory_order_relaxed) != of;
  if (other || above < 0) q->let_in.store(0, memory_order_relaxed);
  if (above < 0) return false;
  const uint64_t now = now_ns(), latest = now + hold_ns(above);
  const int64_t let_in = q->let_in.load(memory_order_relaxed);
  if (above < let_in) {  // it takes the place of one that has ended: they get on, and no further one need be let in soon
    if (take) q->held_until.store(now + hold_ns(let_in), memory_order_release);
    return false;
  }
  uint64_t until = q->held_until.load(memory_order_acquire);
  // It is another class's; or that of a task that waited long ago, or beside more tasks than are under way now.
  if (other || now > until + kLongestHoldNs || until > latest) {
    q->held_until.compare_exchange_strong(until, latest, memory_order_acq_rel);
    return true;
  }
  if (now < until) return true;
  if (!take) return false;
  if (!q->held_until.compare_exchange_strong(until, now + hold_ns(above + 1), memory_order_acq_rel)) return true;
  q->let_in.store(uint32_t(above + 1), memory_order_relaxed);
  return false;
}

// TaskRing::looked: a position, and above it a short form of the class of all unclaimed tasks from the head up to there.
constexpr int kLookedBits = 44;
inline uint64_t looked_up_to(uint64_t at, uint64_t of) { return at | (of * 0x9e3779b97f4a7c15ull) >> kLookedBits << kLookedBits; }
constexpr uint64_t kFurther = 512;  // tasks of classes that may not start either, at which one look goes on

// The first task behind the oldest one, which is held, that need not wait: fewer of its class are under way than there are CPUs for.
inline TaskAt behind(Heap* h, TaskQueue* q, const TaskAt& first, uint64_t of) {
  TaskRing* r = first.ring;
  const uint64_t tail = r->tail.load(memory_order_acquire), before = r->looked.load(memory_order_relaxed);
  const uint64_t up_to = before & ((uint64_t(1) << kLookedBits) - 1);
  uint64_t at = before == looked_up_to(up_to, of) ? std::max(first.at + 1, up_to) : first.at + 1;
  uint64_t others = 0, at_cap = 0;
  for (; at < tail && others < kFurther; ++at) {
    const Off task = r->at(at).load(memory_order_acquire);
    const uint64_t its = task & 1 ? of : class_of(h->at<Message>(task));
    if (its == of) {
      if (!others) r->looked.store(looked_up_to(at + 1, of), memory_order_relaxed);
      continue;
    }
    if (its != at_cap && above_cap(h, q->demand, its) < 0) return {r, at, task};
    at_cap = its;
    ++others;
  }
  return {};
}

// The task of the queue that may start now, or none. `take`: the caller starts it.
inline TaskAt startable(Heap* h, TaskQueue* q, bool take = false) {
  const TaskAt first = oldest(h, q);
  if (!first.task || !can_take(h->header, q->demand)) return {};
  if (h->header->lenders.load(memory_order_relaxed) <= 0) return first;
  const uint64_t of = class_of(h->at<Message>(first.task));
  return held(h, q, of, take) ? behind(h, q, first, of) : first;
}

inline bool may_start(Heap* h, TaskQueue* q) { return startable(h, q).task != 0; }

}  // namespace reactor
