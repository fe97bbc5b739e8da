// Running one message: its arguments, the call, what came out.
#include "actor_states.h"
#include "array_memory.h"
#include "calls.h"
#include "few.h"
#include "digest.h"
#include "failures.h"
#include "packed.h"
#include "recorder.h"
#include "spill.h"
#include "stream.h"
#include "title.h"
#include <optional>
#include <utility>

namespace reactor {

Inbox* inbox() {
  Off off = ctx->proc->inbox.load(memory_order_relaxed);
  return off ? ctx->heap->at<Inbox>(off) : nullptr;
}

namespace {

// A call's arguments as vectorcall wants them: positional, then those of the keywords; args[0] is room for its own use.
struct Arguments {
  explicit Arguments(Message* m) : args(m->args + m->kwargs + 1) {}
  ~Arguments() { drop(); }
  // False: a Python error is set.
  bool take(Message* m) {
    if (!m->args_object) return take(m, Decoder(m->value(), nullptr, nullptr));
    owner = ctx->heap->at<Object>(m->args_object);
    watch_forks();
    Reading reading(owner);
    if (!reading.value()) return false;
    Decoder decoder(reading.value(), owner, &reading);
    uint16_t use = kFresh;
    if (!owner->unwanted.compare_exchange_strong(use, kReadAsTheyLie)) decoder.read_privately();
    return take(m, decoder);
  }
  bool take(Message* m, Decoder d) {
    uint32_t at = 1;
    for (uint32_t i = 0; i < m->args; ++i)
      if (!(args[at++] = d.item())) return false;
    if (m->kwargs == 0) return true;
    kwnames = PyTuple_New(m->kwargs);
    for (uint32_t i = 0; kwnames && i < m->kwargs; ++i) {
      PyObject* name = d.item();
      if (!name) return false;
      PyUnicode_InternInPlace(&name);
      PyTuple_SET_ITEM(kwnames, i, name);
      if (!(args[at++] = d.item())) return false;
    }
    return kwnames != nullptr;
  }
  // The call is over: large arrays are let go of, so that its result may show one. Their bytes stay until drop(), for the result may
  // lead there without having the array.
  void drop_arrays() {
    if (!owner) return;
    for (auto*& a : args) {
      if (!a || arguments_of(a) != owner) continue;
      if (!bytes) bytes.emplace(owner);
      Py_CLEAR(a);
    }
  }
  void drop() {
    for (auto*& a : args) Py_CLEAR(a);
    Py_CLEAR(kwnames);
    bytes.reset();
  }
  PyObject** begin() { return args.data() + 1; }
  Few<PyObject*, 8> args;
  PyObject* kwnames = nullptr;
  Object* owner = nullptr;  // of large arguments
  std::optional<Reading> bytes;
};

// As (args, kwargs), borrowed by a call of Python code.
struct Packed {
  Packed(Arguments& a, uint32_t n) : args(PyTuple_New(n)), kwargs(PyDict_New()) {
    for (uint32_t i = 0; i < n; ++i) PyTuple_SET_ITEM(args, i, Py_NewRef(a.begin()[i]));
    for (Py_ssize_t i = 0; a.kwnames && i < PyTuple_GET_SIZE(a.kwnames); ++i)
      PyDict_SetItem(kwargs, PyTuple_GET_ITEM(a.kwnames, i), a.begin()[n + size_t(i)]);
  }
  ~Packed() {
    Py_DECREF(args);
    Py_DECREF(kwargs);
  }
  PyObject *args, *kwargs;
};

// The first argument ref that ended without a value, or null. All such are seen by this.
Object* failed_argument(Message* m) {
  auto* v = message_value(ctx->heap, m);
  Off* deps = value_refs(v);
  Object* first = nullptr;
  for (uint32_t i = 0; i < v->deps; ++i) {
    auto* o = ctx->heap->at<Object>(deps[i]);
    if (o->state.load(memory_order_acquire) == State::Value) continue;
    mark_seen(o);
    if (!first) first = o;
  }
  return first;
}

// The exception that getting `o` would raise, set as the current Python error.
void set_error_of(Object* o) {
  PyObject* value = failure_value(o);
  PyObject* exc = value ? PyObject_CallFunction(hooks.error, "iNO", int(o->state.load(memory_order_acquire)), value, Py_None) : nullptr;
  if (exc) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exc)), exc);
  Py_XDECREF(exc);
}

