// The budget of order: the time that callers may spend blocked because of it, per pair of a caller and the holder it waits for.
//
// Order is free where callers would have waited anyway. Where a call is held though its actor is free, its caller pays with time. That time is
// added up per pair (who called, whose unfinished call holds the message back), in the shared heap, whichever actor holds it. A pair
// whose sum exceeds the budget,
//
//   Header::patience_ns + Header::patience_share * (time since the pair was first met)
//
// is relaxed: its messages run in the order of arrival, for good (NoticeKind::Relaxed, see order.h). So calls that end soon are ordered, and
// loops that run for ever go at their own pace.
//
// The wait of a message counts in full in two cases: somebody waits for its result or for the result of a message behind it, or the actor
// runs other calls all the time (perhaps a caller polls for a change that the held message would make). Otherwise nobody is known to lose
// time, and the pair is relaxed after kUnwantedNs.
//
// A pair is relaxed at every actor, also where it has not waited yet. Each method that runs because of it is named (Outcome::Passed).
//
// Somebody waits for a result if it has an armed WaitNode. `since` says since when.
#pragma once
#include "objects/run_records.h"

namespace reactor {

struct alignas(64) Waited {
  Off next;  // in Header::waited, never removed while the run lasts
  uint64_t pair;  // pair_of(caller, holder)
  uint64_t met_ns;  // when it was first met
  atomic<uint64_t> blocked_ns;
  atomic<uint64_t> unwanted_ns;  // a message waited, and nobody for it
};

// What becomes of a message that order holds back or has held back; given to the hook `relaxed`.
//   Passed: it runs, and its caller does not wait any more for an unfinished call that may still send the actor an earlier one.
//   Waits: it has waited for kLongHoldNs, and order is not given up.
enum class Outcome : uint32_t { Relaxed = 0, Refused, NotAsRecorded, Passed, Waits };
constexpr uint64_t kLongHoldNs = 10000000000;

// Nobody is known to pay for this wait, so it may be long beside the budget of one that somebody pays for (0.1 s by default). But it has to end:
// a message that nobody waits for would else be held for as long as a loop runs.
constexpr uint64_t kUnwantedNs = 2000000000;

inline bool has_budget(const Header* h) { return h->ordering == Ordering::Logical && h->patience_ns != kForeverNs; }
// What is left of the budget of something that was first met at `met_ns`, and has cost `blocked_ns` so far.
inline uint64_t budget_left(const Header* h, uint64_t met_ns, uint64_t blocked_ns, uint64_t now) {
  if (!has_budget(h)) return kForeverNs;
  uint64_t budget = h->patience_ns + uint64_t(h->patience_share * double(now - met_ns));
  return budget > blocked_ns ? budget - blocked_ns : 0;
}

inline Waited* waited_entry(Local& l, uint64_t pair, uint64_t now) {
  atomic<Off>& bucket = l.heap->header->waited[(pair * 0x9e3779b97f4a7c15ull) >> 56];
  Waited* fresh = nullptr;
  for (Off seen = 0, head = bucket.load(memory_order_acquire);;) {
    for (Off off = head; off != seen;) {
      auto* w = l.heap->at<Waited>(off);
      if (w->pair == pair) return w;  // the place of a fresh one is lost
      off = w->next;
    }
    seen = head;
    if (!fresh) {
      fresh = alloc_for_run<Waited>(l);
      fresh->pair = pair;
      fresh->met_ns = now;
      fresh->blocked_ns.store(0, memory_order_relaxed);
      fresh->unwanted_ns.store(0, memory_order_relaxed);
    }
    fresh->next = head;
    if (bucket.compare_exchange_strong(head, l.heap->off(fresh), memory_order_acq_rel, memory_order_acquire)) return fresh;
  }
}
static_assert(kWaitedBuckets == 256);

// Adds to what the pair has cost. True: its budget is used up.
inline bool charge(Local& l, uint64_t pair, uint64_t ns, bool wanted, uint64_t now) {
  Waited* w = waited_entry(l, pair, now);
  const Header* h = l.heap->header;
  if (!wanted)
    return w->unwanted_ns.fetch_add(ns, memory_order_relaxed) + ns > (h->patience_ns > kUnwantedNs ? h->patience_ns : kUnwantedNs);
  uint64_t blocked = w->blocked_ns.fetch_add(ns, memory_order_relaxed) + ns;
  return budget_left(h, w->met_ns, blocked, now) == 0;
}

// Whether somebody waits for the object; `since`: from when on, as far as is known, else unchanged. For who holds it.
inline bool is_waited_for(Heap* h, Object* o, uint64_t& since) {
  uint64_t word = o->wait.load(memory_order_acquire);
  bool any = false;
  // While it is pending it keeps its nodes. If it is completed meanwhile, they may be something else's memory by now: the answer is then
  // of no use to anybody, but what is read must lie in the heap.
  for (int i = 0; i < 16 && word && word % kLine == 0 && word < h->header->capacity; ++i) {
    auto* n = h->at<WaitNode>(word);
    if (n->armed.load(memory_order_relaxed)) {
      uint64_t t = n->since.load(memory_order_relaxed);
      since = any && since < t ? since : t;
      any = true;
    }
    word = n->next;
  }
  return any;
}

}  // namespace reactor
