// Placement: in which process a call runs, and what else happens in that process. The core asks `ctx->placement` where this matters, and
// nowhere asks which of the three kinds it is. What stands here is isolated placement; Packed (packed.h) and Inline (inline.h) override
// what differs.
//
//                      isolated                  packed                             inline
//
//   a call runs in     its actor's process, or   a worker of many actors            the process of its caller: the driver
//                      a task worker
//   it begins when     the process is free       its thread has the turn (turns.h)  it is made; its caller goes on when it is over
//   while it waits     its process sleeps        other actors of the process run    nothing runs but other threads of the driver
//   random states      are the process's         change with the turn               change with the call (both: actor_states.h)
//   its actor ends     with its process          alone; the supervisor is told      alone; there is no supervisor
//
// A process that runs no calls has isolated placement: the supervisor, and the driver of isolated and packed workers. Guarded by the GIL.
#pragma once
#include "python/python.h"
#include "memory/layout.h"

namespace reactor {

struct InboxServer;
struct OwnStrand;
struct TurnThread;

// A call that runs in this process.
struct RunningCall {
  uint32_t actor = 0;            // 0: it is a task
  const Off* results = nullptr;
  uint32_t n = 0;                // of them
  uint64_t uid = 0;              // of the first
  Message* message = nullptr;    // null if it cannot be run again
  PyObject* callable = nullptr;  // once it is found; a constructor has none
  bool streaming = false;        // it gives its results one by one
  OwnStrand* strand = nullptr;   // in timed order
  // Packed: its actor may be removed meanwhile.
  bool storing = false;          // the method has returned, its results are being written
  bool discarded = false;        // its results were settled meanwhile
  bool to_interrupt = false;
};
inline const RunningCall kNoCall;

class Placement {
 public:
  Placement() = default;
  virtual ~Placement() = default;
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  // Inline: a call runs where it is made, and its caller goes on when it is over. No virtual function, because who makes a call asks for it
  // up to three times, and a call that is sent takes some hundred nanoseconds.
  const bool at_once = false;
  // Calls are sent to other processes, where their order is a matter of its own.
  virtual bool sends_calls() const { return true; }
  // Packed, inline: the process goes on when a call of it has ended its actor.
  virtual bool outlives_actors() const { return false; }
  // Calls may be handed on to threads or event loops of their actor.
  virtual bool hands_calls_on() const { return true; }
  // How many values of a stream may be unread at once, where its maker asks for so many; 0: any number.
  virtual uint32_t window_of_stream(uint32_t asked) const { return asked; }

  // The process has opened the run; it is about to close it.
  virtual void begin() {}
  virtual void end() {}

  // A call runs here. These are called in this order, but for one that was cancelled before it began.
  virtual void call_begins(RunningCall&) {}                    // its arguments are read next
  virtual void method_begins() {}
  virtual bool method_returned(RunningCall&) { return true; }  // false: its results were settled meanwhile
  virtual void results_stored() {}
  virtual void task_left() {}                                  // it was a task that had a random state of its own
  virtual void call_left(RunningCall&) {}                      // ctx->call is no longer this one
  virtual void call_ends(RunningCall&, ExitReason) {}          // all that it had is dropped; not Unknown: its actor ends with it

  // The calling thread waits for `what`. False, and a Python error: that would never end.
  virtual bool may_wait(const char*) { return true; }
  // It sleeps until the wait is over. Gives what wait_ends() is to be given, null: that is not to be called.
  virtual TurnThread* wait_begins() { return nullptr; }
  virtual void wait_ends(TurnThread*) {}
  // Between keep_turn(true) and keep_turn(false) no other actor may run while it waits: it is not in a call.
  virtual void keep_turn(bool) {}
  // `call(argument)`, which sleeps.
  virtual PyObject* beside(PyObject* call, PyObject* argument) { return PyObject_CallOneArg(call, argument); }

  // The server of an actor's inbox in this process; null: it is not here (serve.cpp).
  virtual InboxServer* server_of(uint32_t actor);
  // Why the actor died is noted in its inbox. If there is a supervisor, it does the rest.
  virtual void actor_died(Inbox*) {}
  // Whether the call that runs in this process is the calling thread's.
  virtual bool runs_in_thread();
  // Packed: the actor whose call runs in the calling thread; 0: none does.
  virtual uint32_t actor_of_thread() { return 0; }
  // Inline: whether the calling thread is in a call, or may have been started by one.
  virtual bool in_nested_call() { return false; }
  // Inline: the call that the main thread makes, however many that makes in turn. null: it makes none. `number`: none before it had the same.
  virtual const RunningCall* outermost(uint64_t&) { return nullptr; }
  // The calling thread is about to run code of its call, or of the driver if it is in none.
  virtual void enter_own_state() {}

 protected:
  explicit Placement(bool at_once) : at_once(at_once) {}
};

}  // namespace reactor
