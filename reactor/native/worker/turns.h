// Turns: which thread of a packed worker runs its actors' code.
//
// A packed worker hosts many actors and has several threads, because a method that waits must not keep its neighbours from
// running, and another's call run on top of its stack would be blocked there (A.m1 waits; B.m2 on top of it waits for A.m3, which
// is behind m1). One thread at a time has the turn and with it what is known of the running call (Execution); what it held is
// put away when it gives the turn up and taken back with the next turn. A thread gives it up
//
//   when it waits in get, wait or a stream              (Away, in waiting.cpp)
//   between two calls, when another thread asks for it  (packed.cpp)
//   when its call has run for long while its neighbours have something to do (the watchdog): a call that computes, at its next
//   bytecode; one that is blocked in a system call is passed over, and stops at the first bytecode after it.
//
// Passed over is only who has slept from one tick of the watchdog to the next: a thread that sleeps at one look alone may be
// about to go on without the GIL (it waits for the watchdog to take the GIL when it lets go of it: FORCE_SWITCHING in CPython), and
// an operation of a native library would draw from the random state of whoever has the turn then. For the same reason a thread
// that may be within one parallel operation has to sleep for longer.
//
// So the code of two actors never runs at the same time, and what is one per process (random state, the recorder) is exchanged
// where the turn changes. Turns go round: who asks first has it first. Guarded by the GIL, but for what is atomic.
#pragma once
#include <deque>
#include "process/context.h"
#include "record/recorder.h"

namespace reactor {

struct PackedActor;

// The part of the context that belongs to the running call.
struct Execution {
  const RunningCall* running = &kNoCall;
  Started children;
  uint32_t mark = 0;
  Recorder::Caller caller;
  PackedActor* packed_actor = nullptr;    // gone if its call is discarded
  RunningCall* call = nullptr;
  bool in_method = false;
  Tag here;
  uint64_t issued = 0, made = 0;
  uint32_t level = 0, receiving_actor = 0;
};
// What the call with this result, which runs in this process, has called; null: no such call runs.
Started* children_of(uint64_t uid);
Execution put_away();
void take_back(Execution&& e);

// A thread that takes turns.
struct TurnThread {
  TurnThread();
  unsigned long ident;
  int tid;
  clockid_t clock;             // its processor time
  PyThreadState* state;
  atomic<uint32_t> word{0};    // raised when the turn is given to it, or a parked one is wanted
  bool parked = false;         // there is nothing for it to do
  bool waits = false;          // its call is in get, wait or a stream
  uint32_t ended = 0;          // calls of it that are over and still count as under way, see Packed::settle_ended
  bool passed_over = false;    // it was blocked, and its turn was given to another; `suspended` is what it had
  bool gated = false;          // it is to stop at its next bytecode
  Owned marked;                // the frame whose bytecodes are watched for that
  Execution suspended;
};
TurnThread* own_turn_thread();              // of the calling thread; null: it takes no turns
TurnThread* make_turn_thread();

class Turns {
 public:
  void take(TurnThread* h);          // waits for the turn; drops the GIL meanwhile
  void give();                 // to whoever asked first
  bool wanted() const { return !asked_.empty(); }
  TurnThread* holder() const { return holder_.load(memory_order_acquire); }  // also without the GIL: threads are never freed
  uint64_t count() const { return count_.load(memory_order_relaxed); }

 private:
  void begin(TurnThread* h);
  atomic<TurnThread*> holder_{nullptr};
  std::deque<TurnThread*> asked_;
  atomic<uint64_t> count_{0};
};

void sleep_on(TurnThread* h, uint32_t seen);  // until its word is another; without the GIL
void stop_at_next_bytecode(TurnThread* h);    // then come_back() is called in its thread
void stop_no_more(TurnThread* h);             // by the thread itself
uint64_t time_run(const TurnThread* h);       // ns of processor time: the same at two looks, it has not run in between
bool sleeps(const TurnThread* h);             // in the kernel, and does not wait for a processor
bool may_be_a_barrier(const TurnThread* h);   // it sleeps as OpenMP's threads do that wait for each other

}  // namespace reactor
