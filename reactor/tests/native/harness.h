// What every stress test shares: a heap, processes simulated by threads (each with a Local of its own process entry),
// checks, and a stop watch. A failed check prints where and ends the program.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

// A process that is killed between two instructions: an exception ends its work there.
namespace stress {
struct Killed {};
inline thread_local int points_left = -1;  // -1: it is not to be killed
}  // namespace stress
#define REACTOR_KILL_POINT()                                                            \
  do                                                                                    \
    if (stress::points_left >= 0 && stress::points_left-- == 0) throw stress::Killed{}; \
  while (0)

#include "channels/channel.h"
#include "channels/tasks.h"

namespace stress {

using namespace reactor;

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      _exit(1);                                                                     \
    }                                                                               \
  } while (0)

inline double seconds = 2.0;  // how long a test that repeats goes on

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  uint64_t below(uint64_t n) { return next() % n; }
  // Now and then lets others run, or loses a little time: moves the threads against each other.
  void jitter() {
    uint64_t r = next() % 256;
    if (r == 0) std::this_thread::yield();
    else if (r < 16)
      for (uint64_t i = 0; i < r * 8; ++i) cpu_relax();
  }

 private:
  uint64_t state_;
};

class Deadline {
 public:
  explicit Deadline(double s) : end_(now_ns() + uint64_t(s * 1e9)) {}
  bool over() const { return now_ns() > end_; }

 private:
  uint64_t end_;
};

struct World {
  // `megabytes` beside the header and the table of processes.
  explicit World(uint64_t megabytes = 256, int cores = 2)
      : heap(Heap::create(align_up((megabytes << 20) + sizeof(Proc) * kMaxProcs, 1 << 20), 1 << 30, cores)) {}
  std::unique_ptr<Heap> heap;
  atomic<uint32_t> next_slot{2};

  std::unique_ptr<Local> process(bool with_hold_list = false) {
    uint32_t slot = next_slot.fetch_add(1);
    CHECK(slot < kMaxProcs);
    heap->procs[slot].kind = ProcKind::Pool;
    uint32_t high = heap->header->proc_high.load();
    while (high <= slot && !heap->header->proc_high.compare_exchange_weak(high, slot + 1)) {}
    return std::make_unique<Local>(heap.get(), slot, with_hold_list);
  }

  uint64_t slots_used() const {  // slab slots handed out
    uint64_t n = 0;
    for (uint32_t i = 0; i < heap->header->high_page; ++i)
      if (heap->page_state[i] == kSlab) {
        auto* page = heap->at<SlabPage>(heap->page_at(i));
        n += page->used - (page->owner == kAbandoned ? 0 : 1);
      }
    return n;
  }

  // Every process ends. With everything freed before, all memory must be free then, found again by a search from the low page
  // on, and accounted for.
  void check_all_free() {
    CHECK(slots_used() == 0);
    for (uint32_t slot = 0; slot < next_slot; ++slot) reap_memory(heap.get(), slot);
    Header* hdr = heap->header;
    int64_t warm = 0;
    for (uint32_t i = 0; i < hdr->pages; ++i) {
      uint32_t state = heap->page_state[i];
      CHECK(state == kCold || state == kWarm);
      warm += state == kWarm ? int64_t(kPage) : 0;
    }
    CHECK(store_used(heap.get()) == 0);
    CHECK(hdr->warm_free == warm);
    Allocator all(heap.get(), 1);
    uint32_t got = 0;
    while (all.alloc(kSlabMax + 1)) ++got;
    CHECK(got == hdr->pages - hdr->pages / kReservedShare);  // the last ones are the runtime's
    while (all.alloc(kSlabMax + 1, For::Runtime)) ++got;
    CHECK(got == hdr->pages);
  }
};

// Runs `body(i)` in n threads and waits for them.
inline void in_threads(int n, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back(body, i);
  for (auto& t : threads) t.join();
}

// The supervisor's part: gives back what those that are noted in `dead` had, until none is `running`.
template <size_t N>
std::thread reaping(Heap* h, atomic<uint32_t> (&dead)[N], atomic<int>& running) {
  return std::thread([h, &dead, &running] {
    for (bool last = false; !last;) {
      last = running == 0;
      for (auto& d : dead)
        if (uint32_t slot = d.exchange(0, memory_order_acq_rel)) reap_memory(h, slot);
      std::this_thread::yield();
    }
  });
}

struct Test {
  const char* name;
  void (*run)();
};

}  // namespace stress
