// Objects: completion against link, arm, disarm and let_go; completers that race or die; long chains of refs.
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

struct WaitingTask {
  atomic<int32_t> missing;
  atomic<int32_t> ran;
};
struct Killed {};
inline thread_local int acts_until_killed = -1;

inline void argument_ready(Local& l, Off task) {
  if (acts_until_killed == 0) throw Killed{};
  --acts_until_killed;
  auto* t = l.heap->at<WaitingTask>(task);
  if (t->missing.fetch_sub(1, memory_order_acq_rel) == 1) t->ran.fetch_add(1, memory_order_relaxed);
}

inline void wait_for_argument(Local& l, Object* o, Off task) {  // as call_function does
  WaitNode* n = new_node(l, NodeKind::Task, task);
  n->life.store(Life::Orphan, memory_order_relaxed);
  l.heap->at<WaitingTask>(task)->missing.fetch_add(1, memory_order_relaxed);
  if (link(l, o, n)) return;
  l.heap->at<WaitingTask>(task)->missing.fetch_sub(1, memory_order_relaxed);
  l.alloc.free(l.heap->off(n));
}

// Tasks with several arguments, which are completed while the task is being submitted: each runs once.
inline void task_arguments() {
  constexpr int kBatch = 16;
  World world;
  Heap* h = world.heap.get();
  Deadline deadline(seconds);
  std::vector<std::unique_ptr<Local>> locals;
  for (int i = 0; i < 3; ++i) locals.push_back(world.process());
  for (uint64_t round = 1; !deadline.over(); ++round) {
    Object* arguments[kBatch];
    for (auto& o : arguments) o = new_object(*locals[0], 1);
    Off tasks[kBatch];
    for (auto& t : tasks) {
      t = locals[0]->alloc.alloc(sizeof(WaitingTask));
      h->at<WaitingTask>(t)->missing.store(1);
      h->at<WaitingTask>(t)->ran.store(0);
    }
    in_threads(3, [&](int i) {
      Random r(round * 3 + uint64_t(i));
      Local& l = *locals[size_t(i)];
      l.task_ready = argument_ready;
      for (int k = 0; k < kBatch; ++k) {
        r.jitter();
        if (i > 0) {
          if (k % 2 == i - 1) complete(l, arguments[k], State::Value);
          continue;
        }
        for (int n = 0; n < 4; ++n) wait_for_argument(l, arguments[r.below(kBatch)], tasks[k]);
        argument_ready(l, tasks[k]);
      }
    });
    for (auto t : tasks) {
      CHECK(h->at<WaitingTask>(t)->ran == 1);
      locals[0]->alloc.free(t);
    }
    for (auto* o : arguments) drop_hold(*locals[0], o);
  }
  world.check_all_free();
}

// A completer is killed while it tells the waiters, and the nodes it was through with are used again for something else. The
// supervisor finishes its walk: it acts on the rest once, and touches none of those.
inline void dead_completer() {
  constexpr int kTasks = 40;
  World world;
  Heap* h = world.heap.get();
  auto waiter = world.process(), completer = world.process(), supervisor = world.process();
  waiter->task_ready = completer->task_ready = supervisor->task_ready = argument_ready;
  for (int killed_at = 0; killed_at < kTasks; ++killed_at) {
    Object* o = new_object(*completer, 1);
    std::vector<Off> tasks;
    for (int i = 0; i < kTasks; ++i) {
      tasks.push_back(waiter->alloc.alloc(sizeof(WaitingTask)));
      h->at<WaitingTask>(tasks.back())->missing.store(0);
      h->at<WaitingTask>(tasks.back())->ran.store(0);
      wait_for_argument(*waiter, o, tasks.back());
    }
    acts_until_killed = killed_at;
    bool killed = false;
    try {
      complete(*completer, o, State::Value);
    } catch (Killed&) {
      killed = true;
    }
    CHECK(killed);
    acts_until_killed = -1;
    std::vector<Off> reused;
    for (int i = 0; i < kTasks; ++i) {
      reused.push_back(waiter->alloc.alloc(sizeof(WaitNode)));
      memset(h->at<uint8_t>(reused.back()), 0xa5, sizeof(WaitNode));
    }
    walk_waiters(*supervisor, o, o->wait.load(memory_order_acquire));
    CHECK(o->wait == 1);
    for (Off off : reused) {
      for (size_t i = 0; i < sizeof(WaitNode); ++i) CHECK(h->at<uint8_t>(off)[i] == 0xa5);
      waiter->alloc.free(off);
    }
    for (int i = 0; i < kTasks; ++i) {  // the list is last in, first out
      CHECK(h->at<WaitingTask>(tasks[size_t(i)])->ran == (i == kTasks - 1 - killed_at ? 0 : 1));
      waiter->alloc.free(tasks[size_t(i)]);
    }
    drop_hold(*completer, o);
  }
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
    *v = {0, 0, last ? 1u : 0u, 0};
    if (last) *value_refs(v) = h->off(last);
    complete(*l, o, State::Value);
    last = o;
  }
  drop_hold(*l, last);
  world.check_all_free();
}

}  // namespace stress
