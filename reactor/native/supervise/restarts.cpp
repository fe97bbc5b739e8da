// An actor whose process died: what becomes of its calls, and how it is restarted.
//
// Every call that the dead process had not finished is in exactly one of these places, or in the first two at once (pending_arguments.h):
//
//   a  in its caller's channel, sent and not yet begun
//   b  in a block that the hold list names (Entry::Call), see pending_arguments.h; begun or not
//   c  in the hold list alone, by its results (Entry::Run): begun, and not to be run again
//
// First the records of (a) that are in (b) too are taken out of their channels: a call counts once. Then, if the actor is
// restarted, the calls with retries left stay: those of (a) where they are, those of (b) in a new channel of the supervisor's, with
// their times. They are older than what their callers have in channels, and the new process takes the oldest first, so each
// caller's calls keep their order. The constructor call goes first of all, out of the copy that the inbox keeps. All others fail:
// a call without retries runs once at most, and its caller cannot know whether the dead actor had begun it. A call sent after this
// moment finds the channel as always, and the new process serves it;
// but from this moment to the end of the new constructor, calls without retries get the same reason where they are made (Inbox::unavailable). A process
// that died in the constructor had begun none, so all of them stay.
//
// Nobody else touches the consumer's end meanwhile: the old process is dead and reaped, the new one is not forked yet. Callers
// only ever touch the producer's end, so handles and channels stay as they are. What a consumer needs to go on is in shared
// memory: Channel::read and Segment::head, stored record by record before the call begins.
//
// Only the supervisor calls what is here. When it dies the run ends, so nothing here has to survive a kill.
#include <algorithm>
#include "inbox/parked.h"
#include "supervise/restarts.h"
#include "calls/stream.h"
#include "worker/results.h"

namespace reactor {
namespace {

Message* at(Off block) { return ctx->heap->at<Message>(block); }

template <class F> void each_call(Inbox* in, F f) {
  for (Off off = in->channels.load(memory_order_acquire); off;) {
    auto* c = ctx->heap->at<Channel>(off);
    off = c->next;
    each_record(ctx->heap, c, f);
  }
}

// The results are as before the call; what the dead process had stored in them is freed by `forget`.
void reset_results(Message* m) {
  for (uint32_t i = 0; i < m->results; ++i) {
    auto* o = ctx->heap->at<Object>(m->result_at(i));
    o->runner.store(kNoProc, memory_order_relaxed);
    o->state.store(State::Pending, memory_order_release);
  }
}

// A channel of the supervisor's own, with calls that are to be run again. It is closed: the receiver drops it when it is empty.
class Again {
 public:
  explicit Again(Inbox* in) : inbox_(in) {}
  Message* add(const Message* m) {
    if (!sender_) {
      off_ = new_channel(ctx->heap, ctx->local.alloc, ctx->slot);
      if (!off_) throw NoRoom();
      sender_ = std::make_unique<Sender>(ctx->heap, &ctx->local.alloc, ctx->heap->at<Channel>(off_));
    }
    Message* copy = sender_->reserve(m->size);
    if (!copy) throw NoRoom();
    memcpy(copy, m, m->size);
    copy->flags |= kLate;
    sender_->commit(m->size);
    return copy;
  }
  ~Again() {
    if (!sender_) return;
    sender_->close();
    auto* c = ctx->heap->at<Channel>(off_);
    Off head = inbox_->channels.load(memory_order_relaxed);
    do c->next = head;
    while (!inbox_->channels.compare_exchange_weak(head, off_, memory_order_release, memory_order_relaxed));
  }

