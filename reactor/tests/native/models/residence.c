// Where a large value is (memory/residence.h, memory/spill_mover.h): a reader gets its bytes from the memory or from the file, a mover takes them from the one to the other,
// and who drops the last hold frees both places once, when nobody reads or writes there any more.
#include "model.h"
MUTANTS(PIN, UNPIN, DROP, DOOM, PINS_IGNORED, NOT_DOOMED)

enum { HERE = 1 << 8, LEAVING = 2 << 8, DROPPING = 3 << 8, AWAY = 4 << 8, PLACE = 7 << 8, DOOMED = 1 << 12, PINS = 255 };
static int memory = 7, file;
static atomic_uint word = HERE;
static atomic_int holds = 2, freed;

static void free_places(void) {
  ADD(freed, 1, rlx);
  memory = file = -1;  // another value's
}
static bool in_transit(unsigned w) { return (w & PLACE) == LEAVING || (w & PLACE) == DROPPING; }
static void free_run(void) {
  //= memory/alloc.h: if (at.compare_exchange_weak(word, word | kDoomed, memory_order_acq_rel, memory_order_acquire)) return;
  unsigned w = LOAD(word, M(DOOM, acq));
  while (!CAS(word, w, w | DOOMED, M(DOOM, acq_rel), M(DOOM, acq))) {}
  if (in_transit(w) && !IS(NOT_DOOMED)) return;
  free_places();
}
static void drop(void) {
  if (SUB(holds, 1, acq_rel) == 1) free_run();
}
static void* reader(void* _) {
  //= memory/residence.h: uint64_t before = r->word.fetch_add(1, memory_order_acq_rel);
  const unsigned before = ADD(word, 1, M(PIN, acq_rel));
  if ((before & PLACE) <= LEAVING) {
    assert(memory == 7);
    //= memory/residence.h: inline void unpin(Residence* r) { r->word.fetch_sub(1, memory_order_release); }
    SUB(word, 1, M(UNPIN, rel));
  } else {
    SUB(word, 1, M(UNPIN, rel));
    assert(file == 7);
  }
  drop();
  return NULL;
}
static void* holder(void* _) { return drop(), NULL; }
static void finish_move(unsigned place) {
  unsigned w = LOAD(word, acq);
  //= memory/alloc.h: while (!at.compare_exchange_weak(word, ended(), memory_order_acq_rel, memory_order_acquire)) {}
  while (!CAS(word, w, place | (w & (PINS | DOOMED)), acq_rel, acq)) {}
  if (w & DOOMED) free_places();
}
static void* mover(void* _) {
  //= memory/spill_mover.h: uint64_t word = r.word.load(memory_order_acquire);
  unsigned w = LOAD(word, acq);
  if ((w & PLACE) != HERE || w & (PINS | DOOMED)) return NULL;
  //= memory/spill_mover.h: if (!r.word.compare_exchange_strong(word, mine, memory_order_acq_rel)) return Left::InUse;
  if (!CAS(word, w, LEAVING, acq_rel, acq)) return NULL;
  file = memory;
  unsigned mine = LEAVING;
  if (IS(PINS_IGNORED)) mine = LOAD(word, acq);
  //= memory/spill_mover.h: if (!filed || !r.word.compare_exchange_strong(mine, placed_at(Place::Dropping, rest), memory_order_acq_rel)) {
  if (!CAS(word, mine, DROPPING, M(DROP, acq_rel), acq)) return finish_move(HERE), NULL;
  memory = 0;  // given back
  finish_move(AWAY);
  return NULL;
}

int main(void) {
  start(reader), start(holder), start(mover);
  wait_for_all();
  assert(LOAD(freed, rlx) == 1);
  return 0;
}
