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
// No wake-up is lost: either the ringer sees sleeping == 1, or the sleeper checks its condition after the publication, because both
// fences are in one total order. If the ringer comes between the sleeper's check and its futex_wait, the increment of `word` makes
// the kernel refuse to sleep. A sleeper or a ringer holds nothing when it is killed. But if a ringer is killed between exchange and
// futex_wake, other ringers take its sleeper for woken. So the supervisor wakes all processes (wake, not ring) when a process has died.
#pragma once
#include "sync/cores.h"

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

// Wakes the sleeper, whether the bell says that it sleeps or not.
inline void wake(Bell* b) {
  b->word.fetch_add(1, memory_order_release);
  futex_wake(&b->word);
}

// Decides how long a process polls before it sleeps, from the results of its earlier waits.
//
// Polling is useful only while no other process can use the core. Then it saves much more than system calls, because a core that has slept is
// slow (cores.h). So the limit is a few times the cost of waking a core. After an unsuccessful poll, the next wait does not poll; after
// further ones, the next 3, 7, ... 63 waits do not. So long waits cost 8 µs each.
//
// Without polling, a process calls sched_yield() a few times. Other processes then get the core, and if the process is still awake when its
// result is ready, its waker saves a system call, and it saves a sleep and a wake-up itself. If a yield takes long, another process is
// computing, and the process sleeps at once: a sleeper that is woken gets its core sooner than a process that waits for the end of a time
// slice. If many processes are awake, a yield takes long because each of them runs in between, so the limit is higher then (1,000
// processes in a barrier: 3.5 µs per call instead of 12, on 2 cores). With processes that compute for 20 µs to 1.5 ms, no cost was measured.
class Spin {
 public:
  explicit Spin(Header* h, uint64_t limit_ns = kLimitNs) : limit_ns(limit_ns), header_(h) {}
  bool allowed() {
    if (skip_ == 0) return true;
    --skip_;
    return false;
  }
  bool crowded() const { return header_->awake.load(memory_order_relaxed) > header_->cores; }
  // Polls for a microsecond or two.
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
  // Whether to search for another core. After each search, a process stays for some time on its core (kStayNs if it has moved, kSearchNs if
  // there was no idle core, kStayAwayNs if another program computes).
  bool may_move(uint64_t now) const { return now > stay_until_; }
  void stay(uint64_t until) { stay_until_ = until; }
  static constexpr uint64_t kLimitNs = 500000;
  static constexpr uint64_t kBriefNs = 30000;     // for one wait, of which nothing is learnt for the next
  static constexpr uint64_t kOfferNs = 2000;      // between two offers of the core to others
  static constexpr uint64_t kAloneNs = 1500;      // a yield that took less has not given the core to anybody
  static constexpr uint64_t kStayNs = 1000000, kStayAwayNs = 100000000, kSearchNs = 50000;
  static constexpr int kYields = 16,
                       kRefused = 4;  // yields at most; those of them that gave the core to nobody though another has work there
  uint64_t yield_limit() const { return cores_are_enough(header_) ? 60000 : 30000 * uint64_t(header_->awake.load(memory_order_relaxed)); }
  const uint64_t limit_ns;

 private:
  Header* header_;
  int skip_ = 0;
  int penalty_ = 0;
  uint64_t stay_until_ = 0;
};

