// Channels: order and content across wrap, growth and freed segments; producers and consumers that die.
#pragma once
#include "harness.h"

namespace stress {

inline uint64_t record_size(Random& r) {
  switch (r.below(64)) {
    case 0: return sizeof(Message) + 8 * r.below(60000);
    case 1:
    case 2:
    case 3: return sizeof(Message) + 8 * r.below(1000);
    default: return sizeof(Message) + 8 * r.below(30);
  }
}

inline void write_record(Message* m, uint64_t size, uint64_t number) {
  m->size = uint32_t(size);
  m->kind = MessageKind::Call;
  m->order_key = number;
  auto* words = reinterpret_cast<uint64_t*>(m + 1);
  for (uint64_t i = 0; i < (size - sizeof(Message)) / 8; i += size > 4096 ? 53 : 1) words[i] = number * 31 + i;
}
inline void check_record(const Message* m, uint64_t number) {
  CHECK(m->kind == MessageKind::Call);
  CHECK(m->order_key == number);
  auto* words = reinterpret_cast<const uint64_t*>(m + 1);
  for (uint64_t i = 0; i < (m->size - sizeof(Message)) / 8; i += m->size > 4096 ? 53 : 1) CHECK(words[i] == number * 31 + i);
}

// As free_actor does: whatever segments are left, then the channel.
inline void free_channel(Heap* h, Local& l, Channel* c) {
  for (Off s = c->read; s;) {
    Off next = h->at<Segment>(s)->next.load(memory_order_acquire);
    l.alloc.free(s);
    s = next;
  }
  l.alloc.free(h->off(c));
}

// `burst` up to which the consumer falls behind: small keeps the ring wrapping, large makes it grow.
inline void run_channel(Heap* h, Local& producer, Local& consumer, uint64_t burst, uint64_t seed, double for_seconds) {
  Channel* c = h->at<Channel>(new_channel(h, producer.alloc, producer.slot));
  atomic<uint64_t> sent{0}, received{0};
  atomic<bool> stop{false};
  std::thread consume([&] {
    Random r(seed * 2 + 1);
    Receiver in(h, &consumer.alloc, c);
    uint64_t number = 0;
    for (;;) {
      bool closed = in.closed();
      Message* m = in.peek();
      if (!m) {
        CHECK(number <= sent.load(memory_order_relaxed) + 1);
        if (closed) break;
        std::this_thread::yield();
        continue;
      }
      check_record(m, number++);
      r.jitter();
      in.pop(m);
      received.store(number, memory_order_relaxed);
    }
    CHECK(number == sent.load());
  });
  Random r(seed * 2);
  Sender out(h, &producer.alloc, c);
  Deadline deadline(for_seconds);
  uint64_t number = 0;
  while (!deadline.over()) {
    for (uint64_t n = r.below(burst) + 1; n > 0; --n) {
      uint64_t size = record_size(r);
      Message* m = out.reserve(size);
      CHECK(m);
      write_record(m, size, number++);
      r.jitter();
      sent.store(number, memory_order_relaxed);
      out.commit(size);
    }
    while (number - received.load(memory_order_relaxed) > burst / 2) std::this_thread::yield();
  }
  out.close();
  consume.join();
  free_channel(h, consumer, c);
}

inline void channel() {
  World world;
  in_threads(2, [&](int i) {
    auto producer = world.process(), consumer = world.process();
    run_channel(world.heap.get(), *producer, *consumer, i ? 4 : 16, uint64_t(i) + 1, seconds);
  });
  world.check_all_free();
}
inline void channel_grows() {
  World world;
  in_threads(2, [&](int i) {
    auto producer = world.process(), consumer = world.process();
    for (uint64_t k = 0; k < 4; ++k) run_channel(world.heap.get(), *producer, *consumer, 2000, uint64_t(i) * 4 + k + 1, seconds / 4);
  });
  world.check_all_free();
}

// The producer is killed between reserve and commit, the consumer between peek and pop: who drains the channel then finds
// exactly the records that were committed and not popped, and their memory comes back.
inline void channel_deaths() {
  World world;
  Heap* h = world.heap.get();
  auto supervisor = world.process();
  Deadline deadline(seconds);
  for (uint64_t round = 1; !deadline.over() && world.next_slot < 16000; ++round) {
    Random r(round);
    auto producer = world.process(), consumer = world.process();
    Channel* c = h->at<Channel>(new_channel(h, supervisor->alloc, producer->slot));
    uint64_t sent = 0, received = 0;
    {
      Sender out(h, &producer->alloc, c);
      Receiver in(h, &consumer->alloc, c);
      for (uint64_t step = r.below(200); step > 0; --step) {
        if (r.below(2)) {
          uint64_t size = record_size(r);
          Message* m = out.reserve(size);
          CHECK(m);
          write_record(m, size, sent);
          out.commit(size);
          ++sent;
        } else if (Message* m = in.peek()) {
          check_record(m, received);
          in.pop(m);
          ++received;
        }
      }
      uint64_t size = record_size(r);
      write_record(out.reserve(size), size, 1 << 30);
      in.peek();
    }
    reap_memory(h, producer->slot);
    reap_memory(h, consumer->slot);
    Receiver drain(h, &supervisor->alloc, c);
    while (Message* m = drain.peek()) {
      check_record(m, received++);
      drain.pop(m);
    }
    CHECK(received == sent);
    free_channel(h, *supervisor, c);
  }
  uint64_t lost = world.slots_used();  // a segment of slab size that was reserved and never linked: one a death at most
  CHECK(lost <= world.next_slot);
}

}  // namespace stress
