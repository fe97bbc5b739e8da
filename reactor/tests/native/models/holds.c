// Holds (objects/falling.h): the value stays as long as anybody holds it, and is freed once. One holder sends another hold to a third process and gives its own back.
#include "model.h"
MUTANTS(DROP, LAST_SEEN, SENT, SENT_SEEN)

static int *value, *message;
static atomic_int holds, sent;
static atomic_int falls;

static void fall(void) {
  ADD(falls, 1, rlx);
  *value = 0;
  free(value);
}
static void drop(void) {
  //= objects/falling.h: if (o->holds.load(memory_order_acquire) == 1 && !keep_failure_of(l, o)) {
  if (LOAD(holds, M(LAST_SEEN, acq)) == 1) {
    int one = 1;
    //= objects/falling.h: if (o->holds.compare_exchange_strong(one, 0, memory_order_acq_rel)) {
    if (CAS(holds, one, 0, M(LAST_SEEN, acq_rel), rlx)) return fall();
  }
  //= objects/falling.h: if (o->holds.fetch_sub(1, memory_order_acq_rel) == 1) fall(l, o);
  if (SUB(holds, 1, M(DROP, acq_rel)) == 1) fall();
}
static void* sender(void* _) {
  //= objects/object.h: inline void take_hold(Object* o) { o->holds.fetch_add(1, memory_order_relaxed); }
  ADD(holds, 1, rlx);
  message = value;
  STORE(sent, 1, M(SENT, rel));  // the tail of a channel
  assert(*value == 7);
  drop();
  return NULL;
}
static void* receiver(void* _) {
  __VERIFIER_assume(LOAD(sent, M(SENT_SEEN, acq)));
  assert(*message == 7);
  drop();
  return NULL;
}
static void* other(void* _) {
  assert(*value == 7);
  drop();
  return NULL;
}

int main(void) {
  value = malloc(sizeof *value);
  *value = 7;
  STORE(holds, 2, rlx);
  start(sender), start(receiver), start(other);
  wait_for_all();
  assert(LOAD(holds, rlx) == 0 && LOAD(falls, rlx) == 1);
  return 0;
}
