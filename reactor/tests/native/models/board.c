// A list of a board (order/board.h): a reader that finds an open call has read all words of that call, though the owner uses its place again as soon as it has ended.
#include "model.h"
MUTANTS(OWNER_FENCE, READER_FENCE, TAIL, TAIL_SEEN, HEAD_SEEN, NO_LOOK_AGAIN)

enum { CALLS = 3 };  // call i has the words 10 + i, and one place holds them all, one after the other
static atomic_int word[2], base, head, tail;
static atomic_int done[CALLS];

static void append(int i) {
  if (i > 0) {
    //= order/board.cpp: if (l.last && s->base.load(memory_order_relaxed) + s->capacity <= l.list->head.load(memory_order_acquire)) {
    __VERIFIER_assume(LOAD(head, M(HEAD_SEEN, acq)) >= i);
    //= order/board.cpp: std::atomic_thread_fence(memory_order_release);
    FENCE(IS(HEAD_SEEN) ? rlx : M(OWNER_FENCE, rel));
    //= order/board.cpp: s->base.store(at, memory_order_relaxed);
    STORE(base, i, rlx);
  }
  //= order/board.cpp: for (size_t i = 0; i < kOpenWords; ++i) s.word[i].store(words[i], memory_order_relaxed);
  STORE(word[0], 10 + i, rlx);
  STORE(word[1], 10 + i, rlx);
  //= order/board.cpp: l.list->tail.store(at + 1, memory_order_release);
  STORE(tail, i + 1, M(TAIL, rel));
}
static void* owner(void* _) {
  append(0);
  append(1);
  return NULL;
}
// Ends call 0 and moves the head, as everybody may.
static void* other(void* _) {
  __VERIFIER_assume(LOAD(tail, acq) >= 1);
  STORE(done[0], 1, sc);
  int at = 0;
  //= order/board.h: if (i > head) l->head.compare_exchange_strong(head, i, memory_order_acq_rel);
  CAS(head, at, 1, acq_rel, acq);
  return NULL;
}
static void* reader(void* _) {
  //= order/board.h: uint64_t head = l->head.load(memory_order_acquire), i = head;
  int i = LOAD(head, acq);
  //= order/board.h: uint64_t tail = l->tail.load(memory_order_acquire), sorted = l->sorted.load(memory_order_relaxed);
  if (i >= LOAD(tail, M(TAIL_SEEN, acq))) return NULL;
  const bool in_place = LOAD(base, rlx) == i;
  //= order/board.h: for (size_t k = 0; k < kOpenWords; ++k) words[k] = slot.word[k].load(memory_order_relaxed);
  const int first = LOAD(word[0], rlx), second = LOAD(word[1], rlx);
  //= order/board.h: std::atomic_thread_fence(memory_order_acquire);
  FENCE(M(READER_FENCE, acq));
  //= order/board.h: const uint64_t now = l->head.load(memory_order_acquire);
  const int now = LOAD(head, acq);
  if (now > i && !IS(NO_LOOK_AGAIN)) return NULL;  // it begins again
  if (in_place) assert(first == 10 + i && second == 10 + i);
  return NULL;
}

int main(void) {
  start(owner), start(other), start(reader);
  wait_for_all();
  return 0;
}
