// Hooks: Python functions of the layer above, which the core calls. set_hook() sets a hook by its name; one that is not set is not called.
//
// The table below lists all hooks: the name, the time for which it stays set (Process: for good; Run: until close()), the types of its
// arguments, and the meaning of its arguments and of its result.
#pragma once
#include <cstdint>
#include <type_traits>
#include "python/python.h"

#define REACTOR_HOOKS(HOOK)                                                                                                             \
  HOOK(dumps, Process, (PyObject*), "value -> (bytes, [buffer])")                                                                       \
  HOOK(loads, Process, (PyObject*, PyObject*), "(bytes, [buffer]) -> value")                                                            \
  HOOK(stale, Process, (const char*), "(what is used after its run has ended) -> exception to raise")                                   \
  HOOK(failure, Run, (PyObject*, PyObject*, bool), "(exception, callable or None, it is an argument's) -> value stored as the error")   \
  HOOK(unstored, Run, (PyObject*, PyObject*, PyObject*),                                                                                \
       "(exception, exception of storing what failure() gave for it, callable or None) -> small value stored as the error")             \
  HOOK(as_failure, Run, (PyObject*), "(exception that is a value) -> what is stored of it as an error, or None: it stays a value")      \
  HOOK(error, Run, (State, Owned, PyObject*), "(state, value, ref) -> exception to raise in get")                                       \
  HOOK(create, Run, (uint32_t, PyObject*, PyObject*), "(actor number, args, kwargs) -> runtime.worker.plugin.Instance")                 \
  HOOK(create_failed, Run, (uint32_t, Owned, ExitReason), "(actor number, error value or None, reason) -> reason of the actor's death") \
  HOOK(function, Run, (PyObject*), "(ref) -> callable")                                                                                 \
  HOOK(exit_kind, Run, (PyObject*), "(exception) -> ExitReason, or 0: it goes on as an error")                                          \
  HOOK(leave, Run, (ExitReason), "(reason): the process ends. It flushes its output, and does not return")                              \
  HOOK(breaks_off, Run, (PyObject*), "(exception) -> whether it is for the driver, in which the call ran; inline placement")            \
  HOOK(cancelled, Run, (uint64_t, bool), "(uid of the result, children too): a call that was handed on is to be interrupted")           \
  HOOK(restart, Run, (uint32_t, ExitReason),                                                                                            \
       "(actor number, reason) -> why its call has no result if the actor was restarted, else None; "                                   \
       "inline placement")                                                                                                              \
  HOOK(store_full, Run, (int64_t, int64_t, int64_t, bool), "(bytes wanted, bytes used, limit, the disk is full too) -> exception")      \
  HOOK(wrong_results, Run, (int64_t, int64_t, PyObject*),                                                                               \
       "(values that a call returned, how many it should, -1: a generator, what it returned) -> exception")                             \
  HOOK(left_over, Run, (PyObject*, PyObject*, uint32_t),                                                                                \
       "(exception or None: a value too many, callable, number of results): "                                                           \
       "a generator's call has gone on after its last result")                                                                          \
  HOOK(woken, Run, (uint32_t), "(number): timed order: the coroutine goes on that has this number from timed_await")                    \
  HOOK(deferred, Run, (uint32_t, uint32_t, PyObject*, PyObject*, PyObject*, PyObject*),                                                 \
       "(actor, method index, callable, args, kwargs, Completion): a call of a threaded or async actor begins")                         \
  HOOK(generator, Run, (Owned, Owned), "(completion's ref, first link's ref) -> what the caller of a streaming call gets")              \
  HOOK(yielded, Run, (uint64_t), "(nanoseconds in which a streamed value was stored) -> what the generator's `yield` gives")            \
  HOOK(gather, Run, (PyObject*, PyObject*), "(what the call returned, callable) -> value of a dynamic call")                            \
  HOOK(unpicklable, Run, (PyObject*, PyObject*, PyObject*),                                                                             \
       "(exception of dumps, CallSpec::check or None, name) -> exception to raise "                                                     \
       "for an argument")                                                                                                               \
  HOOK(put_off, Run, (uint64_t, uint32_t),                                                                                              \
       "(task, serial number): this process gives the task to the supervisor, which has it run again later")                            \
  HOOK(flush, Run, (), "(): writes out what the running call has printed without an end of line")                                       \
  HOOK(call_tag, Run, (), "() -> its tag, or None: as usual; a call is about to be made here, which what this raises prevents")         \
  HOOK(call_sent, Run, (Owned, PyObject*), "(tag, name): a call was made here")                                                         \
  HOOK(result, Run, (uint64_t, Owned), "(uid, tag): of the first result of a call that was made here")                                  \
  HOOK(call_started, Run, (uint32_t, Owned, Beginning), "(actor, tag, Beginning): a call begins here, and raises what this raises")     \
  HOOK(executed, Run, (uint32_t, PyObject*, Owned, uint64_t, uint64_t, PyObject*, PyObject*, PyObject*, bool, bool),                    \
       "(actor, name, tag, digest of its arguments, that with its results, (args, kwargs) or None, value or None, exception or None, "  \
       "cancelled while it ran, in a thread or an event loop): a call has run here")                                                    \
  HOOK(call_finished, Run, (uint32_t, Owned), "(actor, tag): and its results are there")                                                \
  HOOK(task_random, Run, (Owned), "(tag) before a task runs, (None) after: its random state")                                           \
  HOOK(crowded, Run, (), "(): in the supervisor, the socket of its control messages is full, and it wants to send itself one")          \
  HOOK(lost, Run, (State, Owned), "(state, value): as error; nobody has seen this failure, and nobody can ask for it any more")         \
  HOOK(find_deadlock, Run, (uint32_t), "(this call): it has waited for a while -> exception to raise, or None")                         \
  HOOK(relaxed, Run, (uint32_t, uint32_t, uint32_t, const char*, Owned, Outcome),                                                       \
       "(actor, method, caller, its call's name or None, [(holder, name or None)], Outcome), Party each: see patience.h")               \
  HOOK(switched, Run, (uint32_t, int64_t), "(actor left, actor entered), see ActorStates")                                              \
  HOOK(actor_arrived, Run, (uint32_t, Owned), "(actor number, what the supervisor tells of it): a packed worker is to host it")         \
  HOOK(actor_left, Run, (uint32_t, uint64_t, ExitReason), "(actor number, offset of it, reason): a packed worker has let it go")        \
  HOOK(thread, Run, (bool), "(False): starts a thread that calls serve_beside(); (True): watch_packed()")

