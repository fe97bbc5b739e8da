// Running one message: its arguments, the call, what came out.
#include "calls.h"
#include "recorder.h"

namespace reactor {

Inbox* inbox() {
  Off off = ctx->proc->inbox.load(memory_order_relaxed);
  return off ? ctx->heap->at<Inbox>(off) : nullptr;
}

namespace {

std::vector<PyObject*> take_arguments(Message* m, PyObject*& kwnames, bool& ok) {
  auto* owner = m->args_object ? ctx->heap->at<Object>(m->args_object) : nullptr;
  Decoder d(owner ? value_of(ctx->heap, owner) : m->value(), owner);
  std::vector<PyObject*> args;
  args.reserve(m->args + m->kwargs + 1);
  args.push_back(nullptr);  // room for vectorcall's own use
  ok = true;
  for (uint32_t i = 0; ok && i < m->args; ++i) {
    args.push_back(d.item());
    ok = args.back() != nullptr;
  }
  kwnames = nullptr;
  if (ok && m->kwargs) {
    kwnames = PyTuple_New(m->kwargs);
    for (uint32_t i = 0; ok && i < m->kwargs; ++i) {
      PyObject* name = d.item();
      ok = name != nullptr;
      if (!ok) break;
      PyUnicode_InternInPlace(&name);
      PyTuple_SET_ITEM(kwnames, i, name);
      args.push_back(d.item());
      ok = args.back() != nullptr;
    }
  }
  return args;
}

// The first argument ref that ended without a value, or null.
Object* failed_argument(Message* m) {
  auto* v = message_value(ctx->heap, m);
  Off* deps = value_refs(v);
  for (uint32_t i = 0; i < v->deps; ++i) {
    auto* o = ctx->heap->at<Object>(deps[i]);
    if (o->state.load(memory_order_acquire) != State::Value) return o;
  }
  return nullptr;
}

// The exception that getting `o` would raise, set as the current Python error.
void set_error_of(Object* o) {
  State s = o->state.load(memory_order_acquire);
  PyObject* value = nullptr;
  if (s == State::Error) {
    value = decode_object(o);
  } else {
    Off reason = 0;
    if (s == State::Died) memcpy(&reason, o->body, sizeof reason);
    value = reason ? decode_object(ctx->heap->at<Object>(reason)) : Py_NewRef(Py_None);
  }
  PyObject* exc = value ? PyObject_CallFunction(hooks.error, "iNO", int(s), value, Py_None) : nullptr;
  if (exc) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exc)), exc);
  Py_XDECREF(exc);
}

PyObject* call_create(uint32_t actor, std::vector<PyObject*>& args, uint32_t n, PyObject* kwnames) {
  PyObject* a = PyTuple_New(n);
  PyObject* kw = PyDict_New();
  for (uint32_t i = 0; i < n; ++i) PyTuple_SET_ITEM(a, i, Py_NewRef(args[1 + i]));
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i) PyDict_SetItem(kw, PyTuple_GET_ITEM(kwnames, i), args[1 + n + size_t(i)]);
  PyObject* r = PyObject_CallFunction(hooks.create, "IOO", actor, a, kw);
  Py_DECREF(a);
  Py_DECREF(kw);
  return r;
}

PyObject* function_of(Off off) {
  auto* o = ctx->heap->at<Object>(off);
  PyObject* key = PyLong_FromUnsignedLongLong(o->uid);
  PyObject* f = PyDict_GetItemWithError(ctx->functions, key);
  if (f) {
    Py_INCREF(f);
  } else if (!PyErr_Occurred()) {
    PyObject* ref = new_ref(o, true);
    f = ref ? PyObject_CallOneArg(hooks.function, ref) : nullptr;
    Py_XDECREF(ref);
    if (f) PyDict_SetItem(ctx->functions, key, f);
  }
  Py_DECREF(key);
  return f;
}

[[noreturn]] void leave(ExitReason reason) {
  ctx->proc->exit_reason.store(reason, memory_order_release);
  PyObject* r = PyObject_CallFunction(hooks.exit_kind, "Oi", Py_None, int(reason));  // flushes and does not return
  Py_XDECREF(r);
  _exit(1);
}

