// Python objects by way of nanobind: errors become C++ exceptions, and tuples have named places.
#pragma once
#include <nanobind/nanobind.h>
#include <initializer_list>
#include <utility>
#include <vector>
#include "python/python.h"

namespace reactor {

namespace nb = nanobind;

// The type of a tuple whose places have names (Python's struct sequence), also an attribute of the module. `name`: with the module's; it and the names
// of the fields live on.
struct Field {
  const char* name;
  const char* meaning;
};
OwnedAs<PyTypeObject> new_named_tuple(const char* name, const char* meaning, std::vector<PyStructSequence_Field> fields);
PyTypeObject* add_named_tuple(nb::module_& m, const char* name, const char* meaning, std::initializer_list<Field> fields);

// A new reference, or the Python error that is set.
inline nb::object steal(PyObject* o) {
  if (!o) throw nb::python_error();
  return nb::steal(o);
}
// A tuple of such a type.
template <class... Values> nb::object named_tuple(PyTypeObject* type, Values&&... values) {
  nb::object named = steal(PyStructSequence_New(type));
  Py_ssize_t i = 0;
  (PyStructSequence_SetItem(named.ptr(), i++, nb::cast(std::forward<Values>(values)).release().ptr()), ...);
  return named;
}

}  // namespace reactor
