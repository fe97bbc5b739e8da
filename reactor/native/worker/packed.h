// A worker that hosts many actors (packed.cpp).
#pragma once
#include "inbox/inbox_server.h"
#include "worker/turns.h"

namespace reactor {

// One actor of the worker. Its inbox is read by the server alone.
struct PackedActor {
  PackedActor(Object* object, Inbox* in, uint32_t place) : object(object), inbox_server(in), place(place) {}
  Object* object;
  InboxServer inbox_server;
  uint32_t place;                   // in the worker, noted with each result that it is to give (Object::runner)
  atomic<bool> busy{false};         // a call of it has begun and not ended
  atomic<bool> unseen{false};       // a call of it has ended since the server looked at its messages, some of which may be parked
  atomic<bool> leaving{false};      // it is to be removed from the worker, as soon as it is not busy
  TurnThread* turn_thread = nullptr;             // that runs its call
  RunningCall* call = nullptr;      // that one
  ExitReason why = ExitReason::Unknown;
};

class Packed final : public Placement {
 public:
  Turns turns;
  PackedActor* running = nullptr;        // whose call runs, in the thread that has the turn; gone if that call is discarded
  RunningCall* call = nullptr;           // that call, once it has begun

  int serve(TurnThread* me);              // without end; -1 with a Python error when a signal handler raised
  void watch();                     // the watchdog, in a thread of its own; without end
  void give_turn(TurnThread* me);         // of a running call; `me` need not be the calling thread's
  void take_turn(TurnThread* me);
  bool in_method() const { return in_method_.load(memory_order_relaxed); }
  void set_in_method(bool in) { in_method_.store(in, memory_order_relaxed); }

  bool outlives_actors() const override { return true; }
  void begin() override;
  void call_begins(RunningCall& call) override;
  void method_begins() override;
  bool method_returned(RunningCall& call) override;
  void results_stored() override { regain(); }
  void call_ends(RunningCall& call, ExitReason why) override;
  TurnThread* wait_begins() override;
  void wait_ends(TurnThread* me) override;
  void keep_turn(bool on) override { keeps_turn_ = on; }
  PyObject* beside(PyObject* call, PyObject* argument) override;  // so the neighbours need not wait for the watchdog
  InboxServer* server_of(uint32_t actor) override;
  uint32_t actor_of_thread() override;

 private:
  TurnThread* thread_with_turn() const;     // the calling thread's, if it has the turn
  void regain();                    // the turn, if it went to another while the call was blocked in the system
  void park(TurnThread* me);
  void collect_garbage();
  void see_that_one_serves();
  bool serve(PackedActor& h);
  bool serve_round();
  void look_at_holds(bool alone);
  uint64_t held_until() const;
  void settle_ended(TurnThread* me);
  void tell_busy();                 // for those who ask whether all sleep (order.h)
  bool ready() const;               // whether a server would find something to do; the server may ask without the GIL
  void take_notes();
  void learn(Object* actor, Object* facts);
  void settle_call(PackedActor& h);
  bool remove_those_leaving();
  std::vector<std::unique_ptr<PackedActor>> actors_;  // changed by the server alone
  TurnThread* server_ = nullptr;          // sleeps on the process's bell when there is nothing to do
  bool coming_ = false;             // a new thread will be the server
  std::vector<TurnThread*> parked_;
  bool collect_ = false;            // actors have left since the last garbage collection
  uint64_t collect_at_ = 0;         // ns, when the next one may begin
  uint32_t busy_ = 0, waiting_ = 0; // calls under way, and those of them that wait
  size_t next_ = 0;                 // where the round is
  bool keeps_turn_ = false;
  atomic<bool> in_method_{false};   // the thread that has the turn runs an actor's code: the watchdog looks at it
  atomic<uint32_t> watch_word_{0};
  atomic<bool> watch_asleep_{false};
};

inline Packed& packed() { return static_cast<Packed&>(*ctx->placement); }  // in a packed worker
void come_back(TurnThread* me);           // gives the turn up if it has it, and asks for it
int serve_packed();                 // the worker's main thread
void serve_beside();                // a further thread of it
void watch_packed();                // the watchdog's

}  // namespace reactor
