// Counts the lines of Python that a thread runs, so that it can be stopped at the same line in another run.
#pragma once
#include <nanobind/nanobind.h>

namespace reactor {

class LineCounter {
 public:
  // `counts(file name)`: whether lines of that file count, asked once for each; `reached(1)` is called in the thread, before the line,
  // with each line from number `limit` on; with limit 0 `reached(0)` before the next bytecode of a frame whose f_trace_opcodes is set, once.
  LineCounter(nanobind::object counts, nanobind::object reached) : counts_(std::move(counts)), reached_(std::move(reached)) {}
  void begin();  // in the calling thread. A thread that is traced by something else is left alone, its lines do not count
  void end();
  uint64_t count = 0, limit = UINT64_MAX;

 private:
  static int trace(PyObject* self, PyFrameObject* frame, int what, PyObject*);
  int call(PyFrameObject* frame);
  int reach(int lines);
  nanobind::object counts_, reached_;
};

void add_line_counter(nanobind::module_& m);

}  // namespace reactor
