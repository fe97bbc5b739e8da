// Pages (memory/alloc.h): who claims a page may write what its former owner has read or written, and low_page, where searches start, is never above a free page.
#include "model.h"
MUTANTS(FREE, CLAIM, NOTE, LOW_SEEN, NO_NUMBER)

enum { WARM = 1, CLAIMED = 16, PAGES = 3, NUMBER = 256 };
static atomic_int state[PAGES];
static atomic_uint low_page = 0;
static int bytes[PAGES];

static void free_page(unsigned page) {
  bytes[page] = 0;
  //= memory/alloc.h: for (uint32_t i = 0; i < n; ++i) h->page_state[page + i].store(state, memory_order_release);
  STORE(state[page], WARM, M(FREE, rel));
  //= memory/alloc.h: uint64_t low = hdr->low_page.load(memory_order_relaxed);
  unsigned low = LOAD(low_page, rlx), noted;
  do noted = low / NUMBER * NUMBER + (IS(NO_NUMBER) ? 0 : NUMBER) + (page < low % NUMBER ? page : low % NUMBER);
  //= memory/alloc.h: } while (!hdr->low_page.compare_exchange_weak(low, noted, memory_order_release, memory_order_relaxed));
  while (!CAS(low_page, low, noted, M(NOTE, rel), rlx));
}
static void claim(void) {
  //= memory/alloc.h: uint64_t low = hdr->low_page.load(memory_order_acquire);
  unsigned low = LOAD(low_page, M(LOW_SEEN, acq));
  for (unsigned from = low % NUMBER; from < PAGES; ++from) {
    int s = LOAD(state[from], rlx);
    //= memory/alloc.h: if (s > kWarm || !state.compare_exchange_strong(s, kClaim + slot_, memory_order_acquire, memory_order_relaxed)) break;
    if (s > WARM || !CAS(state[from], s, CLAIMED, M(CLAIM, acq), rlx)) continue;
    bytes[from] = 1;
    //= memory/alloc.h: if (!skipped) hdr->low_page.compare_exchange_strong(low, low >> 32 << 32 | (from + n), memory_order_relaxed);
    CAS(low_page, low, low / NUMBER * NUMBER | (from + 1), rlx, rlx);
    return;
  }
}
static void* frees(void* _) { return free_page(1), NULL; }
static void* claims(void* _) { return claim(), NULL; }
static void* claims_too(void* _) { return claim(), NULL; }

int main(void) {
  STORE(state[0], WARM, rlx);
  STORE(state[1], CLAIMED, rlx);
  STORE(state[2], WARM, rlx);
  start(frees), start(claims), start(claims_too);
  wait_for_all();
  for (unsigned page = 0; page < PAGES; ++page)
    if (LOAD(state[page], rlx) == WARM) assert(LOAD(low_page, rlx) % NUMBER <= page);
  return 0;
}
