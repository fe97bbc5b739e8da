// The caller's side: making calls, waiting, reading results.
#include "refs.h"
#include "calls.h"
#include "recorder.h"
#include "site.h"
#include <sys/socket.h>

namespace reactor {

Context* ctx = nullptr;
uint32_t epoch = 0;
Hooks hooks;

namespace {

constexpr uint64_t kInlineArgs = 8192;  // arguments up to this size travel in the channel itself

// (args, kwargs) as Python objects, for the slow path of argument checks.
bool check_arguments(const CallSpec& s, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  bool plain = !kwnames || PyTuple_GET_SIZE(kwnames) == 0;
  if (!s.check || (plain && n >= s.min_args && (s.max_args < 0 || n <= s.max_args))) return true;
  PyObject* a = PyTuple_New(n);
  PyObject* kw = PyDict_New();
  if (!a || !kw) return false;
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(a, i, Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; !plain && i < PyTuple_GET_SIZE(kwnames); ++i) PyDict_SetItem(kw, PyTuple_GET_ITEM(kwnames, i), args[n + i]);
  PyObject* r = PyObject_CallFunctionObjArgs(s.check, a, kw, nullptr);
  Py_DECREF(a);
  Py_DECREF(kw);
  Py_XDECREF(r);
  return r != nullptr;
}

// One call's encoded arguments and result objects, ready to be laid into a record.
struct Outgoing {
  uint32_t recorded = 0;  // the operation's node in the recorder's trie
  bool replayed = false;
  Encoding encoding;
  std::vector<Object*> results;
  Object* args_object = nullptr;
  uint64_t value_size = 0;
  uint32_t args = 0, kwargs = 0;

