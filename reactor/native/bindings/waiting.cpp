// Reading results: get, wait, and the next value of a stream.
#include "bindings.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <span>
#include "calls/failures.h"
#include "order/patience.h"
#include "store/spill.h"
#include "calls/stream.h"
#include "record/recorder.h"

namespace reactor {
namespace {

// In ns; UINT64_MAX for none.
uint64_t timeout_of(nb::object timeout) {
  if (timeout.is_none()) return UINT64_MAX;
  double s = PyFloat_AsDouble(timeout.ptr());
  if (s == -1 && PyErr_Occurred()) throw nb::python_error();
  if (s != s) throw nb::value_error("timeout=nan: give a number of seconds, or None to wait without limit");
  if (s < 0 || s > 1e9) return UINT64_MAX;  // a negative one is none
  return uint64_t(s * 1e9);
}

uint64_t deadline_of(nb::object timeout) {
  const uint64_t ns = timeout_of(timeout);
  return ns == UINT64_MAX ? ns : now_ns() + ns;
}

struct RefList {
  std::vector<PyRef*> refs;
  explicit RefList(PyObject* seq) {
    PyObject* fast = PySequence_Tuple(seq);  // holds the refs, whatever becomes of the list while we wait
    if (!fast) throw nb::python_error();
    keep = nb::steal(fast);
    Py_ssize_t n = PyTuple_GET_SIZE(fast);
    refs.reserve(size_t(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* o = PyTuple_GET_ITEM(fast, i);
      if (!is_ref(o)) {
        PyErr_Format(PyExc_TypeError, "expected an object ref, got %.100s", Py_TYPE(o)->tp_name);
        throw nb::python_error();
      }
      if (!ref_object(o)) throw nb::python_error();
      refs.push_back(reinterpret_cast<PyRef*>(o));
    }
  }
  nb::object keep;
};

[[noreturn]] void raise_for(PyRef* r) {
  Owned value(failure_value(r->object));
  Owned error =
      value ? hooks.error(r->object->state.load(memory_order_acquire), std::move(value), reinterpret_cast<PyObject*>(r)) : Owned();
  if (error) set_error(error.get());
  throw nb::python_error();
}

// See wait_in_order. Longer than calls take that run beside each other, and short for a user who waits to see why the program fails.
constexpr uint64_t kPatienceNs = 2000000000;

bool failed(PyRef* r) { return is_done(r->object) && r->object->state.load(memory_order_acquire) != State::Value; }

// The one of `refs` that failed first in their order is raised; the others that have failed by now count as seen too.
[[noreturn]] void raise_one_of(const std::vector<PyRef*>& refs, PyRef* which) {
  for (PyRef* r : refs)
    if (failed(r)) mark_seen(r->object);
  raise_for(which);
}

// A get or wait ends the caller's pattern of operations; its time is a span of the timeline.
class PatternScope {
 public:
  explicit PatternScope(PatternEnd end) {
    if (!ctx) return;
    forget_arguments();
    if (PyThread_get_thread_ident() != ctx->main_thread) return;
    ended_ = true;
    if (ctx->recorder) ctx->recorder->end_pattern(end);
    if (ctx->timeline.tracing) start_ = now_ns();
  }
  ~PatternScope() {
    if (ended_ && epoch == epoch_ && ctx->recorder) ctx->recorder->waited();
    if (ended_ && epoch == epoch_) ctx->timeline.add(start_, Span::Wait, ctx->call->actor);
  }

