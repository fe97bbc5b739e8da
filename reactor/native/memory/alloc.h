// Memory of the shared heap. One allocator per process; blocks may be freed by any process.
//
// Pages (64 KiB) are claimed one by one with a compare-and-swap on page_state, so there is no lock to die with.
//
//   state        meaning                                    next
//   kCold 0      free, no memory behind it                  kClaim+p
//   kWarm 1      free, memory kept for reuse                kClaim+p
//   kClaim+p     process p is filling or freeing it         kRun, kSlab, or free again (p, or the supervisor if p died)
//   kRun 2       published large value (residence.h)        kClaim+p (whoever drops the last hold frees it)
//   kSlab 3      cut into slots of one size                 free (when its owner died and the last slot came back)
//   kPlain 4     published, not counted as a value          free (queues' memory)
//
// Publication (claim -> run) happens before the offset of the block is stored in an object; until then the pages
// bear the writer's number, and the supervisor gives back all such pages of a dead process. To find them it looks at
// the pages below high_page, which is therefore raised before the first page is claimed.
//
// low_page is where a search starts. Raising it over a page that was freed behind the searcher's back would lose that
// page for good, so a search raises it only if no free was noted since it began: who frees pages stores their states
// and then notes it with a compare-and-swap that counts up and lowers [release]; the searcher read the word before
// its first look [acquire] and swaps the very same word. A note that comes after the swap lowers it again.
//
// Slab slots: the owner keeps a private free list per size; other processes push freed slots on the owner's
// Proc::remote_free (push only [release], emptied whole by the owner [acquire]: no ABA). `used` counts the slots that are handed out, and
// one for the owner while it lives, so exactly one party (the last slot's freer, or the supervisor for a dead owner)
// counts it down to 0 and frees the page; nobody looks at the page after its own count. The supervisor finds a dead
// process's pages by page_run, which names a slab page's owner, and not by what the page says: a page of another owner
// may be freed and filled with a value at any time. An owner is a process slot and the slot's generation, and a list bears the
// generation of its process: who would push to the list of a dead owner, whose slot a successor has by now, only counts. (The
// generation wraps after 65536 processes of one slot, all between two instructions of the pusher.)
//
// Killed on the way. A publication first says in Proc::counting which run it counts: if the supervisor finds that run still
// claimed, it takes the count back. Who frees a run marks it doomed, by itself (residence.h), says it in Proc::counting, too, and claims
// it again: until the first page is claimed the supervisor finds the mark, and from then on all of the run is the dead process's. What is
// left are moments of a few instructions: between push and count in slab_free the page stays (64 KiB), between the swaps of claim() and
// its count of warm_free that total is off by the run, between the count of a small value and its object, or of a large one and the end
// of that in Proc::counting, store_used is off by it. Each costs memory that is not used again, never memory in use. A process spends most
// of its time where it waits for memory, so it waits before such a moment and not in it: warm() in heap.h.
//
// Each process counts small values for itself, in Proc::small_values, and adds the sum to Header::store_used from time to time. (Killed
// between the two, store_used is off by the sum, 48 KiB at most.) Who adds all sums while others do this may be off by as much for each.
#pragma once
#include <new>
#include <vector>
#include "memory/residence.h"

