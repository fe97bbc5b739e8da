// Inline placement: everything in the driver's process, each call run where it is made.
#pragma once
#include "outgoing.h"

namespace reactor {

void begin_inline();                                    // of a run in this process: whose random state is whose
void end_inline();                                      // the process goes on as the driver
// They run the call. False, and a Python error: a signal has broken it off.
bool run_method_here(Outgoing& out, MessageKind kind, PyLink* link, uint32_t index, PyRef* options, uint32_t retries);
bool run_task_here(Outgoing& out, PyFunction* f);
bool in_inline_call();                                  // or in a thread that may have been started by one
// Whether the caller waits for something that it computes itself: `what` of a RuntimeError, which is set then.
bool waits_for_itself(const char* what);
void inline_actor_unheld(Local& l, Object* actor);      // the last handle is gone: the actor ends

}  // namespace reactor