 private:
  Inside inside_;
  bool ended_ = false;
  uint32_t epoch_ = epoch;
  uint64_t start_ = 0;
};

// What a recorded operation's result looks like is learnt when its caller first reads one.
void note_result(PyRef* r) {
  if (!r->recorded || !ctx->recorder) return;
  OpNote* note = ctx->recorder->note(r->recorded);
  if (!note) return;
  uint32_t later = ctx->recorder->pattern() - 1 - r->pattern;  // the wait that gets it has ended its pattern
  ResultNote& result = note->result(r->output);
  result.taken |= 1u << (later < kLater ? later : kLater);
  if (!result.layout.empty()) return;
  Reading reading(r->object);
  auto* v = reinterpret_cast<ValueHeader*>(reading.value());
  if (!v) return PyErr_Clear();
  result.layout = layout_of(value_stream(v), value_stream(v) + v->stream(), 1);
  result.bytes = full_size(ctx->heap, r->object);
}

// Waits for the first `n` refs in list order: the first that failed is raised as soon as those before it have values, as the
// serial run would, without waiting for those after it. If one before it takes longer than kPatienceNs, the failure is raised
// all the same: that earlier call may never return. False: the time is up.
bool wait_in_order(PyRef** refs, const size_t all, uint64_t deadline, bool looked = false) {
  size_t n = all;
  for (;;) {
    size_t pending = 0;
    while (pending < n && is_done(refs[pending]->object) && !failed(refs[pending])) ++pending;
    if (pending == all) return true;
    if (failed(refs[pending])) raise_one_of({refs, refs + all}, refs[pending]);  // the n-th did, and those before it have values
    if (!ctx->placement->may_wait("a result that is being computed")) throw nb::python_error();

    PyRef* later = nullptr;
    for (size_t i = pending; i < n; ++i)
      if (failed(refs[i])) {
        later = refs[i];
        n = i;
      }
    uint64_t until = later && now_ns() + kPatienceNs < deadline ? now_ns() + kPatienceNs : deadline;
    int e = wait_objects(refs + pending, Py_ssize_t(n - pending), Py_ssize_t(n - pending), true, until, std::exchange(looked, false));
    if (e < 0) throw nb::python_error();
    if (e == ETIMEDOUT && later) raise_one_of({refs, refs + all}, later);
    if (e == ETIMEDOUT) return false;
  }
}

void take_value(PyRef* r, PyObject* list, size_t place) {
  if (!ref_object(reinterpret_cast<PyObject*>(r))) throw nb::python_error();
  PyObject* v = decode_object(r->object);
  if (!v) throw nb::python_error();
  note_result(r);
  PyList_SET_ITEM(list, Py_ssize_t(place), v);
}

// It is a value, and to read it runs no code of the user's: so nobody sees whether it was read although a later one fails.
bool read_unseen(Object* o) {
  return o->state.load(memory_order_acquire) == State::Value && !in_run(o) &&
         !is_pickled(reinterpret_cast<ValueHeader*>(value_of(ctx->heap, o)));
}

// Reads the first values of a long list while the calls of the later ones run, as long as this process need not sleep in between. How many it has read;
// `looked`: it has waited for the next ones.
size_t read_as_they_come(std::vector<PyRef*>& refs, uint64_t deadline, PyObject* list, bool& looked) {
  constexpr size_t kAtOnce = 8;
  size_t read = 0;
  for (bool ended = false; refs.size() - read > kAtOnce;) {
    const size_t end = read + kAtOnce;
    bool done = true;
    for (size_t i = end; done && i > read; --i) done = is_done(refs[i - 1]->object);
    if (!done && !look_at_objects(refs.data() + read, kAtOnce, deadline, looked, ended)) {
      if (ended) throw nb::python_error();
      return read;
    }
    looked = false;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    for (; read < end; ++read) {
      if (!read_unseen(refs[read]->object)) return read;
      take_value(refs[read], list, read);
    }
  }
  return read;
}

// Timed order: the strand waits until all are done, or the first that failed, as far as it may know. False: the time was up.
bool get_in_time(OwnStrand& strand, PyRef** refs, size_t n, nb::object timeout) {
  std::vector<bool> there;
  if (wait_in_time(strand, refs, Py_ssize_t(n), Py_ssize_t(n), true, timeout_of(timeout), there) != 0) throw nb::python_error();
  for (size_t i = 0; i < n; ++i) {
    if (!there[i]) return false;
    if (!is_done(refs[i]->object) && wait_objects(refs + i, 1, 1, false, UINT64_MAX) < 0) throw nb::python_error();  // it is being written
    if (failed(refs[i])) raise_one_of({refs, refs + n}, refs[i]);
  }
  return true;
}

// get(refs, timeout, in_time) -> list of values, or None when the time was up. `in_time`: in timed order, it is an operation of the program.
nb::object get(nb::object list, nb::object timeout, bool in_time) {
  need_ctx();
  RefList r(list.ptr());
  PatternScope pattern(PatternEnd::Get);
  uint64_t deadline = deadline_of(timeout);
  nb::object result = steal(PyList_New(Py_ssize_t(r.refs.size())));
  bool looked = false;
  if (OwnStrand* strand = in_time ? ctx->strand() : nullptr; strand && !get_in_time(*strand, r.refs.data(), r.refs.size(), timeout))
    return nb::none();
  size_t read = read_as_they_come(r.refs, deadline, result.ptr(), looked);
  if (!wait_in_order(r.refs.data() + read, r.refs.size() - read, deadline, looked)) return nb::none();
  for (; read < r.refs.size(); ++read) take_value(r.refs[read], result.ptr(), read);
  return result;
}

// For functions that nanobind does not call: what `f` throws becomes the Python error that nanobind would make of it.
template <class F> PyObject* translated(F f) {
  try {
    return f();
  } catch (nb::python_error& e) {
    e.restore();
  } catch (nb::builtin_exception& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, NoRoom().what());
  } catch (std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

PyObject* timed_out = nullptr;  // what get_one gives when the time was up

PyObject* get_one(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !is_ref(args[0])) {
    PyErr_SetString(PyExc_TypeError, "get_one(ref, timeout)");
    return nullptr;
  }
  if (!ref_object(args[0])) return nullptr;
  auto* r = reinterpret_cast<PyRef*>(args[0]);
  PatternScope pattern(PatternEnd::Get);
  return translated([&]() -> PyObject* {
    // What the runtime has put there is read once in each process: no operation of the program.
    if (OwnStrand* strand = ctx->strand(); strand && kind_of(r->object) != kCode) {
      nb::object keep = nb::borrow(args[0]);
      if (!get_in_time(*strand, &r, 1, nb::borrow(args[1]))) return Py_NewRef(timed_out);
    }
    if (!is_done(r->object) || failed(r)) {
      nb::object keep = nb::borrow(args[0]);
      if (!wait_in_order(&r, 1, deadline_of(nb::borrow(args[1])))) return Py_NewRef(timed_out);
    }
    PyObject* value = decode_object(r->object);
    if (value) note_result(r);
    return value;
  });
}

// next_item(link, completion, timeout), see stream.h.
PyObject* stream_next(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 3 || !is_ref(args[0]) || !is_ref(args[1])) {
    PyErr_SetString(PyExc_TypeError, "next_item(link, completion, timeout)");
    return nullptr;
  }
  if (!ref_object(args[0]) || !ref_object(args[1])) return nullptr;
  PatternScope pattern(PatternEnd::Wait);
  return translated([&] {
    return next_item(reinterpret_cast<PyRef*>(args[0]), reinterpret_cast<PyRef*>(args[1]), deadline_of(nb::borrow(args[2])), timed_out);
  });
}

// item_state(link, completion) -> StreamState.
int item_state(nb::handle link, nb::handle completion) {
  need_ctx();
  Object *l = ref_object(link.ptr()), *c = l ? ref_object(completion.ptr()) : nullptr;
  if (!c) throw nb::python_error();
  return int(stream_state(l, c));
}

// Whether two refs of the list are of the same object. A table of uids that is never cleared: a slot counts only if it was
// written in this round.
bool has_duplicates(const std::vector<PyRef*>& refs) {
  struct Slot {
    uint64_t uid, round;
  };
  static std::vector<Slot> table(64);
  static uint64_t round = 0;
  ++round;
  if (table.size() < 2 * refs.size()) table.assign(std::bit_ceil(2 * refs.size()), Slot{0, 0});
  size_t mask = table.size() - 1;
  for (auto* r : refs) {
    size_t i = (r->uid * 0x9e3779b97f4a7c15ull >> 20) & mask;
    for (; table[i].round == round; i = (i + 1) & mask)
      if (table[i].uid == r->uid) return true;
    table[i] = {r->uid, round};
  }
  return false;
}

// A program that asks again and again, without time to wait, takes a core from the calls that it asks for. So while all cores are taken, such a
// question may sleep before it says that nothing is done: all questions together at most kPollNs for each of them. A sleep may last longer than asked
// for, if the core is not given back at once; the next questions do not sleep then.
constexpr int64_t kPollNs = 150000;
constexpr int64_t kPollsSaved = 8;
constexpr uint64_t kLookNs = 2000000;

// Whether more threads of this machine are runnable than there are cores, by the last look. (A process counts as awake while its method sleeps.)
bool cores_are_taken() {
  static uint64_t looked = 0;
  static bool taken = false;
  if (!ctx->spin.crowded()) return false;
  if (now_ns() < looked + kLookNs) return taken;
  char text[128];
  const int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  text[std::max<ssize_t>(n, 0)] = 0;
  const char* fourth = text;  // three averages, then runnable/all
  for (int i = 0; i < 3 && fourth; ++i)
    if ((fourth = strchr(fourth, ' '))) ++fourth;
  taken = !fourth || strtol(fourth, nullptr, 10) > ctx->header->cores;  // where it cannot be read, awake means runnable
  looked = now_ns();
  return taken;
}

int sleep_at_poll(std::vector<PyRef*>& refs) {
  static int64_t left = 0;
  left = std::min(left + kPollNs, kPollNs * kPollsSaved);
  if (left <= 0 || !cores_are_taken()) return 0;
  const uint64_t begun = now_ns();
  const int e = wait_objects(refs.data(), Py_ssize_t(refs.size()), 1, false, begun + kPollNs, true);
  left -= int64_t(now_ns() - begun);
  return e;
}

// While the calling thread is in it, it is told when nothing else can move.
class HoldBackScope {
 public:
  HoldBackScope() : main_(PyThread_get_thread_ident() == ctx->main_thread) {
    if (main_) hold_back(true);
  }
  ~HoldBackScope() {
    if (main_ && epoch == epoch_) hold_back(false);
  }