namespace reactor {

// The shared heap has no room for what an operation must have.
struct NoRoom : std::bad_alloc {
  const char* what() const noexcept override {
    return "no room in the shared heap: delete refs and arrays that are no longer needed, or make fewer calls before you get their results";
  }
};

// For whom memory is allocated. The last pages of the heap are reserved for the runtime. When values and calls have filled all others, the
// next put or call fails, but a worker can still run a task and the supervisor can still report a death.
enum class For { User, Runtime };
constexpr uint32_t kReservedShare = 32;  // one page in so many

constexpr uint32_t kCold = 0, kWarm = 1, kRun = 2, kSlab = 3, kPlain = 4, kClaim = 16;
constexpr uint32_t kAbandoned = 0xfffffffe;
constexpr uint32_t kSlabOwner = 0x80000000;  // page_run of a slab page: this and the owner
constexpr int kSlotBits = 14, kGenerationBits = 16;  // of an owner
static_assert(kMaxProcs <= 1u << kSlotBits);
constexpr int64_t kUncounted = 16384;  // with more, or less than the negative, a process adds its small_values to store_used
constexpr int kOffBits = 48;  // of Proc::remote_free; above them the generation
constexpr Off kOffMask = (Off(1) << kOffBits) - 1;
inline uint32_t owner_of(const Heap* h, uint32_t slot) {
  return slot | (h->procs[slot].generation & ((1u << kGenerationBits) - 1)) << kSlotBits;
}
inline Off empty_list(uint32_t owner) { return Off(owner >> kSlotBits) << kOffBits; }
constexpr uint32_t kSlabSizes[kClasses] = {64, 128, 256, 512, 1024, 2048, 4096, 8128, 13056, 16320, 21824, 32704};
constexpr uint64_t kSlabMax = kSlabSizes[kClasses - 1];

struct SlabPage {  // first 64 bytes of a slab page
  atomic<uint32_t> owner;  // see owner_of, or kAbandoned
  uint32_t size_class;
  atomic<uint32_t> used;  // slots handed out, and 1 for the owner while it lives
  uint32_t slots;
};

inline int size_class(uint64_t n) {
  if (n <= 64) return 0;
  if (n <= 4096) return 64 - __builtin_clzll(n - 1) - 6;
  for (int c = 7; c < kClasses; ++c)
    if (n <= kSlabSizes[c]) return c;
  return -1;
}

inline void punch(Heap* h, uint32_t page, uint32_t n) { h->give_back(h->page_at(page), uint64_t(n) * kPage); }

// Pages from `page` on were freed (their states are stored): searches must come by again.
inline void note_free(Header* hdr, uint32_t page) {
  uint64_t low = hdr->low_page.load(memory_order_relaxed);
  uint64_t noted;
  do {
    uint64_t lowest = page < uint32_t(low) ? page : uint32_t(low);
    noted = ((low >> 32) + 1) << 32 | lowest;
  } while (!hdr->low_page.compare_exchange_weak(low, noted, memory_order_release, memory_order_relaxed));
}

// By the process `slot`, or for it. `cold`: their memory is not worth keeping.
inline void free_pages(Heap* h, uint32_t slot, uint32_t page, uint32_t n, bool cold = false) {
  Header* hdr = h->header;
  auto become = [&](uint32_t state) {
    for (uint32_t i = 0; i < n; ++i) h->page_state[page + i].store(state, memory_order_release);
  };
  if (!cold && hdr->warm_free.fetch_add(int64_t(n) * int64_t(kPage), memory_order_relaxed) > hdr->warm_limit) {
    hdr->warm_free.fetch_sub(int64_t(n) * int64_t(kPage), memory_order_relaxed);
    cold = true;
  }
  if (cold) {
    become(kClaim + slot);  // who is killed now leaves them to the supervisor
    punch(h, page, n);
  }
  become(cold ? kCold : kWarm);
  note_free(hdr, page);
}

// Bytes of all values in the store.
inline int64_t store_used(const Heap* h) {
  int64_t all = h->header->store_used.load(memory_order_relaxed);
  const uint32_t high = h->header->proc_high.load(memory_order_acquire);
  for (uint32_t i = 0; i < high; ++i) all += h->procs[i].small_values.load(memory_order_relaxed);
  return all;
}
// Whether the store has room for so many bytes more.
inline bool fits(const Heap* h, int64_t bytes) {
  const Header* hdr = h->header;
  const int64_t left = hdr->store_limit - bytes - hdr->store_used.load(memory_order_relaxed);
  if (left >= kUncounted * int64_t(kMaxProcs)) return true;
  const int64_t uncounted = kUncounted * int64_t(hdr->proc_high.load(memory_order_relaxed));
  return left >= uncounted || (left >= -uncounted && bytes + store_used(h) <= hdr->store_limit);
}

inline void count_run(Heap* h, uint32_t pages, int sign) {
  h->header->store_used.fetch_add(sign * int64_t(pages) * int64_t(kPage), memory_order_relaxed);
  h->header->runs_used.fetch_add(sign * int64_t(pages) * int64_t(kPage), memory_order_relaxed);
}
// The store's totals without the run, which is about to be freed.
inline void uncount_run(Heap* h, uint32_t page, uint32_t n) {
  if (place_of(h->residence[page].word.load(memory_order_acquire)) == Place::Away)
    count_away(h->header, -gain_of(h->at<ValueHeader>(h->page_at(page)), n));
  count_run(h, n, -1);
}
// Frees a published value, now or when its mover is through with it. Who calls this is the only one to free it, and calls `forget` when it
// must not begin to free it once more: what is left to do is then the mover's, or the supervisor's if the process is killed.
template <class Forget>
void free_run(Heap* h, uint32_t slot, uint32_t page, Forget&& forget) {
  const uint32_t n = h->page_run[page].load(memory_order_relaxed);
  atomic<uint64_t>& at = h->residence[page].word;
  uint64_t word = at.load(memory_order_acquire);
  while (true) {
    if (in_transit(word)) {
      forget();
      if (at.compare_exchange_weak(word, word | kDoomed, memory_order_acq_rel, memory_order_acquire)) return;
    } else if (at.compare_exchange_weak(word, (word & ~kMover) | uint64_t(slot) << kMoverShift | kDoomed, memory_order_acq_rel,
                                        memory_order_acquire)) {
      break;
    }
  }
  REACTOR_KILL_POINT();
  if (word & kFiled) h->punch_file(h->page_at(page), uint64_t(n) * kPage);
  atomic<uint32_t>& counting = h->procs[slot].counting;
  counting.store(page + 1, memory_order_release);
  REACTOR_KILL_POINT();
  for (uint32_t i = 0; i < n; ++i) {
    h->page_state[page + i].store(kClaim + slot, memory_order_release);
    REACTOR_KILL_POINT();
  }
  forget();
  REACTOR_KILL_POINT();
  uncount_run(h, page, n);
  counting.store(0, memory_order_release);
  REACTOR_KILL_POINT();
  at.store(0, memory_order_relaxed);
  free_pages(h, slot, page, n, place_of(word) == Place::Away);
}

// The end of a move, by the mover or for a dead one.
inline void finish_move(Heap* h, uint32_t slot, uint32_t page, Place to) {
  atomic<uint64_t>& at = h->residence[page].word;
  uint64_t word = at.load(memory_order_acquire);
  auto ended = [&] { return placed_at(to, kFiled | (word & kPins) | (word & kDoomed ? word & (kDoomed | kMover) : 0)); };
  while (!at.compare_exchange_weak(word, ended(), memory_order_acq_rel, memory_order_acquire)) {}
  REACTOR_KILL_POINT();
  if (word & kDoomed) free_run(h, slot, page, [] {});
}
// For a run which the dead process `slot` may have moved, or have begun to free.
inline void heal(Heap* h, uint32_t page, uint32_t slot) {
  uint64_t word = h->residence[page].word.load(memory_order_acquire);
  if (mover_of(word) != slot) return;
  if (!in_transit(word)) {
    if (word & kDoomed) free_run(h, slot, page, [] {});
    return;
  }
  if (place_of(word) == Place::Leaving) return finish_move(h, slot, page, Place::Here);
  drop_memory(h, page, h->page_run[page].load(memory_order_relaxed));
  finish_move(h, slot, page, Place::Away);
}

class Allocator {
 public:
  Allocator(Heap* h, uint32_t slot)
      : heap_(h), slot_(slot), owner_(owner_of(h, slot)), supervisors_(h->procs[slot].kind == ProcKind::Supervisor) {}

