// Sleeping and waking (sync/bell.h): no wake-up is lost, whichever of two ringers comes when.
#include "model.h"
MUTANTS(NO_RINGER_FENCE, NO_SLEEPER_FENCE, NO_WORD, SENT, SEEN)
#define RINGER_FENCE M(NO_RINGER_FENCE, sc)
#define SLEEPER_FENCE M(NO_SLEEPER_FENCE, sc)
#define RAISE_WORD !IS(NO_WORD)
#include "bell.h"

static Bell bell = {.queue = PTHREAD_MUTEX_INITIALIZER};
static int message[2];
static atomic_int sent[2];
static int taken;

static void ringer(int i) {
  message[i] = 1;
  //= channels/channel.h: segment_->tail.store(tail_, memory_order_release);
  STORE(sent[i], 1, M(SENT, rel));
  ring(&bell);
}
static void* first(void* _) { return ringer(0), NULL; }
static void* second(void* _) { return ringer(1), NULL; }

static bool taken_from[2];
static bool ready(void) {
  for (int i = 0; i < 2; ++i)
    if (!taken_from[i] && LOAD(sent[i], M(SEEN, acq))) return true;
  return false;
}
static void* sleeper(void* _) {
  while (taken < 2) {
    if (!wait_on(&bell, ready)) return NULL;
    for (int i = 0; i < 2; ++i)
      if (!taken_from[i] && LOAD(sent[i], M(SEEN, acq))) {
        assert(message[i] == 1);
        taken_from[i] = true;
        ++taken;
      }
  }
  return NULL;
}

int main(void) {
  start(sleeper), start(first), start(second);
  wait_for_all();
  if (is_asleep(&bell)) assert(!ready());
  return 0;
}
