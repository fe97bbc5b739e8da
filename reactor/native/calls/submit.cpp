// The caller's side of tasks: queues, and the workers that are wanted for them.
#include "worker/inline.h"

namespace reactor {

namespace {

TaskQueue* queue_for(uint32_t demand) {
  auto& q = ctx->queues[demand];
  if (q) return q;
  ctx->proc->submits.store(1, memory_order_release);  // before a task can be seen (orphans.h)
  Heap* h = ctx->heap;
  for (Off off = ctx->header->queues.load(memory_order_acquire); off;) {  // adopt one whose process is gone
    auto* old = h->at<TaskQueue>(off);
    uint32_t nobody = kNoProc;
    if (old->demand == demand && std::atomic_ref(old->producer).compare_exchange_strong(nobody, ctx->slot)) return q = old;
    off = old->next.load(memory_order_acquire);
  }
  return q = new_queue(ctx->local, demand);
}

// One node for each argument of a task that is not there yet, made before anybody can see the task: what is seen must not fail half-way.
class Nodes {
 public:
  Nodes(Off task, const std::vector<Off>& arguments) {
    for (Off off : arguments) {
      auto* o = ctx->heap->at<Object>(off);
      if (is_done(o)) continue;
      missing_.emplace_back(o, nullptr);
      missing_.back().second = new_node(ctx->local, NodeKind::Task, task);
      missing_.back().second->life.store(Life::Orphan, memory_order_relaxed);
    }
  }
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;
  ~Nodes() {
    for (auto [o, node] : missing_)
      if (node) ctx->local.alloc.free(ctx->heap->off(node));
  }
  size_t size() const { return missing_.size(); }
  void link_to(Message* m) {
    for (auto& [o, node] : missing_) {
      std::atomic_ref(m->missing).fetch_add(1, memory_order_relaxed);  // before who completes it can count it down
      if (link(ctx->local, o, node)) node = nullptr;
      else std::atomic_ref(m->missing).fetch_sub(1, memory_order_relaxed);
    }
  }

