// Waiting for objects: on which bell, for how many, with what lent out meanwhile.
#include <algorithm>
#include "calls/calls.h"
#include "store/garbage.h"
#include "worker/turns.h"

namespace reactor {
namespace {

WaitGroup* take_group(Off bell) {
  Off off;
  if (ctx->waits.spare_groups.empty()) {
    off = ctx->local.alloc.alloc(sizeof(WaitGroup), For::Runtime);
    if (!off) return nullptr;
    ctx->local.hold_list.add(off, Entry::Group);
  } else {
    off = ctx->waits.spare_groups.back();
    ctx->waits.spare_groups.pop_back();
  }
  auto* g = ctx->heap->at<WaitGroup>(off);
  g->remaining.store(kBias, memory_order_relaxed);
  g->failed.store(0, memory_order_relaxed);
  g->bell = bell;
  return g;
}

// The bell this thread sleeps on: the process's own for its main thread, one of the spare ones for others.
class Seat {
 public:
  Seat() : main_(PyThread_get_thread_ident() == ctx->bell_thread && !ctx->proc->blocked.load(memory_order_relaxed)) {
    if (main_) {
      bell_ = &ctx->proc->bell;
      return;
    }
    Off off = 0;
    if (!ctx->waits.spare_bells.empty()) {
      off = ctx->waits.spare_bells.back();
      ctx->waits.spare_bells.pop_back();
    } else if ((off = ctx->local.alloc.alloc(sizeof(Bell), For::Runtime)) != 0) {
      auto* b = ctx->heap->at<Bell>(off);
      b->word.store(0);
      b->sleeping.store(0);
      ctx->local.hold_list.add(off, Entry::Group);
    }
    bell_ = ctx->heap->at<Bell>(off);
    ctx->waits.seats.push_back(bell_);
  }
  ~Seat() {
    if (main_ || ctx != mine_) return;
    ctx->waits.seats.erase(std::find(ctx->waits.seats.begin(), ctx->waits.seats.end(), bell_));
    ctx->waits.spare_bells.push_back(ctx->heap->off(bell_));
  }
  Bell* bell() { return bell_; }
  Proc* proc() { return main_ ? ctx->proc : nullptr; }

 private:
  bool main_;
  Context* mine_ = ctx;
  Bell* bell_;
};

// While a task waits, its CPUs are lent out, so that the tasks it waits for can run. GPUs and the user's own resources are not.
// Proc::lent says that reap() takes the CPUs back before it gives back all that the process holds. It is set after they are given and cleared before they are taken,
// as in give_back() (serve.cpp): a kill between the two makes CPUs free once too often, and does not lose them.
class Lend {
 public:
  explicit Lend(bool main) {
    // What an actor holds is its own for life.
    uint32_t held = main && ctx->proc->kind == ProcKind::Pool ? ctx->proc->demand.load(memory_order_relaxed) : 0;
    if (!held) return;
    demand_ = held;
    give_cpus(ctx->header, held - 1);
    ctx->proc->lent.store(1, memory_order_release);
    ctx->header->lenders.fetch_add(1, memory_order_relaxed);  // one too few is only a limit less (lent_cpus.h)
    kick_queues();
    if (ctx->header->actors_waiting.load(memory_order_seq_cst)) send_control(Control::Resources, 0);
  }
  ~Lend() {
    if (!demand_ || epoch != epoch_) return;
    ctx->header->lenders.fetch_sub(1, memory_order_relaxed);
    ctx->proc->lent.store(0, memory_order_release);
    take_cpus_anyway(ctx->header, demand_ - 1);
  }
  bool lent() const { return demand_ != 0; }

 private:
  uint32_t demand_ = 0;
  uint32_t epoch_ = epoch;
};

// Tells for all to see what this call waits for, after a while, and asks whether that can ever come.
class PublishedWait {
 public:
  // False: a Python error is set, it cannot.
  bool check_deadlock(PyRef** refs, Py_ssize_t n) {
    take_back();
    for (Py_ssize_t i = 0; i < n && used_.size() < kMost; ++i)
      if (!is_done(refs[i]->object) && !tell(refs[i]->object)) break;
    if (!hooks.find_deadlock) return true;
    Owned error = hooks.find_deadlock(mark_);
    if (!error) hooks.find_deadlock.complain();
    const bool raise = error && error.get() != Py_None;
    if (raise) set_error(error.get());
    return !raise;
  }
  ~PublishedWait() {
    if (epoch == epoch_) take_back();
  }

 private:
  static constexpr size_t kMost = 6;  // of one call

