// The facts of a resource, which may be another one's while somebody reads them (memory/layout.h, Resource; bindings/resources.cpp): what was read between two looks at
// the same even version belongs together.
#include "model.h"
MUTANTS(WRITER_FENCE, VERSION, VERSION_SEEN, READER_FENCE, NO_SECOND_LOOK)

static atomic_int version, name = 1, total = 1;

static void* writer(void* _) {
  //= bindings/resources.cpp: r.version.store(version + 1, memory_order_relaxed);
  STORE(version, 1, rlx);
  //= bindings/resources.cpp: std::atomic_thread_fence(memory_order_release);  // who sees one of the following sees that it changes
  FENCE(M(WRITER_FENCE, rel));
  //= bindings/resources.cpp: const Off before = r.name.exchange(off, memory_order_relaxed);
  EXCHANGE(name, 2, rlx);
  //= bindings/resources.cpp: r.total.store(total, memory_order_relaxed);
  STORE(total, 2, rlx);
  //= bindings/resources.cpp: r.version.store(version + 2, memory_order_release);
  STORE(version, 2, M(VERSION, rel));
  return NULL;
}
static void* reader(void* _) {
  //= bindings/resources.cpp: const uint32_t version = r.version.load(memory_order_acquire);
  const int before = LOAD(version, M(VERSION_SEEN, acq));
  const int its_name = LOAD(name, rlx), its_total = LOAD(total, rlx);
  //= bindings/resources.cpp: std::atomic_thread_fence(memory_order_acquire);
  FENCE(M(READER_FENCE, acq));
  //= bindings/resources.cpp: if (!(version & 1) && version == r.version.load(memory_order_relaxed)) return off != 0;
  if (before & 1 || (!IS(NO_SECOND_LOOK) && before != LOAD(version, rlx))) return NULL;
  assert(its_name == its_total);
  return NULL;
}

int main(void) {
  start(writer), start(reader);
  wait_for_all();
  return 0;
}
