// Facts about the call that runs here, and the cancellation of calls.
#include "bindings.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include "inbox/inbox_server.h"
#include "worker/inline.h"
#include "worker/turns.h"
#include "worker/results.h"
#include "worker/run.h"

namespace reactor {
namespace {

// Objects that cannot go while this one holds them.
class Held {
 public:
  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    for (size_t i = 0; i < objects_.size(); ++i) drop_noted(ctx->local, objects_[i], notes_[i]);
  }
  void add(Object* o) {
    objects_.reserve(objects_.size() + 1);
    notes_.reserve(notes_.size() + 1);
    notes_.push_back(take_noted(ctx->local, o));
    objects_.push_back(o);
  }
  const std::vector<Object*>& all() const { return objects_; }

 private:
  std::vector<Object*> objects_;
  std::vector<uint32_t> notes_;
};

// The first result of the call that `o` is a result of, or null: the call has ended. Nothing but its uid tells that it is still there, so who goes
// on with it takes a hold at once.
Object* first_of_call(Object* o) {
  if (!(kind_bits(o) & kJoined)) return o;
  auto* joined = static_cast<JoinedResult*>(o);
  auto* first = ctx->heap->at<Object>(joined->first);
  return std::atomic_ref(first->uid).load(memory_order_acquire) == joined->first_uid ? first : nullptr;
}

// Python tells its audit hooks before it starts a process. `callback` is a function without arguments; what it raises does not stop the process from being started.
int starts_child(const char* event, PyObject*, void* callback) {
  static constexpr std::string_view starts[] = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec"};
  if ((*event != 'o' && *event != 's') || std::ranges::find(starts, event) == std::end(starts)) return 0;
  nb::object done = steal(PyObject_CallNoArgs(static_cast<PyObject*>(callback)));
  if (!done.is_valid()) PyErr_Clear();
  return 0;
}

void before_children(nb::callable callback) {
  if (PySys_AddAuditHook(&starts_child, callback.release().ptr())) throw nb::python_error();
}

// The results of the call after its first one. It holds them itself as long as the first one is not done.
void hold_others(Object* first, Held& held) {
  if (!(kind_bits(first) & kJoined)) return;
  for (Off off = static_cast<JoinedResult*>(first)->next; off && !is_done(first);) {
    auto* o = ctx->heap->at<JoinedResult>(off);
    held.add(o);
    off = o->next;
  }
}

// A task that was cancelled lies in a queue until a worker takes it: its arguments need not stay as long. This process takes it and gives them
// back, if it is among the oldest or the newest tasks; else the worker does. A worker may take and free the task meanwhile, and the block
// be another's: so the task is believed only after the claim (tasks.h).
void drop_cancelled(const Object* first) {
  Heap* h = ctx->heap;
  const Off result = h->off(first);
  Local& l = ctx->local;
  uint64_t looks = 256;
  auto is_its = [&](Off task) {
    return (task & 1) == 0 && looks-- > 0 && std::atomic_ref(h->at<Message>(task)->result).load(memory_order_relaxed) == result;
  };
  auto take = [&](const TaskAt& found) {
    uint32_t note = kNoEntry;
    const Off task = claim(ctx->slot, found, [&](Off t) { note = l.hold_list.add(t, Entry::Trying); }, [&] { l.hold_list.clear(note); });
    if (!task) return;
    auto* m = h->at<Message>(task);
    if (m->result != result) {  // another one's, at the place of that which was seen
      queue_task(task);
      return l.hold_list.clear(note);
    }
    l.hold_list.set(note, task, Entry::Task);
    run_message(m, nullptr, note);
    release_detached({task, note});
  };
  for (Off off = h->header->queues.load(memory_order_acquire); off && looks;) {
    auto* q = h->at<TaskQueue>(off);
    off = q->next.load(memory_order_acquire);
    TaskRing* r = live_ring(h, q);
    while (Off next = r->next.load(memory_order_acquire)) {  // the newest ones lie in the last ring
      const TaskAt first_left = oldest(h, q);
      if (first_left.task && is_its(first_left.task)) return take(first_left);
      r = h->at<TaskRing>(next);
    }
    const uint64_t head = r->head.load(memory_order_acquire), tail = r->tail.load(memory_order_acquire);
    const uint64_t stop = std::min<uint64_t>(tail - std::min(head, tail), 1 << 16);
    for (uint64_t i = 0; i < stop && looks; ++i) {
      for (const uint64_t at : {head + i, tail - 1 - i}) {
        const Off task = r->at(at).load(memory_order_acquire);
        if (is_its(task)) return take({r, at, task});
        if (!looks) break;
      }
    }
  }
}

// `o`: the call's first result. Of a call that runs, the process is callback by a signal.
Cancelled cancel_object(Object* o, uint32_t children) {
  if (is_done(o)) return Cancelled::Done;
  Held others;
  if (o->state.load(memory_order_acquire) == State::Pending) hold_others(o, others);
  State pending = State::Pending;
  if (o->state.compare_exchange_strong(pending, State::Cancelled, memory_order_acq_rel)) {
    complete(ctx->local, o, State::Cancelled);
    for (Object* other : others.all()) complete(ctx->local, other, State::Cancelled);
    if (kind_of(o) == kValueObject && !ctx->journaling && !ctx->placement->at_once) drop_cancelled(o);
    return Cancelled::Unbegun;
  }
  Cancellation before = pending == State::Running ? Cancellation::None : Cancellation::Yielding;
  while (!o->cancellation.compare_exchange_strong(before, Cancellation::Running)) {
    if (pending != State::Running || before == Cancellation::StreamOver) return Cancelled::Done;
    if (before == Cancellation::Running) break;
  }
  uint32_t runner = slot_of(o->runner.load(memory_order_seq_cst));
  if (runner != kNoProc && kind_of(o) == kMethodResult) {
    // Its process hears of it when its main thread is free, as that of an async or threaded actor is.
    Off off = ctx->local.alloc.alloc_record(sizeof(CancelNote));
    Proc& p = ctx->heap->procs[runner];
    auto* n = ctx->heap->at<CancelNote>(off);
    n->uid = o->uid;
    n->children = children != 0;
    Off head = p.cancels.load(memory_order_relaxed);
    do n->next = head;
    while (!p.cancels.compare_exchange_weak(head, off, memory_order_release, memory_order_relaxed));
    ring(ctx->heap, &p.bell);
  } else if (runner != kNoProc) {
    ctx->heap->procs[runner].cancel_children.store(children, memory_order_relaxed);
    ctx->heap->procs[runner].cancel.store(o->uid, memory_order_release);
  }
  return Cancelled::Running;
}

// Cancels the call of which the ref is a result; `children`: 1, what it has called, too, 2: and then its process ends itself. Gives (what became of it, the slot of the process that runs it or -1).
nb::tuple cancel(nb::handle ref, uint32_t children) {
  need_ctx();
  Object* o = ref_object(ref.ptr());
  if (!o) throw nb::python_error();
  Object* first = first_of_call(o);
  if (!first) return nb::make_tuple(int(Cancelled::Done), -1);
  Held held;
  held.add(first);
  const Cancelled outcome = cancel_object(first, children);
  const uint32_t runner = slot_of(first->runner.load());
  return nb::make_tuple(int(outcome), runner == kNoProc ? -1 : int(runner));
}

// The uid of the first result of the call of which the ref is a result.
uint64_t uid_of_call(nb::handle ref) {
  Object* o = ref_object(ref.ptr());
  if (!o) throw nb::python_error();
  return kind_bits(o) & kJoined ? static_cast<JoinedResult*>(o)->first_uid : o->uid;
}

// Whether it has not begun because of the order alone: its actor is free, and holds it back. In serial order it had been done at once.
bool is_held_back(const Started::Call& call) {
  if (!call.inbox || ctx->heap->at<Object>(call.result)->state.load(memory_order_acquire) != State::Pending) return false;
  const uint32_t proc = ctx->heap->at<Inbox>(call.inbox)->proc.load(memory_order_relaxed);
  return proc < ctx->header->proc_high.load(memory_order_relaxed) && ctx->heap->procs[proc].held.load(memory_order_seq_cst);
}

// `how`: as in cancel(). The processes that are to be interrupted: (slot, uid of the task with which it is to end, or 0).
nb::list cancel_all(const std::vector<Started::Call>& calls, uint32_t how) {
  nb::list processes;
  for (const Started::Call& call : calls) {
    auto* o = ctx->heap->at<Object>(call.result);
    if (!Started::under_way(ctx->heap, call) || is_held_back(call) || cancel_object(o, call.inbox ? 1 : how) != Cancelled::Running)
      continue;
    const uint32_t runner = slot_of(o->runner.load());
    if (runner != kNoProc) processes.append(nb::make_tuple(runner, how == 2 && !call.inbox ? call.uid : 0));
  }
  return processes;
}

// The process learns that the call with this result was cancelled: what that has called and is not done. `children`: its list, null if the call has ended.
std::vector<Started::Call> hear(uint64_t uid, Started* children) {
  if (!children) return ctx->unheard.take(uid);
  children->hear();
  return children->under_way(ctx->heap);
}

// Cancels the calls that the cancelled task has made.
nb::list cancel_children() {
  const uint64_t uid = ctx ? ctx->proc->cancel.load() : 0;
  if (!uid) return nb::list();
  const std::vector<Started::Call> calls = hear(uid, ctx->call->uid == uid ? &ctx->children : nullptr);
  const uint32_t how = ctx->proc->cancel_children.load();
  return how ? cancel_all(calls, how) : nb::list();
}

// What a call of an actor has called and is not done, for cancel_calls. `uid`: of its result; `completion`: of a call that was handed on and has not ended.
nb::list calls_of(uint64_t uid, nb::handle completion) {
  need_ctx();
  auto* c = completion.is_none() ? nullptr : reinterpret_cast<PyCompletion*>(completion.ptr());
  nb::list calls;
  for (const Started::Call& one : hear(uid, !c ? children_of(uid) : c->results->empty() ? nullptr : c->children))
    calls.append(nb::make_tuple(one.result, one.uid, one.inbox));
  return calls;
}

nb::list cancel_calls(const std::vector<std::tuple<Off, uint64_t, Off>>& calls) {
  need_ctx();
  std::vector<Started::Call> all;
  all.reserve(calls.size());
  for (auto [result, uid, inbox] : calls) all.push_back({result, uid, inbox});
  return cancel_all(all, 1);
}

// `variable`: a ContextVar whose value, in the threads and coroutines of calls that were handed on, has the call's completion as `completion`.
void set_handed_on(nb::handle variable) {
  need_ctx();
  ctx->handed_on = Py_NewRef(variable.ptr());
}

nb::object method_name(uint32_t actor, uint32_t index) {
  const ActorEntry* entry = ctx->actors.find(actor);
  if (!entry || Py_ssize_t(index) >= PyList_GET_SIZE(entry->methods.get())) return nb::none();
  return nb::handle(PyList_GET_ITEM(entry->methods.get(), index)).attr("__name__");
}

}  // namespace

