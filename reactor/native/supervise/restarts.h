// The calls of a dead actor, which are run again or fail, and its restart (restarts.cpp).
#pragma once
#include <memory>
#include <unordered_set>
#include "supervise/supervisor.h"

namespace reactor {

// The calls that the dead process of `in` left unfinished; `calls`: the blocks that its hold list names.
class DeadCalls {
 public:
  DeadCalls(Inbox* in, const std::vector<Off>& calls, std::unordered_set<Off>& failed);
  bool any_left(bool unborn) const;  // whether a restarted actor would have anything to do
  // Those that may not be run again end with `reason`; without `restart`, all that had left their channels. The results settled, or
  // to be settled by the next process, are added to `failed`, the blocks of values freed to `freed`.
  // `unborn`: the constructor had not ended, so that no call can have begun; all that can still be run wait for the next process.
  void settle(bool restart, Off reason, bool unborn, std::unordered_set<Off>& failed, std::unordered_set<Off>& freed);

 private:
  Inbox* inbox_;
  std::vector<Off> calls_;
};

// In the new process of a restarted actor, when its constructor has ended: it can be called again. Calls without retries that were sent before fail.
void refuse_sent_meanwhile(Inbox* in);
void forget_creation(Inbox* in);  // the actor will not be restarted

// Of supervisor.cpp: a result that a dead process was to give.
void fail_results(Message* m, Off reason, std::unordered_set<Off>* failed);
bool any_done(Message* m);
void settle_stored(Object* o, bool shown, std::unordered_set<Off>& freed);
void finish_walk(Object* o);

}  // namespace reactor