  bool encode(PyObject* const* a, Py_ssize_t n, PyObject* kwnames) {
    args = uint32_t(n);
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!encoding->argument(a[i])) return false;
    kwargs = kwnames ? uint32_t(PyTuple_GET_SIZE(kwnames)) : 0;
    for (uint32_t i = 0; i < kwargs; ++i)
      if (!encoding->name(PyTuple_GET_ITEM(kwnames, i)) || !encoding->argument(a[n + i])) return false;
    value_size = encoding->size();
    ctx->proc->count_bytes(value_size, encoding->pickled_bytes());
    if (value_size > kInlineArgs) {
      args_object = new_object(ctx->local, 1);
      uint32_t mine = epoch;
      if (!encode_into(*encoding.encoder, args_object)) {
        if (epoch == mine) ctx->local.alloc.free(ctx->heap->off(args_object));
        args_object = nullptr;
        return false;
      }
      complete(ctx->local, args_object, State::Value);
      value_size = 0;
    }
    return true;
  }
  void make_results(int32_t n, uint32_t kind) {
    uint32_t count = n < 1 ? 1 : uint32_t(n);
    for (uint32_t i = 0; i < count; ++i) results.push_back(new_object(ctx->local, n < 1 ? 1 : 2, kind));
  }
  uint64_t head_size() const { return sizeof(Message) + 8 * (results.size() - 1); }
  uint64_t record_size() const { return align_up(head_size() + value_size, 8); }
  void fill(Message* m, MessageKind kind) {
    m->size = uint32_t(record_size());
    m->kind = kind;
    m->flags = replayed ? kReplayed : 0;
    m->method = 0;
    m->stamp = stamp();
    m->actor = 0;
    m->results = uint32_t(results.size());
    m->result = ctx->heap->off(results[0]);
    m->args = args;
    m->kwargs = kwargs;
    m->args_object = args_object ? ctx->heap->off(args_object) : 0;
    m->function = 0;
    m->demand = 0;
    m->retries = 0;
    for (size_t i = 1; i < results.size(); ++i) m->more_results()[i - 1] = ctx->heap->off(results[i]);
    if (value_size) encoding->write(m->value());
  }
  // The refs that the caller gets: one, a list, or None.
  PyObject* ref(size_t i) {
    PyObject* made = new_ref(results[i], false);
    if (made && recorded) {
      auto* r = reinterpret_cast<PyRef*>(made);
      r->segment = ctx->recorder->segment();
      r->op = ctx->recorder->depth();
      r->recorded = recorded;
    }
    return made;
  }
  PyObject* refs(int32_t n) {
    if (n == 1) return ref(0);
    if (n < 1) Py_RETURN_NONE;
    PyObject* list = PyList_New(n);
    for (int32_t i = 0; list && i < n; ++i) PyList_SET_ITEM(list, i, ref(size_t(i)));
    return list;
  }
};

// Looks an operation up in the recording, or adds it. Only the process's main thread is recorded: others have no serial order.
void record_operation(Outgoing& out, OpKind kind, uint64_t target, uint32_t method, PyObject* name, uint64_t actor, int32_t results,
                      PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  Recorder* rec = ctx->recorder;
  ++ctx->operations;
  Proc* p = ctx->proc;
  p->calls.store(ctx->operations, memory_order_relaxed);
  if (!rec || !rec->awake() || PyThread_get_thread_ident() != ctx->main_thread) return;
  Py_ssize_t all = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  OpKey key{target, method << 2 | uint32_t(kind), uint32_t(all << 8 | results), nullptr, 0, 0};
  for (Py_ssize_t i = 0; i < all; ++i) {
    if (!is_ref(args[i])) continue;
    auto* r = reinterpret_cast<PyRef*>(args[i]);
    uint32_t back = r->segment ? rec->segment() - r->segment : UINT32_MAX;
    key.shape = (key.shape * 31 + uint32_t(i)) * 31 + (back > 3 ? UINT32_MAX : back * 65537 + r->op);
  }
  if (kwnames && PyTuple_GET_SIZE(kwnames)) key.names = uint32_t(PyObject_Hash(kwnames));
  reactor_call_site(&key.code, &key.instruction);
  out.recorded = rec->follow(key);
  out.replayed = out.recorded != 0;
  p->replayed.store(rec->matched(), memory_order_relaxed);
  if (out.replayed) return;
  OpNote note{name, actor, uint32_t(all), uint32_t(results < 0 ? 0 : results), out.value_size, out.encoding->layout(uint32_t(nargs)), {}, 0, {}};
  for (Py_ssize_t i = 0; i < all; ++i)
    if (is_ref(args[i])) {
      auto* r = reinterpret_cast<PyRef*>(args[i]);
      note.sources.push_back({uint32_t(i), r->segment ? rec->segment() - r->segment : UINT32_MAX, r->op});
    }
  out.recorded = rec->record(key, std::move(note));
}

void die_at_once(Outgoing& out, Inbox* inbox) {
  Off reason = inbox->reason.load(memory_order_acquire);
  if (out.args_object) drop_hold(ctx->local, out.args_object);
  for (Object* o : out.results) {
    complete_died(ctx->local, o, reason);
    drop_hold(ctx->local, o);
  }
}

bool open_channel(PyLink* link) {
  Off inbox = ctx->heap->off(link->inbox);
  auto it = ctx->outlets.find(inbox);
  if (it == ctx->outlets.end()) {
    Off off = new_channel(ctx->heap, ctx->local.alloc, ctx->slot);
    if (!off) {
      PyErr_SetString(PyExc_MemoryError, "reactor: no room for a channel in the shared heap");
      return false;
    }
    auto* c = ctx->heap->at<Channel>(off);
    uint32_t note = ctx->local.journal.add(off, Entry::Channel);
    it = ctx->outlets.emplace(inbox, Outlet{Sender(ctx->heap, &ctx->local.alloc, c), note}).first;
    Off head = link->inbox->channels.load(memory_order_relaxed);
    do c->next = head;
    while (!link->inbox->channels.compare_exchange_weak(head, off, memory_order_release, memory_order_relaxed));
  }
  link->outlet = &it->second;
  ++link->outlet->links;
  return true;
}

// In inline placement the call happens here.
void run_here(Outgoing& out, MessageKind kind, uint32_t actor, uint32_t index, Off function) {
  std::vector<uint64_t> record(out.record_size() / 8);
  auto* m = reinterpret_cast<Message*>(record.data());
  out.fill(m, kind);
  m->actor = actor;
  m->method = uint16_t(index);
  m->function = function;
  run_message(m, nullptr);
  release_message(ctx->local, m);
}

}  // namespace

