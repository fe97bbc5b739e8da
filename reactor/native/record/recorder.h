// Records the operations of a caller, pattern by pattern, into a trie, and follows the trie when they come again.
//
// A pattern is what a caller issues between two points where it waits. Its operations are a path from the caller's root;
// leaving a known path is a divergence, and what comes then is recorded as a new branch. So a first round records a path,
// later rounds follow it, and alternating phases each have their own. Guards are comparisons of an operation's key with the
// recorded one; a key holds everything that identifies an operation except the values of its arguments.
//
// One per process, for its main thread; guarded by the GIL. What is recorded is handed to Python as plain data
// (reactor/recording/patterns.py), and everything that is decided from it is decided there.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>
#include "memory/heap.h"

namespace reactor {

enum class OpKind : uint32_t { Call = 0, Create, Task, Put };
constexpr uint32_t kOpKindBits = 2;
enum class PatternEnd : uint32_t { Get = 0, Wait, TaskEnd };
constexpr uint32_t kOlder = UINT32_MAX;  // SourceNote::back: so far back that it is not told, or another process's
constexpr uint32_t kLater = 31;  // ResultNote::taken: results taken up to so many patterns later are told apart

struct OpKey {
  uint64_t target;  // uid of the actor or of the function's object; 0 for put
  uint32_t method;  // method_and_kind()
  uint32_t shape;  // numbers of arguments, where refs among them come from
  PyCodeObject* code;  // call site
  int32_t instruction;
  uint32_t names;  // hash of the keywords
  static uint32_t method_and_kind(uint32_t index, OpKind kind) { return index << kOpKindBits | uint32_t(kind); }
  OpKind kind() const { return OpKind(method & ((1u << kOpKindBits) - 1)); }
  bool operator==(const OpKey& o) const {
    return target == o.target && method == o.method && shape == o.shape && code == o.code && instruction == o.instruction &&
           names == o.names;
  }
};

// The part of a node that is read when a pattern is followed: one cache line, because long patterns are read from end to end.
struct alignas(64) OpNode {
  OpKey key;
  uint64_t visits = 0;
  uint32_t child = 0;  // the continuation followed last
  uint32_t depth = 0;  // operations of the pattern up to here
  uint32_t note = 0;  // number + 1 of its OpNote
  uint32_t room = 0;  // what its arguments, or what is put, need; 0: not known, or not to be encoded in place (outgoing.h, put.cpp)
  uint32_t parent = 0;
  uint32_t pattern = 0;  // number + 1 of the pattern that ends here
};
static_assert(sizeof(OpNode) == 64);
// The rest of what is known of it.
struct OpFacts {
  uint32_t first = 0;  // the continuation recorded first
  uint32_t sibling = 0;  // next continuation of the parent
  uint32_t children = 0;
  uint32_t actor = 0;
  uint32_t results = 0;
  uint32_t args = 0;
  PyObject* name = nullptr;  // method's or function's; of a root the caller's
};

struct SourceNote {
  uint32_t argument;
  uint32_t back;  // 0 this pattern, 1 the one before …; or kOlder
  uint32_t op;
  uint32_t output;  // which of its results
};
// A result, once the caller has got it.
struct ResultNote {
  std::string layout;
  uint64_t bytes = 0;
  uint32_t taken = 0;  // bit k: the caller has got it at the end of the k-th pattern after that of the operation; bit kLater: later
};
// Further facts about an operation, for the user. They are made once: for the first operations when they are recorded, for others when they occur
// again, so that a program that never repeats does not pay for them.
struct OpNote {
  uint64_t bytes = 0;
  std::string layout;  // of the arguments
  std::vector<SourceNote> sources;
  std::vector<ResultNote> results;  // by output; as many as the caller has got
  ResultNote& result(uint32_t output) {
    if (results.size() <= output) results.resize(output + 1);
    return results[output];
  }
};

struct PatternNote {
  uint32_t node;
  uint32_t root;
  PatternEnd end;
  uint32_t born;  // number of nodes when it was recorded: what has a higher number came later
  PyCodeObject* code = nullptr;  // where the caller waits
  int32_t instruction = 0;
  uint64_t count = 0;
  uint64_t ticks = 0;  // of timestamp(), all runs, with the wait at the end
  uint64_t waited = 0;  // of these, in that wait
  uint64_t wakes = 0, sleeps = 0;
};

class Recorder {
 public:
  static constexpr uint32_t kMaxNodes = 1 << 16;
  static constexpr uint32_t kMaxDepth = 1 << 16;
  static constexpr uint32_t kMaxChildren = 1 << 14;
  static constexpr uint32_t kNarrow = 8;  // more children than that are looked up in a table
  static constexpr uint32_t kDescribed = 128;  // operations described when they are recorded

