// Task queues and resources.
#pragma once
#include "harness.h"

namespace stress {

struct QueuedTask {
  uint64_t number;
  atomic<uint32_t> claims;
};

inline Off take(Heap* h, uint32_t me, TaskQueue* q, uint64_t& notes) {
  return claim_task(h, me, q, [&](Off) { ++notes; }, [] {});
}
// One behind the oldest, if there is.
inline Off take_behind(Heap* h, uint32_t me, TaskQueue* q, uint64_t& notes, Random& r) {
  const TaskAt first = oldest(h, q);
  if (!first.task) return 0;
  const uint64_t at = first.at + r.below(first.ring->tail.load() - first.at);
  const Off task = first.ring->at(at).load();
  return task & 1 ? 0 : claim(me, {first.ring, at, task}, [&](Off) { ++notes; }, [] {});
}

// One producer, in bursts that make the ring grow, and several consumers; tasks are freed as soon as they ran, so that their
// memory comes back as other tasks. `consumers` 1: in the order of the calls.
inline void run_queue(int consumers, uint64_t burst) {
  World world;
  Heap* h = world.heap.get();
  auto producer = world.process();
  TaskQueue* q = new_queue(*producer, 0);
  atomic<uint64_t> taken{0};
  atomic<uint64_t> sent{UINT64_MAX};
  constexpr uint64_t kMost = 1 << 20;
  std::vector<atomic<uint8_t>> ran(kMost);
  Deadline deadline(seconds);
  in_threads(consumers + 1, [&](int i) {
    Random r(uint64_t(i) + 1);
    if (i == 0) {
      uint64_t number = 0;
      while (!deadline.over() && number + burst < kMost) {
        for (uint64_t n = r.below(burst) + 1; n > 0; --n) {
          Off task = producer->alloc.alloc(sizeof(QueuedTask));
          h->at<QueuedTask>(task)->number = number++;
          h->at<QueuedTask>(task)->claims.store(0, memory_order_relaxed);
          enqueue(*producer, q, task);
          r.jitter();
        }
        while (number - taken.load(memory_order_relaxed) > burst / 2) std::this_thread::yield();
      }
      sent.store(number);
      return;
    }
    auto l = world.process();
    uint64_t notes = 0, previous = 0;
    while (taken.load() < sent.load()) {
      Off off = consumers > 1 && r.below(4) == 0 ? take_behind(h, l->slot, q, notes, r) : take(h, l->slot, q, notes);
      if (!off) {
        std::this_thread::yield();
        continue;
      }
      auto* t = h->at<QueuedTask>(off);
      CHECK(t->claims.fetch_add(1) == 0);
      CHECK(ran[t->number].exchange(1) == 0);
      if (consumers == 1) CHECK(t->number == previous++);
      r.jitter();
      l->alloc.free(off);
      taken.fetch_add(1);
    }
  });
  CHECK(taken == sent);
  CHECK(!has_task(h, q));
  fprintf(stderr, "%llu tasks\n", static_cast<unsigned long long>(sent.load()));
}

inline void queue_order() { run_queue(1, 3000); }
inline void queue_once() { run_queue(3, 100); }
inline void queue_grows() { run_queue(3, 5000); }

// The producer was killed after it linked a larger ring and before it noted it: who adopts the queue goes on there.
inline void queue_adopted() {
  World world;
  Heap* h = world.heap.get();
  auto producer = world.process(), heir = world.process(), consumer = world.process();
  TaskQueue* q = new_queue(*producer, 0);
  Off before = q->write;
  uint64_t number = 0;
  auto send = [&](Local& l) {
    Off task = producer->alloc.alloc(sizeof(QueuedTask));
    h->at<QueuedTask>(task)->number = number++;
    enqueue(l, q, task);
  };
  while (q->write == before) send(*producer);
  q->write = before;
  uint64_t notes = 0;
  const uint64_t taken = number / 2;
  for (uint64_t i = 0; i < taken; ++i) CHECK(h->at<QueuedTask>(take(h, consumer->slot, q, notes))->number == i);
  while (number < 2000) send(*heir);
  for (uint64_t i = taken; i < 2000; ++i) {
    Off task = take(h, consumer->slot, q, notes);
    CHECK(task && h->at<QueuedTask>(task)->number == i);
  }
  CHECK(!has_task(h, q));
}

// Never below zero, and all back in the end. What was taken is counted by a second hand.
inline void resources() {
  World world;
  Header* hdr = world.heap->header;
  const int64_t total[3] = {3 * kUnit, 2 * kUnit, kUnit};
  for (int i = 0; i < 3; ++i) {
    hdr->resource[i].total.store(total[i]);
    hdr->resource[i].free.store(total[i]);
  }
  auto ask = [&](int demand, std::initializer_list<std::pair<int, int64_t>> parts) {
    Demand& d = hdr->demand[demand];
    d.first = hdr->parts;
    for (auto [index, amount] : parts) {
      hdr->part[hdr->parts++] = {amount, index};
      ++d.n;
    }
  };
  ask(0, {{0, kUnit}});
  ask(1, {{0, kUnit / 2}, {1, kUnit}});
  ask(2, {{2, kUnit}, {1, kUnit}, {0, kUnit}});
  hdr->demands = 3;
  atomic<int64_t> held[3] = {};
  Deadline deadline(seconds);
  in_threads(4, [&](int i) {
    Random r(uint64_t(i) + 1);
    while (!deadline.over()) {
      uint32_t demand = uint32_t(r.below(3));
      bool disturbed = false;
      if (!take_resources(hdr, demand, &disturbed)) continue;
      CHECK(!disturbed);
      const Demand& d = hdr->demand[demand];
      const Part* parts = hdr->part + d.first;
      for (int k = 0; k < d.n; ++k) CHECK(held[parts[k].index].fetch_add(parts[k].amount) + parts[k].amount <= total[parts[k].index]);
      for (int k = 0; k < 3; ++k) CHECK(hdr->resource[k].free.load() >= 0);
      r.jitter();
      for (int k = 0; k < d.n; ++k) held[parts[k].index].fetch_sub(parts[k].amount);
      give_resources(hdr, demand);
    }
  });
  for (int k = 0; k < 3; ++k) CHECK(hdr->resource[k].free.load() == total[k]);
}

}  // namespace stress
