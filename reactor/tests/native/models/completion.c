// Completion (objects/object.h): who finds the object done reads its whole value; a wait node is claimed by one party and freed by the second one that is through
// with it; each claimed node is counted once in the waiter's group. Two waiters; one gives up. Two may complete the object: who sets bit 0 walks.
#include "model.h"
MUTANTS(DONE, DONE_SEEN, LINK, LIFE, REMAINING, BOTH_WALK)

typedef struct Node {
  uintptr_t next;
  atomic_uint armed, life;  // 0 Linked, 1 Orphan, 2 Done
} Node;
static atomic_uintptr_t wait_word;
static atomic_int state, owner;
static int value;
static atomic_int remaining = 2;
static int group_bell;  // plain: a group is used again when all are counted
static atomic_int freed, unclaimed;

static void read_value(void) {
  if (LOAD(owner, rlx) == 1) assert(value == 7);  // else it was cancelled
}
static void act(void) {
  int bell = group_bell;
  assert(bell == 1);
  //= objects/object.h: bool last = g->remaining.fetch_sub(1, memory_order_acq_rel) == 1;
  SUB(remaining, 1, M(REMAINING, acq_rel));
}
static void let_go(Node* n, unsigned how, unsigned other) {
  //= objects/object.h: if (n->life.exchange(Life::Done, memory_order_acq_rel) == Life::Orphan) l.alloc.free(at);
  //= objects/object.h: if (n->life.exchange(Life::Orphan, memory_order_acq_rel) == Life::Done) l.alloc.free(l.heap->off(n));
  if (EXCHANGE(n->life, how, M(LIFE, acq_rel)) != other) return;
  ADD(freed, 1, rlx);
  free(n);
}
static void complete(void) {
  //= objects/object.h: o->state.store(s, memory_order_release);
  STORE(state, 16, rel);
  //= objects/object.h: uint64_t old = o->wait.fetch_or(1, memory_order_seq_cst);
  uintptr_t word = OR(wait_word, 1, M(DONE, sc));
  if (!word || (word & 1 && !IS(BOTH_WALK))) return;
  while (word & ~(uintptr_t)1) {
    Node* n = (Node*)(word & ~(uintptr_t)1);
    word = n->next | 1;
    //= objects/object.h: if (n->armed.exchange(0, memory_order_seq_cst)) act_on(l, n, failed);
    if (EXCHANGE(n->armed, 0, sc)) act();
    //= objects/object.h: o->wait.store(word, memory_order_release);
    STORE(wait_word, word, M(DONE, rel));
    let_go(n, 2, 1);
  }
}
static void* worker(void* _) {
  int pending = 0;
  if (CAS(owner, pending, 1, acq_rel, acq)) value = 7;
  complete();
  return NULL;
}
static void* canceller(void* _) {
  int pending = 0;
  if (CAS(owner, pending, 2, acq_rel, acq)) complete();
  return NULL;
}
static Node* link_node(void) {
  Node* n = malloc(sizeof *n);
  STORE(n->armed, 1, rlx);
  STORE(n->life, 0, rlx);
  //= objects/object.h: uint64_t head = o->wait.load(memory_order_acquire);
  uintptr_t head = LOAD(wait_word, M(DONE_SEEN, acq));
  do {
    if (head & 1) {
      read_value();
      free(n);
      return NULL;
    }
    n->next = head;
    //= objects/object.h: } while (!o->wait.compare_exchange_weak(head, off, memory_order_acq_rel, memory_order_acquire));
  } while (!CAS(wait_word, head, (uintptr_t)n, M(LINK, acq_rel), M(DONE_SEEN, acq)));
  return n;
}
static void* gives_up(void* _) {
  Node* n = link_node();
  //= calls/waiting.cpp: if (node->armed.exchange(0, memory_order_acq_rel)) {
  if (!n || EXCHANGE(n->armed, 0, acq_rel)) ADD(unclaimed, 1, rlx);
  if (n) let_go(n, 1, 2);
  return NULL;
}
static void* waits(void* _) {
  Node* n = link_node();
  if (!n) ADD(unclaimed, 1, rlx);
  //= objects/object.h: inline bool is_done(const Object* o) { return o->wait.load(memory_order_seq_cst) & 1; }
  if (LOAD(wait_word, M(DONE_SEEN, sc)) & 1) read_value();
  // Take the group for another wait when all are counted.
  //= calls/waiting.cpp: if (group_->remaining.load(memory_order_acquire) == expect) mine_->waits.spare_groups.push_back(mine_->heap->off(group_));
  if (LOAD(remaining, M(REMAINING, acq)) == 0) group_bell = 2;
  if (n) let_go(n, 1, 2);
  return NULL;
}

int main(void) {
  group_bell = 1;
  start(worker), start(canceller), start(gives_up), start(waits);
  wait_for_all();
  assert(LOAD(wait_word, rlx) == 1);
  assert(2 - LOAD(remaining, rlx) + LOAD(unclaimed, rlx) == 2);
  return 0;
}
