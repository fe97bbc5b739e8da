// Values, refs of them, and the holds that keep them.
#include "bindings.h"
#include "calls/stream.h"

namespace reactor {
namespace {

nb::object put(nb::object value, bool users) { return steal(put_value(value.ptr(), Exempt::Small, false, users)); }

nb::object put_from(nb::list holder) {
  if (holder.size() != 1) throw nb::type_error("put_given takes a list of one value");
  Owned value = Owned::share(PyList_GET_ITEM(holder.ptr(), 0));
  PyList_SetSlice(holder.ptr(), 0, 1, nullptr);
  return steal(put_given(std::move(value)));
}

nb::object put_code(nb::object value) {
  PyObject* ref = put_value(value.ptr(), Exempt::All);
  if (!ref) throw nb::python_error();
  auto* r = reinterpret_cast<PyRef*>(ref);
  std::atomic_ref(r->object->kind).store(kCode, memory_order_release);
  ctx->local.hold_list.retag(r->note, Entry::Code);
  r->exporter = true;
  return steal(ref);
}

nb::object put_recorded(nb::object value, bool must_fit) {
  return steal(put_value(value.ptr(), must_fit ? Exempt::None : Exempt::Small, true, true));
}

// `users`: the user gets the ref, as in put_value.
Object* new_promised(bool users) {
  need_ctx();
  const uint64_t tag_hash = users ? ctx->hash_made(Made::Put) : 0;
  Object* o = new_object(ctx->local, 2);
  if (tag_hash) set_tag_hash(o, tag_hash);
  return o;
}

// A ref whose result someone else gives: (ref, offset). The giver calls reply(offset, value).
nb::object request(bool users) {
  Object* o = new_promised(users);
  nb::object ref = steal(new_ref(o, false));
  return nb::make_tuple(ref, ctx->heap->off(o));
}

void give(Object* o, nb::handle value, bool error) {
  if (is_done(o)) return;
  Encoding e;
  if (!e->item(value.ptr()) || !encode_into(*e.encoder, o)) throw nb::python_error();
  complete(ctx->local, o, error ? State::Error : State::Value);
}

void reply(uint64_t off, nb::object value, bool error) {
  auto* o = ctx->heap->at<Object>(off);
  give(o, value, error);
  drop_hold(ctx->local, o);
}

// A ref whose result this process gives: (ref, offset, note). It calls fulfil(offset, note, value). If it ends before, the ref fails.
// `error`: the value is the stored form of an exception.
nb::object promise(bool users) {
  Object* o = new_promised(users);
  const Off off = ctx->heap->off(o);
  const uint32_t note = ctx->local.hold_list.add(off, Entry::Run);
  nb::object ref = steal(new_ref(o, false));
  return nb::make_tuple(ref, off, note);
}

void fulfil(uint64_t off, uint32_t note, nb::object value, bool error) {
  auto* o = ctx->heap->at<Object>(off);
  give(o, value, error);
  drop_noted(ctx->local, o, note);
}

// The actor at an offset. `take`: a hold of its own, else that of the message that it came by is handed over; `weak`: the link will
// not keep the actor alive, which something else does for now; the message's hold, without `take`, is given back.
nb::object link_at(uint64_t off, bool take, bool weak) {
  auto* o = ctx->heap->at<Object>(off);
  if (weak) {
    nb::object link = steal(new_link(o, true, true));
    if (!take) drop_hold(ctx->local, o);
    return link;
  }
  if (take) {
    int32_t holds = o->holds.load();
    do
      if (holds <= 0) return nb::none();
    while (!o->holds.compare_exchange_weak(holds, holds + 1));
  }
  return steal(new_link(o, false));
}

nb::object ref_at(uint64_t off) {
  need_ctx();
  return steal(new_ref(ctx->heap->at<Object>(off), true));
}

// Inside a running pickle: notes that a ref (or an actor) travels with the value, gives its number. -1: no value is being encoded.
int export_ref(nb::handle h) {
  Encoder* e = Encoding::current();
  if (!ctx || !e) return -1;
  if (is_ref(h.ptr())) {
    Object* o = ref_object(h.ptr());
    if (!o) throw nb::python_error();
    return int(e->add_ref(o, h.ptr()));
  }
  if (!PyObject_TypeCheck(h.ptr(), LinkType)) throw nb::type_error("export_ref takes a Ref or a Link");
  auto* l = reinterpret_cast<PyLink*>(h.ptr());
  if (l->epoch != epoch) {
    stale_error("actor handle");
    throw nb::python_error();
  }
  return int(e->add_ref(l->object, h.ptr()));
}

// A ref of class `cls` to an object that nobody has: what an id alone is good for.
nb::object bare_ref(nb::handle cls, uint64_t hash) {
  if (!PyType_Check(cls.ptr()) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls.ptr()), RefType))
    throw nb::type_error("bare_ref takes a subclass of Ref");
  auto* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  PyObject* ref = type->tp_alloc(type, 0);
  if (!ref) throw nb::python_error();
  reinterpret_cast<PyRef*>(ref)->uid = reinterpret_cast<PyRef*>(ref)->tag_hash = hash;  // all else is 0: an epoch that no run has
  return steal(ref);
}

