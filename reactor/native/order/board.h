// The boards: the open calls of each process, those that it has made, that carry something, and that have not come to their end (order.h).
//
// A board has a list for each callee: an actor, or all tasks together. A list numbers its calls in the order in which they are put in; calls
// head <= i < tail are there. Each call before `head` has ended, or is there again behind it. They lie in segments, each new one twice as large as the
// largest before it:
//
//   first -> segment: calls base <= i < base + capacity -> the next segment -> ...
//
// The owner writes calls, `tail`, `first` and the segments. Everybody moves `head`, over calls that have ended, which is for good. If a few calls stay
// open for long and keep `head` back, the owner puts them in again at the tail and moves `head` over all before.
//   - A call is written before `tail` [release]: who finds i < tail [acquire] reads it whole, unless it was overwritten meanwhile.
//   - A segment is used again, with a new base, when all its calls are before `head`, as the owner has read it. So a reader that has read call i
//     looks at `head` again: is it still <= i, then no word that it read was newer. (Owner: head, fence [release], words. Reader: words, fence
//     [acquire], head.) Else it goes on from `head`, to the `tail` of now. The same where it finds no segment for i.
//   - From call `sorted` on, each call comes after the one before it by its tag. It is written before `tail`, like the call.
//   - A list whose calls have all ended may become another callee's. Who takes it for the former one's misses only what is put on the board
//     meanwhile, and `version` shows that.
// Killed anywhere, the owner leaves at worst a segment that nobody uses, a call that is there twice, and one that it has not sent: that holds others
// back until they are relaxed.
#pragma once
#include <unordered_map>
#include <vector>
#include "objects/object.h"
#include "order/tag.h"