 private:
  Inbox* inbox_;
  Off off_ = 0;
  std::unique_ptr<Sender> sender_;
};

// The constructor call once more: what it holds is held again, and its result is a new one, which nobody waits for. That of the
// kept one is settled by now (the hold list's, or with the record that it was taken from).
void create_again(Again& again, Off creation) {
  Message* m = again.add(at(creation));
  m->order_key = 0;
  m->result = ctx->heap->off(new_object(ctx->local, 1, kMethodResult | kSeen));
  at(creation)->result = 0;
  if (m->args_object) return take_hold(ctx->heap->at<Object>(m->args_object));
  auto* v = reinterpret_cast<ValueHeader*>(m->value());
  for (uint32_t i = 0; i < v->all_refs(); ++i) take_hold(ctx->heap->at<Object>(value_refs(v)[i]));
}

}  // namespace

DeadCalls::DeadCalls(Inbox* in, const std::vector<Off>& calls, std::unordered_set<Off>& failed) : inbox_(in), calls_(calls) {
  std::unordered_set<Off> results;
  for (Off off : calls_) results.insert(at(off)->result);
  each_call(in, [&](Message* m) {
    if (results.count(m->result)) m->kind = MessageKind::Skip;
    Off creation = in->creation.load(memory_order_acquire);
    if (m->kind == MessageKind::Create && creation) {  // a second one, or killed between the copy and the pop
      if (m->result != at(creation)->result) release_message(ctx->local, m);
      fail_results(m, 0, &failed);
      m->kind = MessageKind::Skip;
    }
  });
  std::sort(calls_.begin(), calls_.end(), [](Off a, Off b) { return compare(tag_of(at(a)), tag_of(at(b))) < 0; });
}

bool DeadCalls::any_left(bool unborn) const {
  bool any = false;
  auto counts = [&](Message* m) { any = any || unborn || m->kind == MessageKind::Create || m->retries > 0; };
  for (Off off : calls_) counts(at(off));
  each_call(inbox_, counts);
  return any;
}

// From here on callers give calls without retries this result at once. One that has looked before, and sends its call after this walk over the channels,
// is answered by the new process (refuse_sent_meanwhile).
void make_unavailable(Inbox* in, Off reason) {
  take_hold(ctx->heap->at<Object>(reason));
  if (in->reasons[0]) drop_hold(ctx->local, ctx->heap->at<Object>(in->reasons[0]));
  in->reasons[0] = in->reasons[1];
  in->reasons[1] = reason;
  in->unavailable.store(reason, memory_order_seq_cst);
  std::atomic_thread_fence(memory_order_seq_cst);
}

void DeadCalls::settle(bool restart, Off reason, bool unborn, std::unordered_set<Off>& failed, std::unordered_set<Off>& freed) {
  if (restart && ctx->timed && inbox_->timed) {
    inbox_->order.fetch_or(kPhysical, memory_order_seq_cst);
    inbox_->order.fetch_and(~kLoop, memory_order_seq_cst);
    ctx->timed->disband(inbox_->timed);
  }
  if (restart && !unborn) make_unavailable(inbox_, reason);
  Again again(inbox_);
  Off creation = inbox_->creation.load(memory_order_acquire);
  if (restart && creation) create_again(again, creation);
  for (Off off : calls_) {
    Message* m = at(off);
    auto* first = ctx->heap->at<Object>(m->result);
    bool begun = first->state.load(memory_order_acquire) != State::Pending;
    bool cancelled = first->cancellation.load() == Cancellation::Running;
    std::vector<Off> passed;  // the link of a stream that was done
    if (m->flags & kStreaming) find_pending_link(m, passed);
    for (Off link : passed) {
      finish_walk(ctx->heap->at<Object>(link));
      failed.insert(link);
      drop_hold(ctx->local, ctx->heap->at<Object>(link));
    }
    if ((m->flags & kStreaming) && !cancelled) complete_if_ended(m, freed);
    const bool done = any_done(m);
    bool run = restart && (m->retries > 0 || unborn) && !cancelled && !done;
    for (uint32_t i = 0; i < m->results; ++i) {
      auto* o = ctx->heap->at<Object>(m->result_at(i));
      settle_stored(o, done && !(m->flags & kStreaming), freed);
      if (cancelled && !is_done(o)) complete(ctx->local, o, State::Cancelled);
      failed.insert(m->result_at(i));
    }
    if (run) {
      if (begun && m->retries) retried.push_back(take_retry(m));
      reset_results(m);
      again.add(m);
    } else {
      fail_results(m, reason, nullptr);
      release_message(ctx->local, m);
    }
    ctx->local.alloc.free(off);
  }
  if (!restart) return;
  each_call(inbox_, [&](Message* m) {
    if (unborn || m->kind == MessageKind::Create || m->retries > 0) return;
    fail_results(m, reason, &failed);
    release_message(ctx->local, m);
    m->kind = MessageKind::Skip;
  });
  inbox_->proc.store(kNoProc, memory_order_seq_cst);
}

void refuse_sent_meanwhile(Inbox* in) {
  const Off reason = in->unavailable.load(memory_order_acquire);
  if (!reason) return;
  each_call(in, [&](Message* m) {
    if (m->kind != MessageKind::Call || m->retries > 0 || m->flags & kLate) return;
    fail_results(m, reason, nullptr);
    release_message(ctx->local, m);
    m->kind = MessageKind::Skip;
  });
  in->unavailable.store(0, memory_order_release);
}

void forget_creation(Inbox* in) {
  Off block = in->creation.exchange(0);
  if (block) release_detached({block, kNoEntry});
}

}  // namespace reactor
