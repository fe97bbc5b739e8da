// Storing what came out of a call: values, or the failure, into its result objects.
#include "worker/results.h"
#include "calls/failures.h"
#include "codec/codec.h"
#include "worker/leaving.h"
#include "python/hooks.h"
#include "supervise/supervisor.h"

#include <utility>

namespace reactor {

void refuse_results(int64_t found, int64_t wanted, PyObject* value) {
  Owned error = hooks.wrong_results(found, wanted, value);
  if (error) set_error(error.get());
}

void MethodNote::learn(const Encoder& e) {
  room = room_for(e);
  if (!layout.empty()) return;
  layout = e.layout(1);
  bytes = e.full_size();
}

namespace {

// For a result that could not be stored: stores its exception in its place. An exception that ends the process stays the current Python error.
bool not_stored(const Off* results, uint32_t n, PyObject* name) {
  return (breaks_off() || !PyErr_ExceptionMatches(PyExc_SystemExit)) && store_failure(results, n, name);
}

// One of several values. If it cannot be stored, the results after it fail with it. False: Python error set.
bool store_one(Off result, PyObject* value) {
  auto* o = ctx->heap->at<Object>(result);
  ToStore stored(value);
  Encoding e;
  if (!stored.get() || !e->item(stored.get()) || !encode_into(*e.encoder, o)) return false;
  o->state.store(stored.state(), memory_order_relaxed);
  return true;
}

thread_local Message* running_out = nullptr;  // a call is not retried for what happens after its last result

// A generator goes on after the last of its `n` values, to its end or to a value too many. The results are there already, so what it raises
// there can only be reported. False: it ends the process.
bool run_out(uint32_t n, PyObject* generator, PyObject* name) {
  Message* outer = std::exchange(running_out, ctx->call->message);
  const uint32_t mine = epoch;
  Owned more(PyIter_Next(generator));
  end_if_forked_since(mine);
  running_out = outer;
  if (!more && !PyErr_Occurred()) return true;
  bool interrupted = !more && (breaks_off() || PyErr_ExceptionMatches(PyExc_KeyboardInterrupt));
  if (!more && !interrupted && PyErr_ExceptionMatches(PyExc_SystemExit)) return false;
  Owned raised = more ? Owned() : take_error();
  if (!interrupted && hooks.left_over && !Owned(hooks.left_over(raised.get(), name, n))) PyErr_WriteUnraisable(name);
  return true;
}

// While it is there, the call can be cancelled, although its first result is stored.
class Yielding {
 public:
  explicit Yielding(Object* first) : first_(first) {
    Cancellation before = Cancellation::None;
    first_->cancellation.compare_exchange_strong(before, Cancellation::Yielding);
  }
  ~Yielding() {
    Cancellation before = Cancellation::Yielding;
    first_->cancellation.compare_exchange_strong(before, Cancellation::None);
  }
  Yielding(const Yielding&) = delete;
  Yielding& operator=(const Yielding&) = delete;

