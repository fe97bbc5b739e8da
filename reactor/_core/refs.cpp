#include "aside.h"
#include "failures.h"
#include "spill.h"
#include "stream.h"
#include <structmember.h>
#include <sys/ioctl.h>
#include <cstddef>

namespace reactor {

PyTypeObject* RefType;
PyTypeObject* ViewType;
PyTypeObject* LinkType;
PyTypeObject* MethodType;
PyTypeObject* FunctionType;
PyTypeObject* CompletionType;
PyTypeObject* ref_class;

namespace {

PyObject* refuse_new(PyTypeObject* t, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "%s objects come from calls and put(); they cannot be made directly", t->tp_name);
  return nullptr;
}

void free_instance(PyObject* o) {
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

// ---- Ref

void ref_dealloc(PyObject* self) {
  auto* r = reinterpret_cast<PyRef*>(self);
  if (r->weakrefs) PyObject_ClearWeakRefs(self);
  if (ctx && r->epoch == epoch && r->object) {
    if (r->node) let_go(ctx->local, r->node);
    ctx->local.journal.clear(r->note);
    if (r->exporter) r->object->unwanted.store(kRetiredCode, memory_order_relaxed);
    drop_hold(ctx->local, r->object);
    tell_failures();
  }
  free_instance(self);
}

Py_hash_t ref_hash(PyObject* self) {
  auto* r = reinterpret_cast<PyRef*>(self);
  return Py_hash_t((r->uid * 0x9e3779b97f4a7c15ull) >> 1);
}

PyObject* ref_compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || !PyObject_TypeCheck(b, RefType)) Py_RETURN_NOTIMPLEMENTED;
  auto *x = reinterpret_cast<PyRef*>(a), *y = reinterpret_cast<PyRef*>(b);
  bool same = x->uid == y->uid && x->epoch == y->epoch;
  return PyBool_FromLong(same == (op == Py_EQ));
}

PyObject* ref_uid(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(reinterpret_cast<PyRef*>(self)->uid); }

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

PyGetSetDef ref_getset[] = {{"kind", ref_kind, nullptr, "0 value, 1 actor, 2 value that an actor's method makes", nullptr},
                            {"uid", ref_uid, nullptr, "number of the object, unique within the run", nullptr},
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

// ---- View

// ioctl(PAGEMAP_SCAN) of Linux 6.7, which the headers of today's distributions do not have.
struct PageScan {
  uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask, category_anyof, return_mask;
};
constexpr unsigned long kPageScan = _IOWR('f', 16, PageScan);
constexpr uint64_t kIsFile = 1 << 2, kIsPresent = 1 << 3, kIsSwapped = 1 << 4;
constexpr uint64_t kScanned = 1 << 20;  // smaller ranges are not worth asking for

// Whether some of these pages of the copy-on-write mapping are copies. If none is, they may stay mapped: they are the heap's.
bool has_copies(uint8_t* data, uint64_t size) {
  if (size < kScanned) return true;
  int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  uint64_t found[3];
  PageScan scan{sizeof scan, 0, reinterpret_cast<uint64_t>(data), reinterpret_cast<uint64_t>(data) + size, 0, reinterpret_cast<uint64_t>(found), 1, 1,
                kIsFile, kIsFile, kIsPresent | kIsSwapped, kIsPresent};
  int regions = ioctl(fd, kPageScan, &scan);
  close(fd);
  return regions != 0;
}

void view_dealloc(PyObject* self) {
  auto* v = reinterpret_cast<PyView*>(self);
  if (ctx && v->epoch == epoch) {
    if (v->writable) {
      const uint64_t size = align_up(v->size, memory_page());
      // Pages that stay copied would show the next value there what was written to this one: that place is not used again.
      if (!has_copies(v->data, size) || madvise(v->data, size, MADV_DONTNEED) == 0) ctx->shadowed.erase(v->data);
    }
    ctx->local.journal.clear(v->note);
    if (v->pinned) unpin(residence_of(v->heap, v->object));
    drop_hold(ctx->local, v->object);
  }
  if (v->mapping) v->mapping->drop();
  if (--v->heap->users == 0) delete v->heap;
  free_instance(self);
}

int view_buffer(PyObject* self, Py_buffer* out, int flags) {
  auto* v = reinterpret_cast<PyView*>(self);
  return PyBuffer_FillInfo(out, self, v->data, Py_ssize_t(v->size), v->writable ? 0 : 1, flags);
}

}  // namespace

