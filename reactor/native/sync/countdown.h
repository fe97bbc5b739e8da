// A task's missing arguments: how they are counted down, so that a completer that is killed at any point loses no task.
//
// Message::missing is one word: in its lower part the number of missing arguments (and one more until the task is submitted), above it
// the process that counted last, its *mark*. Who counts to zero queues the task.
//
// Completer P, for each node of the task T                                  Another completer Q of T, which finds P's mark
//   take its own mark out of T.missing                                        w = P.walk.task
//   P.walk.ring = 0                                                           if w names T and T.missing has not changed:
//   P.walk.task = T, a new serial number   [release]                             P.walk.task: w -> w | acknowledged   [CAS]
//   node.armed: 1 -> 0                     [seq_cst]                          T.missing: n, P -> n - 1, Q             [CAS]
//   T.missing: n, anybody -> n - 1, P      [CAS]
//   if that was the last: P.walk.ring = the queue's ring, then add T to it
//   the node leaves the list
//   P.walk.task = none, keeping the serial number
//
// Once a node is taken, nobody else acts on it. So if P is killed, the supervisor must know whether P has counted, and if it has counted to
// zero, whether it has queued the task. The queue's tail answers the second question: P is its only producer (tasks.h). The first one is
// answered by P's mark, or by the acknowledgement that whoever replaces the mark has left before. Neither is there: P has not counted.
// If Q sees P's mark in T.missing after it has read this serial number, the mark belongs to this count, because P has taken out an earlier
// one of its own before. If P has moved on, the serial number differs and the acknowledgement fails: nobody needs it any more.
//
// The supervisor may read T.missing although T may be gone: T lives until P's count has happened, and goes on living until another one
// has acknowledged that, or P has queued it. So what was read counts if there is no acknowledgement afterwards.
#pragma once
#include "memory/heap.h"

namespace reactor {

constexpr int kMarkBit = 17;
constexpr uint32_t kMostMissing = (1u << kMarkBit) - 1;
static_assert(kMaxProcs + 1 <= 1u << (32 - kMarkBit));
constexpr uint64_t kAcknowledged = 1;
constexpr int kSerialBit = 48;
constexpr uint64_t kCountedTask = ((uint64_t(1) << kSerialBit) - 1) & ~kAcknowledged;

inline uint32_t missing_in(uint32_t word) { return word & kMostMissing; }
inline uint32_t mark_in(uint32_t word) { return word >> kMarkBit; }  // proc slot + 1 of who counted last, 0 for nobody
inline std::atomic_ref<uint32_t> missing_of(Heap* h, Off task) { return std::atomic_ref(h->at<Message>(task)->missing); }

// This process is about to take a node of the task.
inline void begin_count(Heap* h, uint32_t slot, Off task) {
  auto missing = missing_of(h, task);
  uint32_t word = missing.load(memory_order_acquire);
  while (mark_in(word) == slot + 1 && !missing.compare_exchange_weak(word, missing_in(word), memory_order_acq_rel)) {}
  REACTOR_KILL_POINT();
  Proc& p = h->procs[slot];
  const uint64_t serial = (p.walk.task.load(memory_order_relaxed) >> kSerialBit) + 1;
  p.walk.ring.store(0, memory_order_relaxed);
  REACTOR_KILL_POINT();
  p.walk.task.store(serial << kSerialBit | task, memory_order_release);
}

inline void end_count(Proc* p) {
  p->walk.task.store(p->walk.task.load(memory_order_relaxed) >> kSerialBit << kSerialBit, memory_order_release);
}

// One argument less is missing. True: it was the last, and the caller queues the task.
inline bool count_down(Heap* h, uint32_t slot, Off task) {
  auto missing = missing_of(h, task);
  uint32_t word = missing.load(memory_order_acquire);
  for (;;) {
    if (const uint32_t mark = mark_in(word); mark && mark != slot + 1) {
      atomic<uint64_t>& counting = h->procs[mark - 1].walk.task;
      uint64_t theirs = counting.load(memory_order_acquire);
      if ((theirs & kCountedTask) == task) {
        const uint32_t now = missing.load(memory_order_acquire);
        if (now != word) {
          word = now;
          continue;
        }
        REACTOR_KILL_POINT();
        counting.compare_exchange_strong(theirs, theirs | kAcknowledged, memory_order_acq_rel);
      }
    }
    REACTOR_KILL_POINT();
    const uint32_t left = missing_in(word) - 1;
    if (missing.compare_exchange_weak(word, (slot + 1) << kMarkBit | left, memory_order_acq_rel)) return left == 0;
  }
}

// How far a process had counted that was killed after begin_count. For the supervisor, if that process has not queued the task.
enum class Counted { No, Yes, AsTheLast };
inline Counted what_was_counted(Heap* h, const Proc& dead, uint32_t slot, Off task) {
  const uint32_t word = missing_of(h, task).load(memory_order_acquire);
  if (dead.walk.task.load(memory_order_acquire) & kAcknowledged) return Counted::Yes;
  if (mark_in(word) != slot + 1) return Counted::No;
  return missing_in(word) == 0 ? Counted::AsTheLast : Counted::Yes;
}

}  // namespace reactor
