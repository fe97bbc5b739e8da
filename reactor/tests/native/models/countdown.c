// A task's missing arguments (sync/countdown.h): process P counts one of them and is killed somewhere, Q counts the other one, and the supervisor finishes what P has
// begun. The task is queued once. Who queues it lets it run, and its memory is another's then.
#include "model.h"
MUTANTS(ACKNOWLEDGED, NO_ACKNOWLEDGEMENT, NO_LOOK_AFTERWARDS, COUNTED, FIRST_MARK_STAYS)

enum { P = 1, Q = 2, S = 3, TASK = 0x100, ACK = 1, SERIAL = 0x10000, MARK = 0x100 };
static atomic_uint missing = 2 | P * MARK;  // P has counted an argument of the task before
static atomic_uint walk_task[4], walk_ring[4], tail[4];
static atomic_int armed = 1, kill_at;
static unsigned left_in(unsigned word) { return word % MARK; }
static unsigned mark_in(unsigned word) { return word / MARK; }

static void queue_task(int who) {
  STORE(walk_ring[who], 1, rel);
  STORE(tail[who], LOAD(tail[who], rlx) + 1, rel);
  // It has run, and its memory is another's. That one has got it by a chain of releases and acquires, so that its stores come after all this: here one release is enough.
  STORE(missing, 0xbad0, rel);
}
static void begin_count(int who) {
  //= sync/countdown.h: uint32_t word = missing.load(memory_order_acquire);
  unsigned word = LOAD(missing, acq);
  //= sync/countdown.h: while (mark_in(word) == slot + 1 && !missing.compare_exchange_weak(word, missing_in(word), memory_order_acq_rel)) {}
  if (!IS(FIRST_MARK_STAYS))
    while (mark_in(word) == who && !CAS(missing, word, left_in(word), acq_rel, acq)) {}
  STORE(walk_ring[who], 0, rlx);
  //= sync/countdown.h: p.walk.task.store(serial << kSerialBit | task, memory_order_release);
  STORE(walk_task[who], LOAD(walk_task[who], rlx) / SERIAL * SERIAL + SERIAL + TASK, M(COUNTED, rel));
}
static bool count_down(int who) {
  unsigned word = LOAD(missing, M(COUNTED, acq));
  for (;;) {
    const unsigned mark = mark_in(word);
    if (mark && mark != who && !IS(NO_ACKNOWLEDGEMENT)) {
      //= sync/countdown.h: uint64_t theirs = counting.load(memory_order_acquire);
      unsigned theirs = LOAD(walk_task[mark], M(COUNTED, acq));
      if ((theirs % SERIAL & ~ACK) == TASK) {
        //= sync/countdown.h: const uint32_t now = missing.load(memory_order_acquire);
        const unsigned now = LOAD(missing, acq);
        if (now != word) {
          word = now;
          continue;
        }
        //= sync/countdown.h: counting.compare_exchange_strong(theirs, theirs | kAcknowledged, memory_order_acq_rel);
        CAS(walk_task[mark], theirs, theirs | ACK, M(ACKNOWLEDGED, acq_rel), rlx);
      }
    }
    const unsigned left = left_in(word) - 1;
    //= sync/countdown.h: if (missing.compare_exchange_weak(word, (slot + 1) << kMarkBit | left, memory_order_acq_rel)) return left == 0;
    if (CAS(missing, word, who * MARK | left, IS(ACKNOWLEDGED) ? rlx : M(COUNTED, acq_rel), acq)) return left == 0;
  }
}
static bool walking = true;
static void* killed(void* _) {
  const int at = LOAD(kill_at, rlx);
  if (at == 0) return NULL;
  begin_count(P);
  if (at == 1) return NULL;
  //= objects/object.h: if (n->armed.exchange(0, memory_order_seq_cst)) act_on(l, n, failed);
  EXCHANGE(armed, 0, sc);
  if (at == 2) return NULL;
  const bool last = count_down(P);
  if (at == 3) return NULL;
  if (last) queue_task(P);
  if (at == 4) return NULL;
  walking = false;
  return NULL;
}
static void* other(void* _) {
  if (count_down(Q)) queue_task(Q);
  return NULL;
}
static void* chooser(void* _) {
  for (int i = 1; i <= 5; ++i) STORE(kill_at, i, rlx);
  return NULL;
}
static void* supervisor(void* _) {
  wait_for(0);
  if (!walking) return NULL;
  if (EXCHANGE(armed, 0, sc)) {
    if (count_down(S)) queue_task(S);
    return NULL;
  }
  if (LOAD(walk_ring[P], acq) && LOAD(tail[P], acq)) return NULL;
  //= sync/countdown.h: const uint32_t word = missing_of(h, task).load(memory_order_acquire);
  const unsigned word = LOAD(missing, M(ACKNOWLEDGED, acq));
  //= sync/countdown.h: if (dead.walk.task.load(memory_order_acquire) & kAcknowledged) return Counted::Yes;
  if (!IS(NO_LOOK_AFTERWARDS) && LOAD(walk_task[P], acq) & ACK) return NULL;
  if (mark_in(word) != P) {
    if (count_down(S)) queue_task(S);
  } else if (left_in(word) == 0) {
    queue_task(S);
  }
  return NULL;
}

int main(void) {
  start(killed), start(other), start(chooser), start(supervisor);
  wait_for_all();
  assert(LOAD(tail[P], rlx) + LOAD(tail[Q], rlx) + LOAD(tail[S], rlx) == 1);
  return 0;
}