PyObject* private_view(PyObject* self) {
  auto* v = reinterpret_cast<PyView*>(self);
  Heap* h = v->heap;
  // Copy-on-write works by whole pages that nobody else looks at through the same mapping: those of one large buffer, and one view of it
  // at a time.
  if (ctx && v->epoch == epoch && v->size >= kOwnPages && !v->mapping && h->off(v->data) % memory_page() == 0) {
    for (size_t which = 0; which < Heap::kShadows; ++which) {
      uint8_t* shadow = h->shadow(which);
      if (!shadow) break;
      uint8_t* data = shadow + h->off(v->data);
      if (ctx->shadowed.insert(data).second) return new_view(v->object, data, v->size, nullptr, true);
    }
  }
  return PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(v->data), Py_ssize_t(v->size));
}

namespace {

PyObject* view_private(PyObject* self, PyObject*) { return private_view(self); }

PyMethodDef view_methods[] = {{"private", view_private, METH_NOARGS, "the same bytes, writable, copied page by page when written to"},
                              {nullptr, nullptr, 0, nullptr}};
PyType_Slot view_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(view_dealloc)},
                            {Py_bf_getbuffer, reinterpret_cast<void*>(view_buffer)},
                            {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
                            {Py_tp_methods, view_methods},
                            {0, nullptr}};
PyType_Spec view_spec = {"reactor._core.View", sizeof(PyView), 0, Py_TPFLAGS_DEFAULT, view_slots};

// ---- Link

void link_dealloc(PyObject* self) {
  auto* l = reinterpret_cast<PyLink*>(self);
  if (l->weakrefs) PyObject_ClearWeakRefs(self);
  if (ctx && l->epoch == epoch && l->object) {
    close_link(l);
    ctx->local.journal.clear(l->note);
    if (l->weak) drop_weak(ctx->local, l->object);
    else drop_hold(ctx->local, l->object);
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
PyObject* link_stale(PyObject* self, void*) {
  return PyBool_FromLong(!ctx || reinterpret_cast<PyLink*>(self)->epoch != epoch);
}
PyObject* link_offset(PyObject* self, void*) {
  auto* l = reinterpret_cast<PyLink*>(self);
  return link_live(l) ? PyLong_FromUnsignedLongLong(ctx->heap->off(l->object)) : nullptr;
}
// create(args, kwargs) -> Ref: sends the constructor call, always the first message of an actor.
PyObject* link_create(PyObject* self, PyObject* args) {
  PyObject *a, *kw;
  if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &a, &PyDict_Type, &kw)) return nullptr;
  std::vector<PyObject*> all;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i) all.push_back(PyTuple_GET_ITEM(a, i));
  PyObject* names = PyTuple_New(PyDict_GET_SIZE(kw));
  if (!names) return nullptr;
  Py_ssize_t at = 0, i = 0;
  PyObject *k, *v;
  while (PyDict_Next(kw, &at, &k, &v)) {
    PyTuple_SET_ITEM(names, i++, Py_NewRef(k));
    all.push_back(v);
  }
  CallSpec spec{1, 0, -1, nullptr, nullptr};
  PyObject* r = guarded([&] {
    return call_method(reinterpret_cast<PyLink*>(self), spec, MessageKind::Create, 0, all.data(), PyTuple_GET_SIZE(a), names);
  });
  Py_DECREF(names);
  return r;
}
PyObject* link_weak(PyObject* self, void*) { return PyBool_FromLong(reinterpret_cast<PyLink*>(self)->weak); }
PyGetSetDef link_getset[] = {{"weak", link_weak, nullptr, "whether it does not keep the actor alive", nullptr},
                             {"state", link_state, nullptr, "0 open, 1 ending, 2 dead", nullptr},
                             {"proc", link_proc, nullptr, "slot of the serving process, -1 before it started", nullptr},
                             {"actor", link_actor, nullptr, "number of the actor, unique within the run", nullptr},
                             {"uid", link_uid, nullptr, "number of the actor's object", nullptr},
                             {"stale", link_stale, nullptr, "whether the actor is of a run that has ended", nullptr},
                             {"offset", link_offset, nullptr, "where the actor's object lies in the shared heap", nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef link_methods[] = {{"create", link_create, METH_VARARGS, "send the constructor call"}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef link_members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyLink, weakrefs), READONLY, nullptr}, {nullptr, 0, 0, 0, nullptr}};
