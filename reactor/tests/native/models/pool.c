// Idle task workers (calls/submit.cpp, kick_pool; worker/serve.cpp): no task is left to lie while a worker sleeps and nobody has asked for another worker. A worker that is
// about to run a task may do so for ever, so it calls another one if a task is left.
#include "model.h"
MUTANTS(QUEUED_FENCE, SLEEPER_FENCE_MISSING, CLAIMED_FENCE, NOT_KICKED)
#define SLEEPER_FENCE M(SLEEPER_FENCE_MISSING, sc)
#include "bell.h"

static atomic_int tail, head, pool_idle;
static atomic_bool idle, spawn_asked;
static bool busy;
static Bell bell = {.queue = PTHREAD_MUTEX_INITIALIZER};

static void kick_pool(void) {
  //= calls/submit.cpp: std::atomic_thread_fence(memory_order_seq_cst);
  FENCE(M(QUEUED_FENCE, sc));
  //= calls/submit.cpp: if (hdr->pool_idle.load(memory_order_relaxed) > 0) {
  if (LOAD(pool_idle, rlx) > 0) {
    bool awake = false;
    //= calls/submit.cpp: if (!p || ctx->heap->procs[p - 1].setting != setting || !ctx->heap->procs[p - 1].idle.load(memory_order_relaxed)) continue;
    if (LOAD(idle, rlx)) {
      awake = true;
      if (ring(&bell)) return;
    }
    //= calls/submit.cpp: if (awake || (!hdr->settings.load(memory_order_relaxed) && hdr->pool_idle.load(memory_order_relaxed) > 0)) return;
    if (awake || LOAD(pool_idle, rlx) > 0) return;
  }
  STORE(spawn_asked, true, rlx);
}
static void* submitter(void* _) {
  for (int i = 0; i < 2; ++i) {
    //= channels/tasks.h: r->tail.store(tail + 1, memory_order_release);
    STORE(tail, i + 1, rel);
    kick_pool();
  }
  return NULL;
}
static bool has_task(void) {
  //= channels/tasks.h: if (head >= r->tail.load(memory_order_acquire)) return {};
  return LOAD(head, acq) < LOAD(tail, acq);
}
static void set_idle(bool is) {
  //= worker/serve.cpp: if (idle) ctx->proc->idle.store(1, memory_order_relaxed);
  if (is) STORE(idle, true, rlx);
  //= worker/serve.cpp: ctx->header->pool_idle.fetch_add(idle ? 1 : -1, memory_order_seq_cst);
  ADD(pool_idle, is ? 1 : -1, sc);
  //= worker/serve.cpp: if (!idle) ctx->proc->idle.store(0, memory_order_relaxed);
  if (!is) STORE(idle, false, rlx);
  //= worker/serve.cpp: if (!idle) std::atomic_thread_fence(memory_order_seq_cst);
  if (!is) FENCE(M(CLAIMED_FENCE, sc));
}
static void* worker(void* _) {
  set_idle(true);
  if (!has_task() && !wait_on(&bell, has_task)) return NULL;
  ADD(head, 1, sc);  // it claims a task
  set_idle(false);
  //= worker/serve.cpp: kick_queues();
  if (has_task() && !IS(NOT_KICKED)) kick_pool();
  busy = true;  // it runs it for ever
  return NULL;
}

int main(void) {
  start(submitter), start(worker);
  wait_for_all();
  if (has_task() && (busy || is_asleep(&bell))) assert(LOAD(spawn_asked, rlx));
  return 0;
}
