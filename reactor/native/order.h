// The order of an actor's messages when several callers may send them: that of the program's serial run.
//
// Every call has a tag: its caller's tag, extended by the number of the call among its caller's. The driver's calls are (1), (2),
// ...; the third call made inside (2) is (2, 3). In the serial run, in which a call runs to its end where it is made, calls begin in
// the order of their tags. (Pedigrees; Leiserson, Schardl, Sukha, "Deterministic Parallel Random-Number Generation for
// Dynamic-Multithreading Platforms", 2012.)
//
// The holding rule. An actor B starts the message tagged t when no unfinished call x, x before t, can still send B a message before t.
//   - x is an ancestor of t (a prefix of its tag): what it sends from now on comes after t. It never holds t.
//   - Who can send: handles are capabilities. A call can reach B only if it, or the actor on which it runs, was given a handle
//     of B, or of somebody who was.
//
// So three things are kept in the shared heap, and none of them for a call that was given no ref and no handle and runs on an actor
// that was not either: most calls.
//
//   Board      the open calls of one process: those that carry something, written by their caller before they can be seen by
//              anybody, gone when their result is done
//   Notice     a log for all: "actor a holds a handle of b", "a handle of a lies in some value", "caller c is relaxed against holder x"
//   Inbox::order  what holds for one actor, see OrderFlag
//
// Why none is missed. Let x be a call that B does not see although it could still send B a message m before t.
//   1. x is on no board yet: its caller p is still to make it. p is before x, hence before t, and no ancestor of t (all that an
//      ancestor makes from now on comes after t); p is unfinished, and reaches B because x does. So p holds t. If p finishes
//      while B reads the boards, x went on a board before: a board's version, read before and after, shows it.
//   2. x was not put on a board because its actor C had been given nothing then. It runs after the message that gives C
//      something, and that one is on a board. C, in the middle of that, becomes open: it raises its flag [seq_cst] and then puts all
//      that it finds in its inbox on a board; a caller makes a message visible and then looks at the flag [seq_cst]. One of the two
//      sees the other.
//   3. m came before B looked at the boards, and x is done: B looks at its inbox once more after the boards.
// Holding more than necessary costs time, never a deadlock: it waits for what comes before in the serial order only, and what
// is first of all waits for nothing. What waits for something that comes later cannot be ordered; see Ordering.
//
// Several drivers in one session. Each has a range of roots of its own (kDriverBits), and no serial order is defined between what two of them
// make: neither holds the other's messages, and an actor takes theirs in the order of arrival.
//
// The price. A caller is relaxed against a holder when waiting for it has cost too much (patience.h): x then holds t no more if the
// caller of t is relaxed against x. A holder against which many callers are relaxed holds nobody any more.
#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include "object.h"