  // A block of at least n bytes, 64-byte aligned. 0 when the heap is exhausted. Large blocks (over kSlabMax) belong
  // to this process until publish().
  Off alloc(uint64_t n, For whom = For::User) {
    int c = size_class(n);
    return c >= 0 ? slab_alloc(c, whom) : run_alloc(n, whom);
  }
  // The same for a record of the runtime's own; throws NoRoom when even the pages kept for these are taken.
  Off alloc_record(uint64_t n) {
    Off off = alloc(n, For::Runtime);
    if (!off) throw NoRoom();
    return off;
  }
  // Between the steps it asks whether it is `alive`: tests kill it there. Values are published under the GIL: one at a time.
  template <class Alive>
  void publish(Off off, uint32_t as, Alive&& alive) {
    uint32_t page = heap_->page_of(off);
    if (heap_->page_state[page].load(memory_order_relaxed) != kClaim + slot_) return;
    uint32_t n = heap_->page_run[page].load(memory_order_relaxed);
    atomic<uint32_t>& counting = heap_->procs[slot_].counting;
    if (as == kRun) {
      counting.store(page + 1, memory_order_release);
      count_run(heap_, n, 1);
    }
    for (uint32_t i = 0; i < n; ++i) {
      if (!alive()) return;
      heap_->page_state[page + i].store(as, memory_order_release);
    }
    if (as == kRun) counting.store(0, memory_order_release);
  }
  void publish(Off off, uint32_t as = kRun) {
    publish(off, as, [] { return true; });
  }
  void free(Off off) {
    uint32_t page = heap_->page_of(off);
    uint32_t state = heap_->page_state[page].load(memory_order_acquire);
    if (state == kSlab) return slab_free(off);
    if (state == kRun) return free_run(heap_, slot_, page, [] {});
    free_pages(heap_, slot_, page, heap_->page_run[page].load(memory_order_relaxed));
  }
  // An object's value. `forget` takes its offset out of the object, see free_run. (Claimed pages: a dead process has come so far.)
  template <class Forget>
  void free_value(Off off, Forget&& forget) {
    const uint32_t page = heap_->page_of(off), state = heap_->page_state[page].load(memory_order_acquire);
    if (state == kRun) return free_run(heap_, slot_, page, forget);
    if (state != kSlab) return forget();
    fetch_slot(off);
    count_value(off, -1);
    forget();
    slab_free(off);
  }
  // Fetches what free() of this slot will write, before its offset is forgotten.
  void fetch_slot(Off off) {
    SlabPage* page = slab_page(off);
    const uint32_t owner = page->owner.load(memory_order_acquire);
    if (owner != owner_) fetch(page, owner);  // else it is here most likely
  }
  static uint64_t run_bytes(uint64_t n) { return align_up(n, kPage); }
  // What a block of n bytes takes of the store.
  static uint64_t block_bytes(uint64_t n) {
    int c = size_class(n);
    return c >= 0 ? kSlabSizes[c] : run_bytes(n);
  }
  // Small values are counted when they are stored and freed, under the GIL; large ones with their pages.
  void count_value(Off off, int sign) {
    if (heap_->page_state[heap_->page_of(off)].load(memory_order_relaxed) != kSlab) return;
    atomic<int64_t>& mine = heap_->procs[slot_].small_values;
    const int64_t sum = mine.load(memory_order_relaxed) + sign * int64_t(kSlabSizes[slab_page(off)->size_class]);
    const bool add = sum >= kUncounted || sum <= -kUncounted;
    if (add) warm(heap_->header->store_used);
    mine.store(add ? 0 : sum, memory_order_release);
    if (add) heap_->header->store_used.fetch_add(sum, memory_order_relaxed);
  }

