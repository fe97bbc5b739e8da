// Whether a message may start (order/order.cpp, may_start): call p, which is open, makes call x, which is open for ever, and ends. The message does not start, though the board
// of x is looked at before that of p.
#include "model.h"
MUTANTS(NO_SECOND_LOOK, DONE_SEEN, VERSION_LATE)

static atomic_int done_of_p, tail, version;
static bool starts;

static void* caller(void* _) {
  //= order/board.cpp: l.list->tail.store(at + 1, memory_order_release);
  if (!IS(VERSION_LATE)) STORE(tail, 1, rel);
  //= order/board.cpp: board_->version.fetch_add(1, memory_order_seq_cst);
  if (!IS(VERSION_LATE)) ADD(version, 1, sc);
  OR(done_of_p, 1, sc);
  if (IS(VERSION_LATE)) {
    STORE(tail, 1, rel);
    ADD(version, 1, sc);
  }
  return NULL;
}
static void* actor(void* _) {
  //= order/order.cpp: std::atomic_thread_fence(memory_order_seq_cst);
  FENCE(sc);
  int before = -1;
  for (;;) {
    //= order/order.cpp: uint64_t version = b->version.load(memory_order_seq_cst);
    const int now = LOAD(version, sc);
    if (now == before) break;
    if (LOAD(tail, acq)) return NULL;  // x holds it
    //= objects/object.h: inline bool is_done(const Object* o) { return o->wait.load(memory_order_seq_cst) & 1; }
    if (!LOAD(done_of_p, M(DONE_SEEN, sc))) return NULL;  // p holds it
    if (IS(NO_SECOND_LOOK)) break;
    before = now;
  }
  starts = true;
  return NULL;
}

int main(void) {
  start(caller), start(actor);
  wait_for_all();
  assert(!starts);
  return 0;
}
