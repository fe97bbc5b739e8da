#include "recorder.h"
#include <cstring>
#include "heap.h"
#include "site.h"

namespace reactor {
namespace {

void set(PyObject* d, const char* key, PyObject* value) {
  if (value) PyDict_SetItemString(d, key, value);
  Py_XDECREF(value);
}

PyObject* site_text(const OpKey& k) {
  if (!k.code) return PyUnicode_FromString("?");
  return PyUnicode_FromFormat("%U:%d", k.code->co_filename, reactor_site_line(k.code, k.instruction));
}

}  // namespace

Recorder::Recorder() {
  nodes_.reserve(1024);
  nodes_.push_back({});
  notes_.push_back({});
  roots_[0] = 0;
}

Recorder::~Recorder() {
  for (auto& n : nodes_) Py_XDECREF(n.key.code);
  for (auto& n : notes_) Py_XDECREF(n.name);
}

uint32_t Recorder::search(const OpKey& k) {
  if (caller_.broken) return 0;
  OpNode& at = nodes_[caller_.at];
  for (uint32_t c = at.first; c; c = nodes_[c].sibling)
    if (nodes_[c].key == k) {
      at.child = c;
      return c;
    }
  return 0;
}

uint32_t Recorder::record(const OpKey& k, OpNote&& note) {
  ++fresh_;
  // Of the last operations nearly all were new: this program does not repeat itself. Look again later, ever more rarely.
  if ((fresh_ & 1023) == 0) {
    if (matched_ - window_matched_ < 1024) {
      dormant_ = sleep_;
      sleep_ = sleep_ < (1 << 20) ? sleep_ * 4 : sleep_;
      caller_.broken = true;
    } else {
      sleep_ = 1024;
    }
    window_matched_ = matched_;
  }
  uint32_t at = caller_.at;
  if (caller_.broken || nodes_.size() >= kMaxNodes || nodes_[at].depth >= kMaxDepth || nodes_[at].children >= kMaxChildren) {
    caller_.broken = true;
    return 0;
  }
  auto id = uint32_t(nodes_.size());
  OpNode n;
  n.key = k;
  Py_XINCREF(k.code);
  n.parent = at;
  n.depth = nodes_[at].depth + 1;
  n.visits = 1;
  nodes_.push_back(n);
  Py_XINCREF(note.name);
  notes_.push_back(std::move(note));
  uint32_t* end = &nodes_[at].first;
  while (*end) end = &nodes_[*end].sibling;
  *end = id;
  nodes_[at].child = id;
  ++nodes_[at].children;
  caller_.at = id;
  changed_ = true;
  return id;
}

void Recorder::end_segment(SegmentEnd end) {
  ++serial_;
  uint32_t at = caller_.at;
  caller_.at = caller_.root;
  if (caller_.broken || at == caller_.root) {
    caller_.broken = false;
    caller_.last = 0;
    return;
  }
  OpNode& n = nodes_[at];
  if (n.segment == 0) {
    segments_.push_back({at, caller_.root, end, uint32_t(nodes_.size())});
    n.segment = uint32_t(segments_.size());
    changed_ = true;
  }
  ++segments_[n.segment - 1].count;
  if (caller_.last) ++successors_[{caller_.last - 1, n.segment - 1}];
  caller_.last = n.segment;
}

uint32_t Recorder::root_of(uint64_t who) {
  auto [it, fresh] = roots_.emplace(who, 0);
  if (fresh) {
    it->second = uint32_t(nodes_.size());
    nodes_.push_back({});
    notes_.push_back({});
  }
  return it->second;
}

void Recorder::begin() {
  caller_.begun = true;
  caller_.root = caller_.at = root_of(caller_.who);
  OpNote& note = notes_[caller_.root];
  if (!note.name) {
    note.name = caller_.name ? PyObject_GetAttrString(caller_.name, "__name__") : nullptr;
    PyErr_Clear();
    note.actor = caller_.actor;
  }
}

PyObject* Recorder::data(PyObject* caller_name) {
  changed_ = false;
  PyObject* out = PyDict_New();
  PyObject* operations = PyList_New(0);
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const OpNode& n = nodes_[i];
    const OpNote& note = notes_[i];
    PyObject* d = PyDict_New();
    set(d, "parent", PyLong_FromUnsignedLong(n.parent));
    set(d, "kind", PyLong_FromUnsignedLong(n.key.method & 3));
    set(d, "name", Py_NewRef(note.name ? note.name : n.depth == 0 ? caller_name : Py_None));
    set(d, "actor", PyLong_FromUnsignedLongLong(note.actor));
    set(d, "target", PyLong_FromUnsignedLongLong(n.key.target));
    set(d, "site", site_text(n.key));
    set(d, "visits", PyLong_FromUnsignedLongLong(n.visits));
    set(d, "args", PyLong_FromUnsignedLong(note.args));
    set(d, "results", PyLong_FromUnsignedLong(note.results));
    set(d, "bytes", PyLong_FromUnsignedLongLong(note.bytes));
    set(d, "layout", PyUnicode_FromStringAndSize(note.layout.data(), Py_ssize_t(note.layout.size())));
    set(d, "result", PyUnicode_FromStringAndSize(note.result.data(), Py_ssize_t(note.result.size())));
    set(d, "result_bytes", PyLong_FromUnsignedLongLong(note.result_bytes));
    PyObject* sources = PyList_New(0);
    for (auto& s : note.sources) {
      PyObject* t = Py_BuildValue("(III)", s.argument, s.back, s.op);
      PyList_Append(sources, t);
      Py_XDECREF(t);
    }
    set(d, "sources", sources);
    PyList_Append(operations, d);
    Py_DECREF(d);
  }
  set(out, "operations", operations);
  PyObject* segments = PyList_New(0);
  for (auto& s : segments_) {
    PyObject* t = Py_BuildValue("(IIIIK)", s.node, s.root, unsigned(s.end), s.born, s.count);
    PyList_Append(segments, t);
    Py_XDECREF(t);
  }
  set(out, "segments", segments);
  PyObject* successors = PyList_New(0);
  for (auto& [pair, count] : successors_) {
    PyObject* t = Py_BuildValue("(IIK)", pair.first, pair.second, count);
    PyList_Append(successors, t);
    Py_XDECREF(t);
  }
  set(out, "successors", successors);
  set(out, "calls_total", PyLong_FromUnsignedLongLong(total));
  set(out, "calls_replayed", PyLong_FromUnsignedLongLong(matched_));
  return out;
}

}  // namespace reactor
