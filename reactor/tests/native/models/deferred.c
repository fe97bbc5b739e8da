// Calls in threads and event loops (order/order.cpp, all_sleep; worker/completions.cpp): the main thread of a process hands a call on and sleeps; the call wakes x and ends. While the
// call is there, and when it has woken x, not everybody sleeps.
#include "bell.h"
MUTANTS(ENDS, AWAKE, NO_LOOK)

static Bell x = {.queue = PTHREAD_MUTEX_INITIALIZER, .sleeping = 1};
static atomic_int deferred, awake = 1, handed_on;
static bool all_sleep;

static void* main_thread(void* _) {
  //= worker/completions.cpp: ctx->proc->deferred.fetch_add(1, memory_order_seq_cst);
  ADD(deferred, 1, sc);
  STORE(handed_on, 1, rel);
  //= sync/bell.h: if (self && self->awake.exchange(0, memory_order_seq_cst)) heap->header->awake.fetch_sub(1, memory_order_relaxed);
  EXCHANGE(awake, 0, M(AWAKE, sc));
  return NULL;
}
static void* thread(void* _) {
  __VERIFIER_assume(LOAD(handed_on, acq));
  ring(&x);
  //= worker/completions.cpp: ctx->proc->deferred.fetch_sub(1, memory_order_seq_cst);
  SUB(deferred, 1, M(ENDS, sc));
  return NULL;
}
// As in all_sleep(): the process before x, both twice.
static void* observer(void* _) {
  FENCE(sc);
  unsigned word[2];
  for (int i = 0; i < 2; ++i) {
    //= order/order.cpp: if (p.deferred.load() && !(loops && p.loop_idle.load())) return 0;
    if (!IS(NO_LOOK) && LOAD(deferred, sc)) return NULL;
    if (LOAD(awake, sc)) return NULL;
    word[i] = LOAD(x.word, sc);
    if (!LOAD(x.sleeping, sc) || LOAD(x.word, sc) != word[i]) return NULL;
  }
  all_sleep = word[0] == word[1];
  return NULL;
}

int main(void) {
  start(main_thread), start(thread), start(observer);
  wait_for_all();
  assert(!all_sleep);
  return 0;
}
