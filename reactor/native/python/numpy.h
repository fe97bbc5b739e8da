// numpy's C functions. One file alone imports them (REACTOR_IMPORTS_NUMPY), the others use its table.
#pragma once
#include "python/python.h"
#include <cstring>
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL reactor_array_api
#ifndef REACTOR_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

namespace reactor {

bool load_numpy();  // false: Python error set
// Whether it is of one of numpy's types; loads nothing.
inline bool is_numpy(PyObject* o) { return strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0; }

}  // namespace reactor