// Lets go of the functions that their programs have let go of, and with them of what they captured: a program may define a function
// in each round. One that was called since the last look stays, for more of its calls may be on their way.
void forget_functions() {
  if (++ctx->loaded * 8 < ctx->functions.size()) return;
  ctx->loaded = 0;
  std::vector<LoadedFunction> gone;
  for (auto it = ctx->functions.begin(); it != ctx->functions.end();) {
    LoadedFunction& f = it->second;
    const bool retired = reinterpret_cast<PyRef*>(f.ref)->object->unwanted.load(memory_order_relaxed) == kRetiredCode;
    if (std::exchange(f.used, false) || !retired) {
      ++it;
    } else {
      gone.push_back(f);
      it = ctx->functions.erase(it);
    }
  }
  for (auto& f : gone) {  // finalizers may make calls
    Py_DECREF(f.callable);
    Py_DECREF(f.ref);
  }
}

// What is noted of the functions of its name, null if nothing is.
MethodNote* note_of(PyObject* function) {
  PyObject* name = PyObject_GetAttrString(function, "__name__");
  const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  MethodNote* note = nullptr;
  if (text && (ctx->function_notes.size() < Context::kNotedFunctions || ctx->function_notes.count(text))) note = &ctx->function_notes[text];
  Py_XDECREF(name);
  PyErr_Clear();
  return note;
}

// The callable of a task's function, or of what a call asks for around its method; a new reference. Null: Python error set.
PyObject* function_of(Off off, MethodNote** note = nullptr) {
  auto* o = ctx->heap->at<Object>(off);
  if (auto it = ctx->functions.find(o->uid); it != ctx->functions.end()) {
    it->second.used = true;
    if (note) *note = it->second.note;
    return Py_NewRef(it->second.callable);
  }
  PyObject* ref = new_ref(o, true);
  PyObject* callable = ref ? PyObject_CallOneArg(hooks.function, ref) : nullptr;
  if (!callable) {
    Py_XDECREF(ref);
    return nullptr;
  }
  MethodNote* about = note ? *note = note_of(callable) : nullptr;
  auto [it, fresh] = ctx->functions.emplace(o->uid, LoadedFunction{callable, ref, about, true});
  PyObject* loaded = Py_NewRef(it->second.callable);
  if (fresh) {
    forget_functions();
  } else {  // another thread has loaded it meanwhile
    Py_DECREF(callable);
    Py_DECREF(ref);
  }
  return loaded;
}

[[noreturn]] void leave(ExitReason reason) {
  ctx->proc->exit_reason.store(reason, memory_order_release);
  leave_recording();
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
  if (in && ctx->host && in->reason.load()) {  // it was killed before
    drop_hold(ctx->local, r);
    Py_DECREF(ref);
    return in->reason.load();
  }
  if (in) in->reason.store(off, memory_order_release);
  if (in && ctx->inline_mode) in->state.store(InboxState::Dead, memory_order_release);
  Py_DECREF(ref);
  return off;
}

// Inline placement: an actor has left with `why`. If it may be made anew, that is done, and `reason` holds why its call has no result.
bool made_anew(uint32_t actor, ExitReason why, Off& reason) {
  PyObject* told = hooks.anew ? PyObject_CallFunction(hooks.anew, "Ii", actor, int(why)) : nullptr;
  PyObject* ref = told && told != Py_None ? put_value(told) : nullptr;
  Py_XDECREF(told);
  if (PyErr_Occurred()) PyErr_WriteUnraisable(hooks.anew);
  if (!ref) return false;
  reason = ctx->heap->off(reinterpret_cast<PyRef*>(ref)->object);
  take_hold(ctx->heap->at<Object>(reason));
  Py_DECREF(ref);
  return true;
}

}  // namespace

void MethodNote::learn(const Encoder& e) {
  room = room_for(e);
  if (!layout.empty()) return;
  layout = e.layout(1);
  bytes = e.full_size();
}

