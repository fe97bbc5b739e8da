// The end of an actor, or of this process, that the running call has brought about.
#pragma once
#include "python/refs.h"

namespace reactor {

// Tells the supervisor why, flushes, and ends the process.
[[noreturn]] void leave(ExitReason reason);
// Notes on the inbox why the actor died: its constructor raised (`result` holds the error), or it left (result 0). Gives the reason, 0 if
// there is none to be had.
Off note_death(uint32_t actor, Off result, ExitReason why);
// Inline placement: an actor has left with `why`. If it may be restarted, that is done, and `reason` holds why its call has no result.
bool restarted(uint32_t actor, ExitReason why, Off& reason);
void forget_instance(uint32_t actor);  // the actor's methods, and with them the instance

}  // namespace reactor
