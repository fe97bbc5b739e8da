// Task queues: one producer, many consumers (the task workers), one queue per (process, resource demand).
//
//   TaskQueue ── current ──> TaskRing ── next ──> TaskRing
//
// The producer stores a task's offset at tail and publishes tail [release]. A consumer reads the slot at head and
// claims it: CAS slot from offset to claimed(p, offset) [seq_cst], then moves head on with a CAS (anyone may help: an
// odd slot below tail was claimed). The claim is on the slot, not on the task, so a consumer that was overtaken never
// touches a task that another one has run and freed; if the slot was reused meanwhile it claims the task that lies there now.
// Full ring: the producer links a larger one, of twice the size from the second on; old rings live as long as the heap (in sum no more than the
// last), because a slow consumer may still look at one.
// A consumer may also claim a task behind the oldest one, where that may not start yet (lent_cpus.h): heads pass over claimed slots.
// Before its CAS a consumer notes the task in its hold list (Trying), after it the note becomes Task. If it is killed
// between the two, the claimed slot tells the supervisor that the task was its.
#pragma once
#include <algorithm>
#include "objects/falling.h"

namespace reactor {

struct TaskRing {
  alignas(64) atomic<uint64_t> tail;
  atomic<Off> next;
  uint64_t capacity;  // a power of two
  alignas(64) atomic<uint64_t> head;
  atomic<uint64_t> looked;  // up to which all tasks are of one class, and that one (lent_cpus.h)
  alignas(64) atomic<Off> slot[];

