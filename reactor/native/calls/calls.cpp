// The caller's side of an actor's calls.
#include "worker/inline.h"

namespace reactor {
namespace {

void die_at_once(Outgoing& out, Off reason) {
  out.sent = true;
  if (out.args_object) drop_noted(ctx->local, out.args_object, out.args_note);
  for (Object* o : out.results) {
    complete_died(ctx->local, o, reason);
    drop_hold(ctx->local, o);
  }
}

// Whether the call cannot be sent: the actor is dead, or it is being restarted and the call has no retries. `reason`: what its results get.
bool is_refused(const Inbox* inbox, bool waits, Off& reason) {
  if (inbox->state.load(memory_order_acquire) == InboxState::Dead) {
    reason = inbox->reason.load(memory_order_acquire);
    return true;
  }
  return !waits && (reason = inbox->unavailable.load(memory_order_acquire)) != 0;
}

// Puts a call of an actor on the board if it has to be: it carries something, its actor has been given something, or anybody may look
// up an actor by its name. (One that nobody waits for is put there in any case: later, its result may be gone.)
void open_call(Outgoing& out, Inbox* inbox, uint32_t actor) {
  OpenCall open;
  bool carries = out.carries(actor, open);
  uint32_t order = inbox->order.load(memory_order_relaxed);
  if (order & kPhysical) return;
  if (carries || order & kOpenActor || out.wanted == 0 || ctx->header->names.load(memory_order_relaxed))
    out.put_on_board(actor, actor, open);
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
    uint32_t note = ctx->local.hold_list.add(off, Entry::Channel);
    it = ctx->outlets.emplace(inbox, Outlet{Sender(ctx->heap, &ctx->local.alloc, c), note}).first;
    Off head = link->inbox->channels.load(memory_order_relaxed);
    do c->next = head;
    while (!link->inbox->channels.compare_exchange_weak(head, off, memory_order_release, memory_order_relaxed));
  }
  link->outlet = &it->second;
  ++link->outlet->links;
  return true;
}

// Whether the actor should sleep until an argument of the message (a ref that the caller still holds) is ready. The completer of the argument rings.
// If the actor looked at the message earlier, it would find that it must wait, and sleep again.
bool rung_later(const std::vector<Off>& arguments, Bell* bell) {
  for (Off off : arguments) {
    auto* o = ctx->heap->at<Object>(off);
    try {
      if (!is_done(o) && watch(ctx->local, o, NodeKind::Bell, ctx->heap->off(bell), Life::Orphan)) return true;
    } catch (std::bad_alloc&) {
      return false;  // the actor looks by itself
    }
  }
  return false;
}

// The fence after a message waits until this core has the lines that were written, and the receiver's core had them last: about 100 ns. In a
// program that repeats itself the recording says which call comes next: while one is made, the lines of the next one are brought here.
class CallPrefetch {
 public:
  void fetch_next(uint32_t node) const {
    if (node >= next_.size()) return;
    __builtin_prefetch(next_[node].first, 1);
    __builtin_prefetch(next_[node].second, 1);
    __builtin_prefetch(static_cast<const uint8_t*>(next_[node].second) + kLine, 1);
  }
  // A call has been sent: `node` is its place in the recording, 0 for none.
  void learn(uint32_t node, Sender& sender) {
    if (last_ >= next_.size()) next_.resize(last_ + 1);
    next_[last_] = sender.next_writes();
    last_ = node;
  }

 private:
  uint32_t last_ = 0;                                       // the call before
  std::vector<std::pair<const void*, const void*>> next_;  // by the place of the call before; only hints, which may be out of date
};
CallPrefetch call_prefetch;

}  // namespace

