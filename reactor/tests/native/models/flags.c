// Who sends looks at a flag, and who sets the flag looks at what was sent; one of the two sees the other's. So are done:
//
//   a caller, and an actor that is given a handle (calls.cpp, in_order.cpp): one of them puts the call on a board
//   a caller, and who buries the actor (calls.cpp, reap.cpp): the call is drained
//   a caller, and a worker that begins to serve the inbox (calls.cpp, run.cpp, wait_on): the worker takes the call, or is rung
//   who queues a task, and who retires its demand (submit.cpp, resources.cpp): the task is refused
#include "model.h"
MUTANTS(SENDER_FENCE, SETTER_FENCE)

static atomic_int tail, flag;
static bool seen_by_sender, seen_by_setter;

static void* sender(void* _) {
  //= channels/channel.h: segment_->tail.store(tail_, memory_order_release);
  STORE(tail, 1, rel);
  //= calls/calls.cpp: std::atomic_thread_fence(memory_order_seq_cst);
  //= calls/submit.cpp: std::atomic_thread_fence(memory_order_seq_cst);
  FENCE(M(SENDER_FENCE, sc));
  //= calls/calls.cpp: if (ctx->logical && !out.on_board && (inbox->order.load(memory_order_relaxed) & (kOpenActor | kPhysical)) == kOpenActor) {
  //= calls/calls.cpp: uint32_t p = inbox->proc.load(memory_order_relaxed);
  //= calls/calls.cpp: if (inbox->state.load(memory_order_relaxed) == InboxState::Dead) send_control(Control::Drain, ctx->heap->off(link->object));
  //= calls/submit.cpp: if (hdr->demand[demand].retired.load(memory_order_relaxed)) {
  seen_by_sender = LOAD(flag, rlx);
  return NULL;
}
static void* setter(void* _) {
  //= inbox/in_order.cpp: if (s.in->order.fetch_or(kOpenActor, memory_order_seq_cst) & kPhysical) return;
  //= supervise/reap.cpp: in->state.store(InboxState::Dead, memory_order_seq_cst);
  //= bindings/run.cpp: if (Off in = p->inbox.load()) h->at<Inbox>(in)->proc.store(slot, memory_order_seq_cst);
  //= bindings/resources.cpp: ctx->header->demand[d].retired.store(1, memory_order_seq_cst);
  STORE(flag, 1, sc);
  //= inbox/in_order.cpp: std::atomic_thread_fence(memory_order_seq_cst);
  //= supervise/reap.cpp: std::atomic_thread_fence(memory_order_seq_cst);
  //= bindings/resources.cpp: std::atomic_thread_fence(memory_order_seq_cst);
  FENCE(M(SETTER_FENCE, sc));
  seen_by_setter = LOAD(tail, acq);
  return NULL;
}

int main(void) {
  start(sender), start(setter);
  wait_for_all();
  assert(seen_by_sender || seen_by_setter);
  return 0;
}