PyType_Slot link_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(link_dealloc)},
                            {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
                            {Py_tp_getset, link_getset},
                            {Py_tp_methods, link_methods},
                            {Py_tp_members, link_members},
                            {0, nullptr}};
PyType_Spec link_spec = {"reactor._core.Link", sizeof(PyLink), 0, Py_TPFLAGS_DEFAULT, link_slots};

// ---- Method and Function

bool parse_spec(CallSpec& s, PyObject* name, int results, int min_args, int max_args, PyObject* check, unsigned window, unsigned per_yield) {
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
PyGetSetDef method_getset[] = {{"name", method_name, nullptr, nullptr, nullptr},
                               {"link", method_link, nullptr, nullptr, nullptr},
                               {"index", method_index, nullptr, nullptr, nullptr},
                               {"results", method_results, nullptr, nullptr, nullptr},
                               {"retries", method_retries, nullptr, nullptr, nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};
// vary(results, window, per_yield, retries, options): options is a Ref or None. with_results(results): the rest as it is.
PyObject* method_vary(PyObject* self, PyObject* args) {
  auto* m = reinterpret_cast<PyMethod*>(self);
  int results;
  unsigned window = m->spec.window, per_yield = m->spec.per_yield, retries = m->retries;
  PyObject* options = m->options ? reinterpret_cast<PyObject*>(m->options) : Py_None;
  if (!PyArg_ParseTuple(args, "i|IIIO", &results, &window, &per_yield, &retries, &options)) return nullptr;
  if (options != Py_None && !is_ref(options)) return PyErr_Format(PyExc_TypeError, "options must be a Ref or None");
  auto* made = reinterpret_cast<PyMethod*>(Py_TYPE(self)->tp_alloc(Py_TYPE(self), 0));
  if (!made) return nullptr;
  parse_spec(made->spec, m->spec.name, results, m->spec.min_args, m->spec.max_args, m->spec.check ? m->spec.check : Py_None, window, per_yield);
  made->link = reinterpret_cast<PyLink*>(Py_NewRef(reinterpret_cast<PyObject*>(m->link)));
  made->index = m->index;
  made->retries = retries;
  made->options = options == Py_None ? nullptr : reinterpret_cast<PyRef*>(Py_NewRef(options));
  return reinterpret_cast<PyObject*>(made);
}
PyMethodDef method_methods[] = {
    {"with_results", method_vary, METH_VARARGS, "with_results(results): the same method, giving another number of results"},
    {"vary", method_vary, METH_VARARGS, "vary(results, window, per_yield, retries, options): the same method, called with other options"},
    {"remote", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(method_remote)), METH_FASTCALL | METH_KEYWORDS,
     "remote(*args, **kwargs): call the method in the actor's process; gives the ref of the result at once"},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot method_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(method_dealloc)},
                              {Py_tp_new, reinterpret_cast<void*>(method_new)},
                              {Py_tp_getset, method_getset},
                              {Py_tp_methods, method_methods},
                              {0, nullptr}};
PyType_Spec method_spec = {"reactor._core.Method", sizeof(PyMethod), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, method_slots};

