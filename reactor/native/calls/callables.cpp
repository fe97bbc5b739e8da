// The objects that are called: a method of an actor, a remote function.
#include "types/types.h"
#include "calls/calls.h"

namespace reactor {

PyTypeObject* MethodType;
PyTypeObject* FunctionType;

namespace {

bool parse_spec(CallSpec& s, PyObject* name, int results, int min_args, int max_args, PyObject* check, unsigned window,
                unsigned per_yield) {
  s = {results, min_args, max_args, check == Py_None ? nullptr : Py_NewRef(check), Py_NewRef(name), window, per_yield};
  return true;
}
void clear_spec(CallSpec& s) {
  Py_CLEAR(s.check);
  Py_CLEAR(s.name);
}

// Method(link, index, name, results, min_args, max_args, check, window=0, per_yield=1, retries=0)
PyObject* method_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *link, *name, *check;
  unsigned index, window = 0, per_yield = 1, retries = 0;
  int results, min_args, max_args;
  if (!PyArg_ParseTuple(args, "O!IUiiiO|III", LinkType, &link, &index, &name, &results, &min_args, &max_args, &check, &window, &per_yield,
                        &retries))
    return nullptr;
  auto* m = reinterpret_cast<PyMethod*>(type->tp_alloc(type, 0));
  if (!m) return nullptr;
  parse_spec(m->spec, name, results, min_args, max_args, check, window, per_yield);
  m->link = reinterpret_cast<PyLink*>(Py_NewRef(link));
  m->index = index;
  m->retries = retries;
  m->options = nullptr;
  return reinterpret_cast<PyObject*>(m);
}
void method_dealloc(PyObject* self) {
  auto* m = reinterpret_cast<PyMethod*>(self);
  clear_spec(m->spec);
  Py_CLEAR(m->link);
  Py_CLEAR(m->options);
  free_instance(self);
}
PyObject* method_remote(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  auto* m = reinterpret_cast<PyMethod*>(self);
  return guarded([&] { return call_method(m->link, m->spec, MessageKind::Call, m->index, args, n, kwnames, m->retries, m->options); });
}
PyObject* method_name(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<PyMethod*>(self)->spec.name); }
PyObject* method_link(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(reinterpret_cast<PyMethod*>(self)->link)); }
PyObject* method_index(PyObject* self, void*) { return PyLong_FromUnsignedLong(reinterpret_cast<PyMethod*>(self)->index); }
PyObject* method_results(PyObject* self, void*) { return PyLong_FromLong(reinterpret_cast<PyMethod*>(self)->spec.results); }
PyObject* method_retries(PyObject* self, void*) { return PyLong_FromUnsignedLong(reinterpret_cast<PyMethod*>(self)->retries); }
PyGetSetDef method_getset[] = {
    {"name", method_name, nullptr, nullptr, nullptr},       {"link", method_link, nullptr, nullptr, nullptr},
    {"index", method_index, nullptr, nullptr, nullptr},     {"results", method_results, nullptr, nullptr, nullptr},
    {"retries", method_retries, nullptr, nullptr, nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};
// vary(results, window, per_yield, retries, options): options is a Ref or None. with_results(results): the rest as it is.
PyObject* method_vary(PyObject* self, PyObject* args) {
  auto* m = reinterpret_cast<PyMethod*>(self);
  int results;
  unsigned window = m->spec.window, per_yield = m->spec.per_yield, retries = m->retries;
  PyObject* options = m->options ? reinterpret_cast<PyObject*>(m->options) : Py_None;
  if (!PyArg_ParseTuple(args, "i|IIIO", &results, &window, &per_yield, &retries, &options)) return nullptr;
  if (options != Py_None && !is_ref(options)) return PyErr_Format(PyExc_TypeError, "options must be a Ref or None");
  auto* varied = reinterpret_cast<PyMethod*>(Py_TYPE(self)->tp_alloc(Py_TYPE(self), 0));
  if (!varied) return nullptr;
  parse_spec(varied->spec, m->spec.name, results, m->spec.min_args, m->spec.max_args, m->spec.check ? m->spec.check : Py_None, window,
             per_yield);
  varied->link = reinterpret_cast<PyLink*>(Py_NewRef(reinterpret_cast<PyObject*>(m->link)));
  varied->index = m->index;
  varied->retries = retries;
  varied->options = options == Py_None ? nullptr : reinterpret_cast<PyRef*>(Py_NewRef(options));
  return reinterpret_cast<PyObject*>(varied);
}
PyMethodDef method_methods[] = {
    {"with_results", method_vary, METH_VARARGS, "with_results(results): the same method, giving another number of results"},
    {"vary", method_vary, METH_VARARGS, "vary(results, window, per_yield, retries, options): the same method, called with other options"},
    {"remote", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(method_remote)), METH_FASTCALL | METH_KEYWORDS,
     "remote($self, /, *args, **kwargs)\n--\n\nCall the method in the actor's process; gives the ref of the result at once."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot method_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(method_dealloc)},
                              {Py_tp_new, reinterpret_cast<void*>(method_new)},
                              {Py_tp_getset, method_getset},
                              {Py_tp_methods, method_methods},
                              {0, nullptr}};