 private:
  SlabPage* slab_page(Off off) { return heap_->at<SlabPage>(off & ~Off(kPage - 1)); }
  [[gnu::noinline]] void fetch(SlabPage* page, uint32_t owner) {
    warm(page->used);
    if (owner != kAbandoned) warm(heap_->procs[owner & (kMaxProcs - 1)].remote_free[page->size_class]);
  }
  Off slab_alloc(int c, For whom) {
    if (free_[c] == 0) collect(c);
    Off off = free_[c];
    if (off) {
      free_[c] = *heap_->at<Off>(off);
    } else {
      Bump& b = bump_[c];
      if (b.next == b.end && !new_page(c, whom)) return 0;
      off = b.next;
      b.next += kSlabSizes[c];
    }
    slab_page(off)->used.fetch_add(1, memory_order_relaxed);
    return off;
  }
  void slab_free(Off off) {
    SlabPage* page = slab_page(off);
    int c = int(page->size_class);
    uint32_t owner = page->owner.load(memory_order_acquire);
    if (owner == owner_) {
      std::atomic_ref(*heap_->at<Off>(off)).store(free_[c], memory_order_relaxed);  // who looks at a freed object (order.cpp) may read it
      free_[c] = off;
    } else if (owner != kAbandoned) {
      atomic<Off>& list = heap_->procs[owner & (kMaxProcs - 1)].remote_free[c];
      const Off empty = empty_list(owner);
      Off head = list.load(memory_order_relaxed);
      do {
        if ((head & ~kOffMask) != empty) break;
        std::atomic_ref(*heap_->at<Off>(off)).store(head & kOffMask, memory_order_relaxed);
      } while (!list.compare_exchange_weak(head, empty | off, memory_order_release, memory_order_relaxed));
    }
    // From here on the slot is not ours; the page stays until it is counted down.
    if (page->used.fetch_sub(1, memory_order_acq_rel) == 1) free_pages(heap_, slot_, heap_->page_of(heap_->off(page)), 1);
  }
  void collect(int c) {
    atomic<Off>& list = heap_->procs[slot_].remote_free[c];
    if ((list.load(memory_order_relaxed) & kOffMask) == 0) return;
    free_[c] = list.exchange(empty_list(owner_), memory_order_acquire) & kOffMask;
  }
  bool new_page(int c, For whom) {
    uint32_t page = claim(1, whom);
    if (page == UINT32_MAX) return false;
    Off at = heap_->page_at(page);
    SlabPage* s = heap_->at<SlabPage>(at);
    s->owner.store(owner_, memory_order_relaxed);
    s->size_class = uint32_t(c);
    s->used.store(1, memory_order_relaxed);
    s->slots = uint32_t((kPage - 64) / kSlabSizes[c]);
    heap_->page_run[page].store(kSlabOwner | owner_, memory_order_relaxed);
    heap_->page_state[page].store(kSlab, memory_order_release);
    bump_[c] = {at + 64, at + 64 + Off(s->slots) * kSlabSizes[c]};
    return true;
  }
  Off run_alloc(uint64_t n, For whom) {
    uint32_t pages = uint32_t(run_bytes(n) / kPage);
    auto& [last, before] = last_[pages % kRemembered];
    const uint32_t newest = last.load(memory_order_relaxed);
    uint32_t page = newest;
    if (claim_again(page, pages)) return heap_->page_at(page);
    page = before.load(memory_order_relaxed);
    if (!claim_again(page, pages)) page = claim(pages, whom);
    if (page == UINT32_MAX) return 0;
    before.store(newest, memory_order_relaxed);
    last.store(page, memory_order_relaxed);
    return heap_->page_at(page);
  }
  // One of the two runs that were taken last for a value of such a size, if it is free and warm: this process has page table entries for
  // it. (A page fault for each 4 KiB of a fresh one takes as long as filling it does.) Two, because who sends a value in each round makes the
  // next one while receivers have the last.
  bool claim_again(uint32_t page, uint32_t n) {
    if (page + n > heap_->header->high_page.load(memory_order_relaxed)) return false;
    uint32_t got = 0;
    for (; got < n; ++got) {
      uint32_t warm = kWarm;
      if (!heap_->page_state[page + got].compare_exchange_strong(warm, kClaim + slot_, memory_order_acquire, memory_order_relaxed)) break;
    }
    if (got == n) {
      heap_->header->warm_free.fetch_sub(int64_t(n) * int64_t(kPage), memory_order_relaxed);
      heap_->page_run[page].store(n, memory_order_relaxed);
      return true;
    }
    for (uint32_t i = 0; i < got; ++i) heap_->page_state[page + i].store(kWarm, memory_order_release);
    if (got) note_free(heap_->header, page);
    return false;
  }
  // First fit from the lowest free page, so that warm pages are used again.
  uint32_t claim(uint32_t n, For whom) {
    Header* hdr = heap_->header;
    const uint32_t end = whom == For::Runtime || supervisors_ ? hdr->pages : hdr->pages - hdr->pages / kReservedShare;
    uint64_t low = hdr->low_page.load(memory_order_acquire);
    uint32_t from = uint32_t(low);
    bool skipped = false;
    while (from + n <= end) {
      uint32_t high = hdr->high_page.load(memory_order_relaxed);
      while (from + n > high && !hdr->high_page.compare_exchange_weak(high, from + n, memory_order_release)) {}
      uint32_t got = 0;
      int64_t warm = 0;
      while (got < n) {
        atomic<uint32_t>& state = heap_->page_state[from + got];
        uint32_t s = state.load(memory_order_relaxed);
        if (s > kWarm || !state.compare_exchange_strong(s, kClaim + slot_, memory_order_acquire, memory_order_relaxed)) break;
        warm += s == kWarm ? int64_t(kPage) : 0;
        ++got;
      }
      if (got == n) {
        if (warm) hdr->warm_free.fetch_sub(warm, memory_order_relaxed);
        heap_->page_run[from].store(n, memory_order_relaxed);
        if (!skipped) hdr->low_page.compare_exchange_strong(low, low >> 32 << 32 | (from + n), memory_order_relaxed);
        return from;
      }
      if (got) skipped = true;
      for (uint32_t i = 0; i < got; ++i) heap_->page_state[from + i].store(kWarm, memory_order_release);
      if (got && warm != int64_t(got) * int64_t(kPage))
        hdr->warm_free.fetch_add(int64_t(got) * int64_t(kPage) - warm, memory_order_relaxed);
      if (got) note_free(hdr, from);  // another search may have passed them by meanwhile
      from += got;
      if (heap_->page_state[from].load(memory_order_relaxed) > kWarm) ++from;
    }
    return UINT32_MAX;
  }

