// Objects: completion against link, arm, disarm and let_go; completers that race; long chains of refs.
#pragma once
#include <algorithm>
#include "bells.h"

namespace stress {

// What a ref is to the runtime: an object and the wait node kept for the next wait. wait() does what wait_objects in
// submit.cpp does, and in addition insists that every node taken by a completer is counted, once.
struct Held {
  Object* object;
  WaitNode* node = nullptr;
};

class Waiter {
 public:
  explicit Waiter(Local& l) : local_(l), bell_(&l.heap->procs[l.slot].bell), spin_(l.heap->header) {}

  // 0 or ETIMEDOUT. Waits until `need` of the objects are done.
  int wait(const std::vector<Held*>& refs, int need, uint64_t deadline) {
    Heap* h = local_.heap;
    auto* g = h->at<WaitGroup>(local_.alloc.alloc(sizeof(WaitGroup)));
    g->remaining.store(kBias, memory_order_relaxed);
    g->failed.store(0, memory_order_relaxed);
    g->bell = h->off(bell_);
    std::vector<std::pair<Held*, WaitNode*>> linked;
    int done = 0;
    for (Held* r : refs) {
      if (is_done(r->object)) {
        ++done;
        continue;
      }
      WaitNode* node = r->node;
      if (node && node->armed.load(memory_order_relaxed)) node = nullptr;
      if (!node) {
        node = new_node(local_, NodeKind::Group, h->off(g));
        if (!link(local_, r->object, node)) {
          local_.alloc.free(h->off(node));
          ++done;
          continue;
        }
      } else {
        node->target = h->off(g);
        node->armed.store(1, memory_order_seq_cst);
        if (is_done(r->object) && node->armed.exchange(0)) {
          ++done;
          continue;
        }
      }
      linked.emplace_back(r, node);
    }
    int wanted = need - done, result = 0;
    g->remaining.fetch_sub(kBias - wanted, memory_order_acq_rel);
    if (wanted > 0) result = wait_on(h, bell_, nullptr, spin_, deadline, [&] { return g->remaining.load(memory_order_acquire) <= 0; });
    int mine_back = 0;
    for (auto& [r, node] : linked) {
      mine_back += node->armed.exchange(0, memory_order_acq_rel) ? 1 : 0;
      if (r->node == node) continue;
      if (!r->node && !is_done(r->object)) r->node = node;
      else let_go(local_, node);
    }
    int expect = wanted - (int(linked.size()) - mine_back);
    for (Deadline late(10); g->remaining.load(memory_order_acquire) != expect;) CHECK(!late.over());
    local_.alloc.free(h->off(g));
    return result;
  }

 private:
  Local& local_;
  Bell* bell_;
  Spin spin_;
};

// Rounds: one thread makes a batch of objects; two complete them, now and then both the same one; the others wait for random
// parts of the batch, with and without time enough.
inline void objects() {
  constexpr int kWaiters = 3, kCompleters = 2, kBatch = 12;
  World world;
  Heap* h = world.heap.get();
  Object* batch[kBatch];
  atomic<uint64_t> round{0}, finished{0};
  atomic<bool> stop{false};
  Deadline deadline(seconds);
  auto next_round = [&](uint64_t n) {
    while (round.load(memory_order_acquire) < n) std::this_thread::yield();
    return !stop.load();
  };
  in_threads(1 + kCompleters + kWaiters, [&](int i) {
    auto l = world.process();
    Random r(uint64_t(i) + 1);
    if (i == 0) {
      for (uint64_t n = 1;; ++n) {
        for (auto& o : batch) o = new_object(*l, kCompleters + kWaiters);
        bool over = deadline.over();
        stop.store(over);
        round.store(n, memory_order_release);
        if (over) break;
        while (finished.load(memory_order_acquire) != n * (kCompleters + kWaiters)) std::this_thread::yield();
      }
      for (auto* o : batch) l->alloc.free(h->off(o));
      fprintf(stderr, "%llu rounds\n", static_cast<unsigned long long>(round.load()));
      return;
    }
    Waiter waiter(*l);
    for (uint64_t n = 1; next_round(n); ++n) {
      if (i <= kCompleters) {
        for (int k = 0; k < kBatch; ++k) {
          r.jitter();
          bool shared = (n + uint64_t(k)) % 3 == 0;  // a call that is cancelled while it ends
          if (shared || k % kCompleters == i - 1) complete(*l, batch[k], State::Value);
        }
        for (auto* o : batch) drop_hold(*l, o);
      } else {
        std::vector<Held> held;
        for (auto* o : batch) held.push_back({o});
        for (bool all = false; !all;) {
          std::vector<Held*> some;
          for (auto& x : held)
            if (r.below(3)) some.push_back(&x);
          if (some.empty()) some.push_back(&held[0]);
          if (r.below(4) == 0) some.push_back(some[0]);  // the same ref twice
          int need = 1 + int(r.below(some.size()));
          bool brief = r.below(3) == 0;
          int e = waiter.wait(some, need, brief ? now_ns() + r.below(30000) : in_seconds(10));
          CHECK(e == 0 || (brief && e == ETIMEDOUT));
          if (e == 0) CHECK(std::count_if(some.begin(), some.end(), [](Held* x) { return is_done(x->object); }) >= need);
          all = std::all_of(held.begin(), held.end(), [](Held& x) { return is_done(x.object); });
        }
        for (auto& x : held) {
          if (x.node) let_go(*l, x.node);
          drop_hold(*l, x.object);
        }
      }
      finished.fetch_add(1, memory_order_acq_rel);
    }
  });
  world.check_all_free();
}

// A value that holds the ref of a value that holds … : letting the last go must not use stack for each.
inline void long_chain() {
  World world;
  Heap* h = world.heap.get();
  auto l = world.process();
  Object* last = nullptr;
  for (int i = 0; i < 400000; ++i) {
    Object* o = new_object(*l, 1);
    auto* v = reinterpret_cast<ValueHeader*>(o->body);
    v->set(0, 0, last ? 1 : 0, 0);
    if (last) *value_refs(v) = h->off(last);
    complete(*l, o, State::Value);
    last = o;
  }
  drop_hold(*l, last);
  world.check_all_free();
}

}  // namespace stress
