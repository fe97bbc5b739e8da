// For the files that define the Python types of the core.
#pragma once
#include "types/refs.h"
#include <structmember.h>
#include <cstddef>
#include <cstring>

namespace reactor {

inline PyObject* refuse_new(PyTypeObject* t, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "%s objects come from calls and put(); they cannot be made directly", t->tp_name);
  return nullptr;
}

inline void free_instance(PyObject* o) {
  PyTypeObject* t = Py_TYPE(o);
  t->tp_free(o);
  Py_DECREF(t);
}

// C++ exceptions must not cross into the interpreter. That the heap is full is a MemoryError.
template <class F> PyObject* guarded(F f) {
  try {
    return f();
  } catch (std::exception& e) {
    const bool full = dynamic_cast<std::bad_alloc*>(&e);
    if (!PyErr_Occurred()) PyErr_SetString(full ? PyExc_MemoryError : PyExc_RuntimeError, full ? NoRoom().what() : e.what());
    return nullptr;
  }
}

inline bool add_type(PyObject* module, PyTypeObject*& type, PyType_Spec* spec) {
  type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(spec));
  return type && PyModule_AddObjectRef(module, strrchr(spec->name, '.') + 1, reinterpret_cast<PyObject*>(type)) == 0;
}
bool add_ref_type(PyObject* module);         // and what new_ref makes
bool add_view_type(PyObject* module);
bool add_link_type(PyObject* module);
bool add_callable_types(PyObject* module);   // Method and Function
bool add_completion_type(PyObject* module);

}  // namespace reactor
