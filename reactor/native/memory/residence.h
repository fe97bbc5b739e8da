// Where a large value is: in memory, or in the spill file. One Residence per page, used at the first page of a run.
//
// The spill file is sparse, has no name, and is held by descriptor: it ends with the last process of the run. The bytes of a
// run at heap offset X lie in it at X, so there is nothing to allocate and nothing to look up. A value that goes there keeps
// its addresses; what it gives back is the memory behind them, but for its head (ValueHeader, refs, buffer entries), which
// anybody may read at any time: dropping the refs of a value never reads the file. Nothing comes back from the file: who
// reads a value that is there maps the file (spill.h), so that reading needs no room in the store, and the kernel's page
// cache decides what of it stays in memory.
//
//   state      complete in     next, and by whom
//   None       memory          Here (its writer); not to be moved: no published value, or all of it is head
//   Here       memory          Leaving (any process, only with no pins); doomed, then None (who frees it)
//   Leaving    memory          Dropping (its mover, only with no pins and not doomed); else back to Here, or freed (its mover)
//   Dropping   memory, file    Away, or freed if doomed (its mover)
//   Away       file            doomed, then None (who frees it)
//
// Word: pins in bits 0..31, the mover's or freer's slot in 32..45, state in 48..50, Filed in 51, Doomed in 52. All changes are
// read-modify-writes of this one word, so they have one order, and each decision is made by the one that comes first:
//   - A reader counts itself in (fetch_add, acquire) and looks at what was there before. Here or Leaving: the memory is good
//     until it counts itself out (release), because Leaving -> Dropping wants no pins. Else it counts itself out at once and
//     reads the file, which was complete before Dropping was stored (release). Nobody waits for anybody.
//   - Punching the memory comes after Leaving -> Dropping (acquire): after the last byte that a reader read.
//   - Who frees a run while it is moved only marks it doomed, because its mover reads its memory and writes its place in the
//     file; the mover frees it when it is through. So a place is never used again while something is written to it.
//   - Who frees a run that is not moved marks it doomed, with its own slot as the mover's: nobody moves it any more (free_run in alloc.h).
// Killed on the way: a mover in Leaving leaves the memory complete, in Dropping the file; the supervisor puts the run back to
// Here or on to Away. What the dead process has doomed, or had to free after its move, it frees (heal). A reader's pins are in its hold list
// (Entry::View). Filed is set before the first byte is written, so that the place in the file is given back however it ends. Killed between
// counting and storing, Header's totals are off by that run.
#pragma once
#include "memory/heap.h"

namespace reactor {

enum class Place : uint64_t { None = 0, Here, Leaving, Dropping, Away };

constexpr uint64_t kPins = 0xffffffff;
constexpr int kMoverShift = 32, kPlaceShift = 48;
constexpr uint64_t kMover = uint64_t(kMaxProcs - 1) << kMoverShift;
constexpr uint64_t kFiled = uint64_t(1) << 51;  // the file may have bytes in the run's place
constexpr uint64_t kDoomed = uint64_t(1) << 52;  // to be freed by the process in kMover

inline Place place_of(uint64_t word) { return Place(word >> kPlaceShift & 7); }
inline uint64_t mover_of(uint64_t word) { return (word & kMover) >> kMoverShift; }
inline uint64_t placed_at(Place p, uint64_t rest = 0) { return uint64_t(p) << kPlaceShift | rest; }
inline bool in_memory(uint64_t word) { return place_of(word) <= Place::Leaving; }
inline bool in_transit(uint64_t word) { return place_of(word) == Place::Leaving || place_of(word) == Place::Dropping; }

// The part of a value that stays in memory. (Where pages are larger than this, the rest of the first one stays, too.)
inline uint64_t head_bytes(const ValueHeader* v) { return align_up(ValueHeader::size_for(v->deps(), v->refs(), v->buffers()), 4096); }
// The bytes that a run of `pages` gives back when its value leaves memory.
inline int64_t gain_of(const ValueHeader* v, uint32_t pages) { return int64_t(uint64_t(pages) * kPage) - int64_t(head_bytes(v)); }

// Counts a reader in. True: the bytes are in memory until unpin(); false: they are in the file, and nothing was counted.
inline bool pin(Heap* h, Residence* r) {
  uint64_t before = r->word.fetch_add(1, memory_order_acq_rel);
  if (in_memory(before)) {
    uint64_t now = h->header->large_puts.load(memory_order_relaxed);
    if (r->used.load(memory_order_relaxed) != now) r->used.store(now, memory_order_relaxed);
    return true;
  }
  r->word.fetch_sub(1, memory_order_release);
  return false;
}
// One more pin where there is one.
inline void pin_again(Residence* r) { r->word.fetch_add(1, memory_order_acq_rel); }
inline void unpin(Residence* r) { r->word.fetch_sub(1, memory_order_release); }

// A published value may be moved from now on. `away`: its bytes were written to the file.
inline void settle(Heap* h, Residence* r, bool away) {
  r->used.store(h->header->large_puts.fetch_add(1, memory_order_relaxed) + 1, memory_order_relaxed);
  r->word.store(away ? placed_at(Place::Away, kFiled) : placed_at(Place::Here), memory_order_release);
}

inline void count_away(Header* h, int64_t bytes) {
  h->store_used.fetch_sub(bytes, memory_order_relaxed);
  h->runs_used.fetch_sub(bytes, memory_order_relaxed);
  h->away.fetch_add(bytes, memory_order_relaxed);
}

// Gives back the memory of a value that is complete in the file.
inline void drop_memory(Heap* h, uint32_t page, uint32_t pages) {
  auto* v = h->at<ValueHeader>(h->page_at(page));
  const uint64_t head = head_bytes(v);
  h->give_back(h->page_at(page) + head, uint64_t(pages) * kPage - head);
  count_away(h->header, gain_of(v, pages));
}

}  // namespace reactor
