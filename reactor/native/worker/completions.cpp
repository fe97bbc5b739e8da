#include "types/types.h"
#include "worker/leaving.h"
#include "python/hooks.h"
#include "codec/digest.h"
#include "inbox/pending_arguments.h"
#include "calls/failures.h"
#include "calls/stream.h"
#include "worker/results.h"

namespace reactor {

PyTypeObject* CompletionType;

namespace {

// Adds the call to the digest, and tells who keeps a record of the run. Before anybody can see its results.
void add_to_digest(PyCompletion* c, PyObject* value, PyObject* exception) {
  if (!ctx->digesting || c->results->empty()) return;
  auto* first = ctx->heap->at<Object>(c->results->front());
  uint64_t own = c->given_digest, all = c->digest;
  for (Off off : *c->results) {
    if (c->stream) break;
    own = hash_result(ctx->heap, ctx->heap->at<Object>(off), own, ctx->whole);
    all = hash_result(ctx->heap, ctx->heap->at<Object>(off), all, ctx->whole);
  }
  ctx->proc->digest.fetch_add(all, memory_order_relaxed);
  if (!c->tag || !hooks.executed) return;
  const bool interrupted = first->cancellation.load(memory_order_acquire) == Cancellation::Running;
  SavedError error;
  hooks.executed.tell(c->actor, c->name, Owned::share(c->tag), c->given_digest, own, c->given, value, exception, interrupted, true);
}
void completion_finish(PyCompletion* c, PyObject* value, PyObject* exception) {
  add_to_digest(c, value, exception);
  // Its results may be gone when they are complete.
  const Object* first = c->results->empty() ? nullptr : ctx->heap->at<Object>(c->results->front());
  if (ctx->timeline.tracing) {
    ctx->timeline.add(c->started, Span::Call, c->actor, 0, c->name, first);
  } else if (first && c->started) {
    SavedError error;
    const Owned name(PyObject_GetAttrString(c->name, "__name__"));
    if (!name) PyErr_Clear();
    ctx->timeline.keep_timed(c->started, timestamp(), c->actor, name, first);
  }
  if (!c->results->empty()) ctx->unheard.keep(ctx->heap, ctx->heap->at<Object>(c->results->front()), *c->children);
  finish_results(c->results->data(), c->notes->data(), uint32_t(c->results->size()), c->note);
  delete c->stream;
  c->stream = nullptr;
  if (c->message) release_detached({ctx->heap->off(c->message), c->note});
  c->message = nullptr;
  c->results->clear();
  c->notes->clear();
  ctx->proc->deferred.fetch_sub(1, memory_order_seq_cst);  // all_sleep(): who sees that it has ended sees whom it has rung
  if (ctx->deferred_open.fetch_sub(1) == 1) ring(ctx->heap, &ctx->proc->bell);  // it may have been told to end
  tell_failures();
}
bool completion_open(PyCompletion* c) {
  end_if_forked_since(c->epoch);
  if (ctx && c->epoch == epoch && !c->results->empty()) return true;
  PyErr_SetString(PyExc_RuntimeError, "the result was given already, or the run has ended");
  return false;
}
// False, and an exception: it ends the process or the actor. A generator can be cancelled while its values are stored.
bool store(PyCompletion* c, PyObject* value) {
  const Off* results = c->results->data();
  const auto n = uint32_t(c->results->size());
  if (was_cancelled(results, n)) return true;
  if (!(c->dynamic ? store_gathered(results, value, c->name) : store_results(results, n, value, c->name))) return false;
  const auto cancellation = ctx->heap->at<Object>(results[0])->cancellation.load(memory_order_acquire);
  if (cancellation != Cancellation::Running || !(c->dynamic || PyGen_CheckExact(value))) return true;
  forget_stored(results, n);
  was_cancelled(results, n);
  return true;
}
PyObject* completion_value(PyObject* self, PyObject* value) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  if (!completion_open(c)) return nullptr;
  if (c->stream) c->stream->end();
  else if (!store(c, value)) return nullptr;
  completion_finish(c, value, nullptr);
  Py_RETURN_NONE;
}
PyObject* completion_error(PyObject* self, PyObject* exc) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  if (!completion_open(c)) return nullptr;
  set_error(exc);
  if (!c->stream && !failed_itself() && was_cancelled(c->results->data(), uint32_t(c->results->size()))) PyErr_Clear();
  else if (!(c->stream ? c->stream->fail() : store_failure(c->results->data(), uint32_t(c->results->size()), c->name))) return nullptr;
  completion_finish(c, nullptr, exc);
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
  if (!(c->stream ? c->stream->fail() : store_failure(c->results->data(), uint32_t(c->results->size()), c->name))) return nullptr;
  completion_finish(c, nullptr, exc);
  Py_RETURN_NONE;
}
PyObject* completion_drain(PyObject* self, PyObject* generator) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  if (!streaming(c) || !c->stream->drain(generator)) return nullptr;
  Py_RETURN_NONE;
}
PyObject* completion_streaming(PyObject* self, void*) { return PyBool_FromLong(reinterpret_cast<PyCompletion*>(self)->stream != nullptr); }
PyObject* completion_cancelled(PyObject* self, void*) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  if (!completion_open(c)) return nullptr;
  return PyBool_FromLong(ctx->heap->at<Object>((*c->results)[0])->cancellation.load(memory_order_seq_cst) == Cancellation::Running);
}
PyObject* completion_stop_noting(PyObject* self, PyObject*) {
  reinterpret_cast<PyCompletion*>(self)->children->stop();
  Py_RETURN_NONE;
}
PyObject* completion_take_retry(PyObject* self, PyObject*) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  return completion_open(c) ? PyLong_FromUnsignedLong(take_retry(c->message)) : nullptr;
}
PyObject* completion_uid(PyObject* self, void*) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  return completion_open(c) ? PyLong_FromUnsignedLongLong(ctx->heap->at<Object>((*c->results)[0])->uid) : nullptr;
}
PyObject* completion_tag_hash(PyObject* self, void*) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  return completion_open(c) ? PyLong_FromUnsignedLongLong(ctx->heap->at<Object>((*c->results)[0])->tag_hash) : nullptr;
}
void completion_dealloc(PyObject* self) {
  auto* c = reinterpret_cast<PyCompletion*>(self);
  if (ctx && c->epoch == epoch && !c->results->empty()) {  // whoever was to give the result has dropped it
    SavedError error;
    PyErr_SetString(PyExc_RuntimeError, "the call has no result: the actor's event loop or thread ended before it");
    if (!was_cancelled(c->results->data(), uint32_t(c->results->size())))
      store_failure(c->results->data(), uint32_t(c->results->size()), c->name);
    PyErr_Clear();
    completion_finish(c, nullptr, nullptr);
  }
  delete c->stream;
  delete c->results;
  delete c->notes;
  delete c->children;
  Py_CLEAR(c->name);
  Py_CLEAR(c->tag);
  Py_CLEAR(c->given);
  free_instance(self);
}
PyMethodDef completion_methods[] = {
    {"value", completion_value, METH_O,
     "complete the call with a result; raises SystemExit if storing it raises that, and the call is not complete then"},
    {"error", completion_error, METH_O, "complete the call with an exception; raises SystemExit as value() does"},
    {"item", completion_item, METH_O, "give one value of a stream; None, or a ref to wait for before the next one"},
    {"let_on", completion_let_on, METH_NOARGS,
     "whether a stream may give one more value, by the window over all streams: None, or the refs of which one is to be waited for"},
    {"interrupted", completion_interrupted, METH_O, "complete a call that was cancelled while it ran with an exception"},
    {"drain", completion_drain, METH_O, "give all values of a generator, waiting where it must"},
    {"stop_noting", completion_stop_noting, METH_NOARGS, "the call was cancelled: what it calls from now on is not cancelled with it"},
    {"take_retry", completion_take_retry, METH_NOARGS,
     "use up one of the call's retries; gives how many it had, FOREVER of those without end"},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef completion_getset[] = {{"streaming", completion_streaming, nullptr, "whether the call gives a stream", nullptr},
                                   {"cancelled", completion_cancelled, nullptr, "whether the call was cancelled since it began", nullptr},
                                   {"uid", completion_uid, nullptr, "number of the result", nullptr},
                                   {"tag_hash", completion_tag_hash, nullptr, "of the result, see Ref.tag_hash", nullptr},
                                   {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot completion_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(completion_dealloc)},
                                  {Py_tp_getset, completion_getset},
                                  {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
                                  {Py_tp_methods, completion_methods},
                                  {0, nullptr}};
PyType_Spec completion_spec = {"reactor._core.Completion", sizeof(PyCompletion), 0, Py_TPFLAGS_DEFAULT, completion_slots};

}  // namespace

PyCompletion* new_completion(const Off* results, const uint32_t* notes, uint32_t n, PyObject* name, uint8_t flags, uint64_t started,
                             Message* block, uint32_t note) {
  auto* c = reinterpret_cast<PyCompletion*>(CompletionType->tp_alloc(CompletionType, 0));
  if (!c) return nullptr;
  c->results = new std::vector<Off>(results, results + n);
  c->notes = new std::vector<uint32_t>(notes, notes + n);
  c->name = Py_NewRef(name ? name : Py_None);
  c->stream = flags & kStreaming ? new Stream(c->results->data(), c->notes->data(), block, c->name, true) : nullptr;
  c->dynamic = flags & kDynamic;
  c->message = block;
  c->note = note;
  c->epoch = epoch;
  c->actor = ctx->call->actor;
  c->started = started;
  c->children = new Started;
  ctx->proc->deferred.fetch_add(1, memory_order_seq_cst);
  ctx->deferred_open.fetch_add(1);
  return c;
}

PyCompletion* running_completion() {
  if (!ctx->handed_on || !ctx->deferred_open.load(memory_order_relaxed)) return nullptr;
  PyObject* at = nullptr;
  if (PyContextVar_Get(ctx->handed_on, nullptr, &at) != 0) PyErr_Clear();
  const Owned value(at);
  const Owned found(value ? PyObject_GetAttrString(value.get(), "completion") : nullptr);  // the call that runs keeps it
  if (!found) PyErr_Clear();
  auto* c = found && PyObject_TypeCheck(found.get(), CompletionType) ? reinterpret_cast<PyCompletion*>(found.get()) : nullptr;
  return c && c->epoch == epoch && !c->results->empty() ? c : nullptr;
}

bool add_completion_type(PyObject* module) { return add_type(module, CompletionType, &completion_spec); }

}  // namespace reactor
