#include "record/line_counter.h"
#include "python/python.h"

namespace nb = nanobind;

namespace reactor {
namespace {

PyObject* counted_files = nullptr;  // {file name: whether its lines count}

}  // namespace

// Frames whose lines do not count are asked for no more lines.
int LineCounter::call(PyFrameObject* frame) {
  const OwnedAs<PyCodeObject> code(PyFrame_GetCode(frame));
  const Owned file = Owned::share(code->co_filename);
  PyObject* counts = PyDict_GetItemWithError(counted_files, file.get());
  if (!counts && !PyErr_Occurred()) {
    const Owned answer(PyObject_CallOneArg(counts_.ptr(), file.get()));
    const int yes = answer ? PyObject_IsTrue(answer.get()) : -1;
    if (yes >= 0 && PyDict_SetItem(counted_files, file.get(), yes ? Py_True : Py_False) == 0) counts = yes ? Py_True : Py_False;
  }
  if (!counts) return -1;
  return counts == Py_True ? 0 : PyObject_SetAttrString(reinterpret_cast<PyObject*>(frame), "f_trace_lines", Py_False);
}

int LineCounter::trace(PyObject* self, PyFrameObject* frame, int what, PyObject*) {
  auto* counter = nb::inst_ptr<LineCounter>(nb::handle(self));
  if (what == PyTrace_CALL) return counter->call(frame);
  if (what == PyTrace_OPCODE) {
    if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(frame), "f_trace_opcodes", Py_False) != 0) return -1;
    return counter->limit == 0 ? counter->reach(0) : 0;
  }
  return what == PyTrace_LINE && ++counter->count >= counter->limit ? counter->reach(1) : 0;
}

int LineCounter::reach(int lines) { return Owned(PyObject_CallFunction(reached_.ptr(), "i", lines)) ? 0 : -1; }

void LineCounter::begin() {
  if (!PyThreadState_Get()->c_tracefunc) PyEval_SetTrace(trace, nb::find(this).ptr());
}

void LineCounter::end() {
  if (PyThreadState_Get()->c_tracefunc == trace) PyEval_SetTrace(nullptr, nullptr);
}

void add_line_counter(nb::module_& m) {
  counted_files = PyDict_New();
  nb::class_<LineCounter>(m, "LineCounter")
      .def(nb::init<nb::object, nb::object>(), nb::arg("counts"), nb::arg("reached"))
      .def("begin", &LineCounter::begin)
      .def("end", &LineCounter::end)
      .def_rw("count", &LineCounter::count)
      .def_rw("limit", &LineCounter::limit);
}

}  // namespace reactor
