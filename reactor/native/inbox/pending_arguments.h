// Calls with pending arguments, and all other calls of an actor that leave their channel before they run or while they run, each in a block of its own.
//
// A call is copied out of its channel if it may be run again when this process dies (`retries`), if its arguments are not there yet and the actor lets
// later calls of the same caller go first, if order keeps it back while calls behind it go first (parked.h), or if its channel is one of many that are
// closed (take_closed in serve.cpp). The order of the stores:
//
//   copy the record into a block, note the block in the hold list (Entry::Call), take the record out of the channel
//
// so a process that is killed in between leaves the call noted and in the channel: the supervisor takes the two for one,
// by their result (restarts.cpp). It never leaves it nowhere. What the record held (arguments, results) is the block's from the
// note on, until the note is cleared. Guarded by the GIL, like everything of the worker's side.
#pragma once
#include <vector>
#include "calls/calls.h"

namespace reactor {

// What a message waits for. Its process is rung when the missing argument comes.
struct ArgumentWait {
  Object* missing = nullptr;
  WaitNode* node = nullptr;
};
bool arguments_ready(ArgumentWait& w, Message* m);

struct DetachedCall {
  Off block = 0;
  uint32_t note = kNoEntry;
};
DetachedCall detach_call(Message* m, Receiver& from);  // copies, notes, takes out of the channel
void release_detached(DetachedCall k);  // gives back what the call or task held, and its block

// Calls that have left their channel before their arguments were there.
class CallsPendingArguments {
 public:
  // Moves the head of `from` here if a later call may go before it. Calls of one lane keep their caller's order among
  // themselves; lane -1 has no order.
  bool take(ArgumentWait& head, Receiver& from, Message* m, int32_t lane);
  // The oldest call that can run and was sent before `key`; its place, or -1.
  long next(uint64_t& key);
  DetachedCall remove(long place);
  bool empty() const { return calls_.empty(); }
  bool ready() const;  // for the wait loop, without the GIL
  std::vector<DetachedCall> take_all();  // nobody waits for their arguments any more
  void clear() { calls_.clear(); }

 private:
  struct Call {
    DetachedCall detached;
    Channel* channel;
    int32_t lane;
    ArgumentWait argument_wait;
  };
  bool behind(const Channel* channel, int32_t lane, size_t end) const;
  std::vector<Call> calls_;
};

}  // namespace reactor
