#include "order/order.h"
#include "channels/tasks.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

namespace reactor {

void Order::note(NoticeKind kind, uint64_t who, uint32_t to) {
  if (!noted_.insert(who * 0x9e3779b97f4a7c15ull ^ uint64_t(to) << 8 ^ uint64_t(kind)).second) return;
  auto* n = alloc_for_run<Notice>(local_);
  n->kind = kind;
  n->who = who;
  n->to = to;
  Off head = header_->notices.load(memory_order_relaxed);
  do n->next = head;
  while (!header_->notices.compare_exchange_weak(head, heap_->off(n), memory_order_seq_cst, memory_order_relaxed));
}

bool Order::read_notices() {
  Off head = header_->notices.load(memory_order_seq_cst);
  if (head == newest_) return false;
  for (Off off = head; off != newest_;) {
    auto* n = heap_->at<Notice>(off);
    if (n->kind == NoticeKind::Holds) {
      holders_[n->to].push_back(uint32_t(n->who));
    } else if (n->kind == NoticeKind::Wide) {
      wide_.insert(n->who);
    } else if (relaxed_.try_emplace(n->who).second) {
      auto holder = Party(n->who);
      if (++relaxed_callers_[holder] >= kManyCallers) relaxed_by_all_.insert(holder);
    }
    off = n->next;
  }
  newest_ = head;
  of_ = 0;
  return true;
}

// The actors that lead to this one: what has a handle of it, or of one that does.
void Order::look_from(uint32_t actor) {
  if (of_ == actor) return;
  of_ = actor;
  reachers_ = {actor};
  std::vector<uint32_t> left{actor};
  while (!left.empty()) {
    uint32_t a = left.back();
    left.pop_back();
    for (uint32_t by : holders_[a])
      if (reachers_.insert(by).second) left.push_back(by);
  }
  of_wide_ = false;
  for (uint32_t a : reachers_) of_wide_ |= wide_.count(a) != 0;
}

// Whether a call with handles can send the actor a message. It can in two cases: a handle that it, or its own actor, was given leads to the actor; or
// a handle of the actor, or of an actor that leads to it, is in a value, where any process may find it.
bool Order::reaches(const OpenCall& x) {
  if (of_wide_ || x.holds == kAnybody || (x.actor && reachers_.count(x.actor))) return true;
  for (uint32_t i = 0; i < x.holds; ++i)
    if (reachers_.count(x.hold[i])) return true;
  return false;
}

static uint64_t place_of(const Ordered& callee) { return uint64_t(callee.actor) << 32 | callee.method; }

bool Order::is_known_to_pass(const Ordered& callee, Party caller, Party holder) const {
  if (relaxed_.empty()) return false;
  auto known = relaxed_.find(pair_of(caller, holder));
  return known != relaxed_.end() && known->second == place_of(callee);
}

// The caller's message passes by x, which may still send the actor an earlier one.
void Order::note_passed(const Ordered& callee, Party caller, const OpenCall& x) {
  const uint64_t pair = pair_of(caller, x.party()), at = place_of(callee);
  auto [known, is_new] = relaxed_.try_emplace(pair);  // it is new if the holder is relaxed for all
  if (!is_new && known->second == at) return;
  look_from(callee.actor);
  if (!reaches(x)) return;
  known->second = at;
  if (passed_before_.insert((pair * 0x9e3779b97f4a7c15ull ^ at) * 0xff51afd7ed558ccdull).second)
    passed_.push_back({caller, x.party(), callee.actor, callee.method});
}

std::vector<Passed> Order::take_passed(uint32_t actor, Party caller) {
  std::vector<Passed> found;
  if (passed_.empty()) return found;
  std::erase_if(passed_, [&](const Passed& p) {
    const bool its_own = p.actor == actor && p.caller == caller;
    if (its_own) found.push_back(p);
    return its_own;
  });
  return found;
}

// Calls `found` with the calls on the board that hold t back, one of each actor, until it returns false. What is sent to the actor itself is in its
// inbox, or its caller is open too.
template <class Found> void Order::each_holder(Board* b, const Ordered& callee, TagView t, Party caller, Found found) {
  for (Off at = b->first.load(memory_order_acquire); at;) {
    auto* l = heap_->at<OpenList>(at);
    at = l->next.load(memory_order_acquire);
    const uint32_t runs_on = l->callee.load(memory_order_acquire);
    if (runs_on == callee.actor || l->head.load(memory_order_acquire) == l->tail.load(memory_order_acquire)) continue;
    if (runs_on && (is_known_to_pass(callee, caller, runs_on) || (of_ == callee.actor && !of_wide_ && !reachers_.count(runs_on)))) continue;
    bool more = true;
    each_open(heap_, l, [&](const OpenCall& x, bool sorted) {
      if (sorted && compare(x.tag(), t) > 0) return false;
      if (x.actor == callee.actor || !strictly_before(x.tag(), t) || strictly_before(x.tag(), callee.created)) return true;
      if (relaxed(caller, x.party())) return note_passed(callee, caller, x), !runs_on;
      look_from(callee.actor);  // not before it matters: in a worker of many actors it is another one each time
      if (!reaches(x)) return !runs_on;
      more = found(x);
      return more && !runs_on;
    });
    if (!more) return;
  }
}

// False: something on the board holds t.
bool Order::scan(Board* b, const Ordered& callee, TagView t, Party caller) {
  bool free = true;
  each_holder(b, callee, t, caller, [&](const OpenCall&) { return free = false; });
  return free;
}

void Order::holders(const Ordered& callee, TagView t, Party caller, std::vector<Party>& found) {
  std::atomic_thread_fence(memory_order_seq_cst);
  read_notices();
  for (Off off = header_->boards.load(memory_order_seq_cst); off;) {
    auto* b = heap_->at<Board>(off);
    each_holder(b, callee, t, caller, [&](const OpenCall& x) { return found.push_back(x.party()), true; });
    off = b->next.load(memory_order_acquire);
  }
}

std::string Order::name_of(Party party) {
  std::string name;
  for (Off off = header_->boards.load(memory_order_seq_cst); off && name.empty();) {
    auto* b = heap_->at<Board>(off);
    for (Off at = b->first.load(memory_order_acquire); at && name.empty();) {
      auto* l = heap_->at<OpenList>(at);
      each_open(heap_, l, [&](const OpenCall& x, bool) {
        if (x.party() == party) name.assign(x.name, strnlen(x.name, sizeof x.name));
        return name.empty();
      });
      at = l->next.load(memory_order_acquire);
    }
    off = b->next.load(memory_order_acquire);
  }
  return name;
}

bool Order::may_start(const Ordered& callee, TagView t, Party caller) {
  std::atomic_thread_fence(memory_order_seq_cst);
  before_.clear();
  for (;;) {
    if (read_notices()) before_.clear();  // what was seen then may reach the actor now
    bool again = false;
    now_.clear();
    size_t known = 0;  // new boards come to the front of the list, the others stay as they were
    for (Off off = header_->boards.load(memory_order_seq_cst); off;) {
      auto* b = heap_->at<Board>(off);
      uint64_t version = b->version.load(memory_order_seq_cst);
      bool same = false;
      if (known < before_.size() && before_[known].first == off) same = before_[known++].second == version;
      now_.emplace_back(off, version);
      if (!same) {
        // A driver's own later calls come after t, and another driver's hold nothing; its board need not stand still.
        const uint32_t p = b->producer.load(memory_order_relaxed);
        again |= p == kNoProc || heap_->procs[p].kind != ProcKind::Driver;
        if (!scan(b, callee, t, caller)) return false;
      }
      off = b->next.load(memory_order_acquire);
    }
    if (!again && header_->notices.load(memory_order_seq_cst) == newest_) return true;
    before_.swap(now_);
  }
}

// No control message is under way. All processes send by one socket, so it knows what has not been taken from it, whoever has died meanwhile;
// and the supervisor says that it is answering before it takes the next.
static bool supervisor_sleeps(Heap* h) {
  int unread = 0;
  if (h->control.number() >= 0 && (!h->control.is_own() || ioctl(h->control.number(), SIOCOUTQ, &unread) != 0 || unread != 0)) return false;
  return h->header->answering.load(memory_order_seq_cst) == 0;
}

// The sum of how often the others were rung and have gone to sleep, which only grows while none of them dies, and 1; 0: one of them does not sleep.
static uint64_t sum_of_sleeps(Heap* h, uint32_t me, bool loops) {
  uint64_t sum = 1;
  uint32_t high = h->header->proc_high.load(memory_order_acquire);
  for (uint32_t i = 0; i < high; ++i) {
    Proc& p = h->procs[i];
    ProcState s = p.state.load(memory_order_acquire);
    if (i == me || p.kind == ProcKind::Supervisor || s == ProcState::Free || s == ProcState::Dead) continue;
    if (p.deferred.load() && !(loops && p.loop_idle.load())) return 0;
    const uint64_t before = p.sleeps.load() + p.bell.word.load();
    if (s == ProcState::Starting || p.awake.load() || !p.bell.sleeping.load()) return 0;
    if (p.sleeps.load() + p.bell.word.load() != before) return 0;
    sum += before;
  }
  return sum;
}

bool all_sleep(Heap* h, uint32_t me, bool loops) {
  Header* hdr = h->header;
  std::atomic_thread_fence(memory_order_seq_cst);
  if (hdr->spawn_asked.load() || !supervisor_sleeps(h)) return false;
  // A task that waits only because too many of its like wait already is let in after a time (lent_cpus.h).
  for (Off off = hdr->lenders.load() > 0 ? hdr->queues.load(memory_order_acquire) : 0; off;) {
    auto* q = h->at<TaskQueue>(off);
    if (has_task(h, q) && can_take(hdr, q->demand)) return false;
    off = q->next.load(memory_order_acquire);
  }
  const uint64_t first = sum_of_sleeps(h, me, loops);
  return first && sum_of_sleeps(h, me, loops) == first && supervisor_sleeps(h);
}

void set_held(Local& l, bool held) {
  if (held ? l.holding_back++ > 0 : --l.holding_back > 0) return;
  if (l.proc->held.exchange(held) == uint32_t(held)) return;
  l.heap->header->held.fetch_add(held ? 1 : uint32_t(-1), memory_order_seq_cst);
  std::atomic_thread_fence(memory_order_seq_cst);
}

}  // namespace reactor
