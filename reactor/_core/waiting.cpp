// Waiting for objects: on which bell, for how many, with what lent out meanwhile.
#include <algorithm>
#include "packed.h"

namespace reactor {
namespace {

WaitGroup* take_group(Off bell) {
  Off off;
  if (ctx->spare_groups.empty()) {
    off = ctx->local.alloc.alloc(sizeof(WaitGroup));
    if (!off) return nullptr;
  } else {
    off = ctx->spare_groups.back();
    ctx->spare_groups.pop_back();
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
  Seat() : main_(PyThread_get_thread_ident() == ctx->main_thread && !ctx->host && !ctx->proc->blocked.load(memory_order_relaxed)) {
    if (main_) {
      bell_ = &ctx->proc->bell;
      return;
    }
    Off off = 0;
    if (!ctx->spare_bells.empty()) {
      off = ctx->spare_bells.back();
      ctx->spare_bells.pop_back();
    } else if ((off = ctx->local.alloc.alloc(sizeof(Bell))) != 0) {
      auto* b = ctx->heap->at<Bell>(off);
      b->word.store(0);
      b->sleeping.store(0);
    }
    bell_ = ctx->heap->at<Bell>(off);
    ctx->seats.push_back(bell_);
  }
  ~Seat() {
    if (main_ || ctx != mine_) return;
    ctx->seats.erase(std::find(ctx->seats.begin(), ctx->seats.end(), bell_));
    ctx->spare_bells.push_back(ctx->heap->off(bell_));
  }
  Bell* bell() { return bell_; }
  Proc* proc() { return main_ ? ctx->proc : nullptr; }

 private:
  bool main_;
  Context* mine_ = ctx;
  Bell* bell_;
};

// While a task waits, its CPUs are lent out, so that the tasks it waits for can run. GPUs and the user's own resources are not.
class Lend {
 public:
  explicit Lend(bool main) {
    // What an actor holds is its own for life, as in Ray.
    uint32_t held = main && ctx->proc->kind == ProcKind::Pool ? ctx->proc->demand.load(memory_order_relaxed) : 0;
    if (!held) return;
    demand_ = held;
    ctx->proc->lent.store(1, memory_order_release);
    ctx->header->lenders.fetch_add(1, memory_order_relaxed);
    give_cpus(ctx->header, held - 1);
    kick_queues();
    if (ctx->header->actors_waiting.load(memory_order_relaxed)) send_control(Control::Resources, 0);
  }
  ~Lend() {
    if (!demand_ || epoch != epoch_) return;
    take_cpus_anyway(ctx->header, demand_ - 1);
    ctx->header->lenders.fetch_sub(1, memory_order_relaxed);
    ctx->proc->lent.store(0, memory_order_release);
  }
  bool lent() const { return demand_ != 0; }

 private:
  uint32_t demand_ = 0;
  uint32_t epoch_ = epoch;
};

// Tells for all to see what this call waits for, after a while, and asks whether that can ever come.
class Told {
 public:
  // False: a Python error is set, it cannot.
  bool stuck(PyRef** refs, Py_ssize_t n) {
    take_back();
    for (Py_ssize_t i = 0; i < n && used_.size() < kMost; ++i)
      if (!is_done(refs[i]->object) && !tell(refs[i]->object)) break;
    if (!hooks.stuck) return true;
    Owned error = hooks.stuck(mark_);
    if (!error) hooks.stuck.complain();
    const bool raise = error && error.get() != Py_None;
    if (raise) set_error(error.get());
    return !raise;
  }
  ~Told() {
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
  const uint32_t mark_ = ctx->mark, actor_ = ctx->host ? ctx->running_actor : 0;
  std::vector<Wanted*> used_;
  uint32_t epoch_ = epoch;
};

// In a packed worker the neighbours run while a call waits.
class Away {
 public:
  Away() : hand_(ctx->host && !ctx->host->keeps_turn && own_hand() == ctx->host->turns.holder() ? own_hand() : nullptr) {
    if (hand_) ctx->host->away(hand_);
  }
  ~Away() {
    if (hand_) ctx->host->back(hand_);
  }
  bool is_away() const { return hand_; }
  bool removed() const { return hand_ && hand_->kept.call && hand_->kept.call->unwanted; }

 private:
  Hand* hand_;
};

}  // namespace

// Some queue has a task that could run now: see that a worker looks.
void kick_queues() {
  Heap* h = ctx->heap;
  for (Off off = ctx->header->queues.load(memory_order_acquire); off;) {
    auto* q = h->at<TaskQueue>(off);
    if (has_task(h, q) && may_start(h, q)) {
      kick_pool(q->demand);
      if (!ctx->header->settings.load(memory_order_relaxed)) return;  // else the others may be for another kind of worker
    }
    off = q->next.load(memory_order_acquire);
  }
}

// Waits until `need` of the objects are done, or (fail_fast) one of them ended badly. 0, ETIMEDOUT, or -1 with a Python error.
int wait_objects(PyRef** refs, Py_ssize_t n, Py_ssize_t need, bool fail_fast, uint64_t deadline) {
  std::vector<std::pair<PyRef*, WaitNode*>> linked;
  Context* mine = ctx;
  if (mine->closing) return set_ended_error(), -1;
  Seat seat;
  WaitGroup* g = take_group(mine->heap->off(seat.bell()));
  if (!g) {
    PyErr_NoMemory();
    return -1;
  }
  Py_ssize_t done = 0;
  bool failed = false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyRef* r = refs[i];
    Object* o = r->object;
    if (is_done(o)) {
      ++done;
      failed |= o->state.load(memory_order_relaxed) != State::Value;
      continue;
    }
    WaitNode* node = r->node;
    if (node && node->armed.load(memory_order_relaxed)) node = nullptr;  // in use by another wait, or by this one: a duplicate
    bool fresh = node == nullptr;
    if (fresh) {
      node = watch(mine->local, o, NodeKind::Group, mine->heap->off(g));
      if (!node) {
        ++done;
        failed |= o->state.load(memory_order_relaxed) != State::Value;
        continue;
      }
    } else {
      node->target = mine->heap->off(g);
      node->since.store(begin_of_wait(mine->local), memory_order_relaxed);
      node->armed.store(1, memory_order_seq_cst);
      if (is_done(o) && node->armed.exchange(0)) {  // the completer has passed it by
        ++done;
        failed |= o->state.load(memory_order_relaxed) != State::Value;
        continue;
      }
    }
    linked.emplace_back(r, node);
  }
  int result = 0;
  int32_t wanted = int32_t(need - done);
  if (wanted > 0 && !(failed && fail_fast)) {
    int32_t left = g->remaining.fetch_sub(kBias - wanted, memory_order_acq_rel) - (kBias - wanted);
    auto ready = [&] {
      return g->remaining.load(memory_order_acquire) <= 0 || (fail_fast && g->failed.load(memory_order_relaxed)) ||
             mine->closing.load(memory_order_relaxed);
    };
    if (left > 0 && !ready()) {
      Lend lend(seat.proc() != nullptr);
      Told told;
      Away turn;
      Spin away(mine->header, Spin::kBriefNs);
      Spin& spin = seat.proc() ? mine->spin : away;
      while (true) {
        int e;
        if (seat.proc()) seat.proc()->blocked.store(1, memory_order_relaxed);
        Unlocked unlocked;
        // A completer that was killed may have taken a node and not counted it: look at the objects now and then.
        uint64_t slice = now_ns() + 250000000;
        e = wait_on(mine->heap, seat.bell(), seat.proc(), spin, slice < deadline ? slice : deadline, ready);
        if (seat.proc()) seat.proc()->blocked.store(0, memory_order_relaxed);
        if (!unlocked.lock()) return -1;
        if (PyErr_CheckSignals() != 0) {
          result = -1;
          break;
        }
        if (mine->aborted && !ready()) {
          set_aborted_error();
          result = -1;
          break;
        }
        if (e == 0 || ready()) break;
        if (e == EDEADLK) {
          result = EDEADLK;
          break;
        }
        if (lend.lent()) kick_queues();  // the time of a task that was held may have come
        if (turn.removed()) {
          PyErr_SetNone(PyExc_SystemExit);
          result = -1;
          break;
        }
        Py_ssize_t now_done = 0;
        for (Py_ssize_t i = 0; i < n; ++i) now_done += is_done(refs[i]->object);
        if (now_done >= need) break;
        if (deadline != UINT64_MAX && now_ns() >= deadline) {
          result = ETIMEDOUT;
          break;
        }
        if ((seat.proc() || turn.is_away()) && need == n && !told.stuck(refs, n)) {
          result = -1;
          break;
        }
      }
    }
  } else {
    g->remaining.fetch_sub(kBias - wanted, memory_order_acq_rel);
  }
  // Take the nodes back. Those that a completer has claimed are counted by it, perhaps only in a moment.
  int32_t mine_back = 0;
  for (auto& [r, node] : linked) {
    mine_back += node->armed.exchange(0, memory_order_acq_rel) ? 1 : 0;
    if (r->node == node) continue;
    if (!r->node && !is_done(r->object)) r->node = node;  // keep for the next wait
    else let_go(mine->local, node);
  }
  int32_t expect = wanted - (int32_t(linked.size()) - mine_back);
  for (int i = 0; i < 2000 && g->remaining.load(memory_order_acquire) != expect; ++i) cpu_relax();
  if (g->remaining.load(memory_order_acquire) == expect) mine->spare_groups.push_back(mine->heap->off(g));
  return result;
}

}  // namespace reactor