namespace reactor {

constexpr uint32_t kMaxTag = 40;  // words of a tag's tail

struct TagView {
  uint64_t root;  // the driver's call
  const uint32_t* tail;  // the numbers of the calls below it
  uint32_t depth;
};
struct Tag {
  uint64_t root = 0;
  uint32_t depth = 0;
  uint32_t tail[kMaxTag];
  operator TagView() const { return {root, tail, depth}; }
  void assign(TagView t) {
    root = t.root;
    depth = t.depth;
    for (uint32_t i = 0; i < depth; ++i) tail[i] = t.tail[i];
  }
  void push(uint32_t n) {
    if (depth < kMaxTag) tail[depth++] = n;
  }
};
// The roots of the driver of this number are (number << kDriverBits) + 1, ...; that of a session's own driver is 0.
constexpr uint32_t kDriverBits = 40;
inline uint64_t driver_of(uint64_t root) { return root >> kDriverBits; }
// Below 0: a is before b; an ancestor is before its descendants.
inline int compare(TagView a, TagView b) {
  if (a.root != b.root) return a.root < b.root ? -1 : 1;
  uint32_t n = a.depth < b.depth ? a.depth : b.depth;
  for (uint32_t i = 0; i < n; ++i)
    if (a.tail[i] != b.tail[i]) return a.tail[i] < b.tail[i] ? -1 : 1;
  return a.depth < b.depth ? -1 : a.depth > b.depth;
}
// The number of a call among its caller's is one word of the tail up to 2^31, then two of 30 bits each, of which the first has its highest bit
// set: so the order of the words is that of the numbers, and no word has its two highest bits set.
constexpr uint32_t kTwoWords = 1u << 31;
inline uint32_t words_of(uint64_t number) { return number < kTwoWords ? 1 : 2; }
// Where the last number of the tail begins that begins before word `end`.
inline uint32_t last_number(const uint32_t* tail, uint32_t end) {
  uint32_t at = 0;
  for (uint32_t next = 0; next < end; next += tail[next] & kTwoWords ? 2 : 1) at = next;
  return at;
}
// The depth of the tag of call `number` of the call tagged `caller`. Where the tail has no room for it, what the caller's has beyond kKept words is
// folded into a hash of two words, the first of which has its two highest bits set: such a tag is still one of its own, the same in every run, and
// the calls of one caller are in their order. But whether a call so deep is another's ancestor cannot be told, so it holds nobody.
constexpr uint32_t kKept = kMaxTag - 4, kHash = 3u << 30, kLowBits = (1u << 30) - 1;
inline uint32_t extended_depth(TagView caller, uint64_t number) {
  uint32_t depth = caller.depth + words_of(number);
  if (depth <= kMaxTag) return depth;
  uint32_t cut = last_number(caller.tail, kKept + 1);
  return cut + 2 + words_of(number);
}
// Writes its tail.
inline void extend(TagView caller, uint64_t number, uint32_t* to) {
  const bool folds = caller.depth + words_of(number) > kMaxTag;
  const uint32_t kept = folds ? last_number(caller.tail, kKept + 1) : caller.depth;
  for (uint32_t i = 0; i < kept; ++i) to[i] = caller.tail[i];
  to += kept;
  if (folds) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (uint32_t i = kept; i < caller.depth; ++i) hash = (hash ^ caller.tail[i]) * 0x9e3779b97f4a7c15ull, hash ^= hash >> 29;
    *to++ = uint32_t(hash >> 32) | kHash;
    *to++ = uint32_t(hash) & kLowBits;
  }
  if (words_of(number) == 2) {
    *to++ = (uint32_t(number >> 30) & kLowBits) | kTwoWords;
    number &= kLowBits;
  }
  *to = uint32_t(number);
}

// x is before t and not its ancestor, for sure.
inline bool strictly_before(TagView x, TagView t) {
  if (x.root != t.root) return x.root < t.root && driver_of(x.root) == driver_of(t.root);
  uint32_t n = x.depth < t.depth ? x.depth : t.depth;
  for (uint32_t i = 0; i < n; ++i)
    if (x.tail[i] != t.tail[i]) return x.tail[i] < t.tail[i] && t.tail[i] < kHash;
  return false;
}

// Who calls, and who is called: 0 is the driver, an actor its number, the tasks of one function together kTasks and part of its uid.
using Party = uint32_t;
constexpr Party kDriverParty = 0, kTasks = 1u << 31;
inline Party party_of(uint32_t actor, uint64_t target) { return actor ? actor : kTasks | uint32_t(target); }
inline uint64_t pair_of(Party caller, Party holder) { return uint64_t(caller) << 32 | holder; }

