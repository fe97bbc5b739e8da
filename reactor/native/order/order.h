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
//   - What is before the creation of B has ended when B is made, in the serial run: it cannot send B a message, and does not hold t. (But if B has
//     a name, it may have been made by whoever asked for that name first, which need not be the first one in the serial run.)
//
// So three things are kept in the shared heap, and none of them for a call that was given no ref and no handle and runs on an actor
// that was not either: most calls.
//
//   Board      the open calls of one process: those that carry something, written by their caller before they can be seen by
//              anybody, gone when their result is done (board.h)
//   Notice     a log for all: "actor a holds a handle of b", "a handle of a lies in some value", "caller c is relaxed against holder x"
//   Inbox::order  what holds for one actor, see layout.h
//
// Why none is missed. Let x be a call that B does not see although it could still send B a message m before t.
//   1. x is on no board yet: its caller p is still to make it. p is before x, hence before t, and no ancestor of t (all that an
//      ancestor makes from now on comes after t); p is unfinished, and reaches B because x does. So p holds t. If p finishes
//      while B reads the boards, x went on a board before: a board's version, read before and after, shows it. (Not that of a driver's
//      board: what a driver makes meanwhile comes after t.)
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
#include "objects/run_records.h"
#include "order/board.h"

namespace reactor {

enum class NoticeKind : uint32_t { Holds = 0, Wide, Relaxed };
struct alignas(64) Notice {
  Off next;
  NoticeKind kind;
  uint32_t to;  // Holds: `who` has a handle of it
  uint64_t who;  // Relaxed: pair_of(caller, holder)
};

// An actor whose messages are put in order.
struct Ordered {
  uint32_t actor;
  TagView created;  // the tag of its creation; before all others: it is not known
  uint32_t method = 0;  // that the message calls
};

// A message of `caller` may start although an unfinished call of `holder` can still send that actor an earlier one: the pair is relaxed.
struct Passed {
  Party caller, holder;
  uint32_t actor, method;
};

// This process's part. Guarded by the GIL.
class Order {
 public:
  explicit Order(Local& l) : local_(l), heap_(l.heap), header_(l.heap->header), board_(l) {}

  // Puts a call on this process's board.
  void open(Object* result, OpenCall& call) { board_.open(result, call); }
  void note(NoticeKind kind, uint64_t who, uint32_t to = 0);  // once for each

  // Whether the actor may start the caller's message tagged t now.
  bool may_start(const Ordered& callee, TagView t, Party caller);
  // Adds whose open calls hold that message back. A look, which may miss the newest.
  void holders(const Ordered& callee, TagView t, Party caller, std::vector<Party>& found);
  // What may_start has let pass since the last call, each pair once for each method. Cheap if there is nothing.
  std::vector<Passed> take_passed(uint32_t actor, Party caller);
  // The name of a party's call that is open; empty: none is found.
  std::string name_of(Party party);

  bool relaxed(Party caller, Party holder) const {
    return !relaxed_.empty() && (relaxed_.count(pair_of(caller, holder)) || relaxed_by_all_.count(holder));
  }
  bool any_relaxed() {
    read_notices();
    return !relaxed_.empty();
  }
  static constexpr uint32_t kManyCallers = 8;  // relaxed against one holder: it holds nobody any more

 private:
  template <class Found> void each_holder(Board* b, const Ordered& callee, TagView t, Party caller, Found found);
  bool scan(Board* b, const Ordered& callee, TagView t, Party caller);
  bool reaches(const OpenCall& x);
  bool is_known_to_pass(const Ordered& callee, Party caller, Party holder) const;
  void note_passed(const Ordered& callee, Party caller, const OpenCall& x);
  void look_from(uint32_t actor);
  bool read_notices();  // whether there were new ones

  Local& local_;
  Heap* heap_;
  Header* header_;
  OwnBoard board_;
  std::unordered_set<uint64_t> noted_;  // notices that this process has given, hashed
  Off newest_ = 0;  // the notices read
  std::unordered_map<uint32_t, std::vector<uint32_t>> holders_;  // actor -> who holds it
  std::unordered_set<uint64_t> wide_;
  std::unordered_map<uint64_t, uint64_t> relaxed_;  // pair -> the actor and method where it was last seen to pass
  std::unordered_set<uint64_t> passed_before_;  // pairs with actor and method, hashed
  std::vector<Passed> passed_;
  std::unordered_map<Party, uint32_t> relaxed_callers_;  // holder -> how many callers are relaxed against it
  std::unordered_set<Party> relaxed_by_all_;
  std::vector<std::pair<Off, uint64_t>> before_, now_;  // boards and their versions, in may_start
  uint32_t of_ = 0;  // the actor that the next two are about, see look_from
  std::unordered_set<uint32_t> reachers_;
  bool of_wide_ = false;
};

// Whether the other processes all sleep, and nothing is under way that would wake one: a message to the supervisor, a worker that is
// being born, a call on an event loop or in a thread. They are looked at one after the other, and meanwhile one that was asleep may be rung by another that goes to
// sleep then. So they are looked at twice: who is in the same sleep as before has slept between the two looks, and so have all at one moment.
// With `loops`, an event loop that waits to be told something does not count: it may be about to be told, so this must hold for a while.
bool all_sleep(Heap* h, uint32_t me, bool loops = false);

// This process holds back a message, or not any more. Between the two it is rung whenever an open call ends.
void set_held(Local& l, bool held);

}  // namespace reactor