// Function(ref, name, results, min_args, max_args, check, demand, retries, window=0, per_yield=1)
PyObject* function_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *ref, *name, *check;
  int results, min_args, max_args;
  unsigned demand, retries, window = 0, per_yield = 1;
  if (!PyArg_ParseTuple(args, "O!UiiiOII|II", RefType, &ref, &name, &results, &min_args, &max_args, &check, &demand, &retries, &window, &per_yield))
    return nullptr;
  auto* f = reinterpret_cast<PyFunction*>(type->tp_alloc(type, 0));
  if (!f) return nullptr;
  parse_spec(f->spec, name, results, min_args, max_args, check, window, per_yield);
  f->function = reinterpret_cast<PyRef*>(Py_NewRef(ref));
  f->demand = demand;
  f->retries = retries;
  f->carries = -1;
  return reinterpret_cast<PyObject*>(f);
}
void function_dealloc(PyObject* self) {
  auto* f = reinterpret_cast<PyFunction*>(self);
  clear_spec(f->spec);
  Py_CLEAR(f->function);
  free_instance(self);
}
PyObject* function_remote(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded([&] { return call_function(reinterpret_cast<PyFunction*>(self), args, n, kwnames); });
}
PyObject* function_stale(PyObject* self, void*) {
  auto* f = reinterpret_cast<PyFunction*>(self);
  return PyBool_FromLong(!ctx || f->function->epoch != epoch);
}
PyMethodDef function_methods[] = {
    {"remote", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function_remote)), METH_FASTCALL | METH_KEYWORDS,
     "remote(*args, **kwargs): run the function in a task worker; gives the ref of the result at once"},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef function_getset[] = {{"stale", function_stale, nullptr, "whether the function was exported to a run that has ended", nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot function_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)},
                                {Py_tp_new, reinterpret_cast<void*>(function_new)},
                                {Py_tp_methods, function_methods},
                                {Py_tp_getset, function_getset},
                                {0, nullptr}};
PyType_Spec function_spec = {"reactor._core.Function", sizeof(PyFunction), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, function_slots};

// ---- Completion

