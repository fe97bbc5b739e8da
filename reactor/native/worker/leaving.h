// The end of an actor, or of this process, that the running call has brought about.
#pragma once
#include "types/refs.h"

namespace reactor {

// Tells the supervisor why, flushes, and ends the process.
[[noreturn]] void leave(ExitReason reason);
// Notes on the inbox why the actor died: its constructor raised (`result` holds the error), or it left (result 0). Gives the reason, 0 if
// there is none to be had.
Off note_death(uint32_t actor, Off result, ExitReason why);
// Inline placement: an actor has left with `why`. If it may be restarted, that is done, and `reason` holds why its call has no result.
bool restarted(uint32_t actor, ExitReason why, Off& reason);
// In a process that the program has forked inside of a call, when it comes out of the call's code: the call goes on in the parent, and nothing of it may be
// done twice. Writes out what was printed, and the current Python error if there is one, and ends the process.
[[noreturn]] void end_forked_child();
inline uint32_t forked_in = 0;  // the epoch in which this process was forked from one that takes part in a run; 0: it was not
// After code of the user's in a call that has begun in the epoch `begun`.
inline void end_if_forked_since(uint32_t begun) {
  if (begun <= forked_in) end_forked_child();
}
void forget_instance(uint32_t actor);  // the actor's methods, and with them the instance

}  // namespace reactor