// Polls and yields for a while without sleeping, by the rules of cores.h. Returns whether `ready()`. For the main thread of a process. `for_results`: it
// waits for results, not for calls.
template <class Ready>
bool look(Heap* heap, Proc* self, Spin& spin, uint64_t deadline, Ready& ready, bool for_results = false) {
  uint64_t now = now_ns(), until = spin.allowed() ? now + spin.limit_ns : now;
  const bool due = deadline < until;
  if (due) until = deadline;
  bool polled = false;
  uint64_t offer = now + Spin::kOfferNs, yield_until = now + spin.yield_limit();
  Poller poller(heap, self);
  int refused = 0;  // yields that gave the core to nobody although another has work on it
  for (int yields = 0; yields < Spin::kYields && now < yield_until;) {
    if (self->counted.load(memory_order_relaxed)) has_none(heap->header, self);  // it was rung for something that is done
    if (now < until && poller.may_poll()) {
      polled = true;
      if (spin.sees(ready)) return true;
      now = now_ns();
      const bool in_the_way = poller.in_the_way();
      if (now > offer || in_the_way) {
        if (Proc* other = for_results ? nullptr : poller.displaced()) {
          ring(heap, &other->bell);
          break;
        }
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
  if (polled && !due && now >= until) spin.lost();
  return ready();
}

// The same for another thread, which is not counted in cores.h: it polls only while there are enough cores for all awake processes.
template <class Ready>
bool poll_beside(Spin& spin, uint64_t deadline, Ready& ready) {
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

// While some process holds a message (order.h), a process that goes to sleep checks whether all others sleep, too: then nothing else can
// move. If so, it returns true if it holds a message itself, and otherwise rings the processes that hold one.
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

// The first part of wait_on alone, for the main thread of a process: nobody need know what it waits for, because it does not sleep.
template <class Ready>
bool look_briefly(Heap* heap, Proc* self, Spin& spin, uint64_t deadline, Ready ready) {
  if (ready()) return true;
  has_none(heap->header, self);
  const bool seen = look(heap, self, spin, deadline, ready, true);
  if (seen) has_work(heap->header, self);
  return seen;
}

// While it is there, others know that a process sleeps on this core until results come (Core::displaced).
class Displaced {
 public:
  Displaced(Heap* h, Proc* p) {
    if (!p) return;
    const uint32_t c = this_core();
    p->core.store(c, memory_order_relaxed);  // first: it says whose note to clear when this process is killed
    core_ = &h->header->core[c];
    mine_ = uint32_t(p - h->procs) + 1;
    core_->displaced.store(mine_, memory_order_relaxed);
  }
  // Whether it was woken because the core is free.
  bool end() {
    uint32_t mine = mine_;
    return core_ && !core_->displaced.compare_exchange_strong(mine, 0, memory_order_relaxed);
  }

 private:
  Core* core_ = nullptr;
  uint32_t mine_ = 0;
};

// Waits until `ready()` or the deadline (CLOCK_MONOTONIC ns). Returns 0, ETIMEDOUT, EINTR or, see last_to_sleep, EDEADLK. Thread safety: one
// sleeper per bell. `self` may be null (a thread other than the process's main one). `looked`: the caller has done look_briefly. `for_results`: as in
// look().
template <class Ready>
int wait_on(Heap* heap, Bell* bell, Proc* self, Spin& spin, uint64_t deadline, Ready ready, bool looked = false, bool for_results = false) {
  if (ready()) return 0;
  if (self) has_none(heap->header, self);
  if (!looked && (self ? look(heap, self, spin, deadline, ready, for_results) : poll_beside(spin, deadline, ready))) {
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
    // Only now all_sleep() counts it as asleep: it has checked its condition, and from now on a ringer sees sleeping == 1. And it sees that this is another sleep.
    if (self) self->sleeps.fetch_add(1, memory_order_seq_cst);
    if (self && self->awake.exchange(0, memory_order_seq_cst)) heap->header->awake.fetch_sub(1, memory_order_relaxed);
    if (self && last_to_sleep(heap, self) && bell->sleeping.load(memory_order_seq_cst)) {  // nobody who sleeps now has rung it before
      result = EDEADLK;
      break;
    }
    Displaced displaced(heap, for_results ? self : nullptr);
    int e = futex_wait(&bell->word, seen, left);
    const bool core_is_free = displaced.end();
    if (self && !self->awake.exchange(1, memory_order_seq_cst)) heap->header->awake.fetch_add(1, memory_order_relaxed);
    if (e == EINTR) {
      result = EINTR;
      break;
    }
    if (ready()) break;
    if (core_is_free) {
      for_results = false;  // once
      bell->sleeping.store(0, memory_order_relaxed);
      if (look(heap, self, spin, deadline, ready, true)) break;
    }
  }
  bell->sleeping.store(0, memory_order_relaxed);
  if (self && !self->awake.exchange(1, memory_order_relaxed)) heap->header->awake.fetch_add(1, memory_order_relaxed);
  if (self) has_work(heap->header, self);
  return result;
}

}  // namespace reactor
