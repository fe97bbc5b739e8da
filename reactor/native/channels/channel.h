// A single-producer, single-consumer queue of messages without bound: rings, linked when one is full.
//
//   Channel ── read ──> Segment ── next ──> Segment <── write ── Channel
//                       head   tail          head  tail
//
// Producer                                  Consumer
//   write record at tail                      if head != tail [acquire]: read record, head += size [release]
//   tail += size            [release]         else if next != 0 [acquire] and head == tail [acquire, again]:
//   ring full: new segment, first record         free the segment, go on with next
//   in it, then old.next = new [release]
//
// A record becomes visible as a whole by the store of tail; a producer killed before it leaves nothing. The producer
// never touches a segment again after setting its next, so the consumer may free it. The second look at tail after
// next was seen catches records written between the two loads. Records are contiguous: a Skip record fills the end.
#pragma once
#include <utility>
#include "memory/alloc.h"

namespace reactor {

struct Segment {
  alignas(64) atomic<uint64_t> tail;
  atomic<Off> next;
  uint64_t capacity;  // bytes in data, multiple of 8
  alignas(64) atomic<uint64_t> head;
  alignas(64) uint8_t data[];

  Message* record(uint64_t at) { return reinterpret_cast<Message*>(data + at % capacity); }
};

// Where in its segment's data one end of a channel works. It is kept, because the division takes longer than the other work of an end; and so is the
// capacity, because it lies in the line of `tail`, which goes from core to core.
class Cursor {
 public:
  Cursor() = default;
  Cursor(Segment* s, uint64_t at) : data_(s->data), capacity_(s->capacity), at_(at % s->capacity) {}
  uint64_t capacity() const { return capacity_; }
  uint64_t to_end() const { return capacity_ - at_; }
  Message* record() const { return reinterpret_cast<Message*>(data_ + at_); }
  // Past a record of `size` bytes. No record goes over the end.
  void advance(uint64_t size) {
    at_ += size;
    if (at_ == capacity_) at_ = 0;
  }

 private:
  uint8_t* data_ = nullptr;
  uint64_t capacity_ = 0;
  uint64_t at_ = 0;
};

enum class ProducerState : uint32_t { Open = 0, Closed };

struct alignas(64) Channel {
  Off next;                       // next channel of the inbox
  uint32_t producer;              // proc slot
  atomic<ProducerState> closed;
  bool mixed;                     // its producer runs tasks, or several actors: its calls are not in the order of their tags
  Off read;                       // consumer's segment
  alignas(64) Off write;          // producer's segment
};
static_assert(sizeof(Channel) == 128);

// Small: a ring's memory is used round and round, and that of all actors' rings together is to stay in the cache.
constexpr uint64_t kFirstSegment = 2048 - sizeof(Segment);
constexpr uint64_t kLargestSegment = (4 << 20) - sizeof(Segment);

// The producer's own until it is linked: killed before that, its pages are given back as claimed ones.
inline Off new_segment(Heap* h, Allocator& a, uint64_t capacity) {
  Off off = a.alloc(sizeof(Segment) + capacity);
  if (!off) return 0;
  auto* s = h->at<Segment>(off);
  s->tail.store(0, memory_order_relaxed);
  s->head.store(0, memory_order_relaxed);
  s->next.store(0, memory_order_relaxed);
  s->capacity = capacity;
  return off;
}

inline Off new_channel(Heap* h, Allocator& a, uint32_t producer) {
  Off off = a.alloc(sizeof(Channel));
  Off segment = off ? new_segment(h, a, kFirstSegment) : 0;
  if (!segment) {
    if (off) a.free(off);
    return 0;
  }
  auto* c = h->at<Channel>(off);
  c->next = 0;
  c->producer = producer;
  const Proc& p = h->procs[producer];
  c->mixed = p.kind != ProcKind::Driver && !(p.kind == ProcKind::Actor && p.inbox.load(memory_order_relaxed));
  c->closed.store(ProducerState::Open, memory_order_relaxed);
  c->read = c->write = segment;
  return off;
}

// Producer's end. Thread safety: one thread at a time (the producer's GIL).
class Sender {
 public:
  Sender(Heap* h, Allocator* a, Channel* c) : heap_(h), alloc_(a), channel_(c), segment_(h->at<Segment>(c->write)) {
    tail_ = segment_->tail.load(memory_order_relaxed);
    head_ = segment_->head.load(memory_order_acquire);
    cursor_ = Cursor(segment_, tail_);
  }
  // Room for a record of `size` bytes (multiple of 8), to be filled and then published by commit(). Null when the
  // heap is exhausted.
  Message* reserve(uint64_t size) {
    const uint64_t cap = cursor_.capacity();
    const uint64_t skip = size > cursor_.to_end() ? cursor_.to_end() : 0;
    if (tail_ + skip + size - head_ > cap) {
      head_ = segment_->head.load(memory_order_acquire);
      if (tail_ + skip + size - head_ > cap) return grow(size);
    }
    if (skip) put_skip(skip);
    return cursor_.record();
  }
  void commit(uint64_t size) {
    advance(size);
    if (old_) {
      alloc_->publish(heap_->off(segment_), kPlain);
      old_->next.store(heap_->off(segment_), memory_order_release);
      old_ = nullptr;
    }
  }
  void close() {
    if (old_) alloc_->free(heap_->off(segment_));
    channel_->closed.store(ProducerState::Closed, memory_order_release);
  }
  Channel* channel() const { return channel_; }
  // What the next message writes to: the tail, and the place of the record.
  std::pair<const void*, const void*> next_writes() const { return {segment_, cursor_.record()}; }

