// Records the operations of a caller, segment by segment, into a trie, and follows the trie when they come again.
//
// A segment is what a caller issues between two points where it waits. Its operations are a path from the caller's root;
// following a known path is replay, leaving it is divergence, and what comes then is recorded as a new branch. So a first
// round records, later rounds replay, and alternating phases each have their path. Guards are comparisons of an operation's
// key with the recorded one; a key holds everything that identifies an operation except the values of its arguments.
//
// One per process, for its main thread; guarded by the GIL. What is recorded is handed to Python as plain data
// (reactor/record.py), and everything that is decided from it is decided there.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace reactor {

enum class OpKind : uint32_t { Call = 0, Create, Task, Put };
enum class SegmentEnd : uint32_t { Get = 0, Wait, TaskEnd };

struct OpKey {
  uint64_t target;       // uid of the actor or of the function's object; 0 for put
  uint32_t method;       // index and OpKind
  uint32_t shape;        // numbers of arguments, where refs among them come from
  PyCodeObject* code;    // call site
  int32_t instruction;
  uint32_t names;        // hash of the keywords
  bool operator==(const OpKey& o) const {
    return target == o.target && method == o.method && shape == o.shape && code == o.code && instruction == o.instruction && names == o.names;
  }
};

struct OpNode {
  OpKey key;
  uint32_t child = 0;      // the continuation followed last
  uint32_t first = 0;      // the continuation recorded first
  uint32_t sibling = 0;    // next continuation of the parent
  uint32_t parent = 0;
  uint32_t segment = 0;    // number + 1 of the segment that ends here
  uint32_t depth = 0;      // operations of the segment up to here
  uint32_t children = 0;
  uint64_t visits = 0;
};

struct SourceNote {
  uint32_t argument;
  uint32_t back;           // 0 this segment, 1 the one before …; UINT32_MAX older or another process's
  uint32_t op;
};
// What is shown of an operation; made once, when it is recorded.
struct OpNote {
  PyObject* name;          // method's or function's
  uint64_t actor;
  uint32_t args, results;
  uint64_t bytes;
  std::string layout;      // of the arguments
  std::string result;      // of the result, once the caller has read one
  uint64_t result_bytes = 0;
  std::vector<SourceNote> sources;
};

struct SegmentNote {
  uint32_t node;
  uint32_t root;
  SegmentEnd end;
  uint32_t born;           // number of nodes when it was recorded: what has a higher number came later
  uint64_t count = 0;
};

class Recorder {
 public:
  static constexpr uint32_t kMaxNodes = 1 << 18;
  static constexpr uint32_t kMaxDepth = 1 << 16;
  static constexpr uint32_t kMaxChildren = 64;

  Recorder();
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Whether operations are looked at now. A program that never repeats is left alone most of the time.
  bool awake() {
    if (dormant_ == 0) return true;
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
    ++nodes_[c].visits;
    ++matched_;
    return c;
  }
  uint32_t record(const OpKey& k, OpNote&& note);  // 0 when the trie is full
  void end_segment(SegmentEnd end);

  // A task or method starts, or ends, in this process. Costs nothing until it makes its first call.
  struct Caller {
    uint64_t who = 0, actor = 0;
    PyObject* name = nullptr;
    bool begun = true;
    uint32_t root = 0, at = 0, last = 0;
    bool broken = false;     // operations of the running segment were not looked at
  };
  Caller enter(uint64_t who, PyObject* name, uint64_t actor) {
    Caller outer = caller_;
    caller_ = {who, actor, name, false};
    return outer;
  }
  void leave(const Caller& outer) {
    if (caller_.begun) end_segment(SegmentEnd::TaskEnd);
    caller_ = outer;
  }

  uint32_t segment() const { return serial_; }                       // number of the running segment, never reused
  uint32_t depth() const { return nodes_[caller_.at].depth; }
  OpNote* note(uint32_t node) { return node < notes_.size() ? &notes_[node] : nullptr; }
  bool changed() const { return changed_; }
  PyObject* data(PyObject* caller_name);                             // everything, as a dict; see reactor/record.py

  uint64_t matched() const { return matched_; }
  uint64_t total = 0;          // operations, looked at or not

 private:
  uint32_t search(const OpKey& k);
  uint32_t root_of(uint64_t who);
  void begin();
  std::vector<OpNode> nodes_;
  std::vector<OpNote> notes_;
  std::vector<SegmentNote> segments_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> successors_;
  std::unordered_map<uint64_t, uint32_t> roots_;
  Caller caller_;
  uint32_t serial_ = 1;
  uint64_t matched_ = 0, fresh_ = 0;
  uint64_t window_matched_ = 0;
  uint32_t dormant_ = 0;
  uint32_t sleep_ = 1024;      // how long the next dormancy is, in operations
  bool changed_ = false;
};

// Text of a value's layout, read off its encoded stream: "int", "float32[4]", "(float32[4], float, bool)", "pickle".
std::string layout_of(const uint8_t* stream, const uint8_t* end, uint32_t items);

}  // namespace reactor