PyObject* stale_error(const char* what) {
  if (!ctx)
    PyErr_Format(PyExc_RuntimeError, "this %s cannot be used: the runtime it belongs to has been shut down and none is running", what);
  else
    PyErr_Format(PyExc_ValueError, "this %s belongs to an earlier init() that has been shut down; its value is gone. Make it again after the new init()", what);
  return nullptr;
}

void set_aborted_error() {
  PyErr_SetString(PyExc_RuntimeError,
                  "the runtime's processes are gone: the zygote was killed, and its workers with it. Call shutdown() and init() to go on");
}

void send_control(Control op, Off off) {
  if (!ctx || ctx->control < 0) return;
  uint8_t data[9];
  data[0] = uint8_t(op);
  memcpy(data + 1, &off, sizeof off);
  int fd = ctx->control;
  if (send(fd, data, sizeof data, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 || errno != EAGAIN) return;
  Py_BEGIN_ALLOW_THREADS  // the supervisor is busy and its socket full
  send(fd, data, sizeof data, MSG_NOSIGNAL);
  Py_END_ALLOW_THREADS
}

PyObject* call_method(PyLink* link, const CallSpec& spec, MessageKind kind, uint32_t index, PyObject* const* args, Py_ssize_t nargs,
                      PyObject* kwnames) {
  if (!ctx || link->epoch != epoch) return stale_error("actor handle");
  if (ctx->aborted) return set_aborted_error(), nullptr;
  if (!check_arguments(spec, args, nargs, kwnames)) return nullptr;
  Outgoing out;
  if (!out.encode(args, nargs, kwnames)) return nullptr;
  out.make_results(spec.results, kMethodResult);
  record_operation(out, kind == MessageKind::Create ? OpKind::Create : OpKind::Call, link->uid, index, spec.name, link->actor, spec.results,
                   args, nargs, kwnames);
  PyObject* refs = out.refs(spec.results);
  if (!refs) return nullptr;
  Inbox* inbox = link->inbox;
  if (inbox->state.load(memory_order_acquire) == InboxState::Dead) {
    die_at_once(out, inbox);
    return refs;
  }
  if (ctx->inline_mode) {
    if (kind == MessageKind::Create) ctx->inboxes[link->actor] = ctx->heap->off(inbox);
    run_here(out, kind, link->actor, index, 0);
    return refs;
  }
  if (!link->outlet && !open_channel(link)) return nullptr;
  uint64_t size = out.record_size();
  Message* m = link->outlet->sender.reserve(size);
  if (!m) {
    PyErr_SetString(PyExc_MemoryError, "reactor: no room for a message in the shared heap");
    return nullptr;
  }
  out.fill(m, kind);
  m->actor = link->actor;
  m->method = uint16_t(index);
  link->outlet->sender.commit(size);
  std::atomic_thread_fence(memory_order_seq_cst);
  uint32_t p = inbox->proc.load(memory_order_relaxed);
  if (p != kNoProc && ring(&ctx->heap->procs[p].bell)) ctx->proc->wakes.fetch_add(1, memory_order_relaxed);
  if (inbox->state.load(memory_order_relaxed) == InboxState::Dead) send_control(Control::Drain, ctx->heap->off(link->object));
  return refs;
}

void close_link(PyLink* l) {
  Outlet* outlet = l->outlet;
  l->outlet = nullptr;
  if (!outlet || --outlet->links > 0) return;
  // In this order: killed in between, the channel stays; the other way round the supervisor would close a channel that the
  // receiver may have freed already.
  ctx->local.journal.clear(outlet->note);
  outlet->sender.close();
  ctx->outlets.erase(ctx->heap->off(l->inbox));
  uint32_t p = l->inbox->proc.load(memory_order_relaxed);
  if (p != kNoProc) ring(&ctx->heap->procs[p].bell);
}

// ---- tasks

namespace {

TaskQueue* queue_for(uint32_t demand) {
  auto& q = ctx->queues[demand];
  if (q) return q;
  Heap* h = ctx->heap;
  for (Off off = ctx->header->queues.load(memory_order_acquire); off;) {  // adopt one whose process is gone
    auto* old = h->at<TaskQueue>(off);
    uint32_t nobody = kNoProc;
    if (old->demand == demand && std::atomic_ref(old->producer).compare_exchange_strong(nobody, ctx->slot)) return q = old;
    off = old->next.load(memory_order_acquire);
  }
  return q = new_queue(ctx->local, demand);
}

}  // namespace

// Called by whoever completed the last missing argument (or by the submitter when none is missing).
void task_ready(Local& l, Off task) {
  auto* m = l.heap->at<Message>(task);
  if (std::atomic_ref(m->actor).fetch_sub(1, memory_order_acq_rel) != 1) return;
  enqueue(l, queue_for(m->demand), task);
  kick_pool(m->demand);
}

// A task was queued or resources came free: wakes an idle task worker, or asks for one more where it could run.
void kick_pool(uint32_t demand) {
  Header* hdr = ctx->header;
  std::atomic_thread_fence(memory_order_seq_cst);
  if (hdr->pool_idle.load(memory_order_relaxed) > 0) {
    uint32_t high = hdr->pool_high.load(memory_order_acquire);
    for (uint32_t i = 0; i < high; ++i) {
      uint32_t p = hdr->pool[i].load(memory_order_relaxed);
      // One that sleeps but is not idle waits for a result inside a task: it would not look at the queues.
      if (p && ctx->heap->procs[p - 1].idle.load(memory_order_relaxed) && ring(&ctx->heap->procs[p - 1].bell)) {
        ctx->proc->wakes.fetch_add(1, memory_order_relaxed);
        return;
      }
    }
    if (hdr->pool_idle.load(memory_order_relaxed) > 0) return;
  }
  uint32_t none = 0;
  if (can_take(hdr, demand) && hdr->spawn_asked.compare_exchange_strong(none, 1)) send_control(Control::Spawn, 0);
}

PyObject* call_function(PyFunction* f, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  if (!ctx || f->function->epoch != epoch) return stale_error("remote function");
  if (ctx->aborted) return set_aborted_error(), nullptr;
  if (!check_arguments(f->spec, args, nargs, kwnames)) return nullptr;
  Outgoing out;
  if (!out.encode(args, nargs, kwnames)) return nullptr;
  out.make_results(f->spec.results, kValueObject);
  if (ctx->running_uid && ctx->serving) ctx->children.emplace_back(ctx->heap->off(out.results[0]), out.results[0]->uid);
  record_operation(out, OpKind::Task, f->function->uid, 0, f->spec.name, 0, f->spec.results, args, nargs, kwnames);
  PyObject* refs = out.refs(f->spec.results);
  if (!refs) return nullptr;
  if (ctx->inline_mode) {
    take_hold(f->function->object);
    uint32_t outer = ctx->proc->demand.exchange(f->demand + 1);
    run_here(out, MessageKind::Task, 0, 0, ctx->heap->off(f->function->object));
    ctx->proc->demand.store(outer);
    return refs;
  }
  Off task = ctx->local.alloc.alloc(out.record_size());
  if (!task) return PyErr_NoMemory();
  auto* m = ctx->heap->at<Message>(task);
  out.fill(m, MessageKind::Task);
  ctx->local.alloc.publish(task, kPlain);
  take_hold(f->function->object);
  m->function = ctx->heap->off(f->function->object);
  m->demand = f->demand;
  m->retries = f->retries;
  m->actor = 1;  // arguments that are missing, and this submission
  auto* v = message_value(ctx->heap, m);
  Off* deps = value_refs(v);
  for (uint32_t i = 0; i < v->deps; ++i) {
    auto* o = ctx->heap->at<Object>(deps[i]);
    if (is_done(o)) continue;
    WaitNode* n = new_node(ctx->local, NodeKind::Task, task);
    n->life.store(Life::Orphan, memory_order_relaxed);
    std::atomic_ref(m->actor).fetch_add(1, memory_order_relaxed);
    if (!link(ctx->local, o, n)) {
      std::atomic_ref(m->actor).fetch_sub(1, memory_order_relaxed);
      ctx->local.alloc.free(ctx->heap->off(n));
    }
  }
  task_ready(ctx->local, task);
  return refs;
}

}  // namespace reactor