 private:
  void advance(uint64_t size) {
    tail_ += size;
    cursor_.advance(size);
    segment_->tail.store(tail_, memory_order_release);
  }
  void put_skip(uint64_t size) {
    Message* m = cursor_.record();
    m->size = uint32_t(size);
    m->kind = MessageKind::Skip;
    advance(size);
  }
  Message* grow(uint64_t size) {
    uint64_t cap = segment_->capacity * 4;
    if (cap > kLargestSegment) cap = kLargestSegment;
    cap = align_up(cap < size * 4 ? size * 4 : cap, 64);
    Off off = new_segment(heap_, *alloc_, cap);
    if (!off) return nullptr;
    // What was reserved in a new segment may have been given up: nobody has seen that one.
    if (old_) alloc_->free(heap_->off(segment_));
    else old_ = segment_;
    segment_ = heap_->at<Segment>(off);
    channel_->write = off;
    tail_ = head_ = 0;
    cursor_ = Cursor(segment_, 0);
    return cursor_.record();
  }
  Heap* heap_;
  Allocator* alloc_;
  Channel* channel_;
  Segment* segment_;
  Segment* old_ = nullptr;
  uint64_t tail_;
  uint64_t head_;
  Cursor cursor_;  // of tail_
};

// Consumer's end. Thread safety: one thread at a time.
class Receiver {
 public:
  Receiver(Heap* h, Allocator* a, Channel* c) : heap_(h), alloc_(a), channel_(c), segment_(h->at<Segment>(c->read)) {
    head_ = segment_->head.load(memory_order_relaxed);
    tail_ = head_;
    cursor_ = Cursor(segment_, head_);
  }
  // The oldest record, or null. It stays valid until pop().
  Message* peek() {
    for (;;) {
      if (head_ == tail_) {
        tail_ = segment_->tail.load(memory_order_acquire);
        if (head_ == tail_ && !advance()) return nullptr;
        continue;
      }
      Message* m = cursor_.record();
      if (m->kind != MessageKind::Skip) return m;
      step(m->size);
    }
  }
  void pop(const Message* m) { step(m->size); }
  // Whether peek() may have something, without touching anything (for the wait loop, which runs without the GIL).
  bool pending() const { return head_ != segment_->tail.load(memory_order_acquire) || segment_->next.load(memory_order_acquire) != 0; }
  bool closed() const { return channel_->closed.load(memory_order_acquire) == ProducerState::Closed; }
  Channel* channel() const { return channel_; }
  // The next record, or null, without a step: for who looks ahead. It may be a Skip record.
  const Message* ahead() const { return head_ != segment_->tail.load(memory_order_acquire) ? cursor_.record() : nullptr; }
  // Has what peek() and the reading of a small message need brought into the cache.
  void prefetch() const {
    __builtin_prefetch(channel_);
    __builtin_prefetch(segment_);
    const auto* record = reinterpret_cast<const uint8_t*>(cursor_.record());
    __builtin_prefetch(record);
    __builtin_prefetch(record + 64);
  }

 private:
  void step(uint64_t size) {
    head_ += size;
    cursor_.advance(size);
    segment_->head.store(head_, memory_order_release);
  }
  bool advance() {
    Off next = segment_->next.load(memory_order_acquire);
    if (!next) return false;
    tail_ = segment_->tail.load(memory_order_acquire);
    if (head_ != tail_) return true;
    Off old = heap_->off(segment_);
    segment_ = heap_->at<Segment>(next);
    channel_->read = next;
    std::atomic_signal_fence(memory_order_seq_cst);  // killed from here on: who drains the channel must not read the old one
    head_ = segment_->head.load(memory_order_relaxed);
    cursor_ = Cursor(segment_, head_);
    tail_ = segment_->tail.load(memory_order_acquire);
    alloc_->free(old);
    return head_ != tail_;
  }
  Heap* heap_;
  Allocator* alloc_;
  Channel* channel_;
  Segment* segment_;
  uint64_t head_;
  uint64_t tail_;
  Cursor cursor_;  // of head_
};

// Calls `f` with each record of a channel that has no consumer at the moment, oldest first, and takes none out. What the
// producer adds meanwhile may be seen or not; it is never torn, since a record is in only once tail says so. Setting a
// record's kind to Skip removes it.
template <class F> void each_record(Heap* h, Channel* c, F f) {
  for (Off off = c->read; off;) {
    auto* s = h->at<Segment>(off);
    off = s->next.load(memory_order_acquire);  // before tail: with the next segment seen, this one's tail is final
    uint64_t tail = s->tail.load(memory_order_acquire);
    for (uint64_t at = s->head.load(memory_order_relaxed); at != tail;) {
      Message* m = s->record(at);
      at += m->size;
      if (m->kind != MessageKind::Skip) f(m);
    }
  }
}

}  // namespace reactor