  bool tell(Object* o) {
    auto& wants = ctx->proc->wants;
    auto* free = std::find_if(std::begin(wants), std::end(wants), [](Wanted& w) { return w.object.load(memory_order_relaxed) == 0; });
    if (free == std::end(wants)) return false;
    free->by.store(mark_, memory_order_relaxed);
    free->actor.store(actor_, memory_order_relaxed);
    free->thread.store(PyThread_get_thread_ident(), memory_order_relaxed);
    free->object.store(ctx->heap->off(o), memory_order_release);
    used_.push_back(free);
    const auto n = uint32_t(free - std::begin(wants)) + 1;
    if (ctx->proc->waits.load(memory_order_relaxed) < n) ctx->proc->waits.store(n, memory_order_release);
    return true;
  }
  void take_back() {
    for (Wanted* w : used_) w->object.store(0, memory_order_release);
    used_.clear();
  }
  // Of the call that waits, whose turn others have while it does.
  const uint32_t mark_ = ctx->mark, actor_ = ctx->placement->actor_of_thread();
  std::vector<Wanted*> used_;
  uint32_t epoch_ = epoch;
};

// In a packed worker the neighbours run while a call waits.
class Away {
 public:
  Away() : thread_(ctx->placement->wait_begins()) {}
  ~Away() {
    if (thread_) ctx->placement->wait_ends(thread_);
  }
  bool is_away() const { return thread_; }
  bool removed() const { return thread_ && thread_->suspended.call && thread_->suspended.call->to_interrupt; }

 private:
  TurnThread* thread_;
};

}  // namespace

// Some queue has a task that could run now: see that a worker looks.
void kick_queues() {
  Heap* h = ctx->heap;
  for (Off off = ctx->header->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    if (may_start(h, q)) {
      kick_pool(q->demand);
      if (!ctx->header->settings.load(memory_order_relaxed)) return;  // else the others may be for another kind of worker
    }
    off = q->next.load(memory_order_acquire);
  }
}

namespace {

// One wait for `need` of `n` objects: look(), and if they are not done by then, watch(), sleep() and take_back().
class GroupWait {
 public:
  GroupWait(PyRef** refs, Py_ssize_t n, Py_ssize_t need, bool fail_fast, uint64_t deadline, bool looked = false)
      : refs_(refs), n_(n), need_(need), fail_fast_(fail_fast), deadline_(deadline), looked_(looked) {}
  bool has_ended() const { return ended_; }
  bool has_looked() const { return looked_; }
  bool look();
  bool watch();  // false: there is no memory
  int sleep();
  void take_back();

 private:
  static constexpr int kGoOn = -2;

  WaitNode* node_for(PyRef* r);
  bool ready() const {
    return group_->remaining.load(memory_order_acquire) <= 0 || (fail_fast_ && group_->failed.load(memory_order_relaxed)) ||
           mine_->closing.load(memory_order_relaxed);
  }
  bool sleep_once(Spin& spin, int& woken);
  int after_sleep(int woken, const Lend& lend, const Away& turn, PublishedWait& published);

  PyRef** const refs_;
  const Py_ssize_t n_, need_;
  const bool fail_fast_;
  const uint64_t deadline_;
  Context* const mine_ = ctx;
  Seat seat_;
  WaitGroup* group_ = nullptr;
  std::vector<std::pair<PyRef*, WaitNode*>> linked_;
  int32_t wanted_ = 0;
  bool failed_ = false, ended_ = false, looked_;
};

// Whether all of them are done before this process would sleep. Until then it looks at the objects itself, and their completers need not find it:
// no node is made, linked, walked and taken back for each. It begins with the last one, which usually is done last: those that are being written
// are left alone. While somebody holds a message back, the nodes tell him who waits (patience.h).
bool GroupWait::look() {
  if (need_ != n_ || !seat_.proc() || mine_->proc->kind == ProcKind::Pool || mine_->header->held.load(memory_order_relaxed)) return false;
  Py_ssize_t left = n_;
  auto all_done = [&] {
    while (left > 0 && is_done(refs_[left - 1]->object)) --left;
    return left == 0 || mine_->closing.load(memory_order_relaxed);
  };
  looked_ = true;
  mine_->proc->blocked.store(1, memory_order_relaxed);
  Unlocked unlocked;
  look_briefly(mine_->heap, mine_->proc, mine_->spin, deadline_, all_done);
  mine_->proc->blocked.store(0, memory_order_relaxed);
  ended_ = !unlocked.lock();
  return !ended_ && left == 0;
}

// The node by which the completer of a ref's object finds this group; null: it is done.
WaitNode* GroupWait::node_for(PyRef* r) {
  WaitNode* node = r->node;
  if (!node || node->armed.load(memory_order_relaxed))  // in use by another wait, or by this one: a duplicate
    return reactor::watch(mine_->local, r->object, NodeKind::Group, mine_->heap->off(group_));
  node->target = mine_->heap->off(group_);
  node->since.store(begin_of_wait(mine_->local), memory_order_relaxed);
  node->armed.store(1, memory_order_seq_cst);
  return is_done(r->object) && node->armed.exchange(0) ? nullptr : node;  // null: the completer has passed it by
}

// Lets go of the nodes of earlier waits with which their completers are through by now.
void forget_lingering() {
  auto& nodes = ctx->waits.lingering;
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                             [](WaitNode* n) {
                               const bool done = n->life.load(memory_order_acquire) == Life::Done;
                               if (done) let_go(ctx->local, n);
                               return done;
                             }),
              nodes.end());
}

