#include "order.h"
#include "tasks.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

namespace reactor {

namespace {

// Whether the call with this result has not come to its end. Its memory may be something else's by now.
bool unfinished(Heap* h, Off result, uint64_t uid) {
  auto* o = h->at<Object>(result);
  if (std::atomic_ref(o->uid).load(memory_order_acquire) != uid || is_done(o)) return false;
  return std::atomic_ref(o->uid).load(memory_order_acquire) == uid;
}

}  // namespace

void Order::adopt_or_make_board() {
  for (Off off = header_->boards.load(memory_order_acquire); off;) {
    auto* b = heap_->at<Board>(off);
    uint32_t nobody = kNoProc;
    if (b->producer.compare_exchange_strong(nobody, local_.slot, memory_order_acq_rel)) {
      board_ = b;
      for (Off at = b->first.load(memory_order_acquire); at; at = heap_->at<BoardChunk>(at)->next.load(memory_order_acquire))
        for (auto& s : heap_->at<BoardChunk>(at)->slot) all_.push_back(&s);
      return;
    }
    off = b->next.load(memory_order_acquire);
  }
  Off off = local_.alloc.alloc(sizeof(Board));
  if (!off) throw std::bad_alloc();
  local_.alloc.publish(off, kPlain);
  board_ = heap_->at<Board>(off);
  board_->producer.store(local_.slot, memory_order_relaxed);
  board_->version.store(0, memory_order_relaxed);
  board_->first.store(0, memory_order_relaxed);
  Off head = header_->boards.load(memory_order_relaxed);
  do board_->next.store(head, memory_order_relaxed);
  while (!header_->boards.compare_exchange_weak(head, off, memory_order_release, memory_order_relaxed));
}

OpenSlot* Order::take_slot() {
  if (!board_) adopt_or_make_board();
  if (free_.empty()) {
    for (OpenSlot* s : all_) {
      uint64_t id = s->id.load(memory_order_relaxed);
      if (id && unfinished(heap_, s->word[0].load(memory_order_relaxed), id)) continue;
      s->id.store(0, memory_order_release);
      free_.push_back(s);
    }
    // Nearly all are in use: more of them, so that looking for ended ones stays rare.
    if (free_.size() * 4 <= all_.size()) {
      Off off = local_.alloc.alloc(sizeof(BoardChunk));
      if (!off) throw std::bad_alloc();
      local_.alloc.publish(off, kPlain);
      auto* c = heap_->at<BoardChunk>(off);
      for (auto& s : c->slot) s.id.store(0, memory_order_relaxed);
      c->next.store(board_->first.load(memory_order_relaxed), memory_order_relaxed);
      board_->first.store(off, memory_order_release);
      for (auto& s : c->slot) {
        all_.push_back(&s);
        free_.push_back(&s);
      }
    }
  }
  OpenSlot* s = free_.back();
  free_.pop_back();
  return s;
}

void Order::open(Object* result, OpenCall& call) {
  OpenSlot* s = take_slot();
  call.result = heap_->off(result);
  std::atomic_ref(result->kind).fetch_or(kOpenCall, memory_order_seq_cst);  // who completes it tells those that hold back
  uint64_t words[kOpenWords];
  memcpy(words, &call, sizeof call);
  std::atomic_thread_fence(memory_order_release);
  for (size_t i = 0; i < kOpenWords; ++i) s->word[i].store(words[i], memory_order_relaxed);
  s->id.store(result->uid, memory_order_release);
  board_->version.fetch_add(1, memory_order_seq_cst);
}

void Order::note(NoticeKind kind, uint64_t who, uint32_t to) {
  if (!noted_.insert(who * 0x9e3779b97f4a7c15ull ^ uint64_t(to) << 8 ^ uint64_t(kind)).second) return;
  Off off = local_.alloc.alloc(sizeof(Notice));
  if (!off) throw std::bad_alloc();
  local_.alloc.publish(off, kPlain);
  auto* n = heap_->at<Notice>(off);
  n->kind = kind;
  n->who = who;
  n->to = to;
  Off head = header_->notices.load(memory_order_relaxed);
  do n->next = head;
  while (!header_->notices.compare_exchange_weak(head, off, memory_order_seq_cst, memory_order_relaxed));
}

void Order::read_notices() {
  Off head = header_->notices.load(memory_order_seq_cst);
  if (head == newest_) return;
  for (Off off = head; off != newest_;) {
    auto* n = heap_->at<Notice>(off);
    if (n->kind == NoticeKind::Holds) {
      holders_[n->to].push_back(uint32_t(n->who));
    } else if (n->kind == NoticeKind::Wide) {
      wide_.insert(n->who);
    } else if (relaxed_.insert(n->who).second) {
      auto holder = Party(n->who);
      if (++relaxed_callers_[holder] >= kManyCallers) relaxed_by_all_.insert(holder);
    }
    off = n->next;
  }
  newest_ = head;
  of_ = 0;
}

// Whether a call that carries something can come to send the actor a message: what it was given, or its own actor was, leads to it;
// or a handle of the actor, or of one that leads to it, lies in a value, where anybody may find it.
bool Order::reaches(const OpenCall& x, uint32_t actor) {
  if (of_ != actor) {
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
  if (of_wide_ || x.holds == kAnybody || (x.actor && reachers_.count(x.actor))) return true;
  for (uint32_t i = 0; i < x.holds; ++i)
    if (reachers_.count(x.hold[i])) return true;
  return false;
}

// Calls `found` with each open call on the board, of a root up to `last_root`, that `matters` and can come to send the actor a message;
// until it returns false. What is sent to the actor itself is in its inbox, or its caller is open too.
template <class Matters, class Found> void Order::each_open(Board* b, uint32_t actor, uint64_t last_root, Matters matters, Found found) {
  for (Off at = b->first.load(memory_order_acquire); at;) {
    auto* c = heap_->at<BoardChunk>(at);
    at = c->next.load(memory_order_acquire);
    for (auto& s : c->slot) {
      uint64_t id = s.id.load(memory_order_acquire);
      if (!id) continue;
      if (s.word[kRootWord].load(memory_order_relaxed) > last_root || !unfinished(heap_, s.word[0].load(memory_order_relaxed), id))
        continue;
      OpenCall x;
      uint64_t words[kOpenWords];
      for (size_t i = 0; i < kOpenWords; ++i) words[i] = s.word[i].load(memory_order_relaxed);
      std::atomic_thread_fence(memory_order_acquire);
      if (s.id.load(memory_order_relaxed) != id) continue;
      memcpy(&x, words, sizeof x);
      if (x.actor == actor || !matters(x) || !unfinished(heap_, x.result, id) || !reaches(x, actor)) continue;
      if (!found(x)) return;
    }
  }
}

// False: something on the board holds t.
bool Order::scan(Board* b, uint32_t actor, TagView t, Party caller) {
  bool free = true;
  each_open(
      b, actor, t.root, [&](const OpenCall& x) { return strictly_before(x.tag(), t) && !relaxed(caller, x.party()); },
      [&](const OpenCall&) { return free = false; });
  return free;
}

void Order::senders(uint32_t actor, std::vector<OpenCall>& calls) {
  std::atomic_thread_fence(memory_order_seq_cst);
  read_notices();
  for (Off off = header_->boards.load(memory_order_seq_cst); off;) {
    auto* b = heap_->at<Board>(off);
    each_open(b, actor, UINT64_MAX, [](const OpenCall&) { return true; }, [&](const OpenCall& x) { return calls.push_back(x), true; });
    off = b->next.load(memory_order_acquire);
  }
}

bool Order::may_start(uint32_t actor, TagView t, Party caller) {
  std::atomic_thread_fence(memory_order_seq_cst);
  before_.clear();
  for (;;) {
    read_notices();
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
        if (!scan(b, actor, t, caller)) return false;
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
  if (h->control >= 0 && (ioctl(h->control, SIOCOUTQ, &unread) != 0 || unread != 0)) return false;
  return h->header->answering.load(memory_order_seq_cst) == 0;
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
  uint32_t high = hdr->proc_high.load(memory_order_acquire);
  for (uint32_t i = 0; i < high; ++i) {
    Proc& p = h->procs[i];
    ProcState s = p.state.load(memory_order_acquire);
    if (i == me || p.kind == ProcKind::Supervisor || s == ProcState::Free || s == ProcState::Dead) continue;
    if (p.deferred.load() && !(loops && p.loop_idle.load())) return false;
    // Rung between the two looks, it may have gone on and to sleep again: then its word is another.
    uint32_t word = p.bell.word.load();
    if (s == ProcState::Starting || p.awake.load() || !p.bell.sleeping.load() || p.bell.word.load() != word) return false;
  }
  return supervisor_sleeps(h);
}

void set_held(Local& l, bool held) {
  if (held ? l.holding_back++ > 0 : --l.holding_back > 0) return;
  if (l.proc->held.exchange(held) == uint32_t(held)) return;
  l.heap->header->held.fetch_add(held ? 1 : uint32_t(-1), memory_order_seq_cst);
  std::atomic_thread_fence(memory_order_seq_cst);
}

}  // namespace reactor
