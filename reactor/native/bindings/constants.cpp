// Meanings of the numbers that pass between the core and Python: enumerations and units.
#include "bindings.h"
#include <cstring>
#include <initializer_list>
#include <vector>
#include "worker/actor_states.h"
#include "order/order.h"
#include "order/patience.h"
#include "record/recorder.h"
#include "calls/stream.h"
#include "supervise/supervisor.h"

namespace reactor {
namespace {

struct Number {
  const char* name;
  long value;
};
template <class E> Number number(const char* name, E value) { return {name, long(value)}; }

// An enumeration as a named tuple of ints: State.ERROR == 17. (Python's IntEnum would cost each start of a process 0.2 ms.)
// `name`: lives on, for the type.
void add_numbers(nb::module_& m, const char* name, const char* meaning, std::initializer_list<Number> numbers) {
  std::vector<PyStructSequence_Field> fields;
  for (const Number& n : numbers) fields.push_back({n.name, nullptr});
  const auto type = new_named_tuple(name, meaning, std::move(fields));
  nb::object all = steal(PyStructSequence_New(type.get()));
  Py_ssize_t i = 0;
  for (const Number& n : numbers) PyStructSequence_SetItem(all.ptr(), i++, PyLong_FromLong(n.value));
  m.attr(strrchr(name, '.') + 1) = all;
}

}  // namespace

void bind_constants(nb::module_& m) {
  add_numbers(m, "reactor._core.State", "of an object (Ref.state)",
              {number("PENDING", State::Pending), number("RUNNING", State::Running), number("VALUE", State::Value),
               number("ERROR", State::Error), number("DIED", State::Died), number("CANCELLED", State::Cancelled)});
  add_numbers(
      m, "reactor._core.ExitReason", "why a process, or an actor in it, has ended",
      {number("UNKNOWN", ExitReason::Unknown), number("INTENDED", ExitReason::Intended),
       number("CREATION_FAILED", ExitReason::CreationFailed), number("OUT_OF_SCOPE", ExitReason::OutOfScope),
       number("IDLE_POOL", ExitReason::IdlePool), number("SYSTEM_EXIT", ExitReason::SystemExit), number("DRAINED", ExitReason::Drained),
       number("FINISHED", ExitReason::Finished), number("LOST_DESCRIPTOR", ExitReason::LostDescriptor)});
  add_numbers(m, "reactor._core.Retry", "what becomes of the tasks of a dead worker (reap)",
              {number("COUNTED", Retry::Counted), number("FREE", Retry::Free), number("NEVER", Retry::Never)});
  add_numbers(m, "reactor._core.ProcKind", "of a process (new_proc, proc_info)",
              {number("DRIVER", ProcKind::Driver), number("SUPERVISOR", ProcKind::Supervisor), number("ACTOR", ProcKind::Actor),
               number("POOL", ProcKind::Pool)});
  add_numbers(m, "reactor._core.InboxState", "of an actor (Link.state)",
              {number("OPEN", InboxState::Open), number("ENDING", InboxState::Ending), number("DEAD", InboxState::Dead)});
  add_numbers(
      m, "reactor._core.StreamState", "what the consumer of a stream would get now (item_state)",
      {number("PENDING", StreamState::Pending), number("CLOSING", StreamState::Closing), number("CANCELLED", StreamState::Cancelled),
       number("ITEM", StreamState::Item), number("END", StreamState::End), number("FAILED", StreamState::Failed)});
  add_numbers(m, "reactor._core.Ordering", "in which order an actor runs its calls",
              {number("ARRIVAL", Ordering::Arrival), number("LOGICAL", Ordering::Logical), number("STRICT", Ordering::Strict),
               number("TIMED", Ordering::Timed)});
  add_numbers(m, "reactor._core.Digest", "how much of each value the digest reads",
              {number("NONE", Digest::None), number("SAMPLED", Digest::Sampled), number("FULL", Digest::Full)});
  add_numbers(m, "reactor._core.Outcome", "of a message that order has held back for too long (hook relaxed)",
              {number("RELAXED", Outcome::Relaxed), number("REFUSED", Outcome::Refused), number("NOT_AS_RECORDED", Outcome::NotAsRecorded),
               number("PASSED", Outcome::Passed), number("WAITS", Outcome::Waits)});
  add_numbers(m, "reactor._core.Control", "first byte of a message of the core to the supervisor",
              {number("RELEASE", Control::Release), number("DRAIN", Control::Drain), number("SPAWN", Control::Spawn),
               number("RESOURCES", Control::Resources), number("REFUSE", Control::Refuse), number("SPILLED", Control::Spilled),
               number("COLLECT", Control::Collect)});
  add_numbers(m, "reactor._core.OpKind", "of a recorded operation",
              {number("CALL", OpKind::Call), number("CREATE", OpKind::Create), number("TASK", OpKind::Task), number("PUT", OpKind::Put)});
  add_numbers(m, "reactor._core.PatternEnd", "where the caller of a recorded pattern waits",
              {number("GET", PatternEnd::Get), number("WAIT", PatternEnd::Wait), number("TASK_END", PatternEnd::TaskEnd)});
  add_numbers(m, "reactor._core.Beginning", "how a call begins (hook call_started)",
              {number("HERE", Beginning::Here), number("HANDED_ON", Beginning::HandedOn), number("FAILS", Beginning::Fails)});
  add_numbers(m, "reactor._core.Cancelled", "what became of a call that was to be cancelled (cancel)",
              {number("DONE", Cancelled::Done), number("UNBEGUN", Cancelled::Unbegun), number("RUNNING", Cancelled::Running)});
  add_numbers(m, "reactor._core.Span", "of the timeline",
              {number("CALL", Span::Call), number("WAIT", Span::Wait), number("COPY", Span::Copy)});
  m.attr("OLDER") = kOlder;
  m.attr("LATER") = kLater;
  m.attr("UNIT") = kUnit;
  m.attr("ONE_CPU") = kOneCpu;  // demands
  m.attr("NOTHING") = kNothing;
  m.attr("FOREVER") = kForever;    // of retries: without end
  m.attr("FIRST_TASK") = kTasks;   // see Party in order.h
  m.attr("METHOD_RESULT") = kMethodResult;
  m.attr("STREAM") = kStreamResult;
  m.attr("DYNAMIC") = kDynamicResult;
  m.attr("DRIVER") = ActorStates::kDriver;
  m.attr("TASKS") = ActorStates::kTasks;
  m.attr("FORGET") = ActorStates::kForget;
  m.attr("FRESH") = ActorStates::kFresh;
  m.attr("MAX_PACKED_ACTORS") = kMaxPackedActors;
  m.attr("HEADER_BYTES") = kHeaderPages * kPage;
  m.attr("OWN_PAGES") = kOwnPages;
  m.attr("GATE_SECONDS") = double(kGateSliceNs) / 1e9;
}

}  // namespace reactor