// What is known of an open call. A copy; on a board the same in words.
struct OpenCall {
  Off result = 0;  // its first result: done when the call is
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
constexpr size_t kRootWord = offsetof(OpenCall, root) / 8;
constexpr size_t kOpenWords = sizeof(OpenCall) / 8;
static_assert(sizeof(OpenCall) == 8 * kOpenWords);

// One place on a board. The owner writes the words and then `id`, the uid of the result [release]; a reader takes `id`, copies,
// and takes `id` again. The result's memory may have been used again meanwhile: then its uid is another, or 0.
struct alignas(64) OpenSlot {
  atomic<uint64_t> id;
  atomic<uint64_t> word[kOpenWords];
};
struct alignas(64) BoardChunk {
  static constexpr uint32_t kSlots = 25;
  atomic<Off> next;
  OpenSlot slot[kSlots];
};
static_assert(sizeof(BoardChunk) <= 8128);
struct alignas(64) Board {
  atomic<Off> next;  // in Header::boards, never removed while the run lasts
  atomic<uint32_t> producer;
  atomic<uint64_t> version;  // counts the calls put on it
  atomic<Off> first;
};

enum class NoticeKind : uint32_t { Holds = 0, Wide, Relaxed };
struct alignas(64) Notice {
  Off next;
  NoticeKind kind;
  uint32_t to;  // Holds: `who` has a handle of it
  uint64_t who;  // Relaxed: pair_of(caller, holder)
};

// This process's part. Guarded by the GIL.
class Order {
 public:
  explicit Order(Local& l) : local_(l), heap_(l.heap), header_(l.heap->header) {}

  // Puts a call on this process's board, before it can be seen. (May come later too, see 2. above.)
  void open(Object* result, OpenCall& call);
  void note(NoticeKind kind, uint64_t who, uint32_t to = 0);  // once for each

  // Whether the actor may start the caller's message tagged t now.
  bool may_start(uint32_t actor, TagView t, Party caller = kDriverParty);
  // The open calls of others that can come to send the actor a message, whenever they were made. A look, which may miss the newest.
  void senders(uint32_t actor, std::vector<OpenCall>& calls);

  bool relaxed(Party caller, Party holder) const {
    return !relaxed_.empty() && (relaxed_.count(pair_of(caller, holder)) || relaxed_by_all_.count(holder));
  }
  bool any_relaxed() {
    read_notices();
    return !relaxed_.empty();
  }
  static constexpr uint32_t kManyCallers = 8;  // relaxed against one holder: it holds nobody any more

 private:
  template <class Matters, class Found> void each_open(Board* b, uint32_t actor, uint64_t last_root, Matters matters, Found found);
  bool scan(Board* b, uint32_t actor, TagView t, Party caller);
  bool reaches(const OpenCall& x, uint32_t actor);
  void read_notices();
  OpenSlot* take_slot();
  void adopt_or_make_board();

  Local& local_;
  Heap* heap_;
  Header* header_;
  Board* board_ = nullptr;
  std::vector<OpenSlot*> all_, free_;
  std::unordered_set<uint64_t> noted_;  // notices that this process has given, hashed
  Off newest_ = 0;  // the notices read
  std::unordered_map<uint32_t, std::vector<uint32_t>> holders_;  // actor -> who holds it
  std::unordered_set<uint64_t> wide_, relaxed_;
  std::unordered_map<Party, uint32_t> relaxed_callers_;  // holder -> how many callers are relaxed against it
  std::unordered_set<Party> relaxed_by_all_;
  std::vector<std::pair<Off, uint64_t>> before_, now_;  // boards and their versions, in may_start
  uint32_t of_ = 0;  // the actor that the next two are about
  std::unordered_set<uint32_t> reachers_;
  bool of_wide_ = false;
};

// Whether the other processes all sleep, and nothing is under way that would wake one: a message to the supervisor, a worker that is
// being born, a call on an event loop or in a thread.
// With `loops`, an event loop that waits to be told something does not count: it may be about to be told, so this must hold for a while.
bool all_sleep(Heap* h, uint32_t me, bool loops = false);

// This process holds back a message, or not any more. Between the two it is rung whenever an open call ends.
void set_held(Local& l, bool held);

}  // namespace reactor