bool GroupWait::watch() {
  if (!mine_->waits.lingering.empty()) forget_lingering();
  group_ = take_group(mine_->heap->off(seat_.bell()));
  if (!group_) return false;
  Py_ssize_t done = 0;
  for (Py_ssize_t i = 0; i < n_; ++i) {
    Object* o = refs_[i]->object;
    WaitNode* node = is_done(o) ? nullptr : node_for(refs_[i]);
    if (node) {
      linked_.emplace_back(refs_[i], node);
    } else {
      ++done;
      failed_ |= o->state.load(memory_order_relaxed) != State::Value;
    }
  }
  wanted_ = int32_t(need_ - done);
  return true;
}

// 0, ETIMEDOUT, EDEADLK, or -1 with a Python error.
int GroupWait::sleep() {
  const int32_t counted = kBias - wanted_;
  if (wanted_ <= 0 || (failed_ && fail_fast_)) {
    group_->remaining.fetch_sub(counted, memory_order_acq_rel);
    return 0;
  }
  const int32_t left = group_->remaining.fetch_sub(counted, memory_order_acq_rel) - counted;
  if (left <= 0 || ready()) return 0;
  Lend lend(seat_.proc() != nullptr);
  PublishedWait published;
  Away turn;
  Spin away(mine_->header, Spin::kBriefNs);
  Spin& spin = seat_.proc() ? mine_->spin : away;
  int result = kGoOn, woken = 0;
  while (result == kGoOn) result = sleep_once(spin, woken) ? after_sleep(woken, lend, turn, published) : -1;
  return result;
}

// False, with a Python error: the run has ended, and its memory must not be touched any more.
bool GroupWait::sleep_once(Spin& spin, int& woken) {
  if (seat_.proc()) seat_.proc()->blocked.store(1, memory_order_relaxed);
  Unlocked unlocked;
  // A completer that was killed may have taken a node and not counted it: look at the objects now and then.
  const uint64_t slice = now_ns() + 250000000;
  woken = wait_on(
      mine_->heap, seat_.bell(), seat_.proc(), spin, slice < deadline_ ? slice : deadline_, [this] { return ready(); },
      std::exchange(looked_, false), true);
  if (seat_.proc()) seat_.proc()->blocked.store(0, memory_order_relaxed);
  ended_ = !unlocked.lock();
  return !ended_;
}

int GroupWait::after_sleep(int woken, const Lend& lend, const Away& turn, PublishedWait& published) {
  if (PyErr_CheckSignals() != 0) return -1;
  if (mine_->aborted && !ready()) return set_aborted_error(), -1;
  if (asked_to_collect() && !collect_if_asked()) return ended_ = true, -1;
  if (woken == 0 || ready()) return 0;
  if (woken == EDEADLK) return EDEADLK;
  if (lend.lent()) kick_queues();  // the time of a task that was held may have come
  if (turn.removed()) return PyErr_SetNone(PyExc_SystemExit), -1;
  Py_ssize_t done = 0;
  for (Py_ssize_t i = 0; i < n_; ++i) done += is_done(refs_[i]->object);
  if (done >= need_) return 0;
  if (deadline_ != UINT64_MAX && now_ns() >= deadline_) return ETIMEDOUT;
  if (deadline_ != UINT64_MAX) return kGoOn;  // a wait that its time ends is part of no deadlock
  if ((seat_.proc() || turn.is_away()) && need_ == n_ && !published.check_deadlock(refs_, n_)) return -1;
  return kGoOn;
}

