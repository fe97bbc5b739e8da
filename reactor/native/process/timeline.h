// The timeline of this process: the calls that ran here, its waits, the copying of large values. Guarded by the GIL.
#pragma once
#include <vector>
#include "objects/object.h"
#include "python/python.h"

namespace reactor {

// One span of the timeline: a call that ran here, a wait of this process, or the copying of a large value.
constexpr size_t kMaxEvents = 1 << 20;  // of one process, where all are kept; later ones are dropped
constexpr size_t kLatestEvents = 4096;  // elsewhere; earlier ones are dropped
enum class Span : uint32_t { Call = 0, Wait, Copy };
struct Event {
  uint64_t start_ns, end_ns;  // where not all are kept: timestamp()
  Span kind;
  uint32_t actor;
  uint64_t bytes;
  Owned name;          // a str; of a call
  uint64_t tag_hash;   // of its first result; 0 for what is no call
  bool failed;         // it ended with an error
};

struct Timeline {
  bool tracing = false;                   // all spans are kept
  uint64_t opened_ns = now_ns(), opened_ticks = timestamp();
  double tick() const { return 1e-9 * double(now_ns() - opened_ns) / double(timestamp() - opened_ticks + 1); }  // seconds
  std::vector<Event> events;
  size_t latest = 0;                      // how many were kept, where not all are
  // `callable`: of a call; null is the constructor's.
  void add(uint64_t start_ns, Span kind, uint32_t actor, uint64_t bytes = 0, PyObject* callable = nullptr, const Object* result = nullptr) {
    if (!start_ns || events.size() >= kMaxEvents) return;
    uint64_t end_ns = now_ns();
    Owned name(callable ? PyObject_GetAttrString(callable, "__name__") : kind < Span::Wait ? PyUnicode_FromString("__init__") : nullptr);
    if (callable && !name) PyErr_Clear();  // of a wait the error is the caller's
    const bool failed = result && result->state.load(memory_order_relaxed) == State::Error;
    events.push_back({start_ns, end_ns, kind, actor, bytes, std::move(name), result ? result->tag_hash : 0, failed});
  }
  // A call that was timed, where not all are kept. The clock has been read already, and the name is that of the note.
  void keep_timed(uint64_t begun, uint64_t ended, uint32_t actor, const Owned& name, const Object* result) {
    const bool failed = result->state.load(memory_order_relaxed) == State::Error;
    Event e{begun, ended, Span::Call, actor, 0, name ? Owned::share(name.get()) : Owned(), result->tag_hash, failed};
    if (events.size() < kLatestEvents) events.push_back(std::move(e));
    else events[latest % kLatestEvents] = std::move(e);
    ++latest;
  }
};

}  // namespace reactor
