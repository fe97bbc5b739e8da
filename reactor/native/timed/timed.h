// Timed order, this process's side: the strands that run here, their operations, and the durations of their stretches.
//
// What names a call in each run is its series and its number in it. A series is the calls that one strand makes of one method of one actor, or of one
// function; its hash is made of the strand's, the actor's and the method's name. So a file of durations still fits when other calls come or go.
#pragma once
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>
#include "timed/model.h"

namespace reactor {

// A strand that runs in this process.
struct OwnStrand {
  Index index = 0;
  uint64_t series = 0;
  uint32_t number = 0;
  Tick clock = 0;  // of its last operation
  const uint32_t* durations = nullptr;  // of its stretches, in ticks
  uint32_t count = 0, next = 0;
  std::vector<uint32_t> measured;
  Off refs = 0;  // Off[room]: what it waits for
  uint32_t room = 0;
  std::unordered_map<uint64_t, uint32_t> calls;  // by series: how many it has made
  std::unordered_map<Index, std::pair<Index, uint32_t>> before;  // by server: its last message there, and that one's serial
  uint64_t name() const;
};

class Timed {
 public:
  Timed(Local& l, TimedTable* table) : model_(l, table), local_(l) {}

  // Durations of one call.
  struct Sequence {
    const uint32_t* durations;
    uint32_t count;
  };
  struct Call {
    Index server;  // 0: it starts at its key
    uint64_t server_key;  // of the actor; 0: a task
    std::string_view name;  // of the method, or of the function
    Object* result;
    TagView tag;
    const std::vector<Off>* arguments;
    bool several;  // others may send messages to the server, too
  };

  bool measured() const { return model_.table.measured; }
  uint64_t base() const { return model_.table.base; }  // ns of the monotonic clock when the run began
  std::unique_ptr<OwnStrand> begin_driver();
  void leave(OwnStrand& s);  // a driver's: it ends

  // Operations. `by`: null in a thread that is no strand.
  uint64_t call(OwnStrand* by, const Call& call);  // gives what names the call in each run
  Index make_server(Off inbox);
  void set_key(Index server, uint64_t key) { model_.server(server).key = key; }  // before anybody else calls it
  // Whether it is answered already. `timeout`: kNever for none. `bell`: on which it sleeps until then.
  bool block(OwnStrand& s, const std::vector<Off>& refs, uint32_t count, bool in_list_order, Tick timeout, Off bell);
  bool is_answered(const OwnStrand& s) { return model_.strand(s.index).answered.load(memory_order_seq_cst); }
  void time_is_up(OwnStrand& s);  // of a measured run
  std::vector<bool> go_on(
      OwnStrand& s,
      const std::vector<Off>& refs);  // which of them are done then; of a get all, or the first that failed and those before it
  void give_up(OwnStrand& s);  // it blocks no more: an exception
  void go_outside(OwnStrand& s);
  void come_back(OwnStrand& s);

  // A call of this process. Null: nothing is known of it.
  std::unique_ptr<OwnStrand> starts(uint64_t result);
  // It was handed on: to the actor's event loop, or to a thread, where it ends with its results.
  void hand_on(std::unique_ptr<OwnStrand> s);
  std::unique_ptr<OwnStrand> take_back(uint64_t result);  // nobody has taken it
  // Of an actor's event loop, in its thread: the strand that runs there now, null for none; it takes up what was handed to it; it has nothing to do.
  void loop_begins() { loop_thread_ = pthread_self(), has_loop_ = true; }
  bool in_loop() const { return has_loop_ && pthread_equal(loop_thread_, pthread_self()); }
  OwnStrand* of_loop() const { return burst_.get(); }
  void burst_begins() { begun_ = true; }
  void burst_over();
  // A coroutine goes on when the object is done. Gives the number by which it is known then.
  uint32_t await(OwnStrand* by, Index server, Off object);
  // A callback of the loop runs after `delay`. Gives its number, as `await` does. In a measured run, `timer_is_due` has to be called then.
  uint32_t set_timer(OwnStrand* by, Index server, Tick delay);
  void timer_is_due(uint32_t number);
  void cancel_timer(uint32_t number);  // or an await
  bool has_failed(Object* o);  // one that is done, as far as the order knows
  void record_unfinished();
  // What a clock shows the strand. To look at it is an operation: a later run sees the same time. `by` null: that of the last operation.
  Tick read_clock(OwnStrand* by);
  // The server may let go on a coroutine: its number; 0: none.
  uint32_t wakes(Index server);
  uint32_t wakes_only(Index server);  // the same, of an actor that begins no further call: those that may start are over
  void ends(OwnStrand& s, const Off* results, uint32_t n);  // at once they are completed
  void ended() { ending_ = nullptr; }  // they are
  // The result of some call, or a value, is about to be completed. `by`: the strand that does it, or null.
  void completes(OwnStrand* by, Object* o, State state);

