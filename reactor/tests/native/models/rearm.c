// A wait node that is armed again while it is on an object's list (objects/object.h, GroupWait::node_for): either the completer claims it, or the waiter sees that
// the object is done. Four accesses that are all seq_cst; none may be weaker.
#include "model.h"
MUTANTS(ARM, LOOK, DONE, CLAIM)

static atomic_uint wait_word, armed;
static int target;  // of the node
static bool acted, sleeps;

static void* completer(void* _) {
  //= objects/object.h: uint64_t old = o->wait.fetch_or(1, memory_order_seq_cst);
  OR(wait_word, 1, IS(DONE) ? acq_rel : sc);
  //= objects/object.h: if (n->armed.exchange(0, memory_order_seq_cst)) act_on(l, n, failed);
  if (EXCHANGE(armed, 0, IS(CLAIM) ? acq_rel : sc)) {
    assert(target == 2);
    acted = true;
  }
  return NULL;
}
static void* waiter(void* _) {
  target = 2;
  //= calls/waiting.cpp: node->armed.store(1, memory_order_seq_cst);
  STORE(armed, 1, IS(ARM) ? rel : sc);
  //= calls/waiting.cpp: return is_done(r->object) && node->armed.exchange(0) ? nullptr : node;
  const bool done = LOAD(wait_word, IS(LOOK) ? acq : sc) & 1;
  sleeps = !(done && EXCHANGE(armed, 0, sc));
  return NULL;
}

int main(void) {
  target = 1;
  start(completer), start(waiter);
  wait_for_all();
  assert(acted == sleeps);
  return 0;
}