PyObject* call_method(PyLink* link, const CallSpec& spec, MessageKind kind, uint32_t index, PyObject* const* args, Py_ssize_t nargs,
                      PyObject* kwnames, uint32_t retries, PyRef* options) {
  if (!ctx || link->epoch != epoch) return stale_error("actor handle");
  Inside inside;
  if (ctx->aborted) return set_aborted_error(), nullptr;
  if (!check_arguments(spec, args, nargs, kwnames)) return nullptr;
  delay();
  if (!may_send_call()) return nullptr;
  Outgoing out(spec);
  const uint16_t result =
      kind == MessageKind::Create ? kMethodResult | kSeen : kMethodResult;  // a constructor's failure is told where it ran
  out.look_up(kind == MessageKind::Create ? OpKind::Create : OpKind::Call, link->uid, index, args, nargs, kwnames);
  out.tell(spec.name);
  if (out.known) call_prefetch.fetch_next(out.recorded.node);
  Inbox* inbox = link->inbox;
  out.timestamped = ctx->logical && inbox->order.load(memory_order_relaxed) & kSeveral;
  CallersRefs refs;
  Message* m = nullptr;
  const bool waits = retries || kind == MessageKind::Create;
  Off reason = 0;
  if (out.room && link->outlet && !is_refused(inbox, waits, reason)) {
    // No user code runs between here and commit(): the refs are made before, for making them may collect garbage.
    out.make_results(result, link->actor);
    refs = out.refs();
    if (!refs) return nullptr;
    m = link->outlet->sender.reserve(out.room_size());
    if (m && !out.encode_in_place(m, args, kwnames)) m = nullptr;
  }
  if (!m) {
    if (!out.encode(args, kwnames)) return refuse_argument(spec);
    if (out.ended()) return nullptr;
    out.record(spec.name, link->actor, args);
    if (!out.created) out.make_results(result, link->actor);
    if (!refs) refs = out.refs();
    if (!refs) return nullptr;
    if (is_refused(inbox, waits, reason)) {
      die_at_once(out, reason);
      return refs.release();
    }
    if (ctx->placement->at_once) return run_method_here(out, kind, link, index, options, retries) ? refs.release() : nullptr;
    if (!link->outlet && !open_channel(link)) return nullptr;
    m = link->outlet->sender.reserve(out.record_size());
    if (!m) throw NoRoom();
  }
  if (ctx->timed && kind == MessageKind::Create) inbox->timed = ctx->timed->make_server(ctx->heap->off(inbox));
  if (kind != MessageKind::Create) out.note_started(ctx->heap->off(inbox));
  if (ctx->logical) open_call(out, inbox, link->actor);
  out.fill(m, kind);
  m->actor = link->actor;
  m->method = uint16_t(index);
  m->retries = retries;
  if (options) {
    take_hold(options->object);
    m->function = ctx->heap->off(options->object);
  }
  link->outlet->sender.commit(out.record_size());
  out.sent = true;
  if (out.recorded.recorder) call_prefetch.learn(out.recorded.node, link->outlet->sender);
  if (ctx->timed) out.tell_time(spec.name, inbox, kind);
  std::atomic_thread_fence(memory_order_seq_cst);
  if (ctx->logical && !out.on_board && (inbox->order.load(memory_order_relaxed) & (kOpenActor | kPhysical)) == kOpenActor) {
    OpenCall open;
    out.put_on_board(link->actor, link->actor, open);  // it has become open meanwhile; the refs keep the result
  }
  uint32_t p = inbox->proc.load(memory_order_relaxed);
  // The fence above is that of ring(): who is awake now sees the message before it sleeps.
  if (p != kNoProc) {
    Proc& to = ctx->heap->procs[p];
    if (!to.bell.sleeping.load(memory_order_relaxed)) {
      is_sent(ctx->header, &to);
    } else if (!rung_later(out.encoding->deps(), &to.bell) && ring(ctx->heap, &to.bell)) {
      ctx->proc->wakes.fetch_add(1, memory_order_relaxed);
    }
  }
  if (inbox->state.load(memory_order_relaxed) == InboxState::Dead) send_control(Control::Drain, ctx->heap->off(link->object));
  return refs.release();
}

void close_link(PyLink* l) {
  Outlet* outlet = l->outlet;
  l->outlet = nullptr;
  if (!outlet || --outlet->links > 0) return;
  // In this order: killed in between, the channel stays; the other way round the supervisor would close a channel that the
  // receiver may have freed already.
  ctx->local.hold_list.clear(outlet->note);
  outlet->sender.close();
  ctx->outlets.erase(ctx->heap->off(l->inbox));
  uint32_t p = l->inbox->proc.load(memory_order_relaxed);
  if (p != kNoProc) ring(ctx->heap, &ctx->heap->procs[p].bell);
}

}  // namespace reactor
