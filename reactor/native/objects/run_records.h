// Records that stay as long as the run: 64 bytes each, in blocks that all processes fill. A block that stays keeps its page of the heap, also when
// the process that made it has ended; a page for each record would be a thousand times as much.
//
//   Header::run_records ──> RunRecordBlock: how many places are taken, the places
//
// A process takes a place by an increment of `taken` and then has it alone; who finds no place left puts a new block there by CAS. Killed in between,
// a place, or a block, is lost. Earlier blocks need no list: the records are found by their users.
#pragma once
#include "objects/object.h"

namespace reactor {

struct alignas(64) RunRecord {
  uint8_t bytes[64];
};
struct RunRecordBlock {
  static constexpr uint32_t kPlaces = 254;
  alignas(64) atomic<uint32_t> taken;
  RunRecord place[kPlaces];
};
static_assert(sizeof(RunRecordBlock) == 16320);  // a size of slots, see alloc.h

// A place for a record of this type, which is not written yet.
template <class T> T* alloc_for_run(Local& l) {
  static_assert(sizeof(T) <= sizeof(RunRecord) && alignof(T) <= alignof(RunRecord));
  atomic<Off>& run_records = l.heap->header->run_records;
  for (Off off = run_records.load(memory_order_acquire);;) {
    if (off) {
      auto* block = l.heap->at<RunRecordBlock>(off);
      const uint32_t i = block->taken.fetch_add(1, memory_order_relaxed);
      if (i < RunRecordBlock::kPlaces) return reinterpret_cast<T*>(&block->place[i]);
    }
    Off more = l.alloc.alloc_record(sizeof(RunRecordBlock));
    l.alloc.publish(more, kPlain);
    l.heap->at<RunRecordBlock>(more)->taken.store(0, memory_order_relaxed);
    if (run_records.compare_exchange_strong(off, more, memory_order_acq_rel, memory_order_acquire)) off = more;
    else l.alloc.free(more);
  }
}

}  // namespace reactor