  // The tag of the message that the server may run now. False: none.
  bool next(Index server, Tag& tag);
  // The strand of that message's call; 0: none may run.
  Index granted(Index server) { return model_.server(server).granted.load(memory_order_seq_cst); }
  // While it is there, the strand waits for something that the table does not know.
  class Outside {
   public:
    Outside(Timed* t, OwnStrand* s) : timed_(s ? t : nullptr), strand_(s) {
      if (timed_) timed_->go_outside(*strand_);
    }
    ~Outside() {
      if (timed_) timed_->come_back(*strand_);
    }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

   private:
    Timed* timed_;
    OwnStrand* strand_;
  };
  void disband(Index server) {  // its process has died, and another one will go on with its calls
    TimedModel::Lock lock(model_);
    model_.lose(Loss::Death);
    model_.disband(server);
  }
  uint64_t key_of(Index server) { return model_.server(server).key; }
  // Whether nothing moves although it should: then what the least source waits for is outside.
  void look_if_stuck();

 private:
  std::unique_ptr<OwnStrand> take(Index strand);
  Tick operation(OwnStrand& s);
  Tick operation_or_now(OwnStrand* by) { return by ? operation(*by) : measured() ? model_.stamp() : model_.table.last; }
  Index message_to_itself(Index server, uint32_t wake, uint64_t series, uint32_t number, std::string_view name, Tick sent, Off argument);
  Tick stretch(OwnStrand& s);
  Sequence find(uint64_t series, uint32_t number, uint64_t name);
  static bool is_recorded(const OwnStrand& s);
  void record_end(const OwnStrand& s);
  void record(uint64_t series, uint32_t number, const std::vector<uint32_t>& durations);
  void record_name(uint64_t series, std::string_view name);
  uint8_t* room(uint32_t size);

  TimedModel model_;
  Local& local_;
  OwnStrand none_;  // of threads that are no strands: what they number
  OwnStrand* ending_ = nullptr;
  pthread_t loop_thread_{};
  bool has_loop_ = false, begun_ = false;
  std::unique_ptr<OwnStrand> burst_;  // runs in the loop
  uint32_t awaits_ = 0;
  struct Timer {
    Index server, message;  // in a measured run the message is sent when it is due: 0 until then
    uint32_t serial, number;
    uint64_t series;
    Tick when;
  };
  void was_late(const Timer& timer, Tick now);
  std::unordered_map<uint32_t, Timer> timers_;  // by its number as a coroutine's
  std::unordered_map<uint64_t, bool> named_;
  Off chunk_ = 0;
  uint64_t stuck_changes_ = 0, stuck_since_ = 0, stuck_time_ = 0;
};

// Names the calls of all methods or functions of this name: their durations serve where those of a call are not known.
uint64_t timed_name(std::string_view name);

// In the heap of a new run. `measured`: there are no durations.
void make_timed_table(Local& l, bool measured, const std::vector<uint64_t>& series, const std::vector<uint32_t>& first_call,
                      const std::vector<uint32_t>& first_duration, const std::vector<uint32_t>& durations);

}  // namespace reactor
