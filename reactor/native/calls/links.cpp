#include "types/types.h"
#include "calls/calls.h"

namespace reactor {

PyTypeObject* LinkType;

namespace {

void link_dealloc(PyObject* self) {
  auto* l = reinterpret_cast<PyLink*>(self);
  if (l->weakrefs) PyObject_ClearWeakRefs(self);
  if (ctx && l->epoch == epoch && l->object) {
    close_link(l);
    if (l->weak) ctx->local.hold_list.clear(l->note), drop_weak(ctx->local, l->object);
    else drop_noted(ctx->local, l->object, l->note);
  }
  free_instance(self);
}
bool link_live(PyLink* l) {
  if (ctx && l->epoch == epoch) return true;
  stale_error("actor handle");
  return false;
}
PyObject* link_state(PyObject* self, void*) {
  auto* l = reinterpret_cast<PyLink*>(self);
  return link_live(l) ? PyLong_FromLong(long(l->inbox->state.load())) : nullptr;
}
PyObject* link_proc(PyObject* self, void*) {
  auto* l = reinterpret_cast<PyLink*>(self);
  return link_live(l) ? PyLong_FromLong(int32_t(l->inbox->proc.load())) : nullptr;
}
PyObject* link_actor(PyObject* self, void*) { return PyLong_FromUnsignedLong(reinterpret_cast<PyLink*>(self)->actor); }
PyObject* link_uid(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(reinterpret_cast<PyLink*>(self)->uid); }
PyObject* link_tag_hash(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(reinterpret_cast<PyLink*>(self)->tag_hash); }
PyObject* link_stale(PyObject* self, void*) { return PyBool_FromLong(!ctx || reinterpret_cast<PyLink*>(self)->epoch != epoch); }
PyObject* link_offset(PyObject* self, void*) {
  auto* l = reinterpret_cast<PyLink*>(self);
  return link_live(l) ? PyLong_FromUnsignedLongLong(ctx->heap->off(l->object)) : nullptr;
}
// create(args, kwargs) -> Ref: sends the constructor call, always the first message of an actor.
PyObject* link_create(PyObject* self, PyObject* args) {
  PyObject *a, *kw;
  if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &a, &PyDict_Type, &kw)) return nullptr;
  std::vector<PyObject*> all;
  all.reserve(size_t(PyTuple_GET_SIZE(a) + PyDict_GET_SIZE(kw)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i) all.push_back(PyTuple_GET_ITEM(a, i));
  Owned names(PyTuple_New(PyDict_GET_SIZE(kw)));
  if (!names) return nullptr;
  Py_ssize_t at = 0, i = 0;
  PyObject *k, *v;
  while (PyDict_Next(kw, &at, &k, &v)) {
    PyTuple_SET_ITEM(names.get(), i++, Py_NewRef(k));
    all.push_back(v);
  }
  CallSpec spec{1, 0, -1, nullptr, nullptr};
  return guarded([&] {
    return call_method(reinterpret_cast<PyLink*>(self), spec, MessageKind::Create, 0, all.data(), PyTuple_GET_SIZE(a), names.get());
  });
}
PyObject* link_weak(PyObject* self, void*) { return PyBool_FromLong(reinterpret_cast<PyLink*>(self)->weak); }
PyGetSetDef link_getset[] = {{"weak", link_weak, nullptr, "whether it does not keep the actor alive", nullptr},
                             {"state", link_state, nullptr, "0 open, 1 ending, 2 dead", nullptr},
                             {"proc", link_proc, nullptr, "slot of the serving process, -1 before it started", nullptr},
                             {"actor", link_actor, nullptr, "number of the actor, unique within the run", nullptr},
                             {"uid", link_uid, nullptr, "number of the actor's object", nullptr},
                             {"tag_hash", link_tag_hash, nullptr, "hash of the tag of its creation, the same in each run", nullptr},
                             {"stale", link_stale, nullptr, "whether the actor is of a run that has ended", nullptr},
                             {"offset", link_offset, nullptr, "where the actor's object lies in the shared heap", nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef link_methods[] = {{"create", link_create, METH_VARARGS, "send the constructor call"}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef link_members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyLink, weakrefs), READONLY, nullptr},
                              {nullptr, 0, 0, 0, nullptr}};
PyType_Slot link_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(link_dealloc)},
                            {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
                            {Py_tp_getset, link_getset},
                            {Py_tp_methods, link_methods},
                            {Py_tp_members, link_members},
                            {0, nullptr}};
PyType_Spec link_spec = {"reactor._core.Link", sizeof(PyLink), 0, Py_TPFLAGS_DEFAULT, link_slots};

}  // namespace

namespace {
std::atomic_ref<uint32_t> weak_count(Object* actor) {
  return std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(actor->body + offsetof(ActorBody, weak)));
}
}  // namespace

void drop_weak(Local& l, Object* actor) {
  ActorBody body;
  memcpy(&body, actor->body, sizeof body);
  // Who buries the actor says so and looks at the count then, with a fence in between: one of the two sees the other [seq_cst].
  bool last = weak_count(actor).fetch_sub(1, memory_order_seq_cst) == 1;
  if (last && l.heap->at<Inbox>(body.inbox)->state.load(memory_order_seq_cst) == InboxState::Dead)
    send_control(Control::Release, l.heap->off(actor));
}

PyObject* new_link(Object* o, bool take, bool weak) {
  ctx->local.hold_list.reserve();
  auto* l = reinterpret_cast<PyLink*>(LinkType->tp_alloc(LinkType, 0));
  if (!l) return nullptr;
  if (take && !weak) {
    l->note = take_noted(ctx->local, o);
  } else {
    if (take) weak_count(o).fetch_add(1, memory_order_relaxed);
    l->note = ctx->local.hold_list.add(ctx->heap->off(o), weak ? Entry::Weak : Entry::Hold);
  }
  ActorBody body;
  memcpy(&body, o->body, sizeof body);
  l->object = o;
  l->inbox = ctx->heap->at<Inbox>(body.inbox);
  l->uid = o->uid;
  l->tag_hash = o->tag_hash;
  l->actor = body.actor;
  l->epoch = epoch;
  l->weak = weak;
  l->outlet = nullptr;
  l->weakrefs = nullptr;
  return reinterpret_cast<PyObject*>(l);
}

bool add_link_type(PyObject* module) { return add_type(module, LinkType, &link_spec); }

}  // namespace reactor
