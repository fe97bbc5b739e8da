// Counts which cores have work. From this, a waiting process decides whether to poll, yield its core, move to another core, or sleep.
//
// There are two problems. First, a core that has slept is slow: on a virtual machine it takes 40 to 80 µs to wake, and computes at half its
// speed for some hundred microseconds (a step of CartPole takes 9 µs; after a sleep of 100 µs it takes 42 µs, and each of the next seven steps
// 16 µs). Second, the kernel moves processes to idle cores only when it wakes them. A process that waits behind another one, and has run within
// the last half millisecond, is not moved to a core that becomes idle. So two workers may share one core while the other core is idle, for as
// long as the program runs. Therefore, of the processes that wait on a core,
//
//   one polls, if no process has work there when it begins (Core::poller) and fewer processes than cores have work, and yields often as soon
//   as a process has work;
//   another one, or one that finds work there, moves to a core without work and without a polling process, if there is such a core and it
//   has not searched just before. Otherwise it yields. If yields return at once although another process has work, it sleeps (by its
//   fair share the kernel runs this process first; yielding does not change this, sleeping does).
//
// A process that sleeps until results come, because others have work on its core, is noted there (Core::displaced). When these have nothing more to do, one of
// them would poll for its next call. But that comes from the sleeper as a rule, and results still come to it from other cores, whose processes
// would have to wake it: 10 to 25 µs. So the one that would poll wakes the sleeper instead, which takes 2 µs on the same core, and sleeps itself (15
// CartPoles with a process each on 2 cores: 114 µs a round instead of 134). It is only a hint: a process that is woken for nothing polls and sleeps again.
//
// A process that is rung counts as having work at once, before it has got its core. So does a process that is sent a call while it is awake
// and waits: it may be waiting for the core of the sender, which would poll there for 50 µs and longer while it waits for that call. The sender's
// yields do not help, because workers have a higher niceness (15 packed CartPoles on 2 cores: 54 µs a round instead of 60 to 105). But if
// many processes are awake, such a process is not counted: by the time when it runs, the kernel has often moved it to another core, and a process
// there would sleep for its sake.
//
// Processes are counted, not threads. A process whose main thread sleeps elsewhere than on its bell (time.sleep) still counts as having work;
// one whose main thread waits while its other threads compute does not.
//
// These counts affect only speed, and nothing waits for them. So accesses are relaxed, except where a comment gives a reason.
// Proc::counted says in which core's `work` a process is counted. It is exchanged before the count changes, so that a process and its ringer do
// not count it twice. If a process is killed between the two, the count of a core stays one too high or too low. If it is killed at any
// other point, the supervisor corrects the counts (forget).
#pragma once
#include <sched.h>
#include <cstring>
#include "memory/heap.h"