void bind_running_call(nb::module_& m) {
  m.def("cancel", &cancel, nb::arg("ref"), nb::arg("children"), nb::call_guard<Using>());
  m.def("uid_of_call", &uid_of_call, nb::arg("ref"), nb::call_guard<Using>());
  m.def("limit_streams", &limit_streams, nb::arg("most"), nb::arg("by"));
  m.def("cancel_children", &cancel_children);
  m.def("calls_of", &calls_of, nb::arg("uid"), nb::arg("completion").none(), nb::call_guard<Using>());
  m.def("cancel_calls", &cancel_calls, nb::arg("calls"), nb::call_guard<Using>());
  m.def("pass_on_cancels", [] {
    if (ctx) pass_on_cancels();  // not in a child that the program has forked
  });
  m.def("set_handed_on", &set_handed_on, nb::arg("variable"));
  m.def("cancel_wanted", [] { return ctx && ctx->call->uid && ctx->proc->cancel.load() == ctx->call->uid; });
  m.def("end_wanted",
        [] { return ctx && ctx->call->uid && ctx->proc->cancel.load() == ctx->call->uid && ctx->proc->cancel_children.load() == 2; });
  m.def(
      "run_later",  // false: this is no task that can be put off
      [](bool generator) {
        const bool can = ctx && ctx->call->message && ctx->proc->kind == ProcKind::Pool && hooks.put_off &&
                         (!generator || ctx->call->streaming) &&  // else some of its results may be stored
                         !ctx->journaling && !hooks.task_random;     // a run that is repeated has each call once
        return can && (ctx->run_later = true);
      },
      nb::arg("generator"));
  m.def("take_retry", [] { return ctx ? take_retry(ctx->call->message) : 0; });
  m.def("is_cancelled",
        [] { return ctx && ctx->call->n && ctx->heap->at<Object>(ctx->call->results[0])->cancellation.load() == Cancellation::Running; });
  m.def("leave_after_task", [] {  // by any thread: the main thread may be asleep
    if (!ctx) return;
    std::atomic_ref(ctx->leave_after).store(true);
    ring(ctx->heap, &ctx->proc->bell);
  });
  m.def("depart", [] {
    if (ctx) ctx->departing = ctx->call->actor;
  });
  m.def("mark_unflushed", [] {
    if (ctx) ctx->unflushed = true;
  });
  m.def("receiving_actor", [] { return ctx ? ctx->receiving_actor : 0; });  // whose message is read, or run; 0: a task's
  m.def("running_uid", [] { return ctx ? ctx->call->uid : 0; });      // of the call that runs; 0: none does
  // See Ref.tag_hash; 0: none runs.
  m.def("running_tag_hash",
        []() -> uint64_t { return ctx && ctx->call->uid ? ctx->heap->at<Object>(ctx->call->results[0])->tag_hash : 0; });
  m.def("running_actor", [] { return ctx ? ctx->call->actor : 0; });  // whose call it is; 0: it is a task, or none runs
  // Whether the running call runs in the calling thread, which the program's own code may have started.
  m.def("runs_here", [] { return ctx && ctx->placement->runs_in_thread(); });
  m.def("actor_of_thread", [] { return ctx ? ctx->placement->actor_of_thread() : 0; });
  m.def("running_tag", [] { return steal(ctx && ctx->level ? tag_tuple(ctx->here) : PyTuple_New(0)); });
  m.def("calls_made", [] { return ctx ? ctx->issued : 0; });
  m.def("running_name", []() -> nb::object {
    if (!ctx || !ctx->call->callable) return nb::none();
    return nb::getattr(nb::handle(ctx->call->callable), "__name__", nb::none());
  });
  m.def("before_children", &before_children);
  m.def("running_callable", []() -> nb::object {  // None, too, while an actor is constructed
    return ctx && ctx->call->callable ? nb::borrow(nb::handle(ctx->call->callable)) : nb::none();
  });
  m.def("outermost_call", []() -> nb::object {
    uint64_t number = 0;
    const RunningCall* call = ctx ? ctx->placement->outermost(number) : nullptr;
    if (!call) return nb::none();
    return nb::make_tuple(number, call->actor, call->callable ? nb::borrow(nb::handle(call->callable)) : nb::none());
  });
  m.def("method_name", &method_name);
  m.def("in_inline_call", [] { return ctx && ctx->placement->in_nested_call(); });
}

}  // namespace reactor
