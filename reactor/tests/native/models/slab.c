// Slots of a slab page (memory/alloc.h): a slot that another process frees is used again by the page's owner, and the page is freed once, after the last access to it, by
// the last of those who free slots and the supervisor, who settles the owner's death.
#include "model.h"
MUTANTS(PUSH, COLLECT, COUNT, ABANDONED_FIRST)

enum { OWNER = 1, ABANDONED = 2 };
typedef struct Slot {
  atomic_uintptr_t next;
  int data;
} Slot;
typedef struct {
  atomic_int owner, used;
  Slot slot[2];
} Page;
static Page* page;
static atomic_uintptr_t remote_free;
static atomic_int freed;

static void count_down(void) {
  //= memory/alloc.h: if (page->used.fetch_sub(1, memory_order_acq_rel) == 1) free_pages(heap_, slot_, heap_->page_of(heap_->off(page)), 1);
  if (SUB(page->used, 1, M(COUNT, acq_rel)) != 1) return;
  ADD(freed, 1, rlx);
  free(page);
}
static void free_of_another(Slot* s) {
  assert(s->data == 1);
  s->data = 2;
  //= memory/alloc.h: uint32_t owner = page->owner.load(memory_order_acquire);
  if (LOAD(page->owner, acq) != ABANDONED) {
    uintptr_t head = LOAD(remote_free, rlx);
    do STORE(s->next, head, rlx);
    //= memory/alloc.h: } while (!list.compare_exchange_weak(head, empty | off, memory_order_release, memory_order_relaxed));
    while (!CAS(remote_free, head, (uintptr_t)s, M(PUSH, rel), rlx));
  }
  count_down();
}
static void* first(void* _) { return free_of_another(&page->slot[0]), NULL; }
static void* second(void* _) { return free_of_another(&page->slot[1]), NULL; }
static void* owner(void* _) {
  //= memory/alloc.h: if ((list.load(memory_order_relaxed) & kOffMask) == 0) return;
  if (!LOAD(remote_free, rlx)) return NULL;
  //= memory/alloc.h: free_[c] = list.exchange(empty_list(owner_), memory_order_acquire) & kOffMask;
  Slot* free_list = (Slot*)EXCHANGE(remote_free, 0, M(COLLECT, acq));
  while (free_list) {
    Slot* s = free_list;
    free_list = (Slot*)LOAD(s->next, rlx);
    //= memory/alloc.h: slab_page(off)->used.fetch_add(1, memory_order_relaxed);
    ADD(page->used, 1, rlx);
    s->data = 3;
    count_down();  // it is free again
  }
  return NULL;
}
static void* supervisor(void* _) {
  wait_for(2);  // the owner has died
  //= memory/alloc.h: page->owner.store(kAbandoned, memory_order_release);
  if (IS(ABANDONED_FIRST)) count_down();
  STORE(page->owner, ABANDONED, rel);
  if (!IS(ABANDONED_FIRST)) count_down();
  return NULL;
}

int main(void) {
  page = malloc(sizeof *page);
  STORE(page->owner, OWNER, rlx);
  STORE(page->used, 3, rlx);
  page->slot[0].data = page->slot[1].data = 1;
  start(first), start(second), start(owner), start(supervisor);
  wait_for_all();
  assert(LOAD(freed, rlx) == 1);
  return 0;
}