 private:
  std::vector<std::pair<Object*, WaitNode*>> missing_;
};

}  // namespace

// Called by whoever completed the last missing argument (or by the submitter when none is missing).
void task_ready(Local& l, Off task) {
  if (count_down(l.heap, l.slot, task)) queue_task(task);
}

void queue_task(Off task) {
  const uint32_t demand = ctx->heap->at<Message>(task)->demand;  // once it is queued, it may be run and freed
  enqueue(ctx->local, queue_for(demand), task);
  kick_pool(demand);
}

// A task was queued or resources came free: wakes an idle task worker, or asks for one more where it could run.
//
// Header::spawn_asked, so that one is asked for at a time:
//
//   0                                    nobody has asked
//   0 -> slot + 1          [CAS]         this process asks: it sends the message next
//   slot + 1 -> 2          supervisor    it has the message and starts a worker (2: slot 1, its own)
//   anything -> 0          the worker that has started; the supervisor, when none comes; who asked, if the message cannot be sent
//
// The supervisor reads all messages of a dead process before it settles its death (Supervisor._reap_children). So a word that names a dead process then means
// that its message was never sent: reap() clears the word and looks at the queues itself.
void kick_pool(uint32_t demand) {
  Header* hdr = ctx->header;
  const uint32_t setting = hdr->demand[demand].setting;
  bool awake = false;  // an idle one of the right kind has not gone to sleep yet: it will look once more
  std::atomic_thread_fence(memory_order_seq_cst);
  if (hdr->demand[demand].retired.load(memory_order_relaxed)) {
    send_control(Control::Refuse, demand);
    return;
  }
  if (hdr->pool_idle.load(memory_order_relaxed) > 0) {
    uint32_t high = hdr->pool_high.load(memory_order_acquire);
    for (uint32_t i = 0; i < high; ++i) {
      uint32_t p = hdr->pool[i].load(memory_order_relaxed);
      // One that sleeps but is not idle waits for a result inside a task: it would not look at the queues.
      if (!p || ctx->heap->procs[p - 1].setting != setting || !ctx->heap->procs[p - 1].idle.load(memory_order_relaxed)) continue;
      awake = true;
      if (ring(ctx->heap, &ctx->heap->procs[p - 1].bell)) {
        ctx->proc->wakes.fetch_add(1, memory_order_relaxed);
        return;
      }
    }
    if (awake || (!hdr->settings.load(memory_order_relaxed) && hdr->pool_idle.load(memory_order_relaxed) > 0)) return;
  }
  uint32_t none = 0, mine = ctx->slot + 1;
  if (can_take(hdr, demand) && hdr->spawn_asked.compare_exchange_strong(none, mine) && !send_control(Control::Spawn, setting))
    hdr->spawn_asked.compare_exchange_strong(mine, 0);
}

PyObject* call_function(PyFunction* f, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  if (!ctx || f->function->epoch != epoch) return stale_error("remote function");
  Inside inside;
  if (ctx->aborted) return set_aborted_error(), nullptr;
  if (!check_arguments(f->spec, args, nargs, kwnames)) return nullptr;
  delay();
  if (!may_send_call()) return nullptr;
  Outgoing out(f->spec);
  out.timestamped = true;
  out.look_up(OpKind::Task, f->function->uid, 0, args, nargs, kwnames);
  out.tell(f->spec.name);
  CallersRefs refs;
  if (out.room && !ctx->placement->at_once) {
    out.make_results(kValueObject);
    refs = out.refs();
    if (!refs) return nullptr;
    out.task = ctx->local.alloc.alloc(out.room_size());
    if (out.task && !out.encode_in_place(ctx->heap->at<Message>(out.task), args, kwnames))
      ctx->local.alloc.free(std::exchange(out.task, 0));
  }
  if (!out.task) {
    if (!out.encode(args, kwnames)) return refuse_argument(f->spec);
    if (out.ended()) return nullptr;
    out.record(f->spec.name, 0, args);
    if (!out.created) out.make_results(kValueObject);
    if (!refs) refs = out.refs();
    if (!refs) return nullptr;
  }
  out.note_started();
  if (ctx->placement->at_once) return run_task_here(out, f) ? refs.release() : nullptr;
  if (!out.task) out.task = ctx->local.alloc.alloc(out.record_size());
  if (!out.task) throw NoRoom();
  queue_for(f->demand);
  Nodes nodes(out.task, out.encoding->deps());
  if (nodes.size() >= kMostMissing) {
    PyErr_Format(
        PyExc_ValueError,
        "a task was called with %zu arguments that are refs of results that are not there yet; %u is the most. Put the refs into a "
        "list, and call get() on that list in the task",
        nodes.size(), kMostMissing - 1);
    return nullptr;
  }
  if (ctx->logical) {
    OpenCall open;
    if (f->carries < 0) f->carries = Outgoing::leads_on(f->function->object);
    if (out.carries(0, open) || f->carries || ctx->header->names.load(memory_order_relaxed)) out.put_on_board(0, f->function->uid, open);
  }
  const Off task = out.task;
  auto* m = ctx->heap->at<Message>(task);
  out.fill(m, MessageKind::Task);
  ctx->local.alloc.publish(task, kPlain);
  out.sent = true;
  take_hold(f->function->object);
  m->function = ctx->heap->off(f->function->object);
  m->demand = f->demand;
  m->retries = f->retries;
  m->nesting = uint16_t(ctx->depth + (ctx->depth < UINT16_MAX));
  m->missing = 1;  // arguments that are missing, and this submission
  if (nodes.size()) {
    m->flags |= kLate;
    ctx->header->late_tasks.fetch_add(1, memory_order_seq_cst);
  }
  if (ctx->timed) out.tell_time(f->spec.name, nullptr, MessageKind::Task);
  nodes.link_to(m);
  task_ready(ctx->local, task);
  return refs.release();
}

}  // namespace reactor