nb::object import_ref(uint32_t i) {
  Decoder* d = Decoder::current();
  if (!d || !ctx) {
    PyErr_SetString(PyExc_RuntimeError,
                    "an object ref or actor handle that was pickled as part of a call can be unpickled by the receiving runtime only");
    throw nb::python_error();
  }
  nb::object ref = steal(d->ref(i));
  auto* o = reinterpret_cast<PyRef*>(ref.ptr())->object;
  return kind_of(o) == kActorObject ? steal(new_link(o, true)) : ref;
}

// The class of the refs that the core makes: Ref or a subclass.
void set_ref_class(nb::handle c) { ref_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(c.ptr())); }

bool hold_if_held(uint64_t off) {
  auto* o = ctx->heap->at<Object>(off);
  int32_t n = o->holds.load();
  while (n > 0)
    if (o->holds.compare_exchange_weak(n, n + 1)) return true;
  return false;
}

// Whether anything holds the object `uid`, which lay there. The place may be another object's since.
bool is_held(uint64_t off, uint64_t uid) {
  auto* o = ctx->heap->at<Object>(off);
  return o->uid == uid && o->holds.load() > 0;
}

}  // namespace

void bind_values(nb::module_& m) {
  m.def("set_ref_class", &set_ref_class);
  m.def("let_bytearrays_arrive_as_bytes", [] { arrives_as_bytes = true; });
  m.def("put", &put, nb::arg("value").none(), nb::arg("users") = false);
  m.def("put_given", &put_from, nb::arg("holder"));
  m.def("put_code", &put_code, nb::arg("value").none());
  m.def("put_recorded", &put_recorded, nb::arg("value").none(), nb::arg("must_fit") = false);
  m.def("request", &request, nb::arg("users") = false, nb::call_guard<Using>());
  m.def("promise", &promise, nb::arg("users") = false, nb::call_guard<Using>());
  m.def("fulfil", &fulfil, nb::arg("offset"), nb::arg("note"), nb::arg("value").none(), nb::arg("error") = false, nb::call_guard<Using>());
  m.def("reply", &reply, nb::arg("offset"), nb::arg("value").none(), nb::arg("error") = false, nb::call_guard<Using>());
  m.def("link_at", &link_at, nb::arg("offset"), nb::arg("take"), nb::arg("weak") = false, nb::call_guard<Using>());
  m.def("ref_at", &ref_at, nb::arg("offset"), nb::call_guard<Using>());
  m.def("hold", [](uint64_t off) { take_hold(ctx->heap->at<Object>(off)); }, nb::arg("offset"), nb::call_guard<Using>());
  m.def("hold_if_held", &hold_if_held, nb::arg("offset"));
  m.def("is_held", &is_held, nb::arg("offset"), nb::arg("uid"), nb::call_guard<Using>());
  m.def("drop", [](uint64_t off) { drop_hold(ctx->local, ctx->heap->at<Object>(off)); }, nb::arg("offset"), nb::call_guard<Using>());
  m.def("export_ref", &export_ref, nb::arg("ref"), nb::call_guard<Using>());
  m.def("import_ref", &import_ref, nb::arg("index"));
  m.def("bare_ref", &bare_ref, nb::arg("cls"), nb::arg("hash"));
}

}  // namespace reactor
