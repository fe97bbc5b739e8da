// Bells: no wake-up is lost. A sleeper that is not rung in time fails the test.
#pragma once
#include "harness.h"

namespace stress {

inline uint64_t in_seconds(double s) { return now_ns() + uint64_t(s * 1e9); }

// Processes are counted among those that have work once they are live (cores.h).
inline void count_work_of(Heap* h, int processes) {
  for (int i = 0; i < processes; ++i) h->procs[i].state.store(ProcState::Live);
}

inline void check_no_work_left(Heap* h, int processes) {
  for (int i = 0; i < processes; ++i) has_none(h->header, &h->procs[i]);
  for (Core& core : h->header->core) CHECK(core.work.load() == 0 && core.poller.load() == 0);
}

inline void bell_ping_pong() {
  World world;
  Heap* h = world.heap.get();
  count_work_of(h, 2);
  atomic<uint32_t> turn{0};
  Deadline deadline(seconds);
  in_threads(2, [&](int i) {
    auto self = world.process();
    Bell& mine = h->procs[i].bell;
    Spin spin(h->header);
    Random r(uint64_t(i) + 1);
    for (uint32_t n = uint32_t(i);; n += 2) {  // the turn is this thread's when it is even (0) or odd (1)
      int e = wait_on(h, &mine, &h->procs[i], spin, in_seconds(10), [&] { return turn.load(memory_order_acquire) >= n; });
      CHECK(e == 0);
      if (turn.load() == UINT32_MAX) return;
      r.jitter();
      bool end = deadline.over();
      turn.store(end ? UINT32_MAX : n + 1, memory_order_release);
      ring(h, &h->procs[1 - i].bell);
      if (end) return;
    }
  });
  check_no_work_left(h, 2);
}

// Ringers publish and ring as they like; every publication must be noticed although most of the rings find nobody asleep.
inline void bell_many_ringers() {
  World world(256, 1);
  Heap* h = world.heap.get();
  count_work_of(h, 1);
  constexpr int kRingers = 3;
  atomic<uint64_t> published[kRingers] = {};
  atomic<uint64_t> noticed[kRingers] = {};
  atomic<int> running{kRingers};
  Deadline deadline(seconds);
  in_threads(kRingers + 1, [&](int i) {
    Bell& bell = h->procs[0].bell;
    Random r(uint64_t(i) + 1);
    if (i < kRingers) {
      Bell& mine = h->procs[i + 1].bell;
      Spin spin(h->header);
      for (uint64_t n = 1; !deadline.over(); ++n) {
        published[i].store(n, memory_order_release);
        ring(h, &bell);
        r.jitter();
        if (r.below(2)) continue;
        int e = wait_on(h, &mine, nullptr, spin, in_seconds(10), [&] { return noticed[i].load(memory_order_acquire) >= n; });
        CHECK(e == 0);
      }
      running.fetch_sub(1);
      ring(h, &bell);
      return;
    }
    Spin spin(h->header);
    auto news = [&] {
      for (int k = 0; k < kRingers; ++k)
        if (published[k].load(memory_order_acquire) != noticed[k].load(memory_order_relaxed)) return true;
      return running.load(memory_order_acquire) == 0;
    };
    while (running.load() > 0) {
      // Sometimes with a short deadline, so that leaving by timeout meets ringers too.
      bool brief = r.below(4) == 0;
      int e = wait_on(h, &bell, &h->procs[0], spin, brief ? now_ns() + r.below(50000) : in_seconds(10), news);
      CHECK(e == 0 || (brief && e == ETIMEDOUT));
      for (int k = 0; k < kRingers; ++k) {
        noticed[k].store(published[k].load(memory_order_acquire), memory_order_release);
        ring(h, &h->procs[k + 1].bell);
      }
    }
  });
  check_no_work_left(h, 1);
}

// A ringer that was killed between claiming the wake-up and the system call: ring() takes the sleeper for woken ever after,
// wake() does not.
inline void bell_dead_ringer() {
  World world;
  Heap* h = world.heap.get();
  Bell& bell = h->procs[0].bell;
  atomic<bool> published{false};
  std::thread sleeper([&] {
    Spin spin(h->header);
    CHECK(wait_on(h, &bell, nullptr, spin, in_seconds(10), [&] { return published.load(memory_order_acquire); }) == 0);
  });
  while (bell.sleeping.load() == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // into the system call; earlier is harmless
  published.store(true, memory_order_release);
  CHECK(bell.sleeping.exchange(0) == 1);
  CHECK(!ring(h, &bell));
  wake(&bell);
  sleeper.join();
}

}  // namespace stress
