// The mover's side of residence.h: values that leave memory for the spill file when the store is full. No Python here; the
// caller gives up the GIL.
#pragma once
#include <algorithm>
#include <sys/statvfs.h>
#include <utility>
#include <vector>
#include "memory/alloc.h"

namespace reactor {

constexpr int64_t kSlackShare = 64;  // 1/64 of the store is emptied beyond what is asked for: looking costs too

inline uint64_t value_end(ValueHeader* v) {
  uint64_t end = uint64_t(value_stream(v) - reinterpret_cast<uint8_t*>(v)) + v->stream();
  for (uint32_t i = 0; i < v->buffers(); ++i) {
    BufferEntry& b = value_buffers(v)[i];
    if (!b.shown()) end = std::max(end, b.at + b.size);
  }
  return end;
}

inline bool disk_has(const Heap* h, int file, uint64_t bytes) {
  struct statvfs s;
  if (fstatvfs(file, &s) != 0) return true;  // the write will tell
  return double(s.f_bavail) * double(s.f_frsize) > double(bytes) + double(s.f_blocks) * double(s.f_frsize) * h->header->disk_left;
}

inline bool write_all(int file, const uint8_t* from, uint64_t n, Off at) {
  while (n) {
    ssize_t done = pwrite(file, from, std::min<uint64_t>(n, 1 << 30), off_t(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    from += done;
    at += Off(done);
    n -= uint64_t(done);
  }
  return true;
}

inline bool read_all(int file, uint8_t* to, uint64_t n, Off at) {
  while (n) {
    ssize_t done = pread(file, to, std::min<uint64_t>(n, 1 << 30), off_t(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    to += done;
    at += Off(done);
    n -= uint64_t(done);
  }
  return true;
}

// The outcome of an attempt to move a value.
enum class Left { Moved, InUse, NoDisk };

// Moves the value whose run begins at `page`. Between the steps it asks whether it is `alive`: tests kill it there.
template <class Alive>
Left leave(Heap* h, uint32_t slot, int file, uint32_t page, Alive&& alive) {
  Header* hdr = h->header;
  Residence& r = h->residence[page];
  uint64_t word = r.word.load(memory_order_acquire);
  if (place_of(word) != Place::Here || (word & (kPins | kDoomed))) return Left::InUse;
  uint64_t rest = kFiled | uint64_t(slot) << kMoverShift;
  uint64_t mine = placed_at(Place::Leaving, rest);
  if (!r.word.compare_exchange_strong(word, mine, memory_order_acq_rel)) return Left::InUse;
  if (!alive()) return Left::InUse;  // the run cannot be freed by others from here on
  uint64_t began = now_ns();
  uint32_t pages = h->page_run[page].load(memory_order_relaxed);
  Off at = h->page_at(page);
  auto* v = h->at<ValueHeader>(at);
  int64_t gain = gain_of(v, pages);
  if (gain <= 0) {
    finish_move(h, slot, page, Place::None);
    return Left::InUse;
  }
  uint64_t end = value_end(v);
  bool filed = disk_has(h, file, end) && write_all(file, h->at<uint8_t>(at), end, at);
  if (!alive()) return Left::InUse;
  if (!filed || !r.word.compare_exchange_strong(mine, placed_at(Place::Dropping, rest), memory_order_acq_rel)) {
    finish_move(h, slot, page, Place::Here);
    return filed ? Left::InUse : Left::NoDisk;
  }
  if (!alive()) return Left::InUse;
  drop_memory(h, page, pages);
  finish_move(h, slot, page, Place::Away);
  hdr->spilled.fetch_add(gain, memory_order_relaxed);
  hdr->spilled_values.fetch_add(1, memory_order_relaxed);
  hdr->spilled_ns.fetch_add(int64_t(now_ns() - began), memory_order_relaxed);
  return Left::Moved;
}

// Moves the values that were read longest ago, until `bytes` fit. Needs no GIL. False: they do not fit.
inline bool make_room(Heap* h, uint32_t slot, int64_t bytes) {
  Header* hdr = h->header;
  int file = h->spill_file();
  if (file < 0 || bytes > hdr->store_limit) return false;
  std::vector<std::pair<uint64_t, uint32_t>> found;
  uint32_t high = hdr->high_page.load(memory_order_acquire);
  for (uint32_t page = 0; page < high; ++page) {
    if (h->page_state[page].load(memory_order_acquire) != kRun) continue;
    uint64_t word = h->residence[page].word.load(memory_order_acquire);
    if (place_of(word) == Place::Here && !(word & (kPins | kDoomed)))
      found.emplace_back(h->residence[page].used.load(memory_order_relaxed), page);
  }
  std::sort(found.begin(), found.end());
  int64_t wanted = std::min(bytes + hdr->store_limit / kSlackShare, hdr->store_limit);
  for (auto& [used, page] : found)
    if (fits(h, wanted) || leave(h, slot, file, page, [] { return true; }) == Left::NoDisk) break;
  return fits(h, bytes);
}

}  // namespace reactor
