// What the supervisor does to the shared heap when processes begin and end. It is the only process that touches the
// structures of dead ones.
#pragma once
#include "calls.h"

namespace reactor {

Object* new_actor(Local& l);                            // with one hold, the caller's
void actor_unheld(Local& l, Object* actor);
uint32_t new_proc(Heap* h, ProcKind kind, Off inbox);   // slot of a Starting process; kNoProc when all are taken
void reap(uint32_t slot, Object* reason);
void forget_instance(uint32_t actor);                   // inline placement: the actor's methods, and with them the instance
void fail_tasks(Object* reason);                        // fails every task that waits in a queue
void drain(Object* actor);                              // fails what still arrived at a dead actor
bool free_actor(Object* actor);                         // true when it was freed (dead and nobody holds it)
void forget_channels();
int serve(double idle_seconds);

}  // namespace reactor
