// Work of the supervisor in the shared heap when processes begin and end. It is the only process that touches the
// structures of dead ones.
#pragma once
#include "calls/calls.h"
#include <unordered_set>

namespace reactor {

// An actor that a packed worker hosted when it died, at which place, and the reason of the actor's death.
struct DeadActor {
  Object* actor;
  Object* reason;
  uint32_t place;
};

// With one hold, the caller's. `restarts`: it may be restarted; `physical`: it runs several calls at a time.
Object* new_actor(Local& l, bool restarts, bool physical, bool loop);  // the next number is its
void actor_unheld(Local& l, Object* actor);
void forget_value(Object* o, std::unordered_set<Off>& freed);  // of a result that was stored and is not complete
uint32_t new_proc(Heap* h, ProcKind kind, Off inbox, uint32_t setting);  // slot of a Starting process; kNoProc when all are taken
// What becomes of the tasks with retries of a dead process. Counted: they are run again, and that is one of their retries; Free: it is none. Each waits in
// `put_off` for run_again(). Never: they end.
enum class Retry : uint32_t { Counted = 0, Free, Never };
// Settles all that a dead process leaves. `unavailable`: its actor may be restarted, and calls that cannot wait for that end with
// this reason instead. Returns whether there is a new process to be started for it.
// `taken`: the last number of a task of the process that was put off (retries.h) of which the supervisor has been told.
bool reap(uint32_t slot, Object* reason, Object* unavailable, const std::vector<DeadActor>& packed_actor, Retry retry, uint32_t taken);
// How many retries the calls had that the last reap() has run again.
extern std::vector<uint32_t> retried;
// Tells a packed worker to host an actor of these facts at a place of its own; or, without them, to let it go because of what its
// inbox's `reason` says.
void tell_host(uint32_t slot, Object* actor, uint32_t place, Object* facts);
// Fails the tasks that wait in queues: of one demand or, with -1, of all demands of this setting.
void fail_tasks(Object* reason, int64_t demand, uint32_t setting);
bool task_before(Heap* h, const Object* actor);  // a task made before it waits in a queue and could run now
bool has_calls(Object* actor);  // whether calls of the actor wait or run
void drain(Object* actor);  // fails what still arrived at a dead actor
Inbox* inbox_of(Object* actor);
void drain_inbox(Inbox* in, std::unordered_set<Off>* failed);  // the same; `failed` gets the results
void free_proc(Proc& p);  // its entry is free for another
bool free_actor(Object* actor);  // true when it was freed (dead and nobody holds it)
void forget_channels();
int serve(double idle_seconds);
void wake_on_signal(int number);  // whose Python handler then runs at once in a worker without work

}  // namespace reactor
