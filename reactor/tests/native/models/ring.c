// A channel (channels/channel.h): each record is read whole, once and in its order, and a ring that is full is freed by the consumer when the producer has gone
// on to the next one. The second message goes round the end of the ring if the first one has been taken, else into a ring of its own.
#include "model.h"
MUTANTS(TAIL, TAIL_SEEN, HEAD, HEAD_SEEN, NEXT, NEXT_SEEN, NO_SECOND_LOOK)

enum { CAPACITY = 3, MESSAGES = 3 };
typedef struct {
  int size, value;  // value 0: nothing, it fills the end
} Record;
typedef struct Segment {
  atomic_int tail, head;
  _Atomic(struct Segment*) next;
  Record data[CAPACITY];
} Segment;
static Segment* new_segment(void) {
  Segment* s = malloc(sizeof *s);
  STORE(s->tail, 0, rlx);
  STORE(s->head, 0, rlx);
  STORE(s->next, NULL, rlx);
  return s;
}

// ---- the producer's end
static Segment *written, *old;
static int tail, head;
static Record* slot(void) { return &written->data[tail % CAPACITY]; }
static void advance_tail(int size) {
  tail += size;
  //= channels/channel.h: segment_->tail.store(tail_, memory_order_release);
  STORE(written->tail, tail, M(TAIL, rel));
}
static void send(int size, int value) {
  const int to_end = CAPACITY - tail % CAPACITY, skip = size > to_end ? to_end : 0;
  bool grows = false;
  if (tail + skip + size - head > CAPACITY) {
    //= channels/channel.h: head_ = segment_->head.load(memory_order_acquire);
    head = LOAD(written->head, M(HEAD_SEEN, acq));
    grows = tail + skip + size - head > CAPACITY;
  }
  if (grows) {
    old = written;
    written = new_segment();
    tail = head = 0;
  } else if (skip) {
    *slot() = (Record){skip, 0};
    advance_tail(skip);
  }
  *slot() = (Record){size, value};
  advance_tail(size);
  //= channels/channel.h: old_->next.store(heap_->off(segment_), memory_order_release);
  if (old) STORE(old->next, written, M(NEXT, rel));
  old = NULL;
}
static void* producer(void* _) {
  send(2, 1);
  send(2, 2);
  send(1, 3);
  return NULL;
}

// ---- the consumer's end
static Segment* read_from;
static int at, known;  // head_, tail_
static void step(int size) {
  at += size;
  //= channels/channel.h: segment_->head.store(head_, memory_order_release);
  STORE(read_from->head, at, M(HEAD, rel));
}
static bool advance(void) {
  //= channels/channel.h: Off next = segment_->next.load(memory_order_acquire);
  Segment* next = LOAD(read_from->next, M(NEXT_SEEN, acq));
  if (!next) return false;
  //= channels/channel.h: tail_ = segment_->tail.load(memory_order_acquire);
  if (!IS(NO_SECOND_LOOK)) known = LOAD(read_from->tail, acq);
  if (at != known) return true;
  Segment* before = read_from;
  read_from = next;
  at = LOAD(read_from->head, rlx);
  known = LOAD(read_from->tail, M(TAIL_SEEN, acq));
  free(before);
  return at != known;
}
static Record* peek(void) {
  for (;;) {
    if (at == known) {
      known = LOAD(read_from->tail, M(TAIL_SEEN, acq));
      if (at == known && !advance()) return NULL;
      continue;
    }
    Record* r = &read_from->data[at % CAPACITY];
    if (r->value) return r;
    step(r->size);
  }
}
static int received;
static void take(void) {
  Record* r = peek();
  if (!r) return;
  assert(r->value == ++received);
  step(r->size);
}
static void* consumer(void* _) {
  for (int i = 0; i < MESSAGES; ++i) take();
  return NULL;
}

int main(void) {
  written = read_from = new_segment();
  start(producer), start(consumer);
  wait_for_all();
  for (int i = 0; i < MESSAGES; ++i) take();
  assert(received == MESSAGES && !peek());
  return 0;
}
