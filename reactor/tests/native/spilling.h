// Large values that leave memory for the spill file while others read and free them, and movers that are killed on the way.
#pragma once
#include "harness.h"
#include "memory/spill_mover.h"

namespace stress {

// A published value: an object as far as this test needs one. Its holds decide who frees the run.
struct Shared {
  atomic<Off> block{0};
  atomic<int32_t> holds{0};
  atomic<bool> owned{false};  // the hold that it is born with
  uint64_t seed = 0;
};

constexpr uint64_t kValueBytes = 3 * kPage - 100;

inline uint64_t word_at(uint64_t seed, uint64_t i) { return seed * 0x9e3779b97f4a7c15ull + i; }

inline Off write_value(Heap* h, Local& l, uint64_t seed) {
  Off off = l.alloc.alloc(kValueBytes);
  if (!off) return 0;
  auto* v = h->at<ValueHeader>(off);
  v->set(0, 0, 0, 1);
  *value_buffers(v) = {4096, kValueBytes - 4096};
  auto* words = h->at<uint64_t>(off);
  for (uint64_t i = 512; i < kValueBytes / 8; i += 31) words[i] = word_at(seed, i);
  l.alloc.publish(off);
  settle(h, &h->residence[h->page_of(off)], false);
  return off;
}

// Reads as a process would: pinned in memory, or from the file.
inline void read_value(Heap* h, int file, Off off, uint64_t seed, Random& r, std::vector<uint64_t>& copy) {
  Residence* where = &h->residence[h->page_of(off)];
  CHECK(h->at<ValueHeader>(off)->buffers() == 1);  // the head is always there
  bool here = pin(h, where);
  auto* words = h->at<uint64_t>(off);
  if (!here) {
    copy.resize(kValueBytes / 8 + 1);
    CHECK(read_all(file, reinterpret_cast<uint8_t*>(copy.data()), value_end(h->at<ValueHeader>(off)), off));
    words = copy.data();
  }
  for (uint64_t i = 512; i < kValueBytes / 8; i += 31) CHECK(words[i] == word_at(seed, i));
  r.jitter();
  if (here) unpin(where);
}

inline int spill_file(Heap* h) {
  FILE* named = tmpfile();
  CHECK(named);
  int file = dup(fileno(named));
  fclose(named);
  h->take_spill_file(file);
  return file;
}

inline void spilling() {
  World world(64);
  Heap* h = world.heap.get();
  const int file = spill_file(h);
  constexpr int kValues = 48, kThreads = 4;
  std::vector<Shared> values(kValues);
  atomic<uint32_t> dead[kThreads] = {};
  atomic<int> running{kThreads};
  Deadline deadline(seconds);
  std::thread supervisor = reaping(h, dead, running);
  in_threads(kThreads, [&](int i) {
    Random r(uint64_t(i) + 1);
    auto l = world.process();
    std::vector<uint64_t> copy;
    auto drop = [&](Shared& s) {
      if (s.holds.fetch_sub(1, memory_order_acq_rel) == 1) l->alloc.free(s.block.exchange(0));
    };
    while (!deadline.over()) {
      Shared& s = values[r.below(kValues)];
      switch (r.below(6)) {
        case 0: {  // a new value, in a place that is free
          int32_t none = 0;
          if (s.block.load() || !s.holds.compare_exchange_strong(none, -1)) break;
          if (s.block.load()) {
            s.holds.store(0);
            break;
          }
          s.seed = r.next();
          Off block = write_value(h, *l, s.seed);
          s.block.store(block);
          s.holds.store(block ? 1 : 0, memory_order_release);
          s.owned.store(block != 0, memory_order_release);
          break;
        }
        case 1:
          if (s.owned.exchange(false, memory_order_acq_rel)) drop(s);
          break;
        case 2: {  // move
          auto page = uint32_t(r.below(h->header->high_page + 1));
          if (h->page_state[page].load(memory_order_acquire) != kRun) break;
          int steps = r.below(8) == 0 ? int(r.below(4)) : 9;
          bool mortal = steps < 3 && dead[i].load() == 0 && world.next_slot < 16000;
          leave(h, l->slot, file, page, [&] { return !mortal || steps-- > 0; });
          if (mortal) {
            uint32_t slot = l->slot;
            l = world.process();
            dead[i].store(slot, memory_order_release);
          }
          break;
        }
        default: {  // read
          int32_t n = s.holds.load(memory_order_acquire);
          while (n > 0 && !s.holds.compare_exchange_weak(n, n + 1, memory_order_acq_rel)) {}
          if (n <= 0) break;
          read_value(h, file, s.block.load(), s.seed, r, copy);
          drop(s);
        }
      }
      r.jitter();
    }
    running.fetch_sub(1);
  });
  supervisor.join();
  CHECK(h->header->spilled > 0);
  auto l = world.process();
  for (auto& s : values)
    if (Off block = s.block.exchange(0)) l->alloc.free(block);
  CHECK(h->header->away == 0);
  struct stat on_disk;
  CHECK(fstat(file, &on_disk) == 0 && on_disk.st_blocks < 64);  // every place was given back
  world.check_all_free();
}

}  // namespace stress
