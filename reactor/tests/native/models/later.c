// A message whose argument is not there yet (calls/calls.cpp, rung_later): its caller does not ring the actor, and who completes the argument does. The actor then finds
// the message.
#include "model.h"
MUTANTS(NO_CALLER_FENCE, LINKED_ALWAYS)
#include "bell.h"

static atomic_int tail;
static atomic_uint wait_word, armed;
static Bell bell = {.queue = PTHREAD_MUTEX_INITIALIZER};
static bool got_it;

static void* caller(void* _) {
  STORE(tail, 1, rel);
  //= calls/calls.cpp: std::atomic_thread_fence(memory_order_seq_cst);
  FENCE(M(NO_CALLER_FENCE, sc));
  //= calls/calls.cpp: if (!to.bell.sleeping.load(memory_order_relaxed)) {
  if (!LOAD(bell.sleeping, rlx)) return NULL;
  //= calls/calls.cpp: if (!is_done(o) && watch(ctx->local, o, NodeKind::Bell, ctx->heap->off(bell), Life::Orphan)) return true;
  STORE(armed, 1, rlx);
  unsigned head = LOAD(wait_word, acq);
  if (!(head & 1) && (CAS(wait_word, head, 2, acq_rel, acq) || IS(LINKED_ALWAYS))) return NULL;
  ring(&bell);
  return NULL;
}
static void* completer(void* _) {
  if (OR(wait_word, 1, sc) & 2 && EXCHANGE(armed, 0, sc)) ring(&bell);
  return NULL;
}
//= channels/channel.h: bool pending() const { return head_ != segment_->tail.load(memory_order_acquire) || segment_->next.load(memory_order_acquire) != 0; }
static bool ready(void) { return LOAD(tail, acq); }
static void* actor(void* _) { return got_it = wait_on(&bell, ready), NULL; }

int main(void) {
  start(caller), start(completer), start(actor);
  wait_for_all();
  assert(got_it || !is_asleep(&bell));
  return 0;
}
