// Whether nothing can move any more (order/order.cpp, all_sleep): while one process looks at two others, one of these wakes the other and goes to sleep itself. Then the
// answer is no.
#include "bell.h"
MUTANTS(NO_SECOND_LOOK, AWAKE_ORDER, NO_COUNT, COUNT_BEFORE)

typedef struct {
  Bell bell;
  atomic_int awake, sleeps;
} Process;
static Process p = {.bell = {.queue = PTHREAD_MUTEX_INITIALIZER, .sleeping = 1}};
static Process q = {.bell = {.queue = PTHREAD_MUTEX_INITIALIZER, .sleeping = 1}};
enum { ASLEEP = 0, AWAKE, ASLEEP_AGAIN };

// Its time limit ends its sleep: it has something to do, hands it on to p, and sleeps again.
static void* process_q(void* _) {
  //= sync/bell.h: if (self && !self->awake.exchange(1, memory_order_seq_cst)) heap->header->awake.fetch_add(1, memory_order_relaxed);
  EXCHANGE(q.awake, AWAKE, sc);
  STORE(q.bell.sleeping, 0, rlx);
  ring(&p.bell);
  STORE(q.bell.sleeping, 1, sc);
  FENCE(sc);
  //= sync/bell.h: if (self) self->sleeps.fetch_add(1, memory_order_seq_cst);
  if (!IS(NO_COUNT)) ADD(q.sleeps, 1, sc);
  //= sync/bell.h: if (self && self->awake.exchange(0, memory_order_seq_cst)) heap->header->awake.fetch_sub(1, memory_order_relaxed);
  EXCHANGE(q.awake, ASLEEP_AGAIN, M(AWAKE_ORDER, sc));
  return NULL;
}
static int awake_of_q;
static int count_of(Process* a) { return LOAD(a->sleeps, sc) + LOAD(a->bell.word, sc); }
// 0: it does not sleep.
static int slept(Process* a, int* awake) {
  //= order/order.cpp: const uint64_t before = p.sleeps.load() + p.bell.word.load();
  const int before = count_of(a);
  //= order/order.cpp: if (s == ProcState::Starting || p.awake.load() || !p.bell.sleeping.load()) return 0;
  *awake = LOAD(a->awake, sc);
  if (*awake == AWAKE || !LOAD(a->bell.sleeping, sc)) return 0;
  //= order/order.cpp: if (p.sleeps.load() + p.bell.word.load() != before) return 0;
  return IS(COUNT_BEFORE) || count_of(a) == before ? before + 1 : 0;
}
static int sum_of_sleeps(void) {
  int awake_of_p;
  const int of_p = slept(&p, &awake_of_p), of_q = of_p ? slept(&q, &awake_of_q) : 0;
  return of_p && of_q ? of_p + of_q : 0;
}
static void* observer(void* _) {
  FENCE(sc);
  const int first = sum_of_sleeps(), of_q = awake_of_q;
  const int between = IS(NO_SECOND_LOOK) ? of_q : LOAD(q.awake, sc);  // this look is the model's own
  //= order/order.cpp: return first && sum_of_sleeps(h, me, loops) == first && supervisor_sleeps(h);
  const bool all_sleep = first && (IS(NO_SECOND_LOOK) || sum_of_sleeps() == first);
  if (of_q == ASLEEP_AGAIN || between != ASLEEP) assert(!all_sleep);  // q was awake between the two looks, or p was, whom it has rung
  return NULL;
}

int main(void) {
  start(process_q), start(observer);
  wait_for_all();
  return 0;
}
