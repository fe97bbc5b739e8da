// A wait for two results (calls/waiting.cpp, GroupWait; objects/object.h): who waits is rung when the second one is done, and when one has failed.
#include "model.h"
MUTANTS(NO_RINGER_FENCE, NO_SLEEPER_FENCE, TARGET, NO_FAILURE)
#define RINGER_FENCE M(NO_RINGER_FENCE, sc)
#define SLEEPER_FENCE M(NO_SLEEPER_FENCE, sc)
#include "bell.h"

enum { BIAS = 1 << 20, LINKED = 2 };
static atomic_uint wait_word[2], armed[2];
static atomic_int remaining, failed;
static int target;  // the group's bell; plain
static bool got_on;
static Bell bell = {.queue = PTHREAD_MUTEX_INITIALIZER};

static void complete(int i, bool fails) {
  //= objects/object.h: uint64_t old = o->wait.fetch_or(1, memory_order_seq_cst);
  if (!(OR(wait_word[i], 1, M(TARGET, sc)) & LINKED) || !EXCHANGE(armed[i], 0, M(TARGET, sc))) return;
  assert(target == 1);
  //= objects/object.h: bool first_failure = failed && g->failed.exchange(1, memory_order_acq_rel) == 0;
  bool rings = fails && !IS(NO_FAILURE) && EXCHANGE(failed, 1, acq_rel) == 0;
  //= objects/object.h: bool last = g->remaining.fetch_sub(1, memory_order_acq_rel) == 1;
  rings |= SUB(remaining, 1, acq_rel) == 1;
  //= objects/object.h: if (last || first_failure) ring_counted(l, bell);
  if (rings) ring(&bell);
}
static void* first(void* _) { return complete(0, true), NULL; }
static void* second(void* _) {
  if (LOAD(wait_word[1], rlx) == 0) return NULL;  // else it ends much later
  return complete(1, false), NULL;
}
//= calls/waiting.cpp: return group_->remaining.load(memory_order_acquire) <= 0 || (fail_fast_ && group_->failed.load(memory_order_relaxed)) ||
static bool ready(void) { return LOAD(remaining, acq) <= 0 || LOAD(failed, rlx); }
static void* waiter(void* _) {
  //= calls/waiting.cpp: g->remaining.store(kBias, memory_order_relaxed);
  STORE(remaining, BIAS, rlx);
  STORE(failed, 0, rlx);
  target = 1;
  int wanted = 2;
  for (int i = 0; i < 2; ++i) {
    STORE(armed[i], 1, rlx);
    unsigned word = LOAD(wait_word[i], acq);
    //= objects/object.h: } while (!o->wait.compare_exchange_weak(head, off, memory_order_acq_rel, memory_order_acquire));
    if (!(word & 1) && CAS(wait_word[i], word, LINKED, acq_rel, acq)) continue;
    if (i == 0) return got_on = true, NULL;  // it has failed
    --wanted;
  }
  //= calls/waiting.cpp: const int32_t left = group_->remaining.fetch_sub(counted, memory_order_acq_rel) - counted;
  const int counted = BIAS - wanted, left = SUB(remaining, counted, acq_rel) - counted;
  got_on = left <= 0 || wait_on(&bell, ready);
  return NULL;
}

int main(void) {
  start(waiter), start(first), start(second);
  wait_for_all();
  assert(got_on || !is_asleep(&bell));
  return 0;
}