void completion_finish(PyCompletion* c) {
  finish_results(c->results->data(), c->notes->data(), uint32_t(c->results->size()), c->note);
  delete c->stream;
  c->stream = nullptr;
  if (c->message) release_kept({ctx->heap->off(c->message), c->note});
  c->message = nullptr;
  c->results->clear();
  c->notes->clear();
  ctx->trace(c->started, c->replayed ? Span::Replayed : Span::Ordinary, c->actor, 0, c->name);
  ctx->proc->deferred.fetch_sub(1, memory_order_relaxed);
  if (ctx->deferred_open.fetch_sub(1) == 1) ring(ctx->heap, &ctx->proc->bell);  // it may have been told to end
  tell_failures();
}
bool completion_open(PyCompletion* c) {
  if (ctx && c->epoch == epoch && !c->results->empty()) return true;
  PyErr_SetString(PyExc_RuntimeError, "the result was given already, or the run has ended");
  return false;
}
PyObject* completion_value(PyObject* self, PyObject* value) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  if (!completion_open(c)) return nullptr;
  if (c->stream) c->stream->end();
  else if (!unwanted(c->results->data(), uint32_t(c->results->size()))) {
    if (c->dynamic) store_gathered(c->results->data(), value, c->name);
    else store_results(c->results->data(), uint32_t(c->results->size()), value, c->name);
  }
  completion_finish(c);
  Py_RETURN_NONE;
}
PyObject* completion_error(PyObject* self, PyObject* exc) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  if (!completion_open(c)) return nullptr;
  if (c->stream || !unwanted(c->results->data(), uint32_t(c->results->size()))) {
    set_error(exc);
    if (c->stream) c->stream->fail();
    else store_failure(c->results->data(), uint32_t(c->results->size()), c->name);
  }
  completion_finish(c);
  Py_RETURN_NONE;
}
bool streaming(PyCompletion* c) {
  if (!completion_open(c)) return false;
  if (!c->stream) PyErr_SetString(PyExc_RuntimeError, "the call gives no stream");
  return c->stream != nullptr;
}
PyObject* completion_item(PyObject* self, PyObject* value) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  if (!streaming(c) || !c->stream->item(value)) return nullptr;
  if (Owned ticket = c->stream->gate()) return ticket.release();
  return PyErr_Occurred() ? nullptr : Py_NewRef(Py_None);
}
PyObject* completion_let_on(PyObject* self, PyObject*) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  std::vector<PyRef*> open;
  if (!streaming(c)) return nullptr;
  if (c->stream->let_on(open)) Py_RETURN_NONE;
  PyObject* list = PyList_New(Py_ssize_t(open.size()));
  for (size_t i = 0; list && i < open.size(); ++i) PyList_SET_ITEM(list, Py_ssize_t(i), Py_NewRef(reinterpret_cast<PyObject*>(open[i])));
  return list;
}
// The call was interrupted after it had begun: its result is this exception, whatever it made of the interruption.
PyObject* completion_interrupted(PyObject* self, PyObject* exc) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  if (!completion_open(c)) return nullptr;
  set_error(exc);
  store_failure(c->results->data(), uint32_t(c->results->size()), c->name);
  completion_finish(c);
  Py_RETURN_NONE;
}
PyObject* completion_drain(PyObject* self, PyObject* generator) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  if (!streaming(c) || !c->stream->drain(generator)) return nullptr;
  Py_RETURN_NONE;
}
PyObject* completion_streaming(PyObject* self, void*) { return PyBool_FromLong(reinterpret_cast<PyCompletion*>(self)->stream != nullptr); }
PyObject* completion_unwanted(PyObject* self, void*) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  return completion_open(c) ? PyBool_FromLong(ctx->heap->at<Object>((*c->results)[0])->unwanted.load(memory_order_seq_cst) == 1) : nullptr;
}
PyObject* completion_take_retry(PyObject* self, PyObject*) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  return completion_open(c) ? PyBool_FromLong(take_retry(c->message)) : nullptr;
}
PyObject* completion_uid(PyObject* self, void*) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  return completion_open(c) ? PyLong_FromUnsignedLongLong(ctx->heap->at<Object>((*c->results)[0])->uid) : nullptr;
}
void completion_dealloc(PyObject* self) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  if (ctx && c->epoch == epoch && !c->results->empty()) {  // whoever was to give the result has dropped it
    SavedError error;
    PyErr_SetString(PyExc_RuntimeError, "the call was dropped unfinished: the actor's event loop or thread has ended");
    if (!unwanted(c->results->data(), uint32_t(c->results->size()))) store_failure(c->results->data(), uint32_t(c->results->size()), c->name);
    PyErr_Clear();
    completion_finish(c);
  }
  delete c->stream;
  delete c->results;
  delete c->notes;
  Py_CLEAR(c->name);
  free_instance(self);
}
PyMethodDef completion_methods[] = {{"value", completion_value, METH_O, "complete the call with a result"},
                                    {"error", completion_error, METH_O, "complete the call with an exception"},
                                    {"item", completion_item, METH_O, "give one value of a stream; None, or a ref to wait for before the next one"},
                                    {"let_on", completion_let_on, METH_NOARGS,
                                     "whether a stream may give one more value, by the window over all streams: None, or the refs of which one is to be waited for"},
                                    {"interrupted", completion_interrupted, METH_O, "complete a call that was cancelled while it ran with an exception"},
                                    {"drain", completion_drain, METH_O, "give all values of a generator, waiting where it must"},
                                    {"take_retry", completion_take_retry, METH_NOARGS, "use up one of the call's retries; False: it has none left"},
                                    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef completion_getset[] = {{"streaming", completion_streaming, nullptr, "whether the call gives a stream", nullptr},
                                   {"unwanted", completion_unwanted, nullptr, "whether the call was cancelled since it began", nullptr},
                                   {"uid", completion_uid, nullptr, "number of the result", nullptr},
                                   {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot completion_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(completion_dealloc)},
                                  {Py_tp_getset, completion_getset},
                                  {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
                                  {Py_tp_methods, completion_methods},
                                  {0, nullptr}};
PyType_Spec completion_spec = {"reactor._core.Completion", sizeof(PyCompletion), 0, Py_TPFLAGS_DEFAULT, completion_slots};

bool add_type(PyObject* module, PyTypeObject*& type, PyType_Spec* spec) {
  type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(spec));
  return type && PyModule_AddObjectRef(module, strrchr(spec->name, '.') + 1, reinterpret_cast<PyObject*>(type)) == 0;
}

}  // namespace

Object* ref_object(PyObject* ref) {
  auto* r = reinterpret_cast<PyRef*>(ref);
  if (ctx && r->epoch == epoch && r->object) return r->object;
  stale_error("object ref");
  return nullptr;
}

PyObject* new_ref(Object* o, bool take, uint32_t note) {
  if (note == kNoEntry) ctx->local.journal.reserve();
  auto* r = reinterpret_cast<PyRef*>(ref_class->tp_alloc(ref_class, 0));
  if (!r) return nullptr;
  if (take) take_hold(o);  // before it is noted: who is killed in between has one too many, and not one too few
  if (note == kNoEntry) note = ctx->local.journal.add(ctx->heap->off(o), Entry::Hold);
  r->object = o;
  r->uid = o->uid;
  r->epoch = epoch;
  r->note = note;
  r->segment = r->op = r->recorded = 0;
  r->exporter = false;
  r->node = nullptr;
  r->weakrefs = nullptr;
  return reinterpret_cast<PyObject*>(r);
}

