// An open call whose result is gone (order/board.h, unfinished): its memory is freed and used again while somebody looks. The call had ended before, so whatever is read
// there, the answer is that it has.
#include "model.h"
MUTANTS(NO_FENCE, INIT, SECOND_LOOK)

enum { ITS = 1, NEXT = 2 };
static atomic_uintptr_t wait_word = 1;  // also the link of a free slot
static atomic_int uid = ITS;
static atomic_uintptr_t remote_free;

static void* frees(void* _) {
  //= objects/falling.h: std::atomic_ref(o->uid).store(0, memory_order_release);
  STORE(uid, 0, rel);
  //= objects/falling.h: std::atomic_thread_fence(memory_order_release);
  FENCE(M(NO_FENCE, rel));
  //= memory/alloc.h: std::atomic_ref(*heap_->at<Off>(off)).store(head & kOffMask, memory_order_relaxed);
  STORE(wait_word, 64, rlx);
  //= memory/alloc.h: } while (!list.compare_exchange_weak(head, empty | off, memory_order_release, memory_order_relaxed));
  STORE(remote_free, 64, rel);
  return NULL;
}
static void* uses_again(void* _) {
  __VERIFIER_assume(LOAD(remote_free, acq));
  //= objects/object.h: o->wait.store(0, memory_order_release);
  STORE(wait_word, 0, M(INIT, rel));
  //= objects/object.h: std::atomic_ref(o->uid).store(uid, memory_order_release);
  STORE(uid, NEXT, rel);
  return NULL;
}
static void* looks(void* _) {
  //= order/board.h: if (std::atomic_ref(o->uid).load(memory_order_acquire) != uid || is_done(o)) return false;
  const bool first = LOAD(uid, acq) == ITS;
  const bool done = LOAD(wait_word, IS(SECOND_LOOK) ? rlx : sc) & 1;
  //= order/board.h: return std::atomic_ref(o->uid).load(memory_order_acquire) == uid;
  const bool second = LOAD(uid, acq) == ITS;
  assert(!(first && !done && second));
  return NULL;
}

int main(void) {
  start(frees), start(uses_again), start(looks);
  wait_for_all();
  return 0;
}
