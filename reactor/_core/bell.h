// Sleeping and waking between processes.
//
// Sleeper                               Ringer
//   seen = word                           publish (message, result)            [release]
//   sleeping = 1               [seq_cst]  fence                                [seq_cst]
//   fence                                 if sleeping == 1 and
//   if condition holds: stop                 sleeping.exchange(0) == 1:
//   futex_wait(word, seen)                      word += 1; futex_wake
//   sleeping = 0
//
// Either the ringer sees sleeping == 1, or the sleeper's look at its condition comes after the publication (both
// fences are in one total order), so no wake-up is lost. Bumping `word` before the system call covers a ringer
// between the sleeper's look and its futex_wait: the kernel then refuses to sleep. A sleeper or a ringer that is
// killed at any point leaves nothing held; but a ringer killed between exchange and futex_wake leaves a sleeper that
// every ringer takes for woken, so the supervisor wakes everybody (wake, not ring) when a process died.
#pragma once
#include "cores.h"

namespace reactor {

inline bool ring(Heap* heap, Bell* b) {
  std::atomic_thread_fence(memory_order_seq_cst);
  if (b->sleeping.load(memory_order_relaxed) == 0) return false;
  if (b->sleeping.exchange(0, memory_order_acq_rel) == 0) return false;
  if (Proc* p = heap->owner(b)) is_rung(heap->header, p);
  b->word.fetch_add(1, memory_order_release);
  futex_wake(&b->word);
  return true;
}

// Wakes the sleeper, whatever the bell says of it.
inline void wake(Bell* b) {
  b->word.fetch_add(1, memory_order_release);
  futex_wake(&b->word);
}

// How long to look before sleeping, and what earlier waits have taught. Looking pays only while nobody else could use the core; then it is
// worth far more than the system calls that it saves, because a core that has slept is slow (cores.h). So the limit is a few times
// what waking one costs. Who looked in vain does not look the next time, then the next 3, ... 63 times; so who waits for long pays 8 µs
// a wait. Else a few sched_yield() do: the core goes to the others, and a process that is found awake saves its waker a system call and
// itself a sleep and a wake-up. A yield that took long means that somebody computes: sleep at once, because a sleeper
// that is rung gets its core sooner than one that waits for the end of a time slice. Among many awake processes
// a yield takes long because each of them has its turn, so there it may (1,000 processes in a barrier: 3.5 µs a call instead of
// 12, on 2 cores; none of this was seen to cost anything where the processes compute for 20 µs to 1.5 ms).
class Spin {
 public:
  explicit Spin(Header* h, uint64_t limit_ns = kLimitNs) : limit_ns(limit_ns), header_(h) {}
  bool allowed() {
    if (skip_ == 0) return true;
    --skip_;
    return false;
  }
  bool crowded() const { return header_->awake.load(memory_order_relaxed) > header_->cores; }
  // Looks for a microsecond or two.
  template <class Ready>
  bool sees(Ready& ready) {
    for (int i = 0; i < 64; ++i) {
      if (ready()) {
        penalty_ = 0;
        return true;
      }
      cpu_relax();
    }
    return false;
  }
  void lost() {
    penalty_ = penalty_ < 6 ? penalty_ + 1 : 6;
    skip_ = (1 << penalty_) - 1;
  }
  // Whether to look for another core: for some time after each search it stays (kStayNs if it has moved, kSearchNs if there was none,
  // kStayAwayNs where another program computed).
  bool may_move(uint64_t now) const { return now > stay_until_; }
  void stay(uint64_t until) { stay_until_ = until; }
  static constexpr uint64_t kLimitNs = 500000;
  static constexpr uint64_t kBriefNs = 30000;     // for one wait, of which nothing is learnt for the next
  static constexpr uint64_t kOfferNs = 2000;      // between two offers of the core to others
  static constexpr uint64_t kAloneNs = 1500;      // a yield that took less has not given the core to anybody
  static constexpr uint64_t kStayNs = 1000000, kStayAwayNs = 100000000, kSearchNs = 50000;
  static constexpr int kYields = 16,
                       kRefused = 4;  // yields at most; those of them that gave the core to nobody though another has work there
  uint64_t yield_limit() const {
    int32_t awake = header_->awake.load(memory_order_relaxed);
    return awake <= 8 * header_->cores ? 60000 : 30000 * uint64_t(awake);
  }
  const uint64_t limit_ns;

