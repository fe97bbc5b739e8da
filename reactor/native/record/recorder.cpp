#include "record/recorder.h"
#include <cstring>
#include "memory/heap.h"
#include "python/hooks.h"
#include "record/site.h"

namespace reactor {
namespace {

template <class T> void set(const Owned& d, const char* key, T&& value) {
  const Owned object = to_python(std::forward<T>(value));
  if (object) PyDict_SetItemString(d.get(), key, object.get());
}
void append(const Owned& list, const Owned& item) {
  if (item) PyList_Append(list.get(), item.get());
}
Owned text(const std::string& s) { return Owned(PyUnicode_FromStringAndSize(s.data(), Py_ssize_t(s.size()))); }

Owned site_text(PyCodeObject* code, int32_t instruction) {
  if (!code) return Owned(PyUnicode_FromString("?"));
  return Owned(PyUnicode_FromFormat("%U:%d", code->co_filename, reactor_site_line(code, instruction)));
}

}  // namespace

Recorder::Recorder(const Proc* proc) : proc_(proc) {
  nodes_.reserve(2048);
  notes_.reserve(kDescribed);
  facts_.reserve(2048);
  roots_[0] = add({}, {});
  waited();
}

Recorder::~Recorder() {
  for (auto& n : nodes_) Py_XDECREF(n.key.code);
  for (auto& f : facts_) Py_XDECREF(f.name);
  for (auto& s : patterns_) Py_XDECREF(s.code);
}

namespace {

uint64_t hash_of(uint32_t parent, const OpKey& k) {
  uint64_t h = parent;
  for (uint64_t v : {k.target, uint64_t(k.method) << 32 | k.shape, uint64_t(reinterpret_cast<uintptr_t>(k.code)),
                     uint64_t(uint32_t(k.instruction)) << 32 | k.names}) {
    h = (h ^ v) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
  }
  return h;
}

}  // namespace

uint32_t Recorder::add(const OpNode& node, const OpFacts& facts) {
  nodes_.push_back(node);
  facts_.push_back(facts);
  return uint32_t(nodes_.size() - 1);
}

uint32_t Recorder::search(const OpKey& k) {
  if (caller_.broken) return 0;
  OpNode& at = nodes_[caller_.at];
  if (facts_[caller_.at].children > kNarrow) {
    auto it = wide_.find(hash_of(caller_.at, k));
    if (it == wide_.end() || !(nodes_[it->second].key == k) || nodes_[it->second].parent != caller_.at) return 0;
    return at.child = it->second;
  }
  for (uint32_t c = facts_[caller_.at].first; c; c = facts_[c].sibling)
    if (nodes_[c].key == k) return at.child = c;
  return 0;
}

uint32_t Recorder::record(const OpKey& k, PyObject* name, uint32_t actor, uint32_t args, uint32_t results) {
  ++fresh_;
  uint32_t at = caller_.at;
  if (caller_.broken || nodes_.size() >= kMaxNodes || nodes_[at].depth >= kMaxDepth || facts_[at].children >= kMaxChildren) {
    caller_.broken = true;
    return 0;
  }
  OpNode n;
  n.key = k;
  Py_XINCREF(k.code);
  n.parent = at;
  n.depth = nodes_[at].depth + 1;
  n.visits = 1;
  OpFacts f;
  f.name = Py_XNewRef(name);
  f.actor = actor;
  f.args = args;
  f.results = results;
  f.sibling = facts_[at].first;
  const uint32_t id = add(n, f);
  OpFacts& parent = facts_[at];
  parent.first = nodes_[at].child = id;
  if (++parent.children > kNarrow) {
    if (parent.children == kNarrow + 1)
      for (uint32_t c = id; c; c = facts_[c].sibling) wide_[hash_of(at, nodes_[c].key)] = c;
    else wide_[hash_of(at, k)] = id;
  }
  caller_.at = id;
  changed_ = true;
  return id;
}

void Recorder::end_pattern(PatternEnd end) {
  if (++serial_ == 0) serial_ = 1;  // 0: not recorded. A ref as old as the numbers last is taken for a new one, in what is drawn alone
  uint32_t at = caller_.at;
  caller_.at = caller_.root;
  if (caller_.broken || at == caller_.root) {
    caller_.broken = false;
    caller_.last = 0;
    return;
  }
  OpNode& n = nodes_[at];
  if (n.pattern == 0) {
    patterns_.push_back({at, caller_.root, end, uint32_t(nodes_.size())});
    n.pattern = uint32_t(patterns_.size());
    PatternNote& s = patterns_.back();
    if (end != PatternEnd::TaskEnd) reactor_call_site(&s.code, &s.instruction);
    Py_XINCREF(s.code);
    judge();
    changed_ = true;
  }
  ++patterns_[n.pattern - 1].count;
  if (caller_.last) ++successors_[{caller_.last - 1, n.pattern - 1}];
  caller_.last = n.pattern;
  caller_.ended = timestamp();
}

// A pattern was new. Of a program whose patterns are nearly all new nothing is gained: look again later, ever more rarely.
void Recorder::judge() {
  if (++window_patterns_ < 8 || fresh_ - window_fresh_ < 512) return;
  if (matched_ - window_matched_ < fresh_ - window_fresh_) {
    dormant_ = sleep_;
    sleep_ = sleep_ < (1 << 20) ? sleep_ * 4 : sleep_;
  } else {
    sleep_ = kFirstSleep;
  }
  window_patterns_ = 0;
  window_fresh_ = fresh_;
  window_matched_ = matched_;
}

uint32_t Recorder::root_of(uint64_t who) {
  auto [it, fresh] = roots_.emplace(who, 0);
  if (fresh) it->second = add({}, {});
  return it->second;
}

void Recorder::begin() {
  caller_.begun = true;
  caller_.root = caller_.at = root_of(caller_.who);
  OpFacts& root = facts_[caller_.root];
  if (!root.name) {
    root.name = caller_.name    ? PyObject_GetAttrString(caller_.name, "__name__")
                : caller_.actor ? PyUnicode_FromString("__init__")
                                : nullptr;
    PyErr_Clear();
    root.actor = uint32_t(caller_.actor);
  }
  caller_.last = 0;
  waited();
}

PyObject* Recorder::data(PyObject* caller_name, double tick) {
  changed_ = false;
  Owned out(PyDict_New()), operations(PyList_New(0)), patterns(PyList_New(0)), successors(PyList_New(0));
  if (!out || !operations || !patterns || !successors) return nullptr;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const OpNode& n = nodes_[i];
    const OpFacts& f = facts_[i];
    static const OpNote nothing;
    const OpNote& note = n.note ? notes_[n.note - 1] : nothing;
    Owned d(PyDict_New()), sources(PyList_New(0)), known(PyList_New(0));
    if (!d || !sources || !known) return nullptr;
    set(d, "parent", n.parent);
    set(d, "kind", n.key.kind());
    set(d, "name", f.name ? f.name : n.depth == 0 ? caller_name : Py_None);
    set(d, "actor", f.actor);
    set(d, "target", n.key.target);
    set(d, "site", site_text(n.key.code, n.key.instruction));
    set(d, "visits", n.visits);
    set(d, "args", f.args);
    set(d, "results", f.results);
    set(d, "bytes", note.bytes);
    set(d, "layout", text(note.layout));
    for (auto& r : note.results) append(known, Owned(Py_BuildValue("(NKI)", text(r.layout).release(), r.bytes, r.taken)));
    set(d, "known_results", std::move(known));
    for (auto& s : note.sources) append(sources, Owned(Py_BuildValue("(IIII)", s.argument, s.back, s.op, s.output)));
    set(d, "sources", std::move(sources));
    append(operations, d);
  }
  for (auto& s : patterns_)
    append(patterns, Owned(Py_BuildValue("(IIIIKddKKN)", s.node, s.root, unsigned(s.end), s.born, s.count, double(s.ticks) * tick,
                                         double(s.waited) * tick, s.wakes, s.sleeps, site_text(s.code, s.instruction).release())));
  for (auto& [pair, count] : successors_) append(successors, Owned(Py_BuildValue("(IIK)", pair.first, pair.second, count)));
  set(out, "operations", std::move(operations));
  set(out, "patterns", std::move(patterns));
  set(out, "successors", std::move(successors));
  set(out, "calls_total", total);
  set(out, "calls_in_patterns", matched_);
  return out.release();
}

}  // namespace reactor