 private:
  bool main_;
  uint32_t epoch_ = epoch;
};

// A place that calls `wait`: when it was first met and what it has cost so far, in ns; whether its last wait turned out to delay nothing; what to call
// if it waits for kLongHoldNs and its budget has no limit.
using Site = std::tuple<uint64_t, uint64_t, bool, nb::object>;

// Waits for the first k refs of the list, others being done, for as long as the site's budget lasts. `waited`: ns until enough others were done. A
// caller that drains a list loses nothing by it, and whether it does is seen only afterwards (order.py). So a place that has not been seen to lose
// time may wait for longer than its budget, though not for ever: it may as well be about to start something.
int wait_for_first(std::vector<PyRef*>& refs, Py_ssize_t k, const Site& site, uint64_t begun, uint64_t waited) {
  const auto& [met, cost, is_free, on_long] = site;
  uint64_t left = budget_left(ctx->header, met, cost, begun);
  if (!left) return 0;
  HoldBackScope scope;
  auto wait = [&](uint64_t deadline) { return wait_objects(refs.data(), k, k, false, deadline); };
  if (left == kForeverNs) {
    if (int e = wait(begun + kLongHoldNs); e != ETIMEDOUT) return e;
    on_long();
    return wait(kForeverNs);
  }
  if (is_free) left = std::max(left, kUnwantedNs + waited);
  return wait(begun + left);
}

// wait(refs, k, timeout, site) -> (ready, rest, in order, ns), the lists in the order of `refs`: ready has the first k that are done
// when k of them are, or fewer when the time is up. With a site the first k of
// the list are waited for, for as long as its budget lasts or until nothing else can move: `in order` says whether these are given,
// `ns` how long others were done and these were not.
nb::object wait_some(nb::object list, Py_ssize_t k, nb::object timeout, std::optional<Site> site) {
  need_ctx();
  RefList r(list.ptr());
  PatternScope pattern(PatternEnd::Wait);
  if (has_duplicates(r.refs)) throw nb::value_error("wait: a ref is in the list more than once");
  auto n = Py_ssize_t(r.refs.size());
  auto done_of = [&](Py_ssize_t some) {
    Py_ssize_t done = 0;
    for (Py_ssize_t i = 0; i < some && done < k; ++i) done += is_done(r.refs[size_t(i)]->object);
    return done;
  };
  uint64_t deadline = deadline_of(timeout), waited = 0, blocked = 0;
  OwnStrand* strand = ctx->strand();
  std::vector<bool> there;
  if (strand) {
    if (wait_in_time(*strand, r.refs.data(), n, k, false, timeout_of(timeout), there) != 0) throw nb::python_error();
    for (Py_ssize_t i = 0; i < n; ++i)
      if (there[size_t(i)] && !is_done(r.refs[size_t(i)]->object) && wait_objects(&r.refs[size_t(i)], 1, 1, false, UINT64_MAX) < 0)
        throw nb::python_error();
  } else if (done_of(n) < k) {
    const uint64_t begun = site ? now_ns() : 0;
    int e = 0;
    if (timeout.is_none() || deadline > now_ns()) e = wait_objects(r.refs.data(), n, k, false, deadline);
    else if (done_of(n) == 0) e = sleep_at_poll(r.refs);
    if (e < 0) throw nb::python_error();
    if (site) waited = now_ns() - begun;
  }
  if (site && done_of(k) < k) {
    const uint64_t begun = now_ns();
    if (wait_for_first(r.refs, k, *site, begun, waited) == -1) throw nb::python_error();
    blocked = now_ns() - begun;
  }
  std::vector<bool> chosen(static_cast<size_t>(n));
  Py_ssize_t taken = 0;
  for (Py_ssize_t i = 0; i < n && taken < k; ++i)
    if (strand ? there[size_t(i)] : is_done(r.refs[size_t(i)]->object)) chosen[size_t(i)] = true, ++taken;
  nb::object ready = steal(PyList_New(taken)), rest = steal(PyList_New(n - taken));
  Py_ssize_t a = 0, b = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* ref = Py_NewRef(reinterpret_cast<PyObject*>(r.refs[size_t(i)]));
    if (chosen[size_t(i)]) PyList_SET_ITEM(ready.ptr(), a++, ref);
    else PyList_SET_ITEM(rest.ptr(), b++, ref);
  }
  bool first = true;
  for (Py_ssize_t i = 0; i < k; ++i) first &= chosen[size_t(i)];
  return nb::make_tuple(ready, rest, first, blocked);
}

// In timed order, in a thread whose operations have times: waits until one of the refs is done, or the time is up, and gives the indices of all that are
// done then, as far as the thread may know. None in other threads.
nb::object wait_any(nb::object list, nb::object timeout) {
  need_ctx();
  OwnStrand* strand = ctx->strand();
  if (!strand) return nb::none();
  RefList r(list.ptr());
  PatternScope pattern(PatternEnd::Wait);
  std::vector<bool> there;
  if (wait_in_time(*strand, r.refs.data(), Py_ssize_t(r.refs.size()), 1, false, timeout_of(timeout), there) != 0) throw nb::python_error();
  nb::list done;
  for (size_t i = 0; i < r.refs.size(); ++i) {
    if (!there[i]) continue;
    if (!is_done(r.refs[i]->object) && wait_objects(&r.refs[i], 1, 1, false, UINT64_MAX) < 0) throw nb::python_error();
    done.append(i);
  }
  return done;
}

// wait_some(); a failure that it gives as ready counts as seen.
nb::object wait(nb::object list, Py_ssize_t k, nb::object timeout, std::optional<Site> site) {
  nb::object found = wait_some(list, k, timeout, site);
  PyObject* ready = PyTuple_GET_ITEM(found.ptr(), 0);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ready); ++i) {
    auto* r = reinterpret_cast<PyRef*>(PyList_GET_ITEM(ready, i));
    if (failed(r)) mark_seen(r->object);
  }
  return found;
}

