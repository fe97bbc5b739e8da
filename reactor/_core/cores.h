// Which cores have work, so that who waits knows what to do: look, give the core away, move, or sleep.
//
// A core that has slept is slow: it takes 40 to 80 µs to wake on a virtual machine and computes at half its speed for some hundred
// microseconds after (a step of CartPole: 9 µs, after a sleep of 100 µs 42 µs, the seven that follow 16 each). And the kernel
// spreads processes over the cores only when they are woken, by which core is idle at that moment: who is queued behind another and has
// run within the last half millisecond is not moved to a core that falls idle. So two workers may take turns on one core, while the
// other has nothing to do, for as long as the program goes on. Hence, of the processes that wait on a core
//
//   one looks, if nobody has work there when it begins (Core::looker), and yields often once somebody has;
//   one that finds work there, or somebody who looks, moves to a core where neither is, if there is one and it has not tried just
//   before; else it yields, and goes to sleep when yields come back at once though another has work (by its fair share the kernel
//   still runs this one first; yielding does not change that, sleeping does).
//
// Who is rung has work from then on, not only when it has got its core.
//
// Counted are processes, not threads: one whose main thread sleeps elsewhere than on its bell (time.sleep) keeps its core's count, and
// one whose main thread waits while others compute has none.
//
// All this is about speed alone, so nothing waits for what stands here, and accesses are relaxed but where it is said why not.
// Proc::counted says in which core's `work` a process is counted; it is exchanged before the count is changed, so that a process and who rings it do not count twice.
// Killed between the two, a process leaves a core's count one too high or too low; killed anywhere else, what it had is
// given back by the supervisor (forget).
#pragma once
#include <sched.h>
#include <cstring>
#include "heap.h"

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

// By any process.
inline void is_rung(Header* h, Proc* p) {
  if (p->state.load(memory_order_relaxed) != ProcState::Live) return;
  uint32_t c = p->core.load(memory_order_relaxed), none = 0;
  if (!p->counted.compare_exchange_strong(none, c + 1, memory_order_seq_cst)) return;
  h->core[c].work.fetch_add(1, memory_order_relaxed);
  // Died meanwhile: the supervisor marks it so before it takes back what the process had [seq_cst], so one of the two sees the other.
  if (p->state.load(memory_order_seq_cst) != ProcState::Live) has_none(h, p);
}

inline bool work_here(Header* h) { return h->core[this_core()].work.load(memory_order_relaxed) > 0; }

// A process that waits and looks for it. It is the only one on its core.
class Looker {
 public:
  Looker(Heap* h, Proc* me) : header_(h->header), me_(me), slot_(uint32_t(me - h->procs)) {}
  ~Looker() { stop(); }
  // Whether it may look now.
  bool looks() {
    uint32_t c = this_core();
    if (at_ == c) return true;
    stop();
    Core& core = header_->core[c];
    uint32_t nobody = 0;
    if (core.work.load(memory_order_relaxed) > 0) return false;
    me_->core.store(c, memory_order_relaxed);  // first: it says whose slot to clear when this process is killed
    if (!core.looker.compare_exchange_strong(nobody, slot_ + 1, memory_order_relaxed)) return false;
    at_ = c;
    return true;
  }
  // Somebody has work on this core after all: who was rung, or was moved here.
  bool in_the_way() const { return header_->core[at_].work.load(memory_order_relaxed) > 0; }

 private:
  static constexpr uint32_t kNowhere = ~0u;
  void stop() {
    if (at_ != kNowhere) header_->core[at_].looker.store(0, memory_order_relaxed);
    at_ = kNowhere;
  }
  Header* header_;
  Proc* me_;
  uint32_t slot_;
  uint32_t at_ = kNowhere;
};

// The calling thread goes to a core where nobody of the run has work or looks: it is allowed that one alone, and then again what it was
// allowed before. Who was allowed all is told so by a full mask, which later changes of the machine or of its container do not narrow.
// A mask that somebody else has set meanwhile stays.
inline bool move_to_idle(Header* h) {
  cpu_set_t allowed, one;
  bool known = false;
  for (uint32_t c = 0; c < h->cpus; ++c) {
    if (h->core[c].work.load(memory_order_relaxed) > 0 || h->core[c].looker.load(memory_order_relaxed)) continue;
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

// Of a process that has died.
inline void forget(Header* h, Proc* p, uint32_t slot) {
  has_none(h, p);
  uint32_t its = slot + 1;
  h->core[p->core.load(memory_order_relaxed)].looker.compare_exchange_strong(its, 0, memory_order_relaxed);
}

}  // namespace reactor