  // The slot at a head or tail.
  atomic<Off>& at(uint64_t i) { return slot[i & (capacity - 1)]; }
};

struct alignas(64) TaskQueue {
  atomic<Off> next;  // in Header::queues, never removed while the run lasts
  uint32_t producer;
  uint32_t demand;
  atomic<Off> current;  // ring the consumers look at first
  Off write;  // producer's ring
  // of tasks that may not start yet, see lent_cpus.h
  atomic<uint64_t> held_class;
  atomic<uint64_t> held_until;
  atomic<uint32_t> let_in;
};

constexpr uint64_t kFirstRing = 8, kSecondRing = 512;  // slots: a program with many demands has few tasks of each

inline uint64_t claimed(uint32_t proc, Off task) { return uint64_t(proc) << 48 | task | 1; }

inline Off new_ring(Local& l, uint64_t capacity) {
  uint64_t bytes = sizeof(TaskRing) + capacity * sizeof(Off);
  Off off = l.alloc.alloc(bytes);
  if (!off) throw NoRoom();
  l.alloc.publish(off, kPlain);
  auto* r = l.heap->at<TaskRing>(off);
  r->tail.store(0, memory_order_relaxed);
  r->head.store(0, memory_order_relaxed);
  r->looked.store(0, memory_order_relaxed);
  r->next.store(0, memory_order_relaxed);
  r->capacity = capacity;
  for (uint64_t i = 0; i < capacity; ++i) r->slot[i].store(0, memory_order_relaxed);
  return off;
}

inline TaskQueue* new_queue(Local& l, uint32_t demand) {
  Off off = l.alloc.alloc(sizeof(TaskQueue));
  if (!off) throw NoRoom();
  auto* q = l.heap->at<TaskQueue>(off);
  q->producer = l.slot;
  q->demand = demand;
  q->held_class.store(0, memory_order_relaxed);
  q->held_until.store(0, memory_order_relaxed);
  q->let_in.store(0, memory_order_relaxed);
  q->write = new_ring(l, kFirstRing);
  q->current.store(q->write, memory_order_relaxed);
  atomic<Off>& list = l.heap->header->queues;
  Off head = list.load(memory_order_relaxed);
  do q->next.store(head, memory_order_relaxed);
  while (!list.compare_exchange_weak(head, off, memory_order_release, memory_order_relaxed));
  return q;
}

inline void enqueue(Local& l, TaskQueue* q, Off task) {
  auto* r = l.heap->at<TaskRing>(q->write);
  while (Off next = r->next.load(memory_order_relaxed)) {  // its former producer was killed between linking and this
    q->write = next;
    r = l.heap->at<TaskRing>(next);
  }
  uint64_t tail = r->tail.load(memory_order_relaxed);
  l.proc->walk.tail.store(tail, memory_order_relaxed);
  REACTOR_KILL_POINT();
  l.proc->walk.ring.store(l.heap->off(r), memory_order_release);
  REACTOR_KILL_POINT();
  if (tail - r->head.load(memory_order_acquire) == r->capacity) {
    Off next = new_ring(l, std::max(kSecondRing, r->capacity * 2));
    auto* n = l.heap->at<TaskRing>(next);
    n->slot[0].store(task, memory_order_relaxed);
    n->tail.store(1, memory_order_relaxed);
    REACTOR_KILL_POINT();
    r->next.store(next, memory_order_release);
    REACTOR_KILL_POINT();
    q->write = next;
    return;
  }
  r->at(tail).store(task, memory_order_release);
  REACTOR_KILL_POINT();
  r->tail.store(tail + 1, memory_order_release);
}

// Whether a killed process had added the task that it counted down (countdown.h): its queue has no other producer.
inline bool has_queued(Heap* h, const Proc& dead) {
  Off ring = dead.walk.ring.load(memory_order_acquire);
  if (!ring) return false;
  auto* r = h->at<TaskRing>(ring);
  return r->tail.load(memory_order_acquire) > dead.walk.tail.load(memory_order_relaxed) || r->next.load(memory_order_acquire);
}

// For the supervisor: tells the waiters that a killed process was telling when it died. `queue(task)` queues a task that lacks no argument.
template <class Queue> void finish_walk_of_dead(Local& l, uint32_t slot, Queue queue) {
  Proc& dead = l.heap->procs[slot];
  Off walking = dead.walk.object.load(memory_order_acquire);
  if (!walking) return;
  auto* o = l.heap->at<Object>(walking);
  const uint64_t word = o->wait.load(memory_order_acquire);
  if (Off at = word & ~uint64_t(1)) {
    auto* n = l.heap->at<WaitNode>(at);
    if (n->kind == NodeKind::Task && n->armed.load(memory_order_acquire) == 0 && !has_queued(l.heap, dead)) {
      const Counted counted = what_was_counted(l.heap, dead, slot, n->target);
      if (counted == Counted::No) l.task_ready(l, n->target);
      if (counted == Counted::AsTheLast) queue(n->target);
    }
  }
  end_count(&dead);
  dead.walk.object.store(0, memory_order_relaxed);
  walk_waiters(l, o, word);
}

inline TaskRing* live_ring(Heap* h, TaskQueue* q) {
  for (;;) {
    Off current = q->current.load(memory_order_acquire);
    auto* r = h->at<TaskRing>(current);
    Off next = r->next.load(memory_order_acquire);
    if (!next || r->head.load(memory_order_acquire) != r->tail.load(memory_order_acquire)) return r;
    q->current.compare_exchange_strong(current, next, memory_order_acq_rel);
  }
}

// A task in a queue, and where it lies. `task` 0: there is none.
struct TaskAt {
  TaskRing* ring = nullptr;
  uint64_t at = 0;
  Off task = 0;
};

// The oldest task that nobody has claimed.
inline TaskAt oldest(Heap* h, TaskQueue* q) {
  for (;;) {
    TaskRing* r = live_ring(h, q);
    uint64_t head = r->head.load(memory_order_acquire);
    if (head >= r->tail.load(memory_order_acquire)) return {};
    const Off task = r->at(head).load(memory_order_acquire);
    if ((task & 1) == 0) return {r, head, task};
    // Claimed by another: help the head on. The head may have moved since it was read; then the CAS fails, rightly.
    r->head.compare_exchange_strong(head, head + 1, memory_order_acq_rel);
  }
}

inline bool has_task(Heap* h, TaskQueue* q) { return oldest(h, q).task != 0; }

// Takes a task that was found, or, if another was quicker, returns 0. `note` is called before the claim, `strike` if that fails.
template <class Note, class Strike>
Off claim(uint32_t me, const TaskAt& found, Note note, Strike strike) {
  Off task = found.task;
  note(task);
  if (!found.ring->at(found.at).compare_exchange_strong(task, claimed(me, task), memory_order_seq_cst)) {
    strike();
    return 0;
  }
  uint64_t head = found.at;
  found.ring->head.compare_exchange_strong(head, head + 1, memory_order_acq_rel);
  return task;
}

// Takes the oldest task, or returns 0.
template <class Note, class Strike>
Off claim_task(Heap* h, uint32_t me, TaskQueue* q, Note note, Strike strike) {
  for (;;) {
    const TaskAt found = oldest(h, q);
    if (!found.task) return 0;
    if (Off task = claim(me, found, note, strike)) return task;
  }
}

// Resources. Taken by compare-and-swap, one after the other, with give-back on failure: no lock.
//
// Who makes some free looks at Header::actors_waiting then. The supervisor counts the actors that wait there, and looks for free resources then. So that one of the
// two sees the other, all these are [seq_cst], and a fence stands between the supervisor's two. The same where a task that was to start before an
// actor is claimed.
inline void give_resources(Header* hdr, uint32_t demand) {
  const Demand& d = hdr->demand[demand];
  const Part* parts = hdr->part + d.first;
  for (int i = 0; i < d.n; ++i) hdr->resource[parts[i].index].free.fetch_add(parts[i].amount, memory_order_seq_cst);
}
// The part of a demand that a waiting task lends out and takes back, whatever is free: CPUs, by whatever name.
inline void give_cpus(Header* hdr, uint32_t demand, int sign = 1) {
  const Demand& d = hdr->demand[demand];
  const Part* parts = hdr->part + d.first;
  for (int i = 0; i < d.n; ++i)
    if (hdr->resource[parts[i].index].lent.load(memory_order_relaxed))
      hdr->resource[parts[i].index].free.fetch_add(sign * parts[i].amount, memory_order_seq_cst);
}
inline void take_cpus_anyway(Header* hdr, uint32_t demand) { give_cpus(hdr, demand, -1); }
inline bool can_take(Header* hdr, uint32_t demand) {
  const Demand& d = hdr->demand[demand];
  const Part* parts = hdr->part + d.first;
  if (d.retired.load(memory_order_acquire)) return false;
  for (int i = 0; i < d.n; ++i)
    if (hdr->resource[parts[i].index].free.load(memory_order_acquire) < parts[i].amount) return false;
  return true;
}
// Failing on a later kind gives back the earlier ones, which others may have missed meanwhile: `disturbed` is then set,
// and the caller has to call them again.
inline bool take_resources(Header* hdr, uint32_t demand, bool* disturbed = nullptr) {
  if (!can_take(hdr, demand)) return false;
  const Demand& d = hdr->demand[demand];
  const Part* parts = hdr->part + d.first;
  for (int i = 0; i < d.n; ++i) {
    atomic<int64_t>& free = hdr->resource[parts[i].index].free;
    int64_t have = free.load(memory_order_acquire);
    bool got = false;
    while (have >= parts[i].amount && !(got = free.compare_exchange_weak(have, have - parts[i].amount, memory_order_acq_rel))) {}
    if (!got) {
      if (disturbed && i > 0) *disturbed = true;
      while (i-- > 0) hdr->resource[parts[i].index].free.fetch_add(parts[i].amount, memory_order_seq_cst);
      return false;
    }
  }
  // A process may retire a demand and then look whether its resources are complete. Either the retirement is seen here, or the taking there.
  std::atomic_thread_fence(memory_order_seq_cst);
  if (!d.retired.load(memory_order_relaxed)) return true;
  give_resources(hdr, demand);
  if (disturbed) *disturbed = true;
  return false;
}

}  // namespace reactor
