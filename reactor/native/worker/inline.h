// Inline placement: everything in the driver's process, each call run where it is made.
#pragma once
#include "calls/outgoing.h"

namespace reactor {

class Inline final : public Placement {
 public:
  Inline() : Placement(true) {}
  bool sends_calls() const override { return false; }
  bool outlives_actors() const override { return true; }
  bool hands_calls_on() const override { return false; }
  uint32_t window_of_stream(uint32_t) const override { return 0; }  // nobody can read while the generator runs
  void begin() override;
  void end() override;
  void call_begins(RunningCall& call) override;
  void task_left() override;
  void call_left(RunningCall& call) override;
  bool may_wait(const char* what) override;
  bool runs_in_thread() override { return true; }
  bool in_nested_call() override;
  const RunningCall* outermost(uint64_t& number) override;
  void enter_own_state() override;
  void actor_died(Inbox* in) override;

 private:
  // Calls run one inside of the other, but those of several threads of the driver overlap.
  struct Begun {
    const RunningCall* call;
    unsigned long thread;
    uint64_t number;
  };
  uint32_t own_state() const;
  std::vector<Begun> calls_;  // in the order in which they began
  uint64_t begun_ = 0;
};

// They run the call. False, and a Python error: a signal has broken it off.
bool run_method_here(Outgoing& out, MessageKind kind, PyLink* link, uint32_t index, PyRef* options, uint32_t retries);
bool run_task_here(Outgoing& out, PyFunction* f);

}  // namespace reactor
