// The boards of open calls (order.h).
#pragma once
#include "harness.h"
#include "order/order.h"

namespace stress {

// A driver makes calls, others run them: each sends its message (a mark here) and sometimes makes a further call, which another one
// runs, before it ends. When the actor may start what the driver has sent after them, all those messages must have been sent.
// The calls are tasks, and calls of actors in turn, more actors than a board has lists, so that lists change their callee. Who runs two calls
// makes what the second one makes first, now and then; and now and then it dies, and another process takes its board.
// One long function, so that the four kinds of threads and the state that they share can be read together.
inline void boards() {
  World world;
  Heap* h = world.heap.get();
  constexpr uint64_t kMost = 1 << 18;
  constexpr uint32_t kActor = 7, kOthers = 100;
  struct Job {
    atomic<Off> result{0}, child{0};
    atomic<uint32_t> has_child{0}, sent{0}, child_sent{0};
  };
  std::vector<Job> jobs(kMost + 1);
  atomic<uint64_t> issued{0}, taken{1}, children_taken{1}, checked{0};
  atomic<bool> over{false};
  std::vector<std::unique_ptr<Local>> successors;  // of those that die; their entries are written before anybody reads them
  for (int i = 0; i < 100; ++i) successors.push_back(world.process());
  atomic<size_t> next_successor{0};
  Deadline deadline(seconds);
  auto open = [](Local& l, Order& order, TagView tag, uint32_t actor) {
    Object* result = new_object(l, 1);
    OpenCall call;
    call.target = call.root = tag.root;
    call.actor = actor;
    call.depth = uint16_t(tag.depth);
    for (uint32_t i = 0; i < tag.depth; ++i) call.tail[i] = tag.tail[i];
    if (!actor) call.hold[call.holds++] = kActor;
    else order.note(NoticeKind::Holds, actor, kActor);
    order.open(result, call);
    return l.heap->off(result);
  };
  auto some_actor = [](Random& r) { return r.below(3) ? 0 : uint32_t(kActor + 1 + r.below(kOthers)); };
  auto die = [&](std::unique_ptr<Local>& l, std::unique_ptr<Order>& order) {
    for (Off off = h->header->boards.load(); off; off = h->at<Board>(off)->next.load()) {
      uint32_t mine = l->slot;
      h->at<Board>(off)->producer.compare_exchange_strong(mine, kNoProc);
    }
    order.reset();
    l = std::move(successors[next_successor.fetch_add(1)]);
    order = std::make_unique<Order>(*l);
  };
  auto end = [&](Local& l, Off result) {
    auto* o = h->at<Object>(result);
    complete(l, o, State::Cancelled);
    drop_hold(l, o);
  };
  std::vector<std::unique_ptr<Local>> first;
  for (int i = 0; i < 5; ++i) first.push_back(i == 0 ? std::make_unique<Local>(h, 0u, false) : world.process());
  in_threads(5, [&](int i) {
    Random r(uint64_t(i) + 1);
    std::unique_ptr<Local> l = std::move(first[size_t(i)]);
    auto order = std::make_unique<Order>(*l);
    if (i == 0) {  // the driver
      // Calls of another actor that stay open for long: the actor is not held by them, but they keep back the heads of their lists.
      std::vector<Off> stay;
      for (uint64_t root = 1; root < kMost && !deadline.over(); ++root) {
        if (root % 500 == 0) {
          uint32_t tail[] = {7};
          stay.push_back(open(*l, *order, {(1ull << kDriverBits) + root, tail, 1}, 0));
          if (stay.size() > 5) {
            end(*l, stay.front());
            stay.erase(stay.begin());
          }
        }
        while (root > checked.load() + 200) std::this_thread::yield();
        jobs[root].result.store(open(*l, *order, {root, nullptr, 0}, some_actor(r)));
        issued.store(root);
        r.jitter();
      }
      for (Off result : stay) end(*l, result);
      over.store(true);
    } else if (i < 3) {  // they run its calls
      for (;;) {
        uint64_t first = taken.load(), n = 1 + r.below(2);
        if (first > issued.load()) {
          if (over.load() && first > issued.load()) return;
          std::this_thread::yield();
          continue;
        }
        n = std::min(n, issued.load() - first + 1);
        if (!taken.compare_exchange_strong(first, first + n)) continue;
        for (uint64_t root = first + n; root-- > first;) {
          r.jitter();
          if (r.below(2)) {
            uint32_t tail[] = {1};
            jobs[root].has_child.store(1);
            jobs[root].child.store(open(*l, *order, {root, tail, 1}, some_actor(r)));
          }
        }
        for (uint64_t root = first; root < first + n; ++root) {
          r.jitter();
          jobs[root].sent.store(1);
          Off result = jobs[root].result.load();
          if (!jobs[root].has_child.load()) jobs[root].child.store(1);
          end(*l, result);
        }
        if (r.below(200) == 0 && next_successor.load() + 2 < successors.size()) die(l, order);
      }
    } else if (i == 3) {  // it runs their calls
      for (uint64_t root = 1;; ++root) {
        Off child;
        while ((child = jobs[root].child.load()) == 0) {
          if (over.load() && root > issued.load()) return;
          std::this_thread::yield();
        }
        if (child == 1) continue;
        r.jitter();
        jobs[root].child_sent.store(1);
        end(*l, child);
      }
    } else {  // the actor
      for (uint64_t t = 2;; ++t) {
        while (t > issued.load() && !over.load()) std::this_thread::yield();
        if (t > issued.load()) return;
        while (!order->may_start({kActor, {}}, {t, nullptr, 0}, kDriverParty)) std::this_thread::yield();
        CHECK(jobs[t - 1].sent.load());
        CHECK(!jobs[t - 1].has_child.load() || jobs[t - 1].child_sent.load());
        checked.store(t);
      }
    }
  });
  CHECK(issued.load() > 100);
}

// Tags: the serial order, and who holds whom.
inline void tags() {
  uint32_t one[] = {1, 2}, two[] = {1, 3};
  TagView a{5, one, 0}, a1{5, one, 1}, a12{5, one, 2}, a13{5, two, 2}, b{6, one, 0};
  CHECK(compare(a, a1) < 0 && compare(a1, a12) < 0 && compare(a12, a13) < 0 && compare(a13, b) < 0 && compare(a12, a12) == 0);
  CHECK(!strictly_before(a, a12) && !strictly_before(a1, a13) && strictly_before(a12, a13) && strictly_before(a13, b) &&
        !strictly_before(b, a));
  TagView other{(1ull << kDriverBits) + 5, one, 0};  // another driver's: neither holds the other
  CHECK(!strictly_before(a, other) && !strictly_before(other, a) && compare(a, other) < 0);
}

// Tags of calls whose number needs two words, and of calls nested deeper than a tag has room for.
inline void long_tags() {
  auto child = [](const Tag& caller, uint64_t number) {
    Tag t;
    t.root = caller.root;
    t.depth = extended_depth(caller, number);
    CHECK(t.depth <= kMaxTag);
    extend(caller, number, t.tail);
    return t;
  };
  auto same = [](TagView a, TagView b) { return compare(a, b) == 0; };
  Tag top;
  top.root = 7;
  top.depth = 0;
  uint64_t before = 0;
  for (uint64_t n : std::initializer_list<uint64_t>{1, (1ull << 31) - 1, 1ull << 31, (1ull << 31) + 1, (1ull << 32) - 1, 1ull << 32,
                                                    (1ull << 32) + 1, 1ull << 40, (1ull << 59) + 3}) {
    Tag t = child(top, n), inner = child(t, n);
    CHECK(last_number(t.tail, t.depth) == 0 && same({t.root, inner.tail, last_number(inner.tail, inner.depth)}, t));
    CHECK(!strictly_before(t, inner) && compare(t, inner) < 0);
    if (before) CHECK(compare(child(top, before), t) < 0 && strictly_before(child(child(top, before), n), t));
    before = n;
  }
  for (uint64_t big : std::initializer_list<uint64_t>{1, 1ull << 33}) {
    Tag deep = top;
    for (int i = 0; i < 200; ++i) {
      Tag a = child(deep, big), b = child(deep, big + 1);
      CHECK(compare(a, b) < 0 && !same(a, deep) && !same(b, deep));
      CHECK(same({a.root, a.tail, last_number(a.tail, a.depth)}, {b.root, b.tail, last_number(b.tail, b.depth)}));
      CHECK(!same(child(a, 1), child(b, 1)));
      deep = i % 2 ? a : b;
    }
  }
}

}  // namespace stress
