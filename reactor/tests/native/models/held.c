// Holding back (objects/object.h, tell_held; order/order.cpp, set_held; inbox/in_order.cpp): who holds a message back until an open call has ended does not sleep on
// when that has happened.
#include "model.h"
MUTANTS(HELD, FINISHED, DONE, NO_RINGER_FENCE, SEEN_LATE)
#define RINGER_FENCE M(NO_RINGER_FENCE, sc)
#include "bell.h"

static Bell bell = {.queue = PTHREAD_MUTEX_INITIALIZER};
static atomic_uint wait_word, held, proc_held, finished;
static unsigned seen;
static bool started_message;

static void* completer(void* _) {
  //= objects/object.h: uint64_t old = o->wait.fetch_or(1, memory_order_seq_cst);
  OR(wait_word, 1, IS(DONE) ? rel : sc);
  //= objects/object.h: if (h->held.load(memory_order_seq_cst) == 0) return;
  if (LOAD(held, M(HELD, sc)) == 0) return NULL;
  //= objects/object.h: h->finished.fetch_add(1, memory_order_seq_cst);
  if (!IS(FINISHED)) ADD(finished, 1, sc);
  //= objects/object.h: if (l.heap->procs[i].held.load(memory_order_relaxed) && ring(l.heap, &l.heap->procs[i].bell))
  if (LOAD(proc_held, rlx)) ring(&bell);
  return NULL;
}
static bool is_done(void) { return LOAD(wait_word, sc) & 1; }
//= inbox/in_order.cpp: if (s.hold.active && ctx->header->finished.load(memory_order_seq_cst) != s.hold.seen) return true;
static bool ready(void) { return LOAD(finished, sc) != seen; }
static void* holder(void* _) {
  if (is_done()) return started_message = true, NULL;
  //= order/order.cpp: if (l.proc->held.exchange(held) == uint32_t(held)) return;
  EXCHANGE(proc_held, 1, sc);
  //= order/order.cpp: l.heap->header->held.fetch_add(held ? 1 : uint32_t(-1), memory_order_seq_cst);
  ADD(held, 1, M(HELD, sc));
  //= order/order.cpp: std::atomic_thread_fence(memory_order_seq_cst);
  FENCE(M(HELD, sc));
  for (int i = 0;; ++i) {
    __VERIFIER_assume(i < 2);
    //= inbox/in_order.cpp: if (s.hold.active) s.hold.seen = ctx->header->finished.load(memory_order_seq_cst);
    if (!IS(SEEN_LATE)) seen = LOAD(finished, sc);
    if (is_done()) return started_message = true, NULL;
    if (IS(SEEN_LATE)) seen = LOAD(finished, sc);
    if (!wait_on(&bell, ready)) return NULL;
  }
}

int main(void) {
  start(completer), start(holder);
  wait_for_all();
  assert(started_message || !is_asleep(&bell));
  return 0;
}