// Takes the nodes back. Those that a completer has claimed are counted by it, perhaps only in a moment, and then it rings. Until that is over they
// stay in the hold list: if this process ends meanwhile, their group and bell stay (DeadProcess::free_waits).
void GroupWait::take_back() {
  int32_t unclaimed = 0;
  for (auto& [r, node] : linked_) {
    if (node->armed.exchange(0, memory_order_acq_rel)) {
      ++unclaimed;
      node->target = 0;
    } else if (node->life.load(memory_order_acquire) != Life::Done) {
      if (r->node == node) r->node = nullptr;
      mine_->waits.lingering.push_back(node);
      continue;
    }
    if (r->node == node) continue;
    if (!r->node && !is_done(r->object)) r->node = node;  // keep for the next wait
    else let_go(mine_->local, node);
  }
  const int32_t expect = wanted_ - (int32_t(linked_.size()) - unclaimed);
  for (int i = 0; i < 2000 && group_->remaining.load(memory_order_acquire) != expect; ++i) cpu_relax();
  if (group_->remaining.load(memory_order_acquire) == expect) mine_->waits.spare_groups.push_back(mine_->heap->off(group_));
}

}  // namespace

// Waits until `need` of the objects are done, or (fail_fast) one of them ended badly. 0, ETIMEDOUT, EDEADLK, or -1 with a Python error.
// `looked`: look_at_objects has not seen them done.
int wait_objects(PyRef** refs, Py_ssize_t n, Py_ssize_t need, bool fail_fast, uint64_t deadline, bool looked) {
  if (ctx->closing) return set_ended_error(), -1;
  GroupWait wait(refs, n, need, fail_fast, deadline, looked);
  if (!looked && wait.look()) return PyErr_CheckSignals();
  if (wait.has_ended()) return -1;
  if (!wait.watch()) return PyErr_NoMemory(), -1;
  const int result = wait.sleep();
  if (!wait.has_ended()) wait.take_back();
  return result;
}

int wait_in_time(OwnStrand& strand, PyRef** refs, Py_ssize_t n, Py_ssize_t count, bool in_list_order, uint64_t timeout,
                 std::vector<bool>& there) {
  if (ctx->closing) return set_ended_error(), -1;
  Context* const mine = ctx;
  Timed& timed = *mine->timed;
  std::vector<Off> offs;
  offs.reserve(size_t(n));
  for (Py_ssize_t i = 0; i < n; ++i) offs.push_back(mine->heap->off(refs[i]->object));
  const uint64_t deadline = timeout == UINT64_MAX || !timed.measured() ? UINT64_MAX : now_ns() + timeout;
  int result = 0;
  Seat seat;
  if (!timed.block(strand, offs, uint32_t(count), in_list_order, timeout == UINT64_MAX ? kNever : timeout / 1000,
                   mine->heap->off(seat.bell()))) {
    Lend lend(seat.proc() != nullptr);
    PublishedWait published;
    Away turn;
    Spin brief(mine->header, Spin::kBriefNs);
    Spin& spin = seat.proc() ? mine->spin : brief;
    while (result == 0 && !timed.is_answered(strand)) {
      if (seat.proc()) seat.proc()->blocked.store(1, memory_order_relaxed);
      Unlocked unlocked;
      const uint64_t slice = now_ns() + 250000000;
      wait_on(
          mine->heap, seat.bell(), seat.proc(), spin, std::min(slice, deadline),
          [&] { return timed.is_answered(strand) || mine->closing.load(memory_order_relaxed); }, false, true);
      if (seat.proc()) seat.proc()->blocked.store(0, memory_order_relaxed);
      if (!unlocked.lock()) return -1;
      if (timed.is_answered(strand)) break;
      if (PyErr_CheckSignals() != 0) result = -1;
      else if (mine->aborted) set_aborted_error(), result = -1;
      else if (asked_to_collect() && !collect_if_asked()) return -1;
      else if (turn.removed()) PyErr_SetNone(PyExc_SystemExit), result = -1;
      else if (now_ns() >= deadline) timed.time_is_up(strand);
      else if (lend.lent()) kick_queues();
      if (result == 0 && now_ns() >= slice) {
        timed.look_if_stuck();
        if (timeout == UINT64_MAX && in_list_order && !published.check_deadlock(refs, n)) result = -1;
      }
    }
  }
  if (result != 0) return timed.give_up(strand), -1;
  there = timed.go_on(strand, offs);
  return 0;
}

// Waits for all of them, for as long as that needs no sleep: whether they are done. `looked`: it has waited. `ended`: the run has ended, and a
// Python error is set.
bool look_at_objects(PyRef** refs, Py_ssize_t n, uint64_t deadline, bool& looked, bool& ended) {
  GroupWait wait(refs, n, n, true, deadline);
  const bool done = wait.look();
  looked = wait.has_looked();
  ended = wait.has_ended();
  return done;
}

}  // namespace reactor