PyView* bare_view(Object* o, uint8_t* data, uint64_t size) {
  auto* v = reinterpret_cast<PyView*>(ViewType->tp_alloc(ViewType, 0));
  if (!v) return nullptr;
  v->heap = ctx->heap;
  ++v->heap->users;
  v->object = o;
  v->data = data;
  v->size = size;
  v->epoch = epoch;
  return v;
}

PyObject* new_view(Object* o, uint8_t* data, uint64_t size, Mapping* mapping, bool writable) {
  ctx->local.journal.reserve();
  PyView* v = bare_view(o, data, size);
  if (!v) return nullptr;
  take_hold(o);
  v->writable = writable;
  v->mapping = mapping;
  v->pinned = !mapping && in_run(o);
  if (mapping) mapping->take();
  if (v->pinned) pin_again(residence_of(ctx->heap, o));
  v->note = ctx->local.journal.add(ctx->heap->off(o), v->pinned ? Entry::View : Entry::Hold);
  return reinterpret_cast<PyObject*>(v);
}

namespace {
std::atomic_ref<uint32_t> weak_count(Object* actor) {
  return std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(actor->body + offsetof(ActorBody, weak)));
}
}  // namespace

void drop_weak(Local& l, Object* actor) {
  ActorBody body;
  memcpy(&body, actor->body, sizeof body);
  bool last = weak_count(actor).fetch_sub(1, memory_order_acq_rel) == 1;
  if (last && l.heap->at<Inbox>(body.inbox)->state.load(memory_order_acquire) == InboxState::Dead) send_control(Control::Release, l.heap->off(actor));
}

PyObject* new_link(Object* o, bool take, bool weak) {
  ctx->local.journal.reserve();
  auto* l = reinterpret_cast<PyLink*>(LinkType->tp_alloc(LinkType, 0));
  if (!l) return nullptr;
  if (take && weak) weak_count(o).fetch_add(1, memory_order_relaxed);
  else if (take) take_hold(o);
  ActorBody body;
  memcpy(&body, o->body, sizeof body);
  l->object = o;
  l->inbox = ctx->heap->at<Inbox>(body.inbox);
  l->uid = o->uid;
  l->actor = body.actor;
  l->epoch = epoch;
  l->weak = weak;
  l->note = ctx->local.journal.add(ctx->heap->off(o), weak ? Entry::Weak : Entry::Hold);
  l->outlet = nullptr;
  l->weakrefs = nullptr;
  return reinterpret_cast<PyObject*>(l);
}

PyObject* new_completion(const Off* results, const uint32_t* notes, uint32_t n, PyObject* name, uint8_t flags, uint64_t started,
                         Message* block, uint32_t note) {
  auto* c = reinterpret_cast<PyCompletion*>(CompletionType->tp_alloc(CompletionType, 0));
  if (!c) return nullptr;
  c->results = new std::vector<Off>(results, results + n);
  c->notes = new std::vector<uint32_t>(notes, notes + n);
  c->name = Py_NewRef(name ? name : Py_None);
  c->stream = flags & kStreaming ? new Stream(c->results->data(), c->notes->data(), block, c->name) : nullptr;
  c->dynamic = flags & kDynamic;
  c->message = block;
  c->note = note;
  c->epoch = epoch;
  c->actor = ctx->running_actor;
  c->started = started;
  c->replayed = flags & kReplayed;
  ctx->proc->deferred.fetch_add(1, memory_order_relaxed);
  ctx->deferred_open.fetch_add(1);
  return reinterpret_cast<PyObject*>(c);
}

bool make_types(PyObject* module) {
  bool ok = add_type(module, RefType, &ref_spec) && add_type(module, ViewType, &view_spec) && add_type(module, LinkType, &link_spec) &&
            add_type(module, MethodType, &method_spec) && add_type(module, FunctionType, &function_spec) &&
            add_type(module, CompletionType, &completion_spec);
  ref_class = RefType;
  return ok;
}

}  // namespace reactor