 private:
  Header* header_;
  int skip_ = 0;
  int penalty_ = 0;
  uint64_t stay_until_ = 0;
};

// Looks a while without sleeping; whether `ready()`. Of a process, by the rules of cores.h.
template <class Ready>
bool look(Heap* heap, Proc* self, Spin& spin, uint64_t deadline, Ready& ready) {
  uint64_t now = now_ns(), until = spin.allowed() ? now + spin.limit_ns : now;
  const bool due = deadline < until;
  if (due) until = deadline;
  bool looked = false;
  uint64_t offer = now + Spin::kOfferNs, yield_until = now + spin.yield_limit();
  Looker looker(heap, self);
  int refused = 0;  // yields that gave the core to nobody although another has work on it
  for (int yields = 0; yields < Spin::kYields && now < yield_until;) {
    if (now < until && looker.looks()) {
      looked = true;
      if (spin.sees(ready)) return true;
      now = now_ns();
      const bool in_the_way = looker.in_the_way();
      if (now > offer || in_the_way) {
        const uint64_t before = now;
        sched_yield();
        now = now_ns();
        if (now - before > spin.yield_limit() && !in_the_way) {  // another program computes here
          spin.stay(now + Spin::kStayAwayNs);
          break;
        }
        offer = now + Spin::kOfferNs;
      }
      yield_until = now + spin.yield_limit();
      continue;
    }
    if (now < until && spin.may_move(now)) {
      const uint64_t before = now;
      const bool moved = move_to_idle(heap->header);
      now = now_ns();
      spin.stay(now + (!moved ? Spin::kSearchNs : now - before > spin.yield_limit() ? Spin::kStayAwayNs : Spin::kStayNs));
      if (moved) continue;
    }
    const uint64_t before = now;
    sched_yield();
    ++yields;
    if (ready()) return true;
    now = now_ns();
    if (now - before < Spin::kAloneNs && work_here(heap->header) && ++refused == Spin::kRefused) break;
  }
  if (looked && !due && now >= until) spin.lost();
  return ready();
}

// Of a thread that is not counted: only while there are cores for all processes that are awake.
template <class Ready>
bool look_beside(Spin& spin, uint64_t deadline, Ready& ready) {
  const uint64_t start = now_ns();
  const bool due = deadline < start + spin.limit_ns;
  const uint64_t until = due ? deadline : start + spin.limit_ns;
  if (spin.allowed())
    for (uint64_t now = start, offer = start + Spin::kOfferNs; !spin.crowded(); now = now_ns()) {
      if (now > until) {
        if (!due) spin.lost();
        break;
      }
      if (now > offer) {
        sched_yield();
        offer = now_ns() + Spin::kOfferNs;
      }
      if (spin.sees(ready)) return true;
    }
  uint64_t yield_until = now_ns() + spin.yield_limit();
  for (int i = 0; i < Spin::kYields && now_ns() < yield_until; ++i) {
    sched_yield();
    if (ready()) return true;
  }
  return false;
}

bool all_sleep(Heap* h, uint32_t me, bool loops);  // order.h

// While some process holds a message back, one that goes to sleep looks whether it is the last: then nothing else can move.
// True: it is itself one that holds back.
inline bool last_to_sleep(Heap* heap, Proc* self) {
  // With calls in other threads it may come to do more by itself. Who begins to hold back says so before it goes to sleep, and this one is
  // told to be asleep before it looks, all [seq_cst]: one of the two sees the other.
  if (heap->header->held.load(memory_order_seq_cst) == 0 || self->deferred.load(memory_order_seq_cst) ||
      !all_sleep(heap, uint32_t(self - heap->procs), false))
    return false;
  if (self->held.load(memory_order_relaxed)) return true;
  uint32_t high = heap->header->proc_high.load(memory_order_acquire);
  for (uint32_t i = 0; i < high; ++i)
    if (heap->procs[i].held.load(memory_order_relaxed)) ring(heap, &heap->procs[i].bell);
  return false;
}

// Waits until `ready()` or the deadline (CLOCK_MONOTONIC ns). Returns 0, ETIMEDOUT, EINTR or, see last_to_sleep, EDEADLK. Thread safety: one
// sleeper per bell. `self` may be null (a thread other than the process's main one).
template <class Ready>
int wait_on(Heap* heap, Bell* bell, Proc* self, Spin& spin, uint64_t deadline, Ready ready) {
  if (ready()) return 0;
  if (self) has_none(heap->header, self);
  if (self ? look(heap, self, spin, deadline, ready) : look_beside(spin, deadline, ready)) {
    if (self) has_work(heap->header, self);
    return 0;
  }
  int result = 0;
  for (;;) {
    uint32_t seen = bell->word.load(memory_order_acquire);
    bell->sleeping.store(1, memory_order_seq_cst);
    std::atomic_thread_fence(memory_order_seq_cst);
    if (ready()) break;
    uint64_t left = UINT64_MAX;
    if (deadline != UINT64_MAX) {
      uint64_t now = now_ns();
      if (now >= deadline) {
        result = ETIMEDOUT;
        break;
      }
      left = deadline - now;
    }
    if (self) has_none(heap->header, self);  // it was rung, perhaps, for something else
    // Only from here on it is asleep for all_sleep(): it has looked, and who has something for it now rings.
    if (self && self->awake.exchange(0, memory_order_seq_cst)) heap->header->awake.fetch_sub(1, memory_order_relaxed);
    if (self && last_to_sleep(heap, self) && bell->sleeping.load(memory_order_seq_cst)) {  // nobody who sleeps now has rung it before
      result = EDEADLK;
      break;
    }
    if (self) self->sleeps.fetch_add(1, memory_order_relaxed);
    int e = futex_wait(&bell->word, seen, left);
    if (self && !self->awake.exchange(1, memory_order_seq_cst)) heap->header->awake.fetch_add(1, memory_order_relaxed);
    if (e == EINTR) {
      result = EINTR;
      break;
    }
    if (ready()) break;
  }
  bell->sleeping.store(0, memory_order_relaxed);
  if (self && !self->awake.exchange(1, memory_order_relaxed)) heap->header->awake.fetch_add(1, memory_order_relaxed);
  if (self) has_work(heap->header, self);
  return result;
}

}  // namespace reactor
