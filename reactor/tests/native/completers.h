// Tasks whose arguments are refs: each is queued once, whoever completes the arguments, and when, and where one of these is killed.
#pragma once
#include "harness.h"

namespace stress {

// A process that submits tasks, completes objects or is the supervisor, with a task queue of its own.
struct Party {
  explicit Party(World& world) : local(world.process()), queue(new_queue(*local, 0)), first_ring(queue->write) {
    local->task_ready = [](Local& l, Off task) {
      if (count_down(l.heap, l.slot, task)) enqueue(l, l.heap->at<TaskQueue>(queues[l.slot]), task);
    };
    queues[local->slot] = local->heap->off(queue);
  }
  // By an owner of its blocks. A queue that has grown has a second ring here, and never a third.
  void free_queue(Local& l) {
    if (queue->write != first_ring) l.alloc.free(first_ring);
    l.alloc.free(queue->write);
    l.alloc.free(l.heap->off(queue));
  }
  std::unique_ptr<Local> local;
  TaskQueue* queue;
  const Off first_ring;
  static inline Off queues[kMaxProcs];
};

inline Off new_task(Local& l) {
  Off off = l.alloc.alloc(sizeof(Message));
  l.heap->at<Message>(off)->missing = 1;
  return off;
}

inline void add_argument(Local& l, Object* o, Off task) {  // as call_function does
  WaitNode* n = new_node(l, NodeKind::Task, task);
  n->life.store(Life::Orphan, memory_order_relaxed);
  missing_of(l.heap, task).fetch_add(1, memory_order_relaxed);
  if (link(l, o, n)) return;
  missing_of(l.heap, task).fetch_sub(1, memory_order_relaxed);
  l.alloc.free(l.heap->off(n));
}

// False: it was killed when it had passed so many kill points.
inline bool complete_until(Local& l, Object* o, int points) {
  points_left = points;
  bool lives = true;
  try {
    complete(l, o, State::Value);
  } catch (Killed&) {
    lives = false;
  }
  points_left = -1;
  return lives;
}

// What the supervisor does with the object that a killed process was completing.
inline void finish_for_dead(Local& supervisor, uint32_t slot, Object* o) {
  finish_walk_of_dead(supervisor, slot,
                      [&](Off task) { enqueue(supervisor, supervisor.heap->at<TaskQueue>(Party::queues[supervisor.slot]), task); });
  const uint64_t word = o->wait.load(memory_order_acquire);
  if (!(word & 1)) complete(supervisor, o, State::Value);
  else if (word != 1) walk_waiters(supervisor, o, word);
}

// Checks that the parties' queues have each of the tasks once, and that nothing was counted twice; frees them.
inline void check_queued_once(std::initializer_list<Party*> parties, const std::vector<Off>& tasks) {
  std::vector<Off> found;
  Local& l = *(*parties.begin())->local;
  for (Party* p : parties)
    while (Off task = claim_task(l.heap, l.slot, p->queue, [](Off) {}, [] {})) found.push_back(task);
  std::vector<Off> wanted = tasks;
  std::sort(found.begin(), found.end());
  std::sort(wanted.begin(), wanted.end());
  CHECK(found == wanted);
  for (Off task : tasks) {
    CHECK(missing_in(missing_of(l.heap, task).load()) == 0);
    l.alloc.free(task);
  }
}

// The arguments are completed while the tasks are submitted.
inline void task_arguments() {
  constexpr int kBatch = 16;
  World world;
  Deadline deadline(seconds);
  Party submitter(world), first(world), second(world);
  Party* const all[] = {&submitter, &first, &second};
  for (uint64_t round = 1; !deadline.over(); ++round) {
    Object* arguments[kBatch];
    for (auto& o : arguments) o = new_object(*submitter.local, 1);
    std::vector<Off> tasks;
    for (int k = 0; k < kBatch; ++k) tasks.push_back(new_task(*submitter.local));
    in_threads(3, [&](int i) {
      Random r(round * 3 + uint64_t(i));
      Local& l = *all[i]->local;
      for (int k = 0; k < kBatch; ++k) {
        r.jitter();
        if (i > 0) {
          if (k % 2 == i - 1) complete(l, arguments[k], State::Value);
          continue;
        }
        for (int n = 0; n < 4; ++n) add_argument(l, arguments[r.below(kBatch)], tasks[size_t(k)]);
        l.task_ready(l, tasks[size_t(k)]);
      }
    });
    check_queued_once({&submitter, &first, &second}, tasks);
    for (auto* o : arguments) drop_hold(*submitter.local, o);
  }
  for (Party* p : all) p->free_queue(*p->local);
  world.check_all_free();
}

// A completer is killed at each of its kill points in turn. Of the tasks that wait for its object some wait for it twice, and some for another
// object, too, which another process completes before that, between the death and the supervisor's work, or after it. What it was through with is used for
// something else meanwhile.
inline void dead_completer() {
  enum When { Before, Between, After, kWhens };
  int points = 0;
  for (int when = Before; when < kWhens; ++when)
    for (int ring = 0; ring < 2; ++ring) {  // whether the queue has to grow
      World world;
      Party submitter(world), other(world), supervisor(world);
      auto killed = std::make_unique<Party>(world);
      for (points = 0;; ++points) {
        Local& l = *submitter.local;
        Object *o = new_object(l, 2), *also = new_object(l, 1);
        std::vector<Off> tasks;
        for (int i = 0; i < 4; ++i) {
          tasks.push_back(new_task(l));
          add_argument(l, o, tasks.back());
          if (i % 2) add_argument(l, o, tasks.back());
          if (i > 1) add_argument(l, also, tasks.back());
          l.task_ready(l, tasks.back());
        }
        std::vector<Off> fill;  // one place is left
        for (int n = ring ? 503 : 0; n > 0; --n) {
          fill.push_back(new_task(l));
          killed->local->task_ready(*killed->local, fill.back());
        }
        auto complete_also = [&](When now) {
          if (now == when) complete(*other.local, also, State::Value);
        };
        complete_also(Before);
        const bool lives = complete_until(*killed->local, o, points);
        complete_also(Between);
        std::vector<Off> reused;
        for (int i = 0; i < 16; ++i) {
          reused.push_back(l.alloc.alloc(sizeof(WaitNode)));
          memset(world.heap->at<uint8_t>(reused.back()), 0xa5, sizeof(WaitNode));
        }
        finish_for_dead(*supervisor.local, killed->local->slot, o);
        complete_also(After);
        CHECK(o->wait == 1 && also->wait == 1);
        for (Off off : reused) {
          for (size_t i = 0; i < sizeof(WaitNode); ++i) CHECK(world.heap->at<uint8_t>(off)[i] == 0xa5);
          l.alloc.free(off);
        }
        tasks.insert(tasks.end(), fill.begin(), fill.end());
        check_queued_once({&submitter, &other, &supervisor, killed.get()}, tasks);
        if (lives) break;
        killed = std::make_unique<Party>(world);
      }
      CHECK(points > 20);
    }
}

// Two complete the arguments of the same tasks. One of them is killed, anywhere, and the supervisor goes on for it beside the other.
inline void completers_die() {
  constexpr int kBatch = 6;
  World world;
  Deadline deadline(seconds);
  Party submitter(world), other(world), supervisor(world);
  uint64_t kills = 0, round = 0;
  while (!deadline.over() && world.next_slot < kMaxProcs - 1) {
    ++round;
    Party killed(world);
    Local& l = *submitter.local;
    Object* arguments[kBatch];
    for (auto& o : arguments) o = new_object(l, 1);
    std::vector<Off> tasks;
    Random draw(round);
    for (int k = 0; k < 8; ++k) {
      tasks.push_back(new_task(l));
      for (int n = 0; n < 3; ++n) add_argument(l, arguments[draw.below(kBatch)], tasks.back());
      l.task_ready(l, tasks.back());
    }
    in_threads(2, [&](int i) {
      Random r(round * 2 + uint64_t(i));
      int points = int(r.below(60));
      for (int k = i; k < kBatch; k += 2) {
        r.jitter();
        if (i == 0) {
          complete(*other.local, arguments[k], State::Value);
        } else if (points < 0) {
          complete(*supervisor.local, arguments[k], State::Value);
        } else if (complete_until(*killed.local, arguments[k], points)) {
          points = std::max(points - 15, 0);
        } else {
          ++kills;
          points = -1;
          finish_for_dead(*supervisor.local, killed.local->slot, arguments[k]);
        }
      }
    });
    check_queued_once({&submitter, &other, &supervisor, &killed}, tasks);
    killed.free_queue(l);
    for (auto* o : arguments) drop_hold(l, o);
    reap_memory(world.heap.get(), killed.local->slot);
  }
  CHECK(kills > 0);
  fprintf(stderr, "%llu rounds, %llu kills\n", static_cast<unsigned long long>(round), static_cast<unsigned long long>(kills));
}

}  // namespace stress