namespace reactor {

// Numbers to a hook: no more need be known of them here.
enum class State : uint32_t;       // layout.h
enum class ExitReason : uint32_t;  // layout.h
enum class Outcome : uint32_t;     // patience.h
enum class Beginning : int { Here = 0, HandedOn, Fails };  // of a call: it runs here, in a thread or an event loop, or its argument failed

// Arguments of hooks as Python objects. Of a null pointer: None, but an Owned that is null is an error that is set.
inline Owned to_python(bool v) { return Owned::share(v ? Py_True : Py_False); }
inline Owned to_python(int v) { return Owned(PyLong_FromLong(v)); }
inline Owned to_python(uint32_t v) { return Owned(PyLong_FromUnsignedLong(v)); }
inline Owned to_python(int64_t v) { return Owned(PyLong_FromLongLong(v)); }
inline Owned to_python(uint64_t v) { return Owned(PyLong_FromUnsignedLongLong(v)); }
inline Owned to_python(const char* v) { return v ? Owned(PyUnicode_FromString(v)) : Owned::share(Py_None); }
inline Owned to_python(PyObject* v) { return Owned::share(v ? v : Py_None); }
inline Owned to_python(Owned v) { return v; }
template <class E, class = std::enable_if_t<std::is_enum_v<E>>> Owned to_python(E v) { return to_python(std::underlying_type_t<E>(v)); }

class AnyHook {
 public:
  explicit operator bool() const { return function_; }
  PyObject* get() const { return function_; }
  void set(PyObject* new_reference) { Py_XDECREF(std::exchange(function_, new_reference)); }
  // Its error, which nobody can be given, is written to stderr.
  void complain() const { PyErr_WriteUnraisable(function_); }

 protected:
  PyObject* function_ = nullptr;
};

template <class... Args> class Hook : public AnyHook {
 public:
  // Null: a Python error is set.
  Owned operator()(Args... args) const {
    if (!function_) {
      PyErr_SetString(PyExc_SystemError, "reactor: a hook that is needed here is not set");
      return Owned();
    }
    Owned owned[sizeof...(Args) + 1] = {Owned(), to_python(std::forward<Args>(args))...};
    PyObject* borrowed[sizeof...(Args) + 1] = {};  // the first place is for the callee's own use
    for (size_t i = 1; i <= sizeof...(Args); ++i)
      if (!(borrowed[i] = owned[i].get())) return Owned();
    Owned function = Owned::share(function_);  // it may be replaced meanwhile
    return Owned(PyObject_Vectorcall(function.get(), borrowed + 1, sizeof...(Args) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  }
  // Calls it if it is set. What it raises goes to stderr.
  void tell(Args... args) const {
    if (function_ && !(*this)(std::forward<Args>(args)...)) complain();
  }
};

struct Hooks {
#define TYPE(...) Hook<__VA_ARGS__>
#define MEMBER(name, until, types, meaning) TYPE types name;
  REACTOR_HOOKS(MEMBER)
#undef MEMBER
#undef TYPE

  enum class Until { Process, Run };
  // f(name, hook, until) of each.
  template <class F> void each(F f) {
#define VISIT(name, until, types, meaning) f(#name, static_cast<AnyHook&>(name), Until::until);
    REACTOR_HOOKS(VISIT)
#undef VISIT
  }
};

extern Hooks hooks;

}  // namespace reactor