namespace reactor {

inline uint32_t this_core() {
  int c = sched_getcpu();
  return c < 0 ? 0 : uint32_t(c) % kMaxCores;
}

inline void has_work(Header* h, Proc* p) {
  uint32_t c = this_core();
  p->core.store(c, memory_order_relaxed);
  uint32_t was = p->counted.exchange(c + 1, memory_order_relaxed);
  if (was == c + 1) return;
  h->core[c].work.fetch_add(1, memory_order_relaxed);
  if (was) h->core[was - 1].work.fetch_sub(1, memory_order_relaxed);
}

inline void has_none(Header* h, Proc* p) {
  if (uint32_t was = p->counted.exchange(0, memory_order_seq_cst)) h->core[was - 1].work.fetch_sub(1, memory_order_relaxed);
}

// Called by any process.
inline void is_rung(Header* h, Proc* p) {
  if (p->state.load(memory_order_relaxed) != ProcState::Live) return;
  uint32_t c = p->core.load(memory_order_relaxed), none = 0;
  if (!p->counted.compare_exchange_strong(none, c + 1, memory_order_seq_cst)) return;
  h->core[c].work.fetch_add(1, memory_order_relaxed);
  // If the process has died: the supervisor marks it as dead before it corrects the counts [seq_cst], so one of the two sees the other.
  if (p->state.load(memory_order_seq_cst) != ProcState::Live) has_none(h, p);
}

// Whether fewer processes have work than there are cores.
inline bool core_to_spare(Header* h) {
  int32_t work = 0;
  for (uint32_t c = 0; c < h->cpus && work < h->cores; ++c) work += h->core[c].work.load(memory_order_relaxed);
  return work < h->cores;
}

// Whether so few processes are awake that each soon gets a core.
inline bool cores_are_enough(Header* h) { return h->awake.load(memory_order_relaxed) <= 8 * h->cores; }

// Called by the sender of a call whose receiver is awake.
inline void is_sent(Header* h, Proc* to) {
  if (to->counted.load(memory_order_relaxed) == 0 && cores_are_enough(h)) is_rung(h, to);
}

inline bool work_here(Header* h) { return h->core[this_core()].work.load(memory_order_relaxed) > 0; }

// A waiting process that polls. There is at most one on each core.
class Poller {
 public:
  Poller(Heap* h, Proc* me) : header_(h->header), me_(me), slot_(uint32_t(me - h->procs)) {}
  ~Poller() { stop(); }
  // Whether it may poll now.
  bool may_poll() {
    uint32_t c = this_core();
    if (at_ == c) return true;
    stop();
    Core& core = header_->core[c];
    uint32_t nobody = 0;
    if (core.work.load(memory_order_relaxed) > 0 || !core_to_spare(header_)) return false;
    me_->core.store(c, memory_order_relaxed);  // first: it says whose slot to clear when this process is killed
    if (!core.poller.compare_exchange_strong(nobody, slot_ + 1, memory_order_relaxed)) return false;
    at_ = c;
    return true;
  }
  // The process that wants to poll here instead of this one, which is then asked for no more; null: none. This one stops.
  Proc* displaced() {
    atomic<uint32_t>& displaced = header_->core[at_].displaced;
    if (displaced.load(memory_order_relaxed) == 0) return nullptr;
    const uint32_t its = displaced.exchange(0, memory_order_relaxed);
    if (its == 0) return nullptr;
    stop();
    return me_ - slot_ + (its - 1);
  }
  // Whether another process has work on this core by now, because it was rung or moved here.
  bool in_the_way() const { return header_->core[at_].work.load(memory_order_relaxed) > 0; }

 private:
  static constexpr uint32_t kNowhere = ~0u;
  void stop() {
    if (at_ != kNowhere) header_->core[at_].poller.store(0, memory_order_relaxed);
    at_ = kNowhere;
  }
  Header* header_;
  Proc* me_;
  uint32_t slot_;
  uint32_t at_ = kNowhere;
};

// Moves the calling thread to a core on which no process of the run has work or polls. For this, it sets the thread's affinity to that core, and
// then back to the affinity from before. If all cores were allowed, it sets a full mask, so that later changes of the machine or of its
// container still apply. If another thread or process has set the affinity in between, it stays as it is.
inline bool move_to_idle(Header* h) {
  cpu_set_t allowed, one;
  bool known = false;
  for (uint32_t c = 0; c < h->cpus; ++c) {
    if (h->core[c].work.load(memory_order_relaxed) > 0 || h->core[c].poller.load(memory_order_relaxed)) continue;
    if (!known && sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
    known = true;
    if (!CPU_ISSET(c, &allowed)) continue;
    CPU_ZERO(&one);
    CPU_SET(c, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) return false;
    cpu_set_t now, all;
    memset(&all, 0xff, sizeof all);
    if (sched_getaffinity(0, sizeof now, &now) == 0 && !CPU_EQUAL(&now, &one)) return true;
    const cpu_set_t& before = uint32_t(CPU_COUNT(&allowed)) >= h->cpus ? all : allowed;
    if (sched_setaffinity(0, sizeof before, &before) != 0) sched_setaffinity(0, sizeof all, &all);
    return true;
  }
  return false;
}

// Corrects the counts for a process that has died.
inline void forget(Header* h, Proc* p, uint32_t slot) {
  has_none(h, p);
  uint32_t its = slot + 1;
  Core& core = h->core[p->core.load(memory_order_relaxed)];
  core.poller.compare_exchange_strong(its, 0, memory_order_relaxed);
  its = slot + 1;
  core.displaced.compare_exchange_strong(its, 0, memory_order_relaxed);
}

}  // namespace reactor
