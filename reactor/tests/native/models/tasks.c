// A queue of tasks (channels/tasks.h): one producer, two consumers, a ring with two places and then a larger one. Each task is run once, by who reads it whole.
#include "model.h"
MUTANTS(SLOT, SLOT_SEEN, TAIL, NEXT, NEXT_SEEN, NO_CLAIM)

enum { TASKS = 3 };
typedef struct Ring {
  atomic_int tail, head, capacity;
  _Atomic(struct Ring*) next;
  atomic_int slot[2];
} Ring;
static _Atomic(Ring*) current;
static int task[TASKS + 1];  // what a task says; freed when it has run

static Ring* new_ring(int capacity) {
  Ring* r = malloc(sizeof *r);
  STORE(r->tail, 0, rlx);
  STORE(r->head, 0, rlx);
  STORE(r->capacity, capacity, rlx);
  STORE(r->next, NULL, rlx);
  for (int i = 0; i < 2; ++i) STORE(r->slot[i], 0, rlx);
  return r;
}
static atomic_int* at(Ring* r, int i) { return &r->slot[i & (LOAD(r->capacity, rlx) - 1)]; }

static Ring* written;
static void enqueue(int which) {
  Ring* r = written;
  task[which] = which;
  const int tail = LOAD(r->tail, rlx);
  //= channels/tasks.h: if (tail - r->head.load(memory_order_acquire) == r->capacity) {
  if (tail - LOAD(r->head, acq) == LOAD(r->capacity, rlx)) {
    Ring* n = new_ring(2);
    STORE(n->slot[0], which * 2, rlx);
    STORE(n->tail, 1, rlx);
    //= channels/tasks.h: r->next.store(next, memory_order_release);
    STORE(r->next, n, M(NEXT, rel));
    written = n;
    return;
  }
  //= channels/tasks.h: r->at(tail).store(task, memory_order_release);
  atomic_store_explicit(at(r, tail), which * 2, M(SLOT, rel));
  //= channels/tasks.h: r->tail.store(tail + 1, memory_order_release);
  STORE(r->tail, tail + 1, IS(SLOT) ? rlx : M(TAIL, rel));
}

static Ring* live_ring(void) {
  for (;;) {
    Ring* r = LOAD(current, acq);
    //= channels/tasks.h: Off next = r->next.load(memory_order_acquire);
    Ring* next = LOAD(r->next, M(NEXT_SEEN, acq));
    //= channels/tasks.h: if (!next || r->head.load(memory_order_acquire) != r->tail.load(memory_order_acquire)) return r;
    if (!next || LOAD(r->head, acq) != LOAD(r->tail, acq)) return r;
    //= channels/tasks.h: q->current.compare_exchange_strong(current, next, memory_order_acq_rel);
    CAS(current, r, next, acq_rel, acq);
  }
}
// Claims the oldest task, or gives 0.
static int claim(int me) {
  for (;;) {
    Ring* r = live_ring();
    int head = LOAD(r->head, acq);
    //= channels/tasks.h: if (head >= r->tail.load(memory_order_acquire)) return {};
    if (head >= LOAD(r->tail, acq)) return 0;
    //= channels/tasks.h: const Off task = r->at(head).load(memory_order_acquire);
    int found = atomic_load_explicit(at(r, head), M(SLOT_SEEN, acq));
    if (found & 1) {
      //= channels/tasks.h: r->head.compare_exchange_strong(head, head + 1, memory_order_acq_rel);
      CAS(r->head, head, head + 1, acq_rel, acq);
      continue;
    }
    //= channels/tasks.h: if (!found.ring->at(found.at).compare_exchange_strong(task, claimed(me, task), memory_order_seq_cst)) {
    if (IS(NO_CLAIM)) atomic_store_explicit(at(r, head), me << 8 | found | 1, rel);
    else if (!atomic_compare_exchange_strong_explicit(at(r, head), &found, me << 8 | found | 1, M(SLOT_SEEN, sc), rlx)) continue;
    CAS(r->head, head, head + 1, acq_rel, acq);
    return found / 2;
  }
}
static atomic_int runs[TASKS + 1];
static void run(int which) {
  if (!which) return;
  assert(task[which] == which);
  task[which] = 0;  // freed
  ADD(runs[which], 1, rlx);
}
static void* producer(void* _) {
  for (int i = 1; i <= TASKS; ++i) enqueue(i);
  return NULL;
}
static void* consumer(void* _) { return run(claim(1)), NULL; }
static void* other_consumer(void* _) { return run(claim(2)), NULL; }

int main(void) {
  STORE(current, written = new_ring(2), rlx);
  start(producer), start(consumer), start(other_consumer);
  wait_for_all();
  for (int i = 0; i < TASKS; ++i) run(claim(3));
  for (int i = 1; i <= TASKS; ++i) assert(LOAD(runs[i], rlx) == 1);
  return 0;
}