namespace {

// A generator's values go into the results as they come; those that it does not reach get the exception that ended it.
void store_yielded(const Off* results, uint32_t n, PyObject* generator, PyObject* name) {
  for (uint32_t i = 0; i < n; ++i) {
    PyObject* value = PyIter_Next(generator);
    if (!value) {
      if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "Task returned %u objects, but num_returns=%u.", i, n);
      return store_failure(results + i, n - i, name);
    }
    store_results(results + i, 1, value, name);
    Py_DECREF(value);
  }
}

}  // namespace

void store_results(const Off* results, uint32_t n, PyObject* value, PyObject* name, MethodNote* note, bool given) {
  if (PyGen_CheckExact(value)) return store_yielded(results, n, value, name);
  if (n == 1) {
    auto* o = ctx->heap->at<Object>(results[0]);
    if (!note || !note->room || !place_into(value, o, note->room)) {
      Encoding e;
      if (!(given ? e->given(value) : e->item(value)) || !encode_into(*e.encoder, o)) return store_failure(results, n, name);
      if (note) note->learn(*e.encoder);
    }
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
  for (uint32_t i = 0; i < n; ++i) store_results(results + i, 1, PySequence_Fast_GET_ITEM(fast, i), name, nullptr);
  Py_DECREF(fast);
}

void store_gathered(const Off* results, PyObject* value, PyObject* name) {
  PyObject* gathered = hooks.gather ? PyObject_CallFunctionObjArgs(hooks.gather, value, name ? name : Py_None, nullptr) : PySequence_List(value);
  if (!gathered) return store_failure(results, 1, name);
  store_results(results, 1, gathered, name);
  Py_DECREF(gathered);
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

// `task_note`: the journal's entry of the block that they are of, which is changed before the results' holds go: the supervisor gives
// these back for a block that is noted as a task or a call.
void finish_results(const Off* results, const uint32_t* notes, uint32_t n, uint32_t task_note) {
  for (uint32_t i = 0; i < n; ++i) {
    auto* o = ctx->heap->at<Object>(results[i]);
    complete(ctx->local, o, o->state.load(memory_order_relaxed));
  }
  ctx->local.journal.retag(task_note, Entry::Finished);
  for (uint32_t i = 0; i < n; ++i) {
    ctx->local.journal.clear(notes[i]);
    drop_hold(ctx->local, ctx->heap->at<Object>(results[i]));
  }
}

bool take_retry(Message* m) {
  if (!m || m->retries == 0) return false;
  if (m->retries != kForever) --m->retries;
  return true;
}

// Tells who keeps a record of the run of the running call; false, and an exception, if that raises.
bool tell_of_call(PyObject* hook, uint32_t actor, int more) {
  if (!ctx->keeping || !hook) return true;
  PyObject* told = PyObject_CallFunction(hook, "INi", actor, tag_tuple(ctx->here), more);
  Py_XDECREF(told);
  return told;
}

// Whether the call was cancelled while it ran; then its results are settled as that.
bool unwanted(const Off* results, uint32_t n) {
  if (ctx->heap->at<Object>(results[0])->unwanted.load(memory_order_acquire) != 1) return false;
  for (uint32_t i = 0; i < n; ++i) ctx->heap->at<Object>(results[i])->state.store(State::Cancelled, memory_order_relaxed);
  return true;
}

// A call asks for something around its method (a name, another concurrency group, retries): the method with that.
static PyObject* wrapped(PyObject* method, Off options) {
  PyObject* wrap = function_of(options);
  PyObject* made = wrap ? PyObject_CallOneArg(wrap, method) : nullptr;
  Py_XDECREF(wrap);
  Py_DECREF(method);
  return made;
}

// A call for a concurrency group is handed on, also by an actor that runs its others here.
static bool has_group(PyObject* callable) {
  PyObject* group = PyObject_GetAttrString(callable, "concurrency_group");
  if (!group) PyErr_Clear();
  bool has = group && group != Py_None;
  Py_XDECREF(group);
  return has;
}

// Where a new actor's `count` methods are noted. The memory of one that is gone is used again and not freed: a call of it may be running.
static size_t place_for_notes(size_t count) {
  auto& all = ctx->method_notes;
  for (size_t tries = all.size() < kNotedActors ? 0 : all.size(); tries; --tries) {
    size_t& at = ctx->first_gone;
    at = at + 1 < all.size() ? at + 1 : 0;
    if (!all[at].gone || all[at].count != count) continue;
    all[at].gone = false;
    for (size_t i = 0; i < count; ++i) {
      PyObject* name = all[at].notes[i].name;
      all[at].notes[i] = MethodNote{};
      Py_XDECREF(name);
    }
    return at;
  }
  all.push_back({std::unique_ptr<MethodNote[]>(new MethodNote[count]), count});
  return all.size() - 1;
}

// Inline placement. Calls run one inside of the other, but those of several threads overlap: who leaves goes back to the one that
// began last of those that are left.
static void enter_inline(InlineCall* call) {
  call->thread = PyThread_get_thread_ident();
  ctx->inline_calls.push_back(call);
  enter_own_state();
}
static void leave_inline(InlineCall* call) {
  std::erase(ctx->inline_calls, call);
  const InlineCall driver{ActorStates::kDriver};
  const InlineCall& left = ctx->inline_calls.empty() ? driver : *ctx->inline_calls.back();
  ctx->running = left.running;
  ctx->running_uid = left.uid;
  ctx->running_actor = left.actor;
  ctx->running_callable = left.callable;
  ctx->running_message = left.message;
  enter_own_state();
}

// Runs one message. From a channel, the record is given back to the caller before the user's code starts, with the results noted
// in the journal: the record and the note never both miss. `task_note`: the message is a block of its own with this note, which
// the caller of this function gives back when it returns false; true: the call was handed on, and the block with it.
bool run_message(Message* m, Receiver* from, uint32_t task_note) {
  delay();
  uint32_t n = m->results;
  const uint8_t flags = m->flags;
  const bool replayed = flags & kReplayed;
  Few<Off, 4> results(n);
  Few<uint32_t, 4> notes(n);
  for (uint32_t i = 0; i < n; ++i) {
    results[i] = m->result_at(i);
    notes[i] = ctx->local.journal.add(results[i], Entry::Run);
  }
  auto* first = ctx->heap->at<Object>(results[0]);
  State pending = State::Pending;
  bool cancelled = !first->state.compare_exchange_strong(pending, State::Running, memory_order_acq_rel);
  for (uint32_t i = 0; i < n; ++i) ctx->heap->at<Object>(results[i])->runner.store(ctx->mark, memory_order_seq_cst);

  Tag outer_tag;
  const uint64_t outer_issued = ctx->issued;
  if (ctx->tagged) {
    outer_tag.assign(ctx->here);
    ctx->here.assign({m->stamp, m->tail(), m->depth});
    ctx->issued = 0;
    ++ctx->level;
    ctx->serves = m->kind == MessageKind::Task ? 0 : m->actor;
  }
  InCall here{results.data(), n, (flags & kStreaming) != 0};
  if (ctx->host && !cancelled) ctx->host->before_call(&here);
  InlineCall inline_call{m->kind == MessageKind::Task ? ActorStates::kTasks : m->actor};
  if (ctx->inline_mode && !cancelled) enter_inline(&inline_call);
  Object* bad = cancelled ? nullptr : failed_argument(m);
  Arguments args(m);
  bool of_argument = bad;  // it failed elsewhere, or cannot be read here
  if (bad) set_error_of(bad);
  else if (refusal) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(refusal)), refusal);
  else if (!cancelled) of_argument = !args.take(m);
  Py_CLEAR(refusal);
  PyObject *error_type = nullptr, *error = nullptr, *error_trace = nullptr;  // of an argument, while the record is given back
  if (PyErr_Occurred()) PyErr_Fetch(&error_type, &error, &error_trace);
  const bool has_arguments = !error_type && !cancelled;

  // A constructor's arguments show in what the actor does; among them is what differs from run to run.
  uint64_t passed = 0;
  if (ctx->digesting && m->kind != MessageKind::Create) passed = hash_value(ctx->heap, reinterpret_cast<uint8_t*>(message_value(ctx->heap, m)),
                                                                                                 m->kind == MessageKind::Call ? m->method : 0, ctx->whole);
  MessageKind kind = m->kind;
  uint32_t nargs = m->args, actor = m->actor, method = m->method;
  Off function = m->function;
  PyObject* options = nullptr;  // keeps `function`, of a call that was not a task, until it is loaded
  if (from) {  // a task keeps its holds to the end: if this worker dies it is run again
    if (function) options = new_ref(ctx->heap->at<Object>(function), true);
    release_message(ctx->local, m);
    from->pop(m);
  }

  PyObject* callable = nullptr;
  PyObject* name = nullptr;
  PyObject* value = nullptr;
  ExitReason leaving = ExitReason::Unknown;
  bool deferred = false;
  MethodNote* note = nullptr;  // what is noted of the call for the recording
  Titles::Known* title = nullptr;
  bool again = false;  // inline: the actor was made anew in the middle of this call, which is run once more
  if (cancelled) {
    for (uint32_t i = 1; i < n; ++i) ctx->heap->at<Object>(results[i])->state.store(State::Cancelled, memory_order_relaxed);
  } else {
    Off outer = ctx->running;
    uint32_t outer_actor = ctx->running_actor;
    uint64_t outer_uid = ctx->running_uid;
    inline_call.running = ctx->running = results[0];
    inline_call.uid = ctx->running_uid = first->uid;
    inline_call.actor = ctx->running_actor = kind == MessageKind::Task ? 0 : actor;
    Message* outer_message = ctx->running_message;
    inline_call.message = ctx->running_message = from ? nullptr : m;
    ctx->proc->executed.fetch_add(1, memory_order_relaxed);
    {
      if (kind == MessageKind::Task) {
        MethodNote* about = nullptr;
        callable = function_of(function, &about);
        if (ctx->recorder) note = about;
        if (about) title = &about->title;
      } else if (kind == MessageKind::Call) {
        auto it = ctx->actors.find(actor);
        if (it == ctx->actors.end())
          PyErr_SetString(PyExc_RuntimeError, "reactor: the actor has no instance in this process");
        else {
          callable = Py_NewRef(PyList_GET_ITEM(it->second.methods, method));
          deferred = it->second.deferred;
          if (ctx->recorder && !deferred) note = &it->second.notes[method];
          if (function) callable = wrapped(callable, function);
          else title = &it->second.notes[method].title;
          if (function && callable && !ctx->inline_mode && !deferred) deferred = has_group(callable);
          Py_CLEAR(options);
          if (deferred) note = nullptr;
        }
      }
    }
    if (callable) name = Py_NewRef(callable);
    PyObject* outer_callable = ctx->running_callable;
    inline_call.callable = ctx->running_callable = callable;
    // Calls that several threads of one process run beside each other have no serial order: none of them is recorded.
    const bool beside = ctx->inline_mode && PyThread_get_thread_ident() != ctx->main_thread;
    Recorder* rec = deferred || beside ? nullptr : ctx->recorder;
    Recorder::Caller outer_caller;
    if (rec) {
      uint64_t who = kind == MessageKind::Task ? ctx->heap->at<Object>(function)->uid : uint64_t(actor) << 16 | (kind == MessageKind::Create ? 0xffff : method) | 1ull << 63;
      outer_caller = rec->enter(who, callable, kind == MessageKind::Task ? 0 : actor);
    }
    const bool seeded = hooks.task_random && kind == MessageKind::Task && ctx->tagged;
    if (seeded) {
      PyObject* tag = tag_tuple(ctx->here);
      Py_XDECREF(PyObject_CallOneArg(hooks.task_random, tag));
      Py_DECREF(tag);
    }
    if (!deferred) titles.run(callable, kind == MessageKind::Create, title);
    if (kind == MessageKind::Task) titles.leave(ctx->proc->running, sizeof ctx->proc->running);
    if (ctx->host) ctx->host->method_begins();
    uint64_t started = ctx->tracing ? now_ns() : 0;
    const bool may_begin = kind == MessageKind::Create || tell_of_call(hooks.began, kind == MessageKind::Task ? 0 : actor, error_type ? 2 : int(deferred));
    if (error_type) {
      PyErr_Restore(error_type, error, error_trace);
      deferred = false;
    } else if (!may_begin) {
      deferred = false;
    } else if (callable) {
      if (deferred) {
        PyObject* token = new_completion(results.data(), notes.data(), n, name, flags, started, task_note == kNoEntry ? nullptr : m, task_note);
        Packed packed(args, nargs);
        value = PyObject_CallFunction(hooks.deferred, "IIOOOO", actor, method, callable, packed.args, packed.kwargs, token);
        Py_DECREF(token);
        if (!value) deferred = false;
      } else {
        const uint64_t begun = note && note->begin(callable, ctx->running_actor) ? stamp() : 0;
        value = PyObject_Vectorcall(callable, args.begin(), nargs | PY_VECTORCALL_ARGUMENTS_OFFSET, args.kwnames);
        if (begun) {
          note->ticks += stamp() - begun;
          ++note->timed;
        }
      }
    } else if (kind == MessageKind::Create) {
      Packed packed(args, nargs);
      PyObject* methods = PyObject_CallFunction(hooks.create, "IOO", actor, packed.args, packed.kwargs);
      if (methods) {
        // (list of bound methods, deferred)
        PyObject* list = Py_NewRef(PyTuple_GET_ITEM(methods, 0));
        auto count = size_t(PyList_GET_SIZE(list));
        const size_t noted = place_for_notes(count);
        ActorEntry entry{list, PyTuple_GET_ITEM(methods, 1) == Py_True, ctx->method_notes[noted].notes.get(), noted, 0, {}};
        if (PyTuple_GET_SIZE(methods) > 3) entry.digest = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(methods, 3));
        if (PyTuple_GET_SIZE(methods) > 4) follow_script(actor, PyTuple_GET_ITEM(methods, 4));
        PyObject* lanes = PyTuple_GET_SIZE(methods) > 2 ? PyTuple_GET_ITEM(methods, 2) : nullptr;
        for (Py_ssize_t i = 0; lanes && i < PyList_GET_SIZE(lanes); ++i) entry.lanes.push_back(int32_t(PyLong_AsLong(PyList_GET_ITEM(lanes, i))));
        PyObject* old = ctx->actors[actor].methods;  // of before it was made anew, inline
        if (old) ctx->method_notes[ctx->actors[actor].noted].gone = true;
        ctx->actors[actor] = std::move(entry);
        Py_XDECREF(old);
        Py_DECREF(methods);
        value = Py_NewRef(Py_None);
      }
    }
    if (ctx->host && !ctx->host->after_call(&here)) {
      Py_CLEAR(value);
      PyErr_Clear();
    }
    std::optional<Stream> stream;
    if (value && !deferred && flags & kStreaming) {
      stream.emplace(results.data(), notes.data(), from ? nullptr : m, name);
      if (!stream->drain(value)) Py_CLEAR(value);
    }
    if (!value && !here.discarded && !PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "reactor: call failed without an exception");
    if (here.discarded) {
    } else if (!deferred && !stream && kind == MessageKind::Call && unwanted(results.data(), n)) {
      PyErr_Clear();
    } else if (value && !deferred) {
      if (!ctx->keeping) args.drop_arrays();  // who keeps a record looks at arguments and result afterwards
      if (stream) stream->end();
      else if (flags & kDynamic) store_gathered(results.data(), value, name);
      else store_results(results.data(), n, value, name, note, Py_REFCNT(value) == 1 && !ctx->keeping);
    } else if (!value) {
      if (hooks.exit_kind && !PyErr_ExceptionMatches(PyExc_Exception)) {
        PyObject *type, *exc, *tb;
        PyErr_Fetch(&type, &exc, &tb);
        PyErr_NormalizeException(&type, &exc, &tb);
        PyObject* kind_of_exit = PyObject_CallFunction(hooks.exit_kind, "Oi", exc, 0);
        if (kind_of_exit) leaving = ExitReason(PyLong_AsLong(kind_of_exit));
        Py_XDECREF(kind_of_exit);
        PyErr_Restore(type, exc, tb);
      }
      if (leaving == ExitReason::Unknown) {
        if (stream) stream->fail();
        else store_failure(results.data(), n, name, of_argument);
        if (kind == MessageKind::Create) {
          leaving = ExitReason::CreationFailed;
          note_death(actor, results[0], leaving);
        }
      } else {
        PyErr_Clear();
        if (ctx->inline_mode || ctx->host) {
          Off reason = 0;
          bool anew = kind == MessageKind::Call && made_anew(actor, leaving, reason);
          again = anew && take_retry(m);
          if (!anew) reason = note_death(kind == MessageKind::Task ? 0 : actor, 0, leaving);
          for (Off off : results) {
            if (again) break;
            if (reason) take_hold(ctx->heap->at<Object>(reason));
            memcpy(ctx->heap->at<Object>(off)->body, &reason, sizeof reason);
            ctx->heap->at<Object>(off)->state.store(State::Died, memory_order_release);
          }
          if (anew) drop_hold(ctx->local, ctx->heap->at<Object>(reason));
        }
      }
    }
    if (ctx->host) ctx->host->regain();
    if (rec) rec->leave(outer_caller);
    titles.idle();
    if (kind == MessageKind::Task) ctx->proc->running[0] = 0;
    if (seeded && ctx->inline_mode) Py_XDECREF(PyObject_CallOneArg(hooks.task_random, Py_None));
    if (ctx->unflushed && hooks.flush) {
      ctx->unflushed = false;
      PyObject *type, *exc, *tb;
      PyErr_Fetch(&type, &exc, &tb);
      Py_XDECREF(PyObject_CallNoArgs(hooks.flush));
      PyErr_Restore(type, exc, tb);
    }
    if (!deferred && ctx->tracing) ctx->trace(started, replayed ? Span::Replayed : Span::Ordinary, actor, 0, callable);
    if (ctx->inline_mode) {
      leave_inline(&inline_call);
    } else {
      ctx->running = outer;
      ctx->running_uid = outer_uid;
      ctx->running_actor = outer_actor;
      ctx->running_callable = outer_callable;
      ctx->running_message = outer_message;
    }
  }
  if (ctx->digesting && !deferred && kind != MessageKind::Create && leaving == ExitReason::Unknown) {
    for (Off off : results)
      if (!(flags & kStreaming)) passed = hash_result(ctx->heap, ctx->heap->at<Object>(off), passed, ctx->whole);
    if (ctx->keeping && hooks.executed && !here.discarded) {
      Packed packed(args, has_arguments ? nargs : 0);
      PyObject* tag = tag_tuple(ctx->here);
      const bool interrupted = ctx->heap->at<Object>(results[0])->unwanted.load(memory_order_acquire) == 1;
      PyObject* done = PyObject_CallFunction(hooks.executed, "IONKOOO", kind == MessageKind::Task ? 0 : actor, name ? name : Py_None, tag,
                                             static_cast<unsigned long long>(passed), packed.args, value ? value : Py_None,
                                             interrupted ? Py_True : Py_False);
      if (!done) PyErr_WriteUnraisable(hooks.executed);
      Py_XDECREF(done);
    }
    auto it = kind == MessageKind::Call ? ctx->actors.find(actor) : ctx->actors.end();
    if (it != ctx->actors.end()) passed = it->second.digest = mix(it->second.digest, passed);
    ctx->proc->digest.store(ctx->proc->digest.load(memory_order_relaxed) + passed, memory_order_relaxed);
  }
  // The instance may die with these; its destructor may make calls.
  args.drop();
  Py_XDECREF(options);
  Py_XDECREF(value);
  Py_XDECREF(callable);
  Py_XDECREF(name);
  if (ctx->host && !cancelled) {
    if (leaving != ExitReason::Unknown) ctx->host->leave(leaving);
    ctx->host->end_call(&here);
  } else if (leaving != ExitReason::Unknown && !ctx->inline_mode) {
    if (leaving == ExitReason::CreationFailed) finish_results(results.data(), notes.data(), n);
    leave(leaving);  // the supervisor completes what is noted as running
  }
  if (again) {
    for (Off off : results) ctx->heap->at<Object>(off)->state.store(State::Pending, memory_order_relaxed);
    return run_message(m, nullptr);
  }
  if (!deferred) {
    finish_results(results.data(), notes.data(), n, task_note);
    if (kind != MessageKind::Create && !cancelled && !tell_of_call(hooks.ended, kind == MessageKind::Task ? 0 : actor, 0)) PyErr_WriteUnraisable(hooks.ended);
  }
  forget_arguments();
  tell_failures();
  // What a call makes that goes on in a thread or an event loop is numbered after the last one that began here.
  if (ctx->tagged) --ctx->level;
  if (ctx->tagged && !deferred) {
    ctx->here.assign(outer_tag);
    ctx->issued = outer_issued;
  }
  return deferred;
}

}  // namespace reactor