// Notes on the inbox why the actor died: its constructor raised (`result` holds the error), or it left (result 0).
Off note_death(uint32_t actor, Off result, ExitReason why) {
  PyObject* error = result ? decode_object(ctx->heap->at<Object>(result)) : Py_NewRef(Py_None);
  PyObject* reason = error ? PyObject_CallFunction(hooks.create_failed, "IOi", actor, error, int(why)) : nullptr;
  Py_XDECREF(error);
  PyObject* ref = reason ? put_value(reason) : nullptr;
  Py_XDECREF(reason);
  if (!ref) {
    PyErr_Clear();
    return 0;
  }
  auto* r = reinterpret_cast<PyRef*>(ref)->object;
  take_hold(r);
  Off off = ctx->heap->off(r);
  auto it = ctx->inboxes.find(actor);
  Inbox* in = it != ctx->inboxes.end() ? ctx->heap->at<Inbox>(it->second) : inbox();
  if (in) in->reason.store(off, memory_order_release);
  if (in && ctx->inline_mode) in->state.store(InboxState::Dead, memory_order_release);
  Py_DECREF(ref);
  return off;
}

}  // namespace

void store_results(const Off* results, uint32_t n, PyObject* value, PyObject* name) {
  if (n == 1) {
    Encoding e;
    auto* o = ctx->heap->at<Object>(results[0]);
    if (!e->item(value) || !encode_into(*e.encoder, o)) return store_failure(results, n, name);
    o->state.store(State::Value, memory_order_relaxed);
    return;
  }
  PyObject* fast = PySequence_Check(value) || PyIter_Check(value) ? PySequence_Fast(value, "") : nullptr;
  if (!fast && PyErr_Occurred()) return store_failure(results, n, name);  // a generator that raised
  if (!fast || PySequence_Fast_GET_SIZE(fast) != Py_ssize_t(n)) {
    PyErr_Clear();
    if (fast)
      PyErr_Format(PyExc_ValueError, "Task returned %zd objects, but num_returns=%u.", PySequence_Fast_GET_SIZE(fast), n);
    else
      PyErr_Format(PyExc_ValueError, "Task returned %.100s, which is not a sequence, but num_returns=%u.", Py_TYPE(value)->tp_name, n);
    Py_XDECREF(fast);
    return store_failure(results, n, name);
  }
  for (uint32_t i = 0; i < n; ++i) store_results(results + i, 1, PySequence_Fast_GET_ITEM(fast, i), name);
  Py_DECREF(fast);
}

void store_failure(const Off* results, uint32_t n, PyObject* name, bool dependency) {
  PyObject *type, *exc, *tb;
  PyErr_Fetch(&type, &exc, &tb);
  PyErr_NormalizeException(&type, &exc, &tb);
  if (exc && tb) PyException_SetTraceback(exc, tb);
  PyObject* error = PyObject_CallFunctionObjArgs(hooks.failure, exc ? exc : Py_None, name ? name : Py_None, dependency ? Py_True : Py_False, nullptr);
  for (uint32_t i = 0; i < n; ++i) {
    auto* o = ctx->heap->at<Object>(results[i]);
    Encoding e;
    if (!error || !e->item(error) || !encode_into(*e.encoder, o)) {
      // The error itself cannot be stored: say at least that.
      PyErr_WriteUnraisable(error ? error : Py_None);
      Encoding plain;
      PyObject* text = PyUnicode_FromString("the call failed, and its exception could not be serialized");
      plain->item(text);
      encode_into(*plain.encoder, o);
      Py_DECREF(text);
    }
    o->state.store(State::Error, memory_order_relaxed);
  }
  Py_XDECREF(error);
  Py_XDECREF(type);
  Py_XDECREF(exc);
  Py_XDECREF(tb);
}

// `task_note`: the journal's entry of the task that they are of. It goes before the message's holds of them do, because the
// supervisor gives those back for a task that is noted.
void finish_results(const Off* results, const uint32_t* notes, uint32_t n, uint32_t task_note) {
  for (uint32_t i = 0; i < n; ++i) {
    auto* o = ctx->heap->at<Object>(results[i]);
    complete(ctx->local, o, o->state.load(memory_order_relaxed));
    ctx->local.journal.clear(notes[i]);
    if (task_note == kNoEntry) drop_hold(ctx->local, o);
  }
  if (task_note == kNoEntry) return;
  ctx->local.journal.clear(task_note);
  for (uint32_t i = 0; i < n; ++i) drop_hold(ctx->local, ctx->heap->at<Object>(results[i]));
}

