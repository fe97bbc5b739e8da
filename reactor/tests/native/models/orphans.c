// Tasks of a submitter that has ended (supervise/orphans.h): the supervisor claims its task, or finds the worker that runs it, or the worker sees that the submitter has ended.
#include "model.h"
MUTANTS(SUPERVISOR_FENCE, WORKER_FENCE, NOTE, CLAIM_SEEN)

static atomic_int tail, slot, ended, note;
static int task;
static bool runs, found, claimed;

static void* submitter(void* _) {
  task = 1;
  //= channels/tasks.h: r->at(tail).store(task, memory_order_release);
  STORE(slot, 2, rel);
  //= channels/tasks.h: r->tail.store(tail + 1, memory_order_release);
  STORE(tail, 1, rel);
  return NULL;
}
static void* worker(void* _) {
  if (!LOAD(tail, acq)) return NULL;
  int at = LOAD(slot, acq);
  if (at != 2) return NULL;
  //= memory/hold_list.h: at(i).store(off | uint64_t(tag), memory_order_release);
  STORE(note, 1, rel);
  //= channels/tasks.h: if (!found.ring->at(found.at).compare_exchange_strong(task, claimed(me, task), memory_order_seq_cst)) {
  if (!CAS(slot, at, 3, M(NOTE, sc), rlx)) return NULL;
  assert(task == 1);
  //= supervise/orphans.cpp: std::atomic_thread_fence(memory_order_seq_cst);
  FENCE(IS(NOTE) || IS(CLAIM_SEEN) ? rlx : M(WORKER_FENCE, sc));
  //= supervise/orphans.cpp: const uint32_t n = c->n.load(memory_order_acquire);
  runs = !LOAD(ended, acq);
  return NULL;
}
static void* supervisor(void* _) {
  //= supervise/orphans.cpp: c->n.store(n + 1, memory_order_release);
  STORE(ended, 1, rel);
  FENCE(IS(NOTE) || IS(CLAIM_SEEN) ? rlx : M(SUPERVISOR_FENCE, sc));
  if (LOAD(tail, acq)) {
    //= supervise/orphans.cpp: const Off task = r->at(at).load(memory_order_acquire);
    int at = LOAD(slot, M(CLAIM_SEEN, acq));
    if (at == 2) claimed = CAS(slot, at, 5, sc, M(CLAIM_SEEN, sc));
  }
  //= supervise/orphans.cpp: const uint64_t v = e.load(memory_order_acquire);
  found = LOAD(note, acq);
  return NULL;
}

int main(void) {
  start(submitter), start(worker), start(supervisor);
  wait_for_all();
  assert(!runs || found || claimed);
  return 0;
}