  static constexpr uint32_t kFirstSleep = 2048;
  explicit Recorder(const Proc* proc);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Whether operations are looked at now. A program that never repeats is left alone most of the time.
  bool awake() {
    if (dormant_ == 0) return !caller_.broken;  // what was not looked at has made the rest of its pattern unknown
    --dormant_;
    caller_.broken = true;
    return false;
  }
  // The operation was seen before at this place: its node. Else 0: record() it.
  uint32_t follow(const OpKey& k) {
    if (!caller_.begun) begin();
    uint32_t c = nodes_[caller_.at].child;
    if (c == 0 || !(nodes_[c].key == k)) {
      c = search(k);
      if (c == 0) return 0;
    }
    caller_.at = c;
    __builtin_prefetch(&nodes_[nodes_[c].child], 1);
    ++nodes_[c].visits;
    ++matched_;
    return c;
  }
  uint32_t record(const OpKey& k, PyObject* name, uint32_t actor, uint32_t args, uint32_t results);  // 0 when the trie is full
  // Whether note() of a followed or recorded operation is still to be filled in; it is there then.
  bool undescribed(uint32_t node) {
    OpNode& n = nodes_[node];
    if (n.note || (n.visits < 2 && notes_.size() >= kDescribed)) return false;
    notes_.emplace_back();
    n.note = uint32_t(notes_.size());
    return changed_ = true;
  }
  void end_pattern(PatternEnd end);
  // The wait at the pattern's end is over: what it took is counted.
  void waited() {
    Spent now{timestamp(), proc_->wakes.load(std::memory_order_relaxed), proc_->sleeps.load(std::memory_order_relaxed)};
    if (caller_.last) {
      PatternNote& s = patterns_[caller_.last - 1];
      s.ticks += now.ticks - caller_.since.ticks;
      s.waited += now.ticks - caller_.ended;
      s.wakes += now.wakes - caller_.since.wakes;
      s.sleeps += now.sleeps - caller_.since.sleeps;
    }
    caller_.since = now;
  }

  struct Spent {
    uint64_t ticks = 0, wakes = 0, sleeps = 0;
  };
  // A task or method starts, or ends, in this process. Costs nothing until it makes its first call.
  struct Caller {
    uint64_t who = 0, actor = 0;
    PyObject* name = nullptr;
    bool begun = true;
    uint32_t root = 0, at = 0, last = 0;
    bool broken = false;  // operations of the running pattern were not looked at
    Spent since;  // the start of the running pattern
    uint64_t ended = 0;  // timestamp() at the end of the last one, before the wait
  };
  Caller enter(uint64_t who, PyObject* name, uint64_t actor) {
    Caller outer = caller_;
    caller_ = {who, actor, name, false};
    return outer;
  }
  // Another caller goes on, from where it was; gives the one that ran until now.
  Caller exchange(const Caller& other) {
    Caller before = caller_;
    caller_ = other;
    return before;
  }
  void leave(const Caller& outer) {
    if (caller_.begun) {
      end_pattern(PatternEnd::TaskEnd);
      waited();
    }
    caller_ = outer;
  }

  uint32_t pattern() const { return serial_; }  // number of the running pattern, never reused
  // How many patterns ago that one was; kOlder for 0, which is none.
  uint32_t back_to(uint32_t pattern) const { return pattern ? serial_ - pattern : kOlder; }
  uint32_t position() const { return caller_.at; }
  uint32_t depth() const { return nodes_[caller_.at].depth; }
  uint32_t room(uint32_t node) const { return nodes_[node].room; }
  void set_room(uint32_t node, uint32_t room) { nodes_[node].room = room; }
  OpNote* note(uint32_t node) { return node < nodes_.size() && nodes_[node].note ? &notes_[nodes_[node].note - 1] : nullptr; }
  bool changed() const { return changed_; }
  bool empty() const { return nodes_.size() == 1; }
  PyObject* data(PyObject* caller_name, double tick);  // everything, as a dict; `tick`: seconds of one

  uint64_t matched() const { return matched_; }
  uint64_t total = 0;  // operations, looked at or not

 private:
  const Proc* proc_;
  uint32_t search(const OpKey& k);
  void judge();
  uint32_t root_of(uint64_t who);
  void begin();
  uint32_t add(const OpNode& node, const OpFacts& facts);
  std::vector<OpNode> nodes_;
  std::vector<OpFacts> facts_;  // of each
  std::vector<OpNote> notes_;
  std::vector<PatternNote> patterns_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> successors_;
  std::unordered_map<uint64_t, uint32_t> roots_;
  std::unordered_map<uint64_t, uint32_t> wide_;  // hash of (parent, key) -> child, of nodes with many children
  Caller caller_;
  uint32_t serial_ = 1;
  uint64_t matched_ = 0, fresh_ = 0;
  uint32_t window_patterns_ = 0;  // patterns recorded since the last look at whether the program repeats itself
  uint64_t window_fresh_ = 0, window_matched_ = 0;  // the counts at that look
  uint32_t dormant_ = 0;
  uint32_t sleep_ = kFirstSleep;  // how long the next dormancy is, in operations
  bool changed_ = false;
};

}  // namespace reactor