PyType_Spec method_spec = {"reactor._core.Method", sizeof(PyMethod), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, method_slots};

// A remote function that also knows what is called in its place when its run has ended.
struct OwnFunction {
  PyFunction function;
  PyObject* again;  // null: the call fails then
};

// Function(ref, name, results, min_args, max_args, check, demand, retries, window=0, per_yield=1, again=None)
PyObject* function_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *ref, *name, *check, *again = Py_None;
  int results, min_args, max_args;
  unsigned demand, retries, window = 0, per_yield = 1;
  if (!PyArg_ParseTuple(args, "O!UiiiOII|IIO", RefType, &ref, &name, &results, &min_args, &max_args, &check, &demand, &retries, &window,
                        &per_yield, &again))
    return nullptr;
  auto* f = reinterpret_cast<PyFunction*>(type->tp_alloc(type, 0));
  if (!f) return nullptr;
  parse_spec(f->spec, name, results, min_args, max_args, check, window, per_yield);
  f->function = reinterpret_cast<PyRef*>(Py_NewRef(ref));
  f->demand = demand;
  f->retries = retries;
  f->carries = -1;
  reinterpret_cast<OwnFunction*>(f)->again = again == Py_None ? nullptr : Py_NewRef(again);
  return reinterpret_cast<PyObject*>(f);
}
void function_dealloc(PyObject* self) {
  auto* f = reinterpret_cast<PyFunction*>(self);
  clear_spec(f->spec);
  Py_CLEAR(f->function);
  Py_CLEAR(reinterpret_cast<OwnFunction*>(self)->again);
  free_instance(self);
}
bool is_stale(const PyFunction* f) { return !ctx || f->function->epoch != epoch; }
PyObject* function_remote(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  PyObject* again = reinterpret_cast<OwnFunction*>(self)->again;
  if (again && is_stale(reinterpret_cast<PyFunction*>(self))) return PyObject_Vectorcall(again, args, size_t(n), kwnames);
  return guarded([&] { return call_function(reinterpret_cast<PyFunction*>(self), args, n, kwnames); });
}
PyObject* function_stale(PyObject* self, void*) { return PyBool_FromLong(is_stale(reinterpret_cast<PyFunction*>(self))); }
PyMethodDef function_methods[] = {
    {"remote", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function_remote)), METH_FASTCALL | METH_KEYWORDS,
     "remote($self, /, *args, **kwargs)\n--\n\nRun the function in a task worker; gives the ref of the result at once."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef function_getset[] = {{"stale", function_stale, nullptr, "whether the function was exported to a run that has ended", nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot function_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)},
                                {Py_tp_new, reinterpret_cast<void*>(function_new)},
                                {Py_tp_methods, function_methods},
                                {Py_tp_getset, function_getset},
                                {0, nullptr}};
PyType_Spec function_spec = {"reactor._core.Function", sizeof(OwnFunction), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, function_slots};

}  // namespace

bool add_callable_types(PyObject* module) {
  return add_type(module, MethodType, &method_spec) && add_type(module, FunctionType, &function_spec);
}

}  // namespace reactor
