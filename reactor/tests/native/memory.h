// The allocator: blocks made in one process and freed in another, processes that die.
#pragma once
#include "harness.h"

namespace stress {

// One byte per 64 bytes of heap: set while handed out. Finds any overlap of two live blocks.
class Claims {
 public:
  explicit Claims(Heap* h) : bytes_(h->capacity / kLine) {}
  void take(Off off, uint64_t n) { change(off, n, 0, 1); }
  void give(Off off, uint64_t n) { change(off, n, 1, 0); }

 private:
  void change(Off off, uint64_t n, uint8_t from, uint8_t to) {
    uint64_t end = (off + n + kLine - 1) / kLine;
    for (uint64_t i = off / kLine; i < end; ++i) CHECK(bytes_[i].exchange(to, memory_order_relaxed) == from);
  }
  std::vector<atomic<uint8_t>> bytes_;
};

struct BlockHead {
  uint64_t size;
  uint64_t seed;
};

inline uint64_t random_size(Random& r) {
  switch (r.below(8)) {
    case 0: return kSlabMax + 1 + r.below(8 * kPage);
    case 1: return kSlabSizes[r.below(kClasses)];
    case 2: return 16 + r.below(kSlabMax - 16);
    default: return 16 + r.below(600);
  }
}

// Plain stores and loads: the sanitizer sees any reader that is not ordered after the writer.
inline void fill(Heap* h, Off off, uint64_t size, uint64_t seed) {
  *h->at<BlockHead>(off) = {size, seed};
  auto* words = h->at<uint64_t>(off);
  for (uint64_t i = 2; i < size / 8; i += size > 4096 ? 61 : 1) words[i] = seed + i;
}
inline uint64_t verify(Heap* h, Off off) {
  BlockHead head = *h->at<BlockHead>(off);
  auto* words = h->at<uint64_t>(off);
  for (uint64_t i = 2; i < head.size / 8; i += head.size > 4096 ? 61 : 1) CHECK(words[i] == head.seed + i);
  return head.size;
}

// Where threads leave blocks for each other.
struct Exchange {
  static constexpr int kCells = 512;
  atomic<Off> cell[kCells] = {};
  Off swap(Random& r, Off off) { return cell[r.below(kCells)].exchange(off, memory_order_acq_rel); }
};

inline void free_block(Heap* h, Local& l, Claims& claims, Off off) {
  claims.give(off, verify(h, off));
  l.alloc.free(off);
}

// Threads allocate, pass on and free. With `mortal`, each now and then dies: what it had not published and its slab pages are
// given back by a supervisor thread while others still use and free its blocks, and it goes on as a new process.
inline void exchange_blocks(bool mortal, int64_t warm_limit) {
  World world(96);
  Heap* h = world.heap.get();
  h->header->warm_limit = warm_limit;
  Claims claims(h);
  auto exchange = std::make_unique<Exchange>();
  constexpr int kThreads = 4;
  atomic<uint32_t> dead[kThreads] = {};
  atomic<int> running{kThreads};
  Deadline deadline(seconds);
  std::thread supervisor = reaping(h, dead, running);
  in_threads(kThreads, [&](int i) {
    Random r(uint64_t(i) + 1);
    auto l = world.process();
    while (!deadline.over()) {
      for (int k = 0; k < 64; ++k) {
        uint64_t size = random_size(r);
        Off off = l->alloc.alloc(size);
        if (!off) {  // the heap is full: others' blocks must go
          if (Off other = exchange->swap(r, 0)) free_block(h, *l, claims, other);
          continue;
        }
        CHECK(off % kLine == 0);
        claims.take(off, size);
        fill(h, off, size, r.next());
        l->alloc.publish(off);
        r.jitter();
        if (Off other = exchange->swap(r, off)) free_block(h, *l, claims, other);
      }
      if (mortal && r.below(8) == 0 && dead[i].load(memory_order_relaxed) == 0 && world.next_slot < 16000) {
        Off unfinished = l->alloc.alloc(kSlabMax + 1 + r.below(4 * kPage));  // killed while it fills these, or publishes them
        if (unfinished && r.below(2)) l->alloc.publish(unfinished, kRun, [] { return false; });
        uint32_t slot = l->slot;
        l = world.process();
        dead[i].store(slot, memory_order_release);
      }
    }
    running.fetch_sub(1);
  });
  supervisor.join();
  auto l = world.process();
  for (auto& cell : exchange->cell)
    if (Off off = cell.exchange(0)) free_block(h, *l, claims, off);
  world.check_all_free();
}

inline void allocator() { exchange_blocks(false, 256 << 20); }
inline void allocator_cold() { exchange_blocks(false, 1 << 20); }
inline void allocator_deaths() { exchange_blocks(true, 8 << 20); }

// Searches that raise the low page against frees and against searches that give pages back: no page may be lost.
inline void pages_not_lost() {
  Deadline deadline(seconds);
  uint64_t rounds = 0;
  World world(8);
  Heap* h = world.heap.get();
  constexpr int kThreads = 3;
  while (!deadline.over()) {
    in_threads(kThreads, [&](int i) {
      Random r(rounds * kThreads + uint64_t(i) + 1);
      auto l = world.process();
      Off mine[8] = {};
      for (int k = 0; k < 400; ++k) {
        Off& off = mine[r.below(8)];
        if (off) l->alloc.free(off);
        off = r.below(3) ? l->alloc.alloc(kSlabMax + 1 + r.below(3) * kPage) : 0;
      }
      for (Off off : mine)
        if (off) l->alloc.free(off);
    });
    world.next_slot = 2;
    ++rounds;
    uint32_t low = uint32_t(h->header->low_page.load()), lowest = 0;
    while (lowest < h->header->pages && h->page_state[lowest] > kWarm) ++lowest;
    CHECK(low <= lowest);
  }
  world.check_all_free();
  fprintf(stderr, "%llu rounds\n", static_cast<unsigned long long>(rounds));
}

// A process that frees a block has read who owns its page; until it goes on the owner dies and another process gets its slot.
inline void allocator_successor() {
  World world;
  Heap* h = world.heap.get();
  auto first = world.process();
  const uint32_t slot = first->slot;
  const Off off = first->alloc.alloc(64);
  Proc& p = h->procs[slot];
  ++p.generation;
  for (auto& list : p.remote_free) list.store(empty_list(owner_of(h, slot)));
  Local second(h, slot, false);
  auto other = world.process();
  other->alloc.free(off);
  for (auto& list : p.remote_free) CHECK(list.load() == empty_list(owner_of(h, slot)));
  for (int i = 0; i < 4; ++i) CHECK(second.alloc.alloc(64) != off);

  const Off own = second.alloc.alloc(64);
  other->alloc.free(own);
  CHECK((p.remote_free[0].load() & kOffMask) == own);
  CHECK(second.alloc.alloc(64) == own);
}

}  // namespace stress