  struct Bump {
    Off next = 0, end = 0;
  };
  Heap* heap_;
  uint32_t slot_, owner_;
  bool supervisors_;
  Off free_[kClasses] = {};
  Bump bump_[kClasses];
  static constexpr size_t kRemembered = 16;
  struct Taken {
    atomic<uint32_t> last{0}, before{0};
  };
  Taken last_[kRemembered];  // pages of the runs that were taken last, by their length; no lock guards runs
};

// Gives back what a dead process had: pages that it was filling, values that it was moving, and its slab pages once they are
// empty. Supervisor only.
inline void reap_memory(Heap* h, uint32_t slot) {
  h->header->store_used.fetch_add(h->procs[slot].small_values.exchange(0, memory_order_relaxed), memory_order_relaxed);
  uint32_t counted = h->procs[slot].counting.exchange(0, memory_order_acq_rel);
  if (counted && h->page_state[counted - 1].load(memory_order_acquire) == kClaim + slot) {
    const uint32_t n = h->page_run[counted - 1].load(memory_order_relaxed);
    for (uint32_t i = 1; i < n; ++i)
      h->page_state[counted - 1 + i].store(kClaim + slot, memory_order_relaxed);  // those that were to follow
    uncount_run(h, counted - 1, n);
  }
  uint32_t high = h->header->high_page.load(memory_order_acquire);
  for (uint32_t i = 0; i < high; ++i) {
    uint32_t s = h->page_state[i].load(memory_order_acquire);
    if (s == kClaim + slot) {
      if (h->residence[i].word.exchange(0) & kFiled)
        h->punch_file(h->page_at(i), uint64_t(h->page_run[i].load(memory_order_relaxed)) * kPage);
      free_pages(h, slot, i, 1);
    } else if (s == kRun) {
      heal(h, i, slot);
    } else if (s == kSlab) {
      uint32_t owner = kSlabOwner | owner_of(h, slot);
      if (!h->page_run[i].compare_exchange_strong(owner, kAbandoned, memory_order_acq_rel)) continue;
      SlabPage* page = h->at<SlabPage>(h->page_at(i));
      page->owner.store(kAbandoned, memory_order_release);
      if (page->used.fetch_sub(1, memory_order_acq_rel) == 1) free_pages(h, slot, i, 1);
    }
  }
}

}  // namespace reactor
