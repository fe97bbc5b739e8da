// A bell (sync/bell.h) with a model of the kernel's futex, whose queue has a lock.
//
// A part that sleeps and is not woken cannot go on. So a sleep looks once whether it was woken; if not, the part ends there, and the end of the model checks that
// it was woken later (the execution in which it goes on is another one) or that nothing is left to do.
#pragma once
#include "model.h"

typedef struct {
  atomic_uint word, sleeping;
  pthread_mutex_t queue;
  bool queued;  // the sleeper is; guarded by `queue`
  atomic_bool woken;
} Bell;

// What a model may do wrong here, if it names it before it includes this.
#ifndef RINGER_FENCE
#define RINGER_FENCE sc
#endif
#ifndef SLEEPER_FENCE
#define SLEEPER_FENCE sc
#endif
#ifndef RAISE_WORD
#define RAISE_WORD 1
#endif

static void futex_wake(Bell* b) {
  pthread_mutex_lock(&b->queue);
  if (b->queued) {
    b->queued = false;
    STORE(b->woken, true, rel);
  }
  pthread_mutex_unlock(&b->queue);
}
// False: it sleeps for good, as far as it knows.
static bool futex_wait(Bell* b, unsigned seen) {
  pthread_mutex_lock(&b->queue);
  const bool sleeps = LOAD(b->word, rlx) == seen;
  if (sleeps) {
    STORE(b->woken, false, rlx);
    b->queued = true;
  }
  pthread_mutex_unlock(&b->queue);
  return !sleeps || LOAD(b->woken, acq);
}
static bool is_asleep(Bell* b) { return b->queued; }  // at the end of the model

static bool ring(Bell* b) {
  //= sync/bell.h: std::atomic_thread_fence(memory_order_seq_cst);
  FENCE(RINGER_FENCE);
  //= sync/bell.h: if (b->sleeping.load(memory_order_relaxed) == 0) return false;
  if (LOAD(b->sleeping, rlx) == 0) return false;
  //= sync/bell.h: if (b->sleeping.exchange(0, memory_order_acq_rel) == 0) return false;
  if (EXCHANGE(b->sleeping, 0, acq_rel) == 0) return false;
  //= sync/bell.h: b->word.fetch_add(1, memory_order_release);
  if (RAISE_WORD) ADD(b->word, 1, rel);
  futex_wake(b);
  return true;
}

// False: it sleeps. It sleeps three times at most.
static bool wait_on(Bell* b, bool (*ready)(void)) {
  if (ready()) return true;
  for (int i = 0;; ++i) {
    __VERIFIER_assume(i < 3);
    //= sync/bell.h: uint32_t seen = bell->word.load(memory_order_acquire);
    unsigned seen = LOAD(b->word, acq);
    //= sync/bell.h: bell->sleeping.store(1, memory_order_seq_cst);
    STORE(b->sleeping, 1, sc);
    FENCE(SLEEPER_FENCE);
    if (ready()) break;
    if (!futex_wait(b, seen)) return false;
    if (ready()) break;
  }
  //= sync/bell.h: bell->sleeping.store(0, memory_order_relaxed);
  STORE(b->sleeping, 0, rlx);
  return true;
}