namespace reactor {

// A caller or a callee, as a number: 0 for the driver, an actor's number, or, for all tasks of one function, kTasks and part of its uid.
using Party = uint32_t;
constexpr Party kDriverParty = 0, kTasks = 1u << 31;
inline Party party_of(uint32_t actor, uint64_t target) { return actor ? actor : kTasks | uint32_t(target); }
inline uint64_t pair_of(Party caller, Party holder) { return uint64_t(caller) << 32 | holder; }

// The facts about an open call. This is a copy; a board has the same facts as words.
struct OpenCall {
  Off result = 0;  // its first result: done when the call is
  uint64_t uid = 0;  // of the result, whose memory may be something else's by now
  uint64_t target = 0;  // number of the actor on which it runs, or its function's uid
  uint64_t root = 0;
  uint32_t actor = 0;  // 0: a task
  uint16_t depth = 0;
  uint16_t holds = 0;  // actors of which a task was given handles; kAnybody: more than fit
  uint32_t tail[kMaxTag];
  uint32_t hold[8];
  char name[40] = {};  // of the method or function, for messages
  TagView tag() const { return {root, tail, depth}; }
  Party party() const { return party_of(actor, target); }
};
constexpr uint16_t kAnybody = 0xffff;
constexpr size_t kOpenWords = sizeof(OpenCall) / 8;
static_assert(sizeof(OpenCall) == 8 * kOpenWords && offsetof(OpenCall, result) == 0 && offsetof(OpenCall, uid) == 8);

struct alignas(64) OpenSlot {
  atomic<uint64_t> word[kOpenWords];
};
struct alignas(64) OpenSegment {
  static constexpr uint64_t kSmallest = 4, kLargest = 1 << 14;
  atomic<Off> next;
  atomic<uint64_t> base;
  uint64_t capacity;
  OpenSlot& slot(uint64_t i) { return reinterpret_cast<OpenSlot*>(this + 1)[i]; }
};
struct alignas(64) OpenList {
  atomic<Off> next;  // of the board, never removed
  atomic<Off> first;
  atomic<uint64_t> head, tail, sorted;
  atomic<uint32_t> callee;  // an actor's number; 0: tasks
};
struct alignas(64) Board {
  atomic<Off> next;  // in Header::boards, never removed while the run lasts
  atomic<uint32_t> producer;
  atomic<uint64_t> version;  // counts the calls put on it
  atomic<Off> first;
};

// Whether the call with this result has not come to its end.
inline bool unfinished(Heap* h, Off result, uint64_t uid) {
  auto* o = h->at<Object>(result);
  if (std::atomic_ref(o->uid).load(memory_order_acquire) != uid || is_done(o)) return false;
  return std::atomic_ref(o->uid).load(memory_order_acquire) == uid;
}

inline OpenSegment* segment_of(Heap* h, const OpenList* l, uint64_t i, uint64_t& base) {
  for (Off off = l->first.load(memory_order_acquire); off;) {
    auto* s = h->at<OpenSegment>(off);
    base = s->base.load(memory_order_relaxed);
    if (i >= base && i - base < s->capacity) return s;
    off = s->next.load(memory_order_acquire);
  }
  return nullptr;
}

// Calls `found(call, sorted)` with the open calls of the list, oldest first, until it returns false. `sorted`: all behind it come after it.
template <class Found> void each_open(Heap* h, OpenList* l, Found found) {
  uint64_t head = l->head.load(memory_order_acquire), i = head;
  uint64_t tail = l->tail.load(memory_order_acquire), sorted = l->sorted.load(memory_order_relaxed);
  OpenSegment* s = nullptr;
  uint64_t base = 0;
  bool ended_so_far = true;
  while (i < tail) {
    if (!s || i - base >= s->capacity) s = segment_of(h, l, i, base);
    OpenCall x;
    bool open = false;
    if (s) {
      OpenSlot& slot = s->slot(i - base);
      open = unfinished(h, slot.word[0].load(memory_order_relaxed), slot.word[1].load(memory_order_relaxed));
      if (open) {
        uint64_t words[kOpenWords];
        for (size_t k = 0; k < kOpenWords; ++k) words[k] = slot.word[k].load(memory_order_relaxed);
        memcpy(&x, words, sizeof x);
      }
    }
    std::atomic_thread_fence(memory_order_acquire);
    const uint64_t now = l->head.load(memory_order_acquire);
    if (now > i) {
      head = i = now;
      tail = l->tail.load(memory_order_acquire);
      sorted = l->sorted.load(memory_order_relaxed);
      s = nullptr;
      continue;
    }
    if (!s) continue;
    if (open && ended_so_far) {
      ended_so_far = false;
      if (i > head) l->head.compare_exchange_strong(head, i, memory_order_acq_rel);
    }
    if (open && !found(x, i >= sorted)) return;
    ++i;
  }
  if (ended_so_far && i > head) l->head.compare_exchange_strong(head, i, memory_order_acq_rel);
}

// The board of this process, its owner's side. Guarded by the GIL.
class OwnBoard {
 public:
  explicit OwnBoard(Local& l) : local_(l), heap_(l.heap) {}
  // Puts a call on it, before it can be seen. (May come later too, see 2. in order.h.)
  void open(Object* result, OpenCall& call);

 private:
  static constexpr uint64_t kEnough = 64;
  struct OwnList {
    OpenList* list = nullptr;
    OpenSegment* last = nullptr;
    uint64_t largest = 0;  // capacity of a segment
    uint64_t enough = kEnough;  // calls between head and tail, at which it is looked whether few of them are open
    Tag newest;  // the tag of its last call
  };
  bool ended(OpenList* l);
  void adopt_or_make();
  OwnList& list_of(uint32_t callee);
  void take_ended_lists();
  OpenSlot& next_slot(OwnList& l);
  void append(OwnList& l, const OpenCall& call);
  void close_up(OwnList& l);
  Off allocate(uint64_t size);

  Local& local_;
  Heap* heap_;
  Board* board_ = nullptr;
  std::unordered_map<uint32_t, OwnList> lists_;
  std::vector<OwnList> free_;
  size_t enough_ = 2;  // lists in use, at which it is looked which have ended
};

}  // namespace reactor