PyMethodDef fast_methods[] = {{"get_one", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(get_one)), METH_FASTCALL,
                               "get_one(ref, timeout): the value; TIMED_OUT when the time was up"},
                              {"next_item", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(stream_next)), METH_FASTCALL,
                               "next_item(link, completion, timeout): (ref of the value, next link), None at the end, or TIMED_OUT"},
                              {nullptr, nullptr, 0, nullptr}};

}  // namespace

void bind_waiting(nb::module_& m) {
  if (PyModule_AddFunctions(m.ptr(), fast_methods) != 0) throw nb::python_error();
  timed_out = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  m.attr("TIMED_OUT") = nb::handle(timed_out);
  m.def("get", &get, nb::arg("refs"), nb::arg("timeout").none(), nb::arg("in_time") = true);
  m.def("wait", &wait, nb::arg("refs"), nb::arg("count"), nb::arg("timeout").none(), nb::arg("site") = nb::none());
  m.def("holds_code", [](nb::handle ref) {
    Object* o = ref_object(ref.ptr());
    if (!o) throw nb::python_error();
    return kind_of(o) == kCode;
  });
  m.def("timed_wait_any", &wait_any, nb::arg("refs"), nb::arg("timeout").none());
  m.def("item_state", &item_state, nb::arg("link"), nb::arg("completion"), nb::call_guard<Using>());
  m.def("set_streams_window", [](uint32_t window) {
    need_ctx();
    ctx->streams.window = window;
  });
}

}  // namespace reactor
