// The rule of timed order on the shared table (table.h). Each function but Lock's needs the lock.
#pragma once
#include <utility>
#include <vector>
#include "objects/object.h"
#include "timed/table.h"

namespace reactor {

class TimedModel {
 public:
  TimedModel(Local& l, TimedTable* table) : table(*table), local_(l) {}

  // Holds the lock. At its end the rule is applied, and who may go on is woken.
  class Lock {
   public:
    explicit Lock(TimedModel& m);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    TimedModel& model_;
  };

  Tick stamp();  // of an operation of a measured run: the time of day, later than all before
  void put(Index strand, StrandState state);  // it is in this state from now on
  Index new_strand(Tick clock, Tick stretch);
  Index new_server(Off inbox, uint64_t key);
  Index new_message();
  void send(Index message);                 // its fields are set
  void forget(Index message);               // it will not run
  void start(Index message);                // by the rule
  void disband(Index server);               // its calls run as they come, from now on
  void end(Index strand, Tick at);          // its call's results are there
  void block(Index strand);                 // its fields are set
  void unblock(Index strand, Tick at);      // it goes on: an answer, or its time is up
  void done(Object* o, Tick at, bool failed);
  Tick done_at(Off object);
  TimedResult* find(uint64_t uid, bool make);
  void lose(Loss what) { table.lost.fetch_or(uint32_t(what)); }
  void settle();
  TimedStrand& strand(Index i) { return table.strand[i - 1]; }
  TimedServer& server(Index i) { return table.server[i - 1]; }
  TimedMessage& message(Index i) { return table.message[i - 1]; }

  TimedTable& table;

 private:
  // A list of the table, whose entries know their places in it.
  struct List {
    Index* entries;
    uint32_t& count;
  };
  List list_of(StrandState state);
  void set_ready(Index server);
  bool find_key(TimedMessage& m);
  Index* chain_of(const TimedMessage& m);
  void wait_for_key(Index message);
  void stop_waiting(TimedMessage& m);
  void look_again(Index& chain);
  void look_at_all();
  void is_known(Index message);
  void unlist(TimedServer& s, TimedMessage& m);
  void look_for_answer(TimedStrand& s);
  void free_message(Index i);
  bool settle_at_once();
  bool settle_by_bounds();
  bool alone(const TimedServer& s) const;
  template <class See> void each_source(See see);
  Tick horizon();
  void wake(Off bell) { to_ring_.push_back(bell); }

  Local& local_;
  bool needs_bounds_ = false;  // something could go on, if no other source can come before it
  std::vector<Off> to_ring_, ringing_;
  std::vector<Index> again_;
  std::vector<Tick> times_;
};

}  // namespace reactor
