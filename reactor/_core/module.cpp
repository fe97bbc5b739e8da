// The Python module reactor._core.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <bit>
#include <csignal>
#include <sys/prctl.h>
#include <sys/socket.h>
#include "actor_states.h"
#include "array_memory.h"
#include "failures.h"
#include "line_counter.h"
#include "observe.h"
#include "packed.h"
#include "site.h"
#include "restarts.h"
#include "spill.h"
#include "stream.h"
#include "supervisor.h"
#include "title.h"

namespace nb = nanobind;

namespace reactor {
namespace {

void open_context(Heap* h, uint32_t slot, bool journaled, bool inline_mode, int control) {
  ++epoch;
  ctx = new Context(h, slot, journaled, inline_mode);
  ctx->local.task_ready = task_ready;
  ctx->local.actor_unheld = actor_unheld;
  ctx->local.failure_unseen = keep_failure;
  h->control = control;
  ctx->main_thread = PyThread_get_thread_ident();
  if (inline_mode) ctx->states = new ActorStates(ActorStates::kDriver);
  Proc* p = ctx->proc;
  p->pid = getpid();
  // The supervisor is not counted: it waits in poll(), not on its bell.
  if (p->kind != ProcKind::Supervisor) {
    if (p->awake.exchange(1) == 0) h->header->awake.fetch_add(1);
    has_work(h->header, p);
  }
  p->state.store(ProcState::Live, memory_order_release);
}

// `patience`: (seconds, share), see patience.h; infinite seconds: order may cost anything.
int create(uint64_t capacity, int64_t store_limit, int cores, bool inline_mode, int spill, int64_t spill_note, int ordering,
           std::pair<double, double> patience, int digesting, bool keeping) {
  Heap* h = Heap::create(capacity, store_limit, cores);
  if (!h->give_back(h->page_at(0), kPage) &&
      PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "init: this kernel takes no memory back from the object store (%s): the run keeps the most that it has ever "
                       "used, also of values that were moved to the disk. Give init(object_store_memory=) less than there is", strerror(errno)) != 0) {
    delete h;
    throw nb::python_error();
  }
  h->take_spill_file(spill);
  h->header->spill_note.store(spill_note);
  h->header->ordering = Ordering(ordering);
  h->header->patience_ns = patience.first < 1e9 ? uint64_t(patience.first * 1e9) : kForeverNs;
  h->header->patience_share = patience.second;
  h->header->digesting = Digest(digesting);
  h->header->keeping = keeping;
  h->procs[0].kind = ProcKind::Driver;
  h->procs[1].kind = ProcKind::Supervisor;
  h->header->proc_high.store(2);
  open_context(h, 0, false, inline_mode, -1);
  return h->fd;
}

constexpr uint64_t kLeavingNs = 5000000000;  // a thread that takes longer runs code of the user's, from inside of a call

// From here on refs are stale, nothing new begins, and threads that wait give up; those that are in the core, this one aside, leave it.
void wait_until_others_are_outside() {
  ++epoch;
  ctx->closing = true;
  const uint64_t deadline = now_ns() + kLeavingNs;
  while (Inside::all > Inside::own && now_ns() < deadline) {
    ring(ctx->heap, &ctx->proc->bell);
    for (Bell* bell : ctx->seats) ring(ctx->heap, bell);
    Py_BEGIN_ALLOW_THREADS
    timespec t{0, 200000};
    nanosleep(&t, nullptr);
    Py_END_ALLOW_THREADS
  }
}

// Leaves the run; refs and handles of it become stale, arrays over its memory stay valid.
void close_context() {
  if (!ctx || ctx->closing) return;
  wait_until_others_are_outside();
  if (ctx->inline_mode) {  // the process goes on as the driver
    ctx->states->enter(ActorStates::kDriver);
    delete std::exchange(ctx->states, nullptr);
  }
  Context* old = ctx;
  ctx = nullptr;
  ++epoch;
  for (auto& [id, entry] : old->actors) entry.methods.reset();
  std::exchange(old->functions, {}).clear();
  Context::release(old);
  forget_channels();
  // The next run in this process may be another plugin's.
  hooks.each([](const char*, AnyHook& hook, Hooks::Until until) {
    if (until == Hooks::Until::Run) hook.set(nullptr);
  });
}

// In a process that was forked: forget the parent's context without giving anything back.
void detach() {
  if (!ctx) return;
  ctx = nullptr;
  ++epoch;
  Inside::all = Inside::own;  // the other threads are not here
  forget_channels();
}

// The same for a child that the program has forked. The mapping goes with the last array over it, at once if there is none: the child
// must not keep the run's memory longer than its parent has it.
void leave_to_parent() {
  if (!ctx) return;
  Heap* heap = ctx->heap;
  detach();
  if (!lends_from(heap) && --heap->users == 0) delete heap;
}

void attach_supervisor(int fd, int control, int spill) {
  Heap* h = Heap::attach(fd);
  h->take_spill_file(spill);
  open_context(h, 1, false, false, control);
}

// In a freshly forked worker: the heap is mapped already.
void attach_worker(uint32_t slot, int control) {
  Heap* h = ctx->heap;
  detach();
  open_context(h, slot, true, false, control);
  Proc* p = ctx->proc;
  if (Off in = p->inbox.load()) h->at<Inbox>(in)->proc.store(slot, memory_order_seq_cst);
  if (p->kind == ProcKind::Pool) {
    for (int i = 0; i < kPool; ++i) {
      uint32_t none = 0;
      if (ctx->header->pool[i].compare_exchange_strong(none, slot + 1)) {
        uint32_t high = ctx->header->pool_high.load();
        while (uint32_t(i) + 1 > high && !ctx->header->pool_high.compare_exchange_weak(high, uint32_t(i) + 1)) {}
        break;
      }
    }
    if (!p->setting) ctx->header->spawn_asked.store(0, memory_order_release);  // else when it is ready, in serve(): one of its kind will do
  }
}

void set_hook(const char* name, nb::object f) {
  bool known = false;
  hooks.each([&](const char* its_name, AnyHook& hook, Hooks::Until) {
    if (known || strcmp(its_name, name) != 0) return;
    known = true;
    hook.set(f.is_none() ? nullptr : f.release().ptr());
  });
  if (!known) throw nb::value_error("no such hook");
}

uint64_t deadline_of(nb::object timeout) {
  if (timeout.is_none()) return UINT64_MAX;
  double s = PyFloat_AsDouble(timeout.ptr());
  if (s == -1 && PyErr_Occurred()) throw nb::python_error();
  if (s != s) throw nb::value_error("timeout=nan: give a number of seconds, or None to wait without limit");
  if (s < 0 || s > 1e9) return UINT64_MAX;  // as in Ray, a negative one is none
  return now_ns() + uint64_t(s * 1e9);
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
  Owned error = value ? hooks.error(r->object->state.load(memory_order_acquire), std::move(value), reinterpret_cast<PyObject*>(r)) : Owned();
  if (error) set_error(error.get());
  throw nb::python_error();
}

constexpr uint64_t kPatienceNs = 2000000000;

bool failed(PyRef* r) { return is_done(r->object) && r->object->state.load(memory_order_acquire) != State::Value; }

// The one of `refs` that failed first in their order is raised; the others that have failed by now count as seen too, as in Ray.
[[noreturn]] void raise_one_of(const std::vector<PyRef*>& refs, PyRef* which) {
  for (PyRef* r : refs)
    if (failed(r)) mark_seen(r->object);
  raise_for(which);
}

// A get or wait ends the caller's segment of operations; its time is a span of the timeline.
class SegmentScope {
 public:
  explicit SegmentScope(SegmentEnd end) {
    if (!ctx) return;
    forget_arguments();
    if (PyThread_get_thread_ident() != ctx->main_thread) return;
    ended_ = true;
    if (ctx->recorder) ctx->recorder->end_segment(end);
    if (ctx->tracing) start_ = now_ns();
  }
  ~SegmentScope() {
    if (ended_ && epoch == epoch_ && ctx->recorder) ctx->recorder->waited();
    if (ended_ && epoch == epoch_) ctx->trace(start_, Span::Wait, ctx->running_actor);
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
  uint32_t later = ctx->recorder->segment() - 1 - r->segment;  // the wait that gets it has ended its segment
  note->taken |= 1u << (later < 31 ? later : 31);
  if (!note->result.empty()) return;
  Reading reading(r->object);
  auto* v = reinterpret_cast<ValueHeader*>(reading.value());
  if (!v) return PyErr_Clear();
  note->result = layout_of(value_stream(v), value_stream(v) + v->stream, 1);
  note->result_bytes = full_size(ctx->heap, r->object);
}

// Waits for the first `n` refs in list order: the first that failed is raised as soon as those before it have values, as the
// serial run would, without waiting for those after it. If one before it takes longer than kPatienceNs, the failure is raised
// all the same, as Ray does at once: that earlier call may never return. False: the time is up.
bool wait_in_order(std::vector<PyRef*>& refs, uint64_t deadline) {
  size_t n = refs.size();
  if (ctx->inline_mode)
    for (auto* r : refs)
      if (!is_done(r->object)) {
        PyErr_SetString(PyExc_RuntimeError, "waiting for a result that is being computed by the caller itself would never end");
        throw nb::python_error();
      }
  for (;;) {
    size_t pending = 0;
    while (pending < n && is_done(refs[pending]->object) && !failed(refs[pending])) ++pending;
    if (pending == refs.size()) return true;
    if (failed(refs[pending])) raise_one_of(refs, refs[pending]);  // the n-th did, and those before it have values

    PyRef* later = nullptr;
    for (size_t i = pending; i < n; ++i)
      if (failed(refs[i])) {
        later = refs[i];
        n = i;
      }
    uint64_t until = later && now_ns() + kPatienceNs < deadline ? now_ns() + kPatienceNs : deadline;
    int e = wait_objects(refs.data() + pending, Py_ssize_t(n - pending), Py_ssize_t(n - pending), true, until);
    if (e < 0) throw nb::python_error();
    if (e == ETIMEDOUT && later) raise_one_of(refs, later);
    if (e == ETIMEDOUT) return false;
  }
}

// get(refs, timeout) -> list of values, or None when the time was up.
nb::object get(nb::object list, nb::object timeout) {
  need_ctx();
  RefList r(list.ptr());
  SegmentScope segment(SegmentEnd::Get);
  uint64_t deadline = deadline_of(timeout);
  if (!wait_in_order(r.refs, deadline)) return nb::none();
  PyObject* out = PyList_New(Py_ssize_t(r.refs.size()));
  nb::object result = steal(out);
  for (size_t i = 0; i < r.refs.size(); ++i) {
    if (!ref_object(reinterpret_cast<PyObject*>(r.refs[i]))) throw nb::python_error();
    PyObject* v = decode_object(r.refs[i]->object);
    if (!v) throw nb::python_error();
    note_result(r.refs[i]);
    PyList_SET_ITEM(out, Py_ssize_t(i), v);
  }
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
  SegmentScope segment(SegmentEnd::Get);
  return translated([&]() -> PyObject* {
    if (!is_done(r->object) || failed(r)) {
      std::vector<PyRef*> refs{r};
      Py_INCREF(r);
      nb::object keep = nb::steal(reinterpret_cast<PyObject*>(r));
      if (!wait_in_order(refs, deadline_of(nb::borrow(args[1])))) return Py_NewRef(timed_out);
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
  SegmentScope segment(SegmentEnd::Wait);
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

// While the calling thread is in it, it is told when nothing else can move.
class Ordered {
 public:
  Ordered() : main_(PyThread_get_thread_ident() == ctx->main_thread) {
    if (main_) hold_back(true);
  }
  ~Ordered() {
    if (main_ && epoch == epoch_) hold_back(false);
  }

 private:
  bool main_;
  uint32_t epoch_ = epoch;
};

// wait(refs, k, timeout, site) -> (ready, rest, in order, ns), the lists in the order of `refs`: ready has the first k that are done
// when k of them are, or fewer when the time is up. With a site, (when it was first met, what it has cost so far) in ns, the first k of
// the list are waited for, for as long as its budget lasts or until nothing else can move: `in order` says whether these are given,
// `ns` how long others were done and these were not.
nb::object wait_some(nb::object list, Py_ssize_t k, nb::object timeout, std::optional<std::pair<uint64_t, uint64_t>> site) {
  need_ctx();
  RefList r(list.ptr());
  SegmentScope segment(SegmentEnd::Wait);
  if (has_duplicates(r.refs)) throw nb::value_error("Wait requires a list of unique ray_waitables.");
  auto n = Py_ssize_t(r.refs.size());
  auto done_of = [&](Py_ssize_t some) {
    Py_ssize_t done = 0;
    for (Py_ssize_t i = 0; i < some && done < k; ++i) done += is_done(r.refs[size_t(i)]->object);
    return done;
  };
  uint64_t deadline = deadline_of(timeout), blocked = 0;
  if (done_of(n) < k && (timeout.is_none() || deadline > now_ns())) {
    int e = wait_objects(r.refs.data(), n, k, false, deadline);
    if (e < 0) throw nb::python_error();
  }
  if (site && done_of(k) < k) {
    const uint64_t begun = now_ns(), left = budget_left(ctx->header, site->first, site->second, begun);
    int e = 0;
    if (left) {
      Ordered scope;
      e = wait_objects(r.refs.data(), k, k, false, left == kForeverNs ? kForeverNs : begun + left);
    }
    if (e == -1) throw nb::python_error();
    blocked = now_ns() - begun;
  }
  std::vector<bool> chosen(static_cast<size_t>(n));
  Py_ssize_t taken = 0;
  for (Py_ssize_t i = 0; i < n && taken < k; ++i)
    if (is_done(r.refs[size_t(i)]->object)) chosen[size_t(i)] = true, ++taken;
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

// wait_some(); a failure that it gives as ready counts as seen.
nb::object wait(nb::object list, Py_ssize_t k, nb::object timeout, std::optional<std::pair<uint64_t, uint64_t>> site) {
  nb::object found = wait_some(list, k, timeout, site);
  PyObject* ready = PyTuple_GET_ITEM(found.ptr(), 0);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ready); ++i) {
    auto* r = reinterpret_cast<PyRef*>(PyList_GET_ITEM(ready, i));
    if (failed(r)) mark_seen(r->object);
  }
  return found;
}

nb::object put(nb::object value) { return steal(put_value(value.ptr())); }
nb::object put_code(nb::object value) {
  PyObject* ref = put_value(value.ptr());
  if (!ref) throw nb::python_error();
  auto* r = reinterpret_cast<PyRef*>(ref);
  std::atomic_ref(r->object->kind).store(kCode, memory_order_release);
  r->exporter = true;
  return steal(ref);
}
nb::object put_recorded(nb::object value) { return steal(put_value(value.ptr(), true)); }

// A ref whose result someone else gives: (ref, offset). The giver calls reply(offset, value).
nb::object request() {
  need_ctx();
  Object* o = new_object(ctx->local, 2);
  nb::object ref = steal(new_ref(o, false));
  return nb::make_tuple(ref, ctx->heap->off(o));
}
void reply(uint64_t off, nb::object value, bool error) {
  auto* o = ctx->heap->at<Object>(off);
  if (is_done(o)) return drop_hold(ctx->local, o);
  Encoding e;
  if (!e->item(value.ptr()) || !encode_into(*e.encoder, o)) throw nb::python_error();
  complete(ctx->local, o, error ? State::Error : State::Value);
  drop_hold(ctx->local, o);
}

// cancel(ref) -> 0 it was done, 1 cancelled before it began, 2 it is running (the process is told by a signal).
int cancel_object(Object* o, bool children) {
  if (is_done(o)) return 0;
  State pending = State::Pending;
  if (o->state.compare_exchange_strong(pending, State::Cancelled, memory_order_acq_rel)) {
    complete(ctx->local, o, State::Cancelled);
    return 1;
  }
  if (pending != State::Running) return 0;
  uint16_t wanted = 0;
  if (!o->unwanted.compare_exchange_strong(wanted, 1) && wanted != 1) return 0;
  uint32_t runner = slot_of(o->runner.load(memory_order_seq_cst));
  if (runner != kNoProc && kind_of(o) == kMethodResult) {
    // Its process hears of it when its main thread is free, as that of an async or threaded actor is.
    Off off = ctx->local.alloc.alloc(sizeof(CancelNote));
    if (!off) throw NoRoom();
    Proc& p = ctx->heap->procs[runner];
    auto* n = ctx->heap->at<CancelNote>(off);
    n->uid = o->uid;
    n->children = children;
    Off head = p.cancels.load(memory_order_relaxed);
    do n->next = head;
    while (!p.cancels.compare_exchange_weak(head, off, memory_order_release, memory_order_relaxed));
    ring(ctx->heap, &p.bell);
  } else if (runner != kNoProc) {
    ctx->heap->procs[runner].cancel_children.store(children, memory_order_relaxed);
    ctx->heap->procs[runner].cancel.store(o->uid, memory_order_release);
  }
  return 2;
}
int cancel(nb::handle ref, bool children) {
  need_ctx();
  Object* o = ref_object(ref.ptr());
  if (!o) throw nb::python_error();
  return cancel_object(o, children);
}
// Cancels the tasks that the running, cancelled task has started; gives the slots of processes to be interrupted.
nb::list cancel_children() {
  nb::list slots;
  if (!ctx->proc->cancel_children.load()) return slots;
  for (auto [off, uid] : ctx->children) {
    auto* o = ctx->heap->at<Object>(off);
    if (o->uid != uid || o->holds.load() <= 0 || cancel_object(o, true) != 2) continue;
    uint32_t runner = slot_of(o->runner.load());
    if (runner != kNoProc) slots.append(runner);
  }
  return slots;
}
// What the running task or this actor holds: {name: amount in 1/10000}.
nb::dict held_resources() {
  nb::dict d;
  uint32_t held = ctx->proc->demand.load();
  if (!held) return d;
  const Demand& demand = ctx->header->demand[held - 1];
  for (int i = 0; i < demand.n; ++i) d[ctx->header->resource_name[demand.index[i]]] = demand.amount[i];
  return d;
}

nb::object actor(bool restarts, bool physical) {
  need_ctx();
  return steal(new_link(new_actor(ctx->local, restarts, physical), false));
}
// Anybody may come by a handle of the actor: it was given a name (`named`), or was pickled outside of any call.
void offer(nb::handle link, bool named) {
  need_ctx();
  if (!ctx->logical) return;
  give_handle(reinterpret_cast<PyLink*>(link.ptr())->object, true);
  if (named) ctx->header->names.store(1, memory_order_seq_cst);
}
// The actor at an offset. `take`: a hold of its own, else that of the message that it came by is handed over; `weak`: the link will
// not keep the actor alive, which something else does for now; the message's hold, without `take`, is given back.
nb::object link_at(uint64_t off, bool take, bool weak) {
  auto* o = ctx->heap->at<Object>(off);
  if (weak) {
    nb::object made = steal(new_link(o, true, true));
    if (!take) drop_hold(ctx->local, o);
    return made;
  }
  if (take) {
    int32_t holds = o->holds.load();
    do
      if (holds == 0) return nb::none();
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
nb::object bare_ref(nb::handle cls, uint64_t uid) {
  if (!PyType_Check(cls.ptr()) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls.ptr()), RefType)) throw nb::type_error("bare_ref takes a subclass of Ref");
  auto* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  PyObject* made = type->tp_alloc(type, 0);
  if (!made) throw nb::python_error();
  reinterpret_cast<PyRef*>(made)->uid = uid;  // all else is 0: an epoch that no run has
  return steal(made);
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

// An anonymous copy through the codec, as the other side would get it.
nb::object roundtrip(nb::object value) {
  nb::object ref = put(value);
  return steal(decode_object(reinterpret_cast<PyRef*>(ref.ptr())->object));
}

// Supervisor (and inline driver) only, as all that changes resources and demands. Returns the resource's index.
uint32_t register_resource(const std::string& name, int64_t total, bool lent) {
  Header* h = ctx->header;
  uint32_t n = h->resources.load(), at = n;
  if (name.size() >= sizeof h->resource_name[0]) throw nb::value_error("the name of a resource has 127 bytes at most");
  for (uint32_t i = n; i-- > 0;) {
    if (name == h->resource_name[i]) return i;
    if (!h->resource_name[i][0]) at = i;
  }
  if (at == kMaxResources) throw nb::value_error("too many kinds of resources");
  h->resource_total[at] = total;
  h->resource_free[at].store(total);
  h->resource_lent[at] = lent;
  snprintf(h->resource_name[at], sizeof h->resource_name[at], "%s", name.c_str());
  if (at == n) h->resources.store(n + 1, memory_order_release);
  return at;
}
// More of a resource (or less: a negative amount, which must be free).
void add_resource(uint32_t index, int64_t amount) {
  ctx->header->resource_total[index] += amount;
  ctx->header->resource_free[index].fetch_add(amount, memory_order_acq_rel);
}
// Every demand for it has been retired, and nobody holds any: its place can be used again.
void forget_resource(uint32_t index) {
  Header* h = ctx->header;
  h->resource_name[index][0] = 0;
  h->resource_total[index] = 0;
  h->resource_free[index].store(0);
}
nb::dict resources() {
  nb::dict d;
  Header* h = ctx->header;
  for (uint32_t i = 0; i < h->resources.load(memory_order_acquire); ++i)
    if (h->resource_name[i][0]) d[h->resource_name[i]] = nb::make_tuple(h->resource_total[i], h->resource_free[i].load());
  return d;
}
// Number of a new demand {resource index: amount}.
uint32_t demand(std::vector<std::tuple<int32_t, int64_t>> parts, uint32_t setting) {
  Header* h = ctx->header;
  if (parts.size() > size_t(kMaxKinds)) throw nb::value_error("a task can ask for 16 kinds of resources at most");
  uint32_t n = h->demands.load();
  if (n == kMaxDemands) throw nb::value_error("too many different resource demands");
  Demand& d = h->demand[n];
  d.n = int32_t(parts.size());
  d.setting = setting;
  if (setting > h->settings.load()) h->settings.store(setting);
  for (size_t i = 0; i < parts.size(); ++i) std::tie(d.index[i], d.amount[i]) = parts[i];
  h->demands.store(n + 1, memory_order_release);
  return n;
}

uint64_t inbox_at(uint64_t actor_off) {
  ActorBody body;
  memcpy(&body, ctx->heap->at<Object>(actor_off)->body, sizeof body);
  return body.inbox;
}

// Why an actor is about to die; the first reason counts.
void set_death_reason(uint64_t actor_off, nb::object reason) {
  auto* in = ctx->heap->at<Inbox>(inbox_at(actor_off));
  Object* r = ref_object(reason.ptr());
  if (!r) throw nb::python_error();
  Off none = 0;
  take_hold(r);
  if (!in->reason.compare_exchange_strong(none, ctx->heap->off(r), memory_order_acq_rel)) drop_hold(ctx->local, r);
}

// Marks an actor that has no process, or that its worker has let go, as dead.
void kill_inbox(uint64_t actor_off, nb::object reason) {
  auto* in = ctx->heap->at<Inbox>(inbox_at(actor_off));
  set_death_reason(actor_off, reason);
  in->state.store(InboxState::Dead, memory_order_seq_cst);
  std::atomic_thread_fence(memory_order_seq_cst);
  drain(ctx->heap->at<Object>(actor_off));
  forget_creation(in);
  if (ctx->inline_mode) {
    ActorBody body;
    memcpy(&body, ctx->heap->at<Object>(actor_off)->body, sizeof body);
    forget_instance(body.actor);
  }
}

PyMethodDef fast_methods[] = {{"get_one", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(get_one)), METH_FASTCALL,
                               "get_one(ref, timeout): the value; TIMED_OUT when the time was up"},
                              {"next_item", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(stream_next)), METH_FASTCALL,
                               "next_item(link, completion, timeout): (ref of the value, next link), None at the end, or TIMED_OUT"},
                              {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace reactor

NB_MODULE(_core, m) {
  using namespace reactor;
  m.doc() = "Shared memory, channels and calls between the processes of one run.";
  if (!make_types(m.ptr()) || PyModule_AddFunctions(m.ptr(), fast_methods) != 0) throw nb::python_error();
  add_line_counter(m);
  m.def("create", &create, nb::arg("capacity"), nb::arg("store_limit"), nb::arg("cores"), nb::arg("inline_mode"), nb::arg("spill") = -1,
        nb::arg("spill_note") = 0, nb::arg("ordering") = 0, nb::arg("patience") = std::pair(0.1, 0.1), nb::arg("digesting") = 0, nb::arg("keeping") = false);
  m.def("close", &close_context);
  m.def("detach", &leave_to_parent);
  m.def("attached", [] { return ctx != nullptr; });
  m.def("inside", [] { return Inside::own != 0; });
  m.def("epoch", [] { return epoch; });
  m.def("set_control", [](int fd) { ctx->heap->control = fd; });
  m.def("attach_supervisor", &attach_supervisor, nb::arg("fd"), nb::arg("control"), nb::arg("spill") = -1);
  m.def("attach_worker", &attach_worker, nb::arg("slot"), nb::arg("control"));
  m.def("set_hook", &set_hook, nb::arg("name"), nb::arg("function").none());
  m.def("set_ref_class", [](nb::handle c) {
    Py_INCREF(c.ptr());
    ref_class = reinterpret_cast<PyTypeObject*>(c.ptr());
  });
  m.def("get", &get, nb::arg("refs"), nb::arg("timeout").none());
  m.def("wait", &wait, nb::arg("refs"), nb::arg("count"), nb::arg("timeout").none(), nb::arg("site") = nb::none());
  m.def("put", &put, nb::arg("value").none());
  m.def("put_code", &put_code, nb::arg("value").none());
  m.def("put_recorded", &put_recorded, nb::arg("value").none());
  m.def("request", &request, nb::call_guard<Using>());
  m.def("reply", &reply, nb::arg("offset"), nb::arg("value").none(), nb::arg("error") = false, nb::call_guard<Using>());
  m.def("item_state", &item_state, nb::arg("link"), nb::arg("completion"), nb::call_guard<Using>());
  m.def("cancel", &cancel, nb::arg("ref"), nb::arg("children"), nb::call_guard<Using>());
  m.def("cancel_children", &cancel_children, nb::call_guard<Using>());
  m.def("held_resources", &held_resources, nb::call_guard<Using>());
  m.def("actor", &actor, nb::arg("restarts") = false, nb::arg("physical") = false, nb::call_guard<Using>());
  m.def("offer", &offer, nb::arg("link"), nb::arg("named") = false, nb::call_guard<Using>());
  m.def("take_retry", [] { return ctx && take_retry(ctx->running_message); });
  m.def("unwanted", [] { return ctx && ctx->running && ctx->heap->at<Object>(ctx->running)->unwanted.load() == 1; });
  m.def("wake_on_signal", &wake_on_signal, nb::arg("number"));
  m.def("leave_after_task", [] { if (ctx) ctx->leave_after = true; });
  m.def("link_at", &link_at, nb::arg("offset"), nb::arg("take"), nb::arg("weak") = false, nb::call_guard<Using>());
  m.def("ref_at", &ref_at, nb::arg("offset"), nb::call_guard<Using>());
  m.def("hold", [](uint64_t off) { take_hold(ctx->heap->at<Object>(off)); }, nb::arg("offset"), nb::call_guard<Using>());
  m.def("drop", [](uint64_t off) { drop_hold(ctx->local, ctx->heap->at<Object>(off)); }, nb::arg("offset"), nb::call_guard<Using>());
  m.def("export_ref", &export_ref, nb::arg("ref"), nb::call_guard<Using>());
  m.def("bare_ref", &bare_ref, nb::arg("cls"), nb::arg("uid"));
  m.def("set_titles", [](const std::string& idle, const std::string& prefix) { titles.set(idle, prefix); }, nb::arg("idle"), nb::arg("prefix"));
  m.def("mark_unflushed", [] { if (ctx) ctx->unflushed = true; });
  m.def("import_ref", &import_ref, nb::arg("index"));
  m.def("roundtrip", &roundtrip, nb::arg("value").none());
  m.def("serve", [](double idle) {
    int r = serve(idle);
    if (r < 0) throw nb::python_error();
    return r;
  }, nb::arg("idle_seconds"));
  m.def("running", [] { return ctx ? nb::make_tuple(ctx->running_uid, ctx->running_actor) : nb::make_tuple(0, 0); });
  m.def("slot", [] { return ctx ? int(ctx->slot) : -1; });
  m.def("register_resource", &register_resource, nb::arg("name"), nb::arg("total"), nb::arg("lent") = false, nb::call_guard<Using>());
  m.def("add_resource", [](uint32_t i, int64_t n) { add_resource(i, n); kick_queues(); }, nb::arg("index"), nb::arg("amount"), nb::call_guard<Using>());
  m.def("forget_resource", &forget_resource, nb::arg("index"), nb::call_guard<Using>());
  m.def("task_before", [](uint64_t uid) { return task_before(ctx->heap, uid); }, nb::arg("uid"), nb::call_guard<Using>());
  m.def("retire_demand", [](uint32_t d) { ctx->header->demand[d].retired.store(1); }, nb::arg("demand"), nb::call_guard<Using>());
  m.def("resources", &resources, nb::call_guard<Using>());
  m.def("demand", &demand, nb::arg("parts"), nb::arg("setting") = 0, nb::call_guard<Using>());
  m.def("take_resources", [](uint32_t d) {
    bool disturbed = false;
    bool taken = take_resources(ctx->header, d, &disturbed);
    if (disturbed) kick_queues();
    return taken;
  }, nb::arg("demand"));
  m.def("give_resources", [](uint32_t d) { give_resources(ctx->header, d); kick_queues(); }, nb::arg("demand"), nb::call_guard<Using>());
  m.def("set_actors_waiting", [](uint32_t n) { ctx->header->actors_waiting.store(n); }, nb::arg("count"));
  m.def("spawn_answered", [] { ctx->header->spawn_asked.store(0); kick_queues(); });
  m.def("new_proc", [](int kind, uint64_t inbox, uint32_t setting) {
    return int64_t(int32_t(new_proc(ctx->heap, ProcKind(kind), inbox, setting)));
  }, nb::arg("kind"), nb::arg("inbox"), nb::arg("setting") = 0);
  m.def("free_proc", [](uint32_t slot) { ctx->heap->procs[slot].state.store(ProcState::Free, memory_order_release); }, nb::arg("slot"));
  m.def("set_proc_demand", [](uint32_t slot, uint32_t demand) { ctx->heap->procs[slot].demand.store(demand + 1); }, nb::arg("slot"), nb::arg("demand"));
  m.def("inbox_at", &inbox_at, nb::arg("actor"), nb::call_guard<Using>());
  m.def("kill_inbox", &kill_inbox, nb::arg("actor"), nb::arg("reason"), nb::call_guard<Using>());
  m.def("reap", [](uint32_t slot, nb::handle reason, nb::handle unavailable, std::vector<std::tuple<uint64_t, nb::object, uint32_t>> hosted) {
    Object* r = ref_object(reason.ptr());
    Object* u = !r || unavailable.is_none() ? nullptr : ref_object(unavailable.ptr());
    if (!r || (!u && !unavailable.is_none())) throw nb::python_error();
    std::vector<DeadActor> dead;
    for (auto& [actor, why, place] : hosted) {
      dead.push_back({ctx->heap->at<Object>(actor), ref_object(why.ptr()), place});
      if (!dead.back().reason) throw nb::python_error();
    }
    return reap(slot, r, u, dead);
  }, nb::arg("slot"), nb::arg("reason"), nb::arg("unavailable").none(), nb::arg("hosted") = std::vector<std::tuple<uint64_t, nb::object, uint32_t>>());
  m.def("tell_host", [](uint32_t slot, uint64_t actor, uint32_t place, nb::handle facts) {
    Object* f = facts.is_none() ? nullptr : ref_object(facts.ptr());
    if (!f && !facts.is_none()) throw nb::python_error();
    tell_host(slot, ctx->heap->at<Object>(actor), place, f);
  }, nb::arg("slot"), nb::arg("actor"), nb::arg("place"), nb::arg("facts").none());
  m.def("set_death_reason", &set_death_reason, nb::arg("actor"), nb::arg("reason"));
  m.def("begin_packed", [] {  // for as long as the process lives
    need_ctx();
    ctx->host = new Host;
    ctx->states = new ActorStates(0);
  });
  m.attr("DRIVER") = ActorStates::kDriver;
  m.attr("TASKS") = ActorStates::kTasks;
  m.def("renew_state", [](uint32_t actor) { ctx->states->renew(actor); }, nb::arg("actor"), nb::call_guard<Using>());
  m.def("in_inline_call", [] {  // or in a thread that may have been started by one
    return ctx && ctx->inline_mode && (own_state() != ActorStates::kDriver || (!ctx->inline_calls.empty() && PyThread_get_thread_ident() != ctx->main_thread));
  });
  m.def("enter_state", [](uint32_t actor) { ctx->states->enter(actor); }, nb::arg("actor"), nb::call_guard<Using>());
  m.def("always_exchange", [](bool on) { ctx->states->always_call(on); }, nb::arg("on"), nb::call_guard<Using>());
  m.def("exchange_memory", [](std::vector<std::tuple<uint64_t, uint64_t>> places, nb::handle gauss_of) {
    for (auto [at, size] : places) ctx->states->add(reinterpret_cast<uint8_t*>(at), size);
    if (!gauss_of.is_none()) ctx->states->keep_gauss(gauss_of.ptr());
  }, nb::arg("places"), nb::arg("gauss_of").none());
  m.def("exchange_threads", [](uint64_t get, uint64_t set, int most) {
    ctx->states->add(reinterpret_cast<int (*)()>(get), reinterpret_cast<void (*)(int)>(set), most);
  }, nb::arg("get"), nb::arg("set"), nb::arg("most"));
  m.def("exchange_environment", [](nb::dict environ, nb::bytes name) { ctx->states->keep_variable(environ.ptr(), name.ptr()); },
        nb::arg("environ"), nb::arg("name"));
  m.def("exchange_variable", [](nb::dict module, nb::str name, nb::object make) {
    ctx->states->add(module.ptr(), name.ptr(), make.ptr());
  }, nb::arg("module"), nb::arg("name"), nb::arg("make"));
  m.def("beside", [](nb::object call, nb::object argument) {
    PyObject* r = beside(call.ptr(), argument.ptr());
    if (!r) throw nb::python_error();
    return steal(r);
  }, nb::arg("call"), nb::arg("argument").none());
  m.def("serve_packed", [] {
    int r = serve_packed();
    if (r < 0) throw nb::python_error();
    return r;
  });
  m.def("serve_beside", &serve_beside);
  m.def("watch_packed", &watch_packed);
  m.attr("MAX_HOSTED") = kMaxHosted;
  m.def("fail_tasks", [](nb::handle reason, int64_t demand, uint32_t setting) {
    Object* r = ref_object(reason.ptr());
    if (!r) throw nb::python_error();
    fail_tasks(r, demand, setting);
  }, nb::arg("reason"), nb::arg("demand") = -1, nb::arg("setting") = 0);
  m.def("drain", [](uint64_t actor) { drain(ctx->heap->at<Object>(actor)); }, nb::arg("actor"), nb::call_guard<Using>());
  m.def("free_actor", [](uint64_t actor) { return free_actor(ctx->heap->at<Object>(actor)); }, nb::arg("actor"), nb::call_guard<Using>());
  m.def("proc_info", &proc_info, nb::arg("slot"), nb::call_guard<Using>());
  m.def("set_recording", [](bool on) {
    need_ctx();
    delete ctx->recorder;
    ctx->recorder = on ? new Recorder(ctx->proc) : nullptr;
  }, nb::arg("on"));
  m.def("set_own_directory", [](const std::string& path) { reactor_own_directory(path.c_str()); }, nb::arg("path"));
  m.def("set_tracing", [](bool on) { need_ctx(); ctx->tracing = on; }, nb::arg("on"));
  m.def("recordings", &recordings, nb::arg("timeout"), nb::call_guard<Using>());
  m.def("counters", &counters, nb::call_guard<Using>());
  m.def("count_physical", [] { need_ctx(); ctx->proc->physical.fetch_add(1); });
  m.def("stats", &stats, nb::call_guard<Using>());
  m.def("memory_page", &memory_page, "bytes of the pages that values are aligned for");
  m.def("store_used", [] { need_ctx(); return ctx->header->store_used.load(); });
  m.def("set_streams_window", [](uint32_t window) {
    need_ctx();
    if (!ctx->inline_mode) ctx->streams_window = window;
  });
  m.def("workers_busy", [] {
    need_ctx();
    for (uint32_t i = 2; i < ctx->header->proc_high.load(); ++i) {
      Proc& p = ctx->heap->procs[i];
      ProcState state = p.state.load();
      if (state == ProcState::Starting || (state == ProcState::Live && p.awake.load())) return true;
    }
    for (Off off = ctx->header->queues.load(memory_order_acquire); off;) {
      auto* q = ctx->heap->at<TaskQueue>(off);
      if (has_task(ctx->heap, q)) return true;
      off = q->next.load(memory_order_acquire);
    }
    return false;
  });
  m.def("spilling", [] {
    need_ctx();
    Header* h = ctx->header;
    nb::dict d;
    d["away"] = h->away.load();
    d["spilled"] = h->spilled.load();
    d["values"] = h->spilled_values.load();
    d["seconds"] = 1e-9 * double(h->spilled_ns.load());
    return d;
  });
  m.def("large_values", [] { need_ctx(); return ctx->header->runs_used.load(); });
  timed_out = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  m.attr("HEADER_BYTES") = kHeaderPages * kPage;
  m.attr("TIMED_OUT") = nb::handle(timed_out);
  m.attr("STREAM") = kStreamResult;
  m.attr("DYNAMIC") = kDynamicResult;
  m.def("die_with_parent", [](int signal) { prctl(PR_SET_PDEATHSIG, signal); }, nb::arg("signal") = int(SIGKILL));
  m.def("adopt_orphans", [] { prctl(PR_SET_CHILD_SUBREAPER, 1); });
  m.def("send_message", [](int fd, nb::bytes data) {
    std::optional<Inside> inside;  // the run's memory stays until the end of this
    if (ctx) inside.emplace();
    return send_to_supervisor(fd, data.c_str(), data.size());
  });
  m.def("set_answering", [](bool is) { ctx->header->answering.store(is, memory_order_seq_cst); }, nb::call_guard<Using>());
  m.def("logical", [] { return ctx && ctx->logical; });
  m.def("set_ready", [] { ctx->proc->executed.store(1, memory_order_release); });
  m.def("supervisor_ready", [] { return ctx && ctx->heap->procs[1].executed.load(memory_order_acquire) != 0; });
  m.def("abort", [] {
    if (!ctx) return;
    ctx->aborted = true;
    ring(ctx->heap, &ctx->proc->bell);
    for (Off off : ctx->spare_bells) ring(ctx->heap, ctx->heap->at<Bell>(off));
  });
  m.def("aborted", [] { return ctx && ctx->aborted; });
  m.def("hold_if_held", [](uint64_t off) {
    auto* o = ctx->heap->at<Object>(off);
    int32_t n = o->holds.load();
    while (n > 0)
      if (o->holds.compare_exchange_weak(n, n + 1)) return true;
    return false;
  }, nb::arg("offset"));
  m.def("set_exit_reason", [](uint32_t r) { ctx->proc->exit_reason.store(ExitReason(r)); }, nb::arg("reason"));
  m.def("waits", &waits, nb::arg("from_") = -1, nb::call_guard<Using>());
  m.def("digest", &digest, nb::call_guard<Using>());
  m.def("running_tag", [] { return steal(ctx && ctx->level ? tag_tuple(ctx->here) : PyTuple_New(0)); });
  m.def("all_sleep", [] { return !ctx || ctx->inline_mode || (ctx->header->held.load() == 0 && all_sleep(ctx->heap, ctx->slot)); });
  m.def("loop_idle", [](bool idle) { if (ctx) ctx->proc->loop_idle.store(idle, memory_order_seq_cst); });
  m.def("method_name", [](uint32_t actor, uint32_t index) -> nb::object {
    auto it = ctx->actors.find(actor);
    if (it == ctx->actors.end() || Py_ssize_t(index) >= PyList_GET_SIZE(it->second.methods.get())) return nb::none();
    return nb::handle(PyList_GET_ITEM(it->second.methods.get(), index)).attr("__name__");
  });
  m.def("running_name", []() -> nb::object {
    if (!ctx || !ctx->running_callable) return nb::none();
    return nb::getattr(nb::handle(ctx->running_callable), "__name__", nb::none());
  });
  m.def("cancel_wanted", [] { return ctx && ctx->running_uid && ctx->proc->cancel.load() == ctx->running_uid; });
  m.def("pool_surplus", [] { return ctx->header->pool_idle.load() > ctx->header->resource_total[0] / kUnit; });
  m.def("futex_ping_pong", &futex_ping_pong, nb::arg("rounds"));
}