 private:
  Object* const first_;
};

// A generator's values go into the results as they come; those that it does not reach get the exception that ended it. If nobody wants a
// result, it does not begin.
bool store_yielded(const Off* results, uint32_t n, PyObject* generator, PyObject* name) {
  auto* first = ctx->heap->at<Object>(results[0]);
  if (unwanted(first)) return store_results(results, n, Py_None, name);
  Yielding yielding(first);
  const uint32_t mine = epoch;
  for (uint32_t i = 0; i < n; ++i) {
    Owned value(PyIter_Next(generator));
    end_if_forked_since(mine);
    if (!value) {
      if (!PyErr_Occurred()) refuse_results(i, n, generator);
      return not_stored(results + i, n - i, name);
    }
    if (!store_one(results[i], value.get())) return not_stored(results + i, n - i, name);
  }
  return run_out(n, generator, name);
}

}  // namespace

bool store_results(const Off* results, uint32_t n, PyObject* value, PyObject* name, MethodNote* note, bool given) {
  if (PyGen_CheckExact(value)) return store_yielded(results, n, value, name);
  if (n == 1) {
    auto* o = ctx->heap->at<Object>(results[0]);
    ToStore stored(value);
    if (!stored.get()) return not_stored(results, n, name);
    if (!note || !note->room || !encode_in_place(stored.get(), o, note->room)) {
      Encoding e;
      if (!(given ? e->given(stored.get()) : e->item(stored.get())) || !encode_into(*e.encoder, o)) return not_stored(results, n, name);
      if (note) note->learn(*e.encoder);
    }
    o->state.store(stored.state(), memory_order_relaxed);
    return true;
  }
  Py_ssize_t found = PyAsyncGen_CheckExact(value) ? n : PyObject_Size(value);
  if (found < 0) return not_stored(results, n, name);  // a map, an iterator: their number is not known before they are used up
  if (found != Py_ssize_t(n)) {
    refuse_results(found, n, value);
    return store_failure(results, n, name);
  }
  Owned fast(PySequence_List(value));
  if (!fast) return not_stored(results, n, name);
  if (PyList_GET_SIZE(fast.get()) != Py_ssize_t(n)) {  // its length was not the number of its items
    refuse_results(PyList_GET_SIZE(fast.get()), n, value);
    fast.reset();
    return store_failure(results, n, name);
  }
  for (uint32_t i = 0; i < n; ++i)
    if (!store_one(results[i], PyList_GET_ITEM(fast.get(), i))) return not_stored(results + i, n - i, name);
  return true;
}

bool store_gathered(const Off* results, PyObject* value, PyObject* name) {
  Owned gathered = hooks.gather ? hooks.gather(value, name) : Owned(PySequence_List(value));
  if (!gathered) return not_stored(results, 1, name);
  return store_results(results, 1, gathered.get(), name);
}

namespace {

// The value to store for the exception `raised` of a call, or for both exceptions if storing it raised `unstored`. Null: Python error set.
Owned form_of(PyObject* raised, PyObject* unstored, PyObject* name, bool dependency) {
  if (!unstored) return hooks.failure(raised, name, dependency);
  if (hooks.unstored) return hooks.unstored(raised, unstored, name);
  return Owned(PyUnicode_FromFormat("the call failed, and its exception could not be stored: %.500S", unstored));
}

// The value is in the object. False: Python error set.
bool store_form(PyObject* form, Object* o) {
  Encoding e;
  return form && e->item(form) && encode_into(*e.encoder, o);
}

// Fits into any object, so that the call's caller gets an error whatever is full.
void store_last_resort(Object* o) {
  PyErr_Clear();
  store_form(Owned(PyUnicode_FromString("the call failed, and its exception could not be stored")).get(), o);
  PyErr_Clear();
}

}  // namespace

bool store_failure(const Off* results, uint32_t n, PyObject* name, bool dependency) {
  Owned raised = take_error(), unstored;
  Owned form = form_of(raised.get(), nullptr, name, dependency);
  for (uint32_t i = 0; i < n; ++i) {
    auto* o = ctx->heap->at<Object>(results[i]);
    while (!store_form(form.get(), o)) {
      if (!ctx || PyErr_ExceptionMatches(PyExc_SystemExit)) return false;
      // Cancelled while its failure was being made or stored: then it ends as a cancelled call. Each turn takes another cancellation.
      if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        raised = take_error();
        unstored.reset();
      } else if (!unstored) {
        unstored = take_error();
      } else {
        store_last_resort(o);
        break;
      }
      form = form_of(raised.get(), unstored.get(), name, dependency);
    }
    o->state.store(State::Error, memory_order_relaxed);
  }
  return true;
}

// `task_note`: the hold list's entry of the block that they are of, which is changed before the results' holds go: the supervisor gives
// these back for a block that is noted as a task or a call.
void finish_results(const Off* results, const uint32_t* notes, uint32_t n, uint32_t task_note) {
  for (uint32_t i = 0; i < n; ++i) {
    auto* o = ctx->heap->at<Object>(results[i]);
    complete(ctx->local, o, o->state.load(memory_order_relaxed));
  }
  ctx->local.hold_list.retag(task_note, Entry::Finished);
  for (uint32_t i = 0; i < n; ++i) {
    drop_noted(ctx->local, ctx->heap->at<Object>(results[i]), notes[i]);
  }
}

uint32_t take_retry(Message* m) {
  if (!m || m == running_out || ctx->heap->at<Object>(m->result)->cancellation.load(memory_order_acquire) == Cancellation::Running)
    return 0;
  const uint32_t left = m->retries;
  if (left && left != kForever) --m->retries;
  return left;
}

// The results that were stored before the one whose storing has ended the call: they are not complete, and nobody has seen them.
void forget_stored(const Off* results, uint32_t n) {
  std::unordered_set<Off> freed;
  for (uint32_t i = 0; i < n; ++i) {
    auto* o = ctx->heap->at<Object>(results[i]);
    const State s = o->state.load(memory_order_relaxed);
    if (s == State::Value || s == State::Error) forget_value(o, freed);
  }
}

// A method that was cancelled fails with its own exception, if it has raised one: the current Python error.
bool failed_itself() { return PyErr_Occurred() && (PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_SystemExit)); }

// Whether the call was cancelled while it ran; then its results are settled as that.
bool was_cancelled(const Off* results, uint32_t n) {
  if (ctx->heap->at<Object>(results[0])->cancellation.load(memory_order_acquire) != Cancellation::Running) return false;
  for (uint32_t i = 0; i < n; ++i) ctx->heap->at<Object>(results[i])->state.store(State::Cancelled, memory_order_relaxed);
  return true;
}

}  // namespace reactor