// Runs one message. From a channel, the record is given back to the caller before the user's code starts, with the results noted
// in the journal: the record and the note never both miss.
void run_message(Message* m, Receiver* from, uint32_t task_note) {
  uint32_t n = m->results;
  const bool replayed = m->flags & kReplayed;
  std::vector<Off> results(n);
  std::vector<uint32_t> notes(n);
  for (uint32_t i = 0; i < n; ++i) {
    results[i] = m->result_at(i);
    notes[i] = ctx->local.journal.add(results[i], Entry::Run);
  }
  auto* first = ctx->heap->at<Object>(results[0]);
  State pending = State::Pending;
  bool cancelled = !first->state.compare_exchange_strong(pending, State::Running, memory_order_acq_rel);
  for (uint32_t i = 0; i < n; ++i) ctx->heap->at<Object>(results[i])->runner.store(ctx->slot, memory_order_relaxed);

  Object* bad = cancelled ? nullptr : failed_argument(m);
  PyObject* kwnames = nullptr;
  bool decoded = true;  // false: the Python error says why not
  std::vector<PyObject*> args;
  if (bad) set_error_of(bad);
  else if (!cancelled) args = take_arguments(m, kwnames, decoded);
  PyObject *error_type = nullptr, *error = nullptr, *error_trace = nullptr;  // of an argument, while the record is given back
  if (PyErr_Occurred()) PyErr_Fetch(&error_type, &error, &error_trace);

  MessageKind kind = m->kind;
  uint32_t nargs = m->args, actor = m->actor, method = m->method;
  Off function = m->function;
  if (from) {
    // What the message held is given back after the record: killed in between, it leaks; the other way round it would be
    // given back twice. A task keeps its holds to the end: if this worker dies it is run again.
    std::vector<uint64_t> mine(reinterpret_cast<uint64_t*>(m), reinterpret_cast<uint64_t*>(m) + m->size / 8);
    from->pop(m);
    release_message(ctx->local, reinterpret_cast<Message*>(mine.data()));
  }

  PyObject* callable = nullptr;
  PyObject* name = nullptr;
  PyObject* value = nullptr;
  ExitReason leaving = ExitReason::Unknown;
  bool deferred = false;
  if (cancelled) {
    for (uint32_t i = 1; i < n; ++i) ctx->heap->at<Object>(results[i])->state.store(State::Cancelled, memory_order_relaxed);
  } else {
    Off outer = ctx->running;
    uint32_t outer_actor = ctx->running_actor;
    uint64_t outer_uid = ctx->running_uid;
    ctx->running = results[0];
    ctx->running_uid = first->uid;
    ctx->running_actor = kind == MessageKind::Task ? 0 : actor;
    ctx->proc->executed.fetch_add(1, memory_order_relaxed);
    if (ctx->inline_mode && hooks.switched) Py_XDECREF(PyObject_CallFunction(hooks.switched, "II", outer_actor, ctx->running_actor));
    {
      if (kind == MessageKind::Task) {
        callable = function_of(function);
      } else if (kind == MessageKind::Call) {
        auto it = ctx->actors.find(actor);
        if (it == ctx->actors.end())
          PyErr_SetString(PyExc_RuntimeError, "reactor: the actor has no instance in this process");
        else {
          callable = Py_NewRef(PyList_GET_ITEM(it->second.methods, method));
          deferred = it->second.deferred;
        }
      }
    }
    if (callable) name = Py_NewRef(callable);
    PyObject* outer_callable = ctx->running_callable;
    ctx->running_callable = callable;
    Recorder* rec = deferred ? nullptr : ctx->recorder;
    Recorder::Caller outer_caller;
    if (rec) {
      uint64_t who = kind == MessageKind::Task ? ctx->heap->at<Object>(function)->uid : uint64_t(actor) << 16 | method | 1ull << 63;
      outer_caller = rec->enter(who, callable, kind == MessageKind::Task ? 0 : actor);
    }
    uint64_t started = ctx->tracing ? now_ns() : 0;
    if (error_type) {
      PyErr_Restore(error_type, error, error_trace);
      deferred = false;
    } else if (callable) {
      if (deferred) {
        PyObject* token = new_completion(results, notes, name);
        PyObject* a = PyTuple_New(nargs);
        PyObject* kw = PyDict_New();
        for (uint32_t i = 0; i < nargs; ++i) PyTuple_SET_ITEM(a, i, Py_NewRef(args[1 + i]));
        for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i) PyDict_SetItem(kw, PyTuple_GET_ITEM(kwnames, i), args[1 + nargs + size_t(i)]);
        value = PyObject_CallFunction(hooks.deferred, "IIOOOO", actor, method, callable, a, kw, token);
        Py_DECREF(a);
        Py_DECREF(kw);
        Py_DECREF(token);
        if (!value) deferred = false;
      } else {
        value = PyObject_Vectorcall(callable, args.data() + 1, nargs | PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
      }
    } else if (kind == MessageKind::Create) {
      PyObject* methods = call_create(actor, args, nargs, kwnames);
      if (methods) {
        // (list of bound methods, deferred)
        ctx->actors[actor] = {Py_NewRef(PyTuple_GET_ITEM(methods, 0)), PyTuple_GET_ITEM(methods, 1) == Py_True};
        Py_DECREF(methods);
        value = Py_NewRef(Py_None);
      }
    }
    if (!value && !PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "reactor: call failed without an exception");
    if (value && !deferred) {
      store_results(results.data(), n, value, name);
    } else if (!value) {
      if (hooks.exit_kind && !PyErr_ExceptionMatches(PyExc_Exception)) {
        PyObject *type, *exc, *tb;
        PyErr_Fetch(&type, &exc, &tb);
        PyObject* kind_of_exit = PyObject_CallFunction(hooks.exit_kind, "Oi", type, 0);
        if (kind_of_exit) leaving = ExitReason(PyLong_AsLong(kind_of_exit));
        Py_XDECREF(kind_of_exit);
        PyErr_Restore(type, exc, tb);
      }
      if (leaving == ExitReason::Unknown) {
        store_failure(results.data(), n, name, bad != nullptr);
        if (kind == MessageKind::Create) {
          leaving = ExitReason::CreationFailed;
          note_death(actor, results[0], leaving);
        }
      } else {
        PyErr_Clear();
        if (ctx->inline_mode) {
          Off reason = note_death(kind == MessageKind::Task ? 0 : actor, 0, leaving);
          for (Off off : results) {
            if (reason) take_hold(ctx->heap->at<Object>(reason));
            memcpy(ctx->heap->at<Object>(off)->body, &reason, sizeof reason);
            ctx->heap->at<Object>(off)->state.store(State::Died, memory_order_release);
          }
        }
      }
    }
    if (rec) rec->leave(outer_caller);
    if (started && !deferred && ctx->events.size() < kMaxEvents) ctx->events.push_back({started, now_ns(), Py_XNewRef(callable), actor, replayed});
    ctx->running_callable = outer_callable;
    if (ctx->inline_mode && hooks.switched) Py_XDECREF(PyObject_CallFunction(hooks.switched, "II", ctx->running_actor, outer_actor));
    ctx->running = outer;
    ctx->running_uid = outer_uid;
    ctx->running_actor = outer_actor;
  }
  // The instance may die with these; its destructor may make calls.
  for (size_t i = 1; i < args.size(); ++i) Py_XDECREF(args[i]);
  Py_XDECREF(kwnames);
  Py_XDECREF(value);
  Py_XDECREF(callable);
  Py_XDECREF(name);
  if (leaving != ExitReason::Unknown && !ctx->inline_mode) {
    if (leaving == ExitReason::CreationFailed) finish_results(results.data(), notes.data(), n);
    leave(leaving);  // the supervisor completes what is noted as running
  }
  if (!deferred) finish_results(results.data(), notes.data(), n, task_note);
}

}  // namespace reactor
