#include "types/types.h"
#include "calls/failures.h"

namespace reactor {

PyTypeObject* RefType;
PyTypeObject* ref_class;

namespace {

void ref_dealloc(PyObject* self) {
  auto* r = reinterpret_cast<PyRef*>(self);
  if (r->weakrefs) PyObject_ClearWeakRefs(self);
  if (ctx && r->epoch == epoch && r->object) {
    if (r->node) let_go(ctx->local, r->node);
    r->exporter ? drop_code(ctx->local, r->object, r->note) : drop_noted(ctx->local, r->object, r->note);
    tell_failures();
  }
  free_instance(self);
}

Py_hash_t ref_hash(PyObject* self) { return Py_hash_t(reinterpret_cast<PyRef*>(self)->tag_hash >> 1); }

PyObject* ref_compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || !PyObject_TypeCheck(b, RefType)) Py_RETURN_NOTIMPLEMENTED;
  auto *x = reinterpret_cast<PyRef*>(a), *y = reinterpret_cast<PyRef*>(b);
  bool same = x->uid == y->uid && x->epoch == y->epoch;
  return PyBool_FromLong(same == (op == Py_EQ));
}

PyObject* ref_uid(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(reinterpret_cast<PyRef*>(self)->uid); }

PyObject* ref_tag_hash(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(reinterpret_cast<PyRef*>(self)->tag_hash); }

PyObject* ref_done(PyObject* self, PyObject*) {
  Object* o = ref_object(self);
  return o ? PyBool_FromLong(is_done(o)) : nullptr;
}
PyObject* ref_stale(PyObject* self, void*) {
  auto* r = reinterpret_cast<PyRef*>(self);
  return PyBool_FromLong(!ctx || r->epoch != epoch);
}
PyObject* ref_size(PyObject* self, void*) {
  Object* o = ref_object(self);
  return o ? PyLong_FromUnsignedLongLong(o->size) : nullptr;
}
PyObject* ref_holds(PyObject* self, void*) {
  Object* o = ref_object(self);
  return o ? PyLong_FromLong(o->holds.load()) : nullptr;
}
PyObject* ref_state(PyObject* self, void*) {
  Object* o = ref_object(self);
  return o ? PyLong_FromLong(long(o->state.load())) : nullptr;
}
PyObject* ref_runner(PyObject* self, void*) {
  Object* o = ref_object(self);
  return o ? PyLong_FromLong(int32_t(slot_of(o->runner.load()))) : nullptr;
}
PyObject* ref_offset(PyObject* self, void*) {
  Object* o = ref_object(self);
  return o ? PyLong_FromUnsignedLongLong(ctx->heap->off(o)) : nullptr;
}

PyObject* ref_kind(PyObject* self, void*) {
  Object* o = ref_object(self);
  return o ? PyLong_FromUnsignedLong(kind_of(o)) : nullptr;
}

PyGetSetDef ref_getset[] = {
    {"kind", ref_kind, nullptr, "0 value, 1 actor, 2 value that an actor's method makes", nullptr},
    {"uid", ref_uid, nullptr, "number of the object, unique within the run", nullptr},
    {"tag_hash", ref_tag_hash, nullptr, "hash of the tag of the operation that made the object, the same in each run", nullptr},
    {"stale", ref_stale, nullptr, "whether the ref is of a run that has ended", nullptr},
    {"size", ref_size, nullptr, "bytes of the value, 0 while there is none", nullptr},
    {"holds", ref_holds, nullptr, "refs, views, messages and values that hold the object", nullptr},
    {"state", ref_state, nullptr, "0 pending, 1 running, 16 value, 17 error, 18 died, 19 cancelled", nullptr},
    {"runner", ref_runner, nullptr, "slot of the process that runs the call, -1 for none yet", nullptr},
    {"offset", ref_offset, nullptr, "where the object lies in the shared heap", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef ref_methods[] = {{"done", ref_done, METH_NOARGS, "whether get() would return at once"}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef ref_members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyRef, weakrefs), READONLY, nullptr}, {nullptr, 0, 0, 0, nullptr}};
PyType_Slot ref_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(ref_dealloc)},
                           {Py_tp_hash, reinterpret_cast<void*>(ref_hash)},
                           {Py_tp_richcompare, reinterpret_cast<void*>(ref_compare)},
                           {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
                           {Py_tp_getset, ref_getset},
                           {Py_tp_methods, ref_methods},
                           {Py_tp_members, ref_members},
                           {0, nullptr}};
PyType_Spec ref_spec = {"reactor._core.Ref", sizeof(PyRef), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, ref_slots};

}  // namespace

Object* ref_object(PyObject* ref) {
  auto* r = reinterpret_cast<PyRef*>(ref);
  if (ctx && r->epoch == epoch && r->object) return r->object;
  stale_error("object ref");
  return nullptr;
}

PyObject* new_ref(Object* o, bool take, uint32_t note) {
  if (note == kNoEntry) ctx->local.hold_list.reserve();
  auto* r = reinterpret_cast<PyRef*>(ref_class->tp_alloc(ref_class, 0));
  if (!r) return nullptr;
  if (take) note = take_noted(ctx->local, o);
  else if (note == kNoEntry) note = ctx->local.hold_list.add(ctx->heap->off(o), Entry::Hold);
  r->object = o;
  r->uid = o->uid;
  r->tag_hash = o->tag_hash;
  r->epoch = epoch;
  r->note = note;
  r->pattern = r->op = r->recorded = 0;
  r->output = 0;
  r->exporter = false;
  r->node = nullptr;
  r->weakrefs = nullptr;
  // Each class that is defined in Python has the garbage collector look at its objects. A ref leads to no other object of Python's.
  if (ref_class->tp_dictoffset == 0 && PyObject_GC_IsTracked(reinterpret_cast<PyObject*>(r))) PyObject_GC_UnTrack(r);
  return reinterpret_cast<PyObject*>(r);
}

bool add_ref_type(PyObject* module) {
  const bool added = add_type(module, RefType, &ref_spec);
  ref_class = RefType;
  return added;
}

bool make_types(PyObject* module) {
  return add_ref_type(module) && add_view_type(module) && add_link_type(module) && add_callable_types(module) &&
         add_completion_type(module);
}

}  // namespace reactor
