// Records that stay as long as the run: 64 bytes each, in blocks that all processes fill. A block that stays keeps its page of the heap, also when
// the process that made it has ended; a page for each record would be a thousand times as much.
//
//   Header::kept ──> KeptBlock: how many places are taken, the places
//
// A process takes a place by an increment of `taken` and then has it alone; who finds no place left puts a new block there by CAS. Killed in between,
// a place, or a block, is lost. Earlier blocks need no list: the records are found by their users.
#pragma once
#include "memory/object.h"

namespace reactor {

struct alignas(64) KeptRecord {
  uint8_t bytes[64];
};
struct KeptBlock {
  static constexpr uint32_t kPlaces = 254;
  alignas(64) atomic<uint32_t> taken;
  KeptRecord place[kPlaces];
};
static_assert(sizeof(KeptBlock) == 16320);  // a size of slots, see alloc.h

// A place for a record of this type, which is not written yet.
template <class T> T* keep(Local& l) {
  static_assert(sizeof(T) <= sizeof(KeptRecord) && alignof(T) <= alignof(KeptRecord));
  atomic<Off>& kept = l.heap->header->kept;
  for (Off off = kept.load(memory_order_acquire);;) {
    if (off) {
      auto* block = l.heap->at<KeptBlock>(off);
      const uint32_t i = block->taken.fetch_add(1, memory_order_relaxed);
      if (i < KeptBlock::kPlaces) return reinterpret_cast<T*>(&block->place[i]);
    }
    Off more = l.alloc.alloc_record(sizeof(KeptBlock));
    l.alloc.publish(more, kPlain);
    l.heap->at<KeptBlock>(more)->taken.store(0, memory_order_relaxed);
    if (kept.compare_exchange_strong(off, more, memory_order_acq_rel, memory_order_acquire)) off = more;
    else l.alloc.free(more);
  }
}

}  // namespace reactor
