// The list of holds of a process, written where the supervisor can read it after the process was killed.
//
// An entry is an offset with a tag in its low bits. It is written before the thing is relied on and cleared after
// it was given back; a kill between taking a hold and writing the entry leaks that one hold, and never frees
// something that is in use. Kills strike where a process is in the kernel or waits for memory: so take() does before what it can, and the two
// instructions follow each other. The last hold of an object is given back without such a gap (falling.h).
#pragma once
#include "memory/alloc.h"

namespace reactor {

// SmallView: the hold of an array over a value that has no pages of its own; View: of one that has.
// Finished: a Task or Call whose results are settled; the message's holds are being given back (release_message), its block after them.
// Node, Group: with what it waits (object.h), Group being of bells too. Code: the hold of who has put code into the store. PutOff: a Task
// that is to be run again later, on its way to the supervisor (retries.h).
enum class Entry : uint64_t {
  None = 0,
  Hold,
  Run,
  Block,
  Channel,
  Trying,
  Task,
  Weak,
  Call,
  View,
  Finished,
  SmallView,
  Node,
  Group,
  Code,
  PutOff,
  Mask = 31
};
constexpr uint32_t kNoEntry = 0xffffffff;

struct HoldChunk {
  static constexpr uint32_t kEntries = 2032;
  Off next;
  atomic<uint64_t> entry[kEntries];
};
static_assert(sizeof(HoldChunk) <= 16320);

class HoldList {
 public:
  // Without a process entry (driver, tests) nothing is written: when the driver dies everything ends.
  HoldList(Heap* h, Allocator* a, Proc* proc) : heap_(h), alloc_(a), proc_(proc) {}

  // Takes a hold of the object at `off` and notes it.
  [[gnu::noinline]] uint32_t take(atomic<int32_t>& holds, Off off, Entry tag) {
    if (!proc_) {
      holds.fetch_add(1, memory_order_relaxed);
      return kNoEntry;
    }
    if (free_.empty()) grow();
    const uint32_t i = free_.back();
    free_.pop_back();
    atomic<uint64_t>& entry = at(i);
    warm(holds);
    holds.fetch_add(1, memory_order_relaxed);  // before it is noted: who is killed in between has one too many, and not one too few
    entry.store(off | uint64_t(tag), memory_order_release);
    return i;
  }
  // Makes room for the next entry, which takes long now and then: so it is called before something is done that add() will note.
  void reserve() {
    if (proc_ && free_.empty()) grow();
  }
  uint32_t add(Off off, Entry tag) {
    if (!proc_) return kNoEntry;
    if (free_.empty()) grow();
    uint32_t i = free_.back();
    free_.pop_back();
    at(i).store(off | uint64_t(tag), memory_order_release);
    return i;
  }
  void set(uint32_t i, Off off, Entry tag) {
    if (i != kNoEntry) at(i).store(off | uint64_t(tag), memory_order_release);
  }
  void retag(uint32_t i, Entry tag) {
    if (i != kNoEntry) at(i).store((at(i).load(memory_order_relaxed) & ~uint64_t(Entry::Mask)) | uint64_t(tag), memory_order_release);
  }
  void clear(uint32_t i) {
    if (i == kNoEntry) return;
    at(i).store(0, memory_order_release);
    free_.push_back(i);
  }
  // Clears all entries of this kind and calls `found` with the offset of each. For a process that leaves the run: nobody else uses the hold list.
  template <class Found> void clear_all(Entry tag, Found found) {
    for (auto* c : chunks_)
      for (auto& e : c->entry) {
        const uint64_t v = e.load(memory_order_relaxed);
        if (!v || Entry(v & uint64_t(Entry::Mask)) != tag) continue;
        e.store(0, memory_order_release);
        found(Off(v & ~uint64_t(Entry::Mask)));
      }
  }

 private:
  atomic<uint64_t>& at(uint32_t i) { return chunks_[i / HoldChunk::kEntries]->entry[i % HoldChunk::kEntries]; }
  void grow() {
    Off off = alloc_->alloc_record(sizeof(HoldChunk));
    auto* c = heap_->at<HoldChunk>(off);
    for (auto& e : c->entry) e.store(0, memory_order_relaxed);
    c->next = proc_->hold_list.load(memory_order_relaxed);
    proc_->hold_list.store(off, memory_order_release);
    uint32_t first = uint32_t(chunks_.size()) * HoldChunk::kEntries;
    chunks_.push_back(c);
    for (uint32_t i = HoldChunk::kEntries; i-- > 0;) free_.push_back(first + i);
  }
  Heap* heap_;
  Allocator* alloc_;
  Proc* proc_;
  std::vector<HoldChunk*> chunks_;
  std::vector<uint32_t> free_;
};

}  // namespace reactor
