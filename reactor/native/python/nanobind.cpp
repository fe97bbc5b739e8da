#include "python/nanobind.h"
#include <cstring>

namespace reactor {

OwnedAs<PyTypeObject> new_named_tuple(const char* name, const char* meaning, std::vector<PyStructSequence_Field> fields) {
  const auto size = int(fields.size());
  fields.push_back({nullptr, nullptr});
  PyStructSequence_Desc description{name, meaning, fields.data(), size};
  OwnedAs<PyTypeObject> type(PyStructSequence_NewType(&description));
  if (!type) throw nb::python_error();
  return type;
}

PyTypeObject* add_named_tuple(nb::module_& m, const char* name, const char* meaning, std::initializer_list<Field> fields) {
  std::vector<PyStructSequence_Field> all;
  for (const Field& f : fields) all.push_back({f.name, f.meaning});
  auto type = new_named_tuple(name, meaning, std::move(all));
  m.attr(strrchr(name, '.') + 1) = nb::handle(reinterpret_cast<PyObject*>(type.get()));
  return type.release();
}

}  // namespace reactor
