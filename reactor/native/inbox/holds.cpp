// The cost of holding messages back, and the end of holding: the rule of patience.h, on the actor's side.
#include <algorithm>
#include "inbox/inbox_server.h"

namespace reactor {

PyObject* refusal = nullptr;

namespace {

constexpr uint64_t kLookNs = 10000000;      // between two looks while messages are held
constexpr uint64_t kLookIdleNs = 200000000; // the same where waiting has no price
constexpr uint64_t kSampleNs = 1000000;     // between two charges for messages that others go before
constexpr uint64_t kQuietNs = 400000000;    // everybody but an event loop has slept so long: nothing else can move
constexpr uint64_t kPolled = 3;             // calls that ran while a message waited: the actor is polled
constexpr uint64_t kLongLookNs = 1000000000;  // between two looks for messages that wait for long
constexpr size_t kLooked = 64;              // candidates whose wait is charged at one look, those that come first
// Calls behind a candidate of which it is looked up whether somebody waits for them, at most: so a look at a long queue is short.
constexpr size_t kParkedAsked = 8, kSentAsked = 512;

bool priced(const InboxServer& s) { return has_budget(ctx->header) && !s.by_arrival && s.played == s.script.size(); }

// The parties that all[i] waits for: unfinished calls, and the senders of waiting messages that come before it.
std::vector<Party> holders_of(InboxServer& s, const std::vector<Candidate>& all, size_t i) {
  Message* m = all[i].message;
  std::vector<Party> found;
  if (m->kind != MessageKind::Create) ctx->order.holders(ordered(s, m), tag_of(m), m->caller, found);
  for (size_t k = 0; k < i; ++k)
    if (driver_of(all[k].message->order_key) == driver_of(m->order_key) && !ctx->order.relaxed(m->caller, all[k].message->caller))
      found.push_back(all[k].message->caller);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Whether anybody waits for a message of the candidate's sender. The last message is looked at first, because a sender that waits sends no more.
bool wanted(const InboxServer& s, const Candidate& c, uint64_t& since) {
  auto waits = [&](Message* m) { return is_waited_for(ctx->heap, ctx->heap->at<Object>(m->result), since); };
  if (waits(c.message)) return true;
  if (c.next.parked) {
    const Batch& batch = s.parked.of(*c.next.parked);
    for (size_t i = batch.calls.size(), n = 0; i-- > batch.first && n < kParkedAsked; ++n)
      if (waits(batch.calls[i].message())) return true;
    return false;
  }
  bool any = false;
  size_t n = 0;
  each_record(ctx->heap, c.next.head->receiver.channel(), [&](Message* m) { any = any || (++n < kSentAsked && waits(m)); });
  return any;
}

// Says that the message is not held back for these any more. Returns what the hook gives, or null.
Owned tell(InboxServer& s, const Candidate& c, const std::vector<Party>& holders, Outcome outcome) {
  if (outcome != Outcome::Passed && outcome != Outcome::Waits) ctx->proc->physical.fetch_add(1, memory_order_relaxed);
  if (!hooks.relaxed) return Owned();
  Owned list(PyList_New(0));
  for (Party holder : holders) {
    const std::string name = ctx->order.name_of(holder);
    Owned entry(Py_BuildValue("(Iz)", holder, name.empty() ? nullptr : name.c_str()));
    if (entry) PyList_Append(list.get(), entry.get());
  }
  ctx->placement->keep_turn(true);  // it asks the supervisor; another thread would serve the actor meanwhile
  const std::string name = ctx->order.name_of(c.message->caller);
  Owned answer =
      hooks.relaxed(s.actor, c.message->method, c.message->caller, name.empty() ? nullptr : name.c_str(), std::move(list), outcome);
  if (!answer) hooks.relaxed.complain();
  ctx->placement->keep_turn(false);
  return answer;
}

void relax(InboxServer& s, const Candidate& c, const std::vector<Party>& holders) {
  for (Party holder : holders) ctx->order.note(NoticeKind::Relaxed, pair_of(c.message->caller, holder));
  tell(s, c, holders, Outcome::Relaxed);
}

// Nothing else can move. Logical: what may go on by arrival is relaxed. Strict, or by a script: the message fails, with an error that says for what it waits.
void give_up_order(InboxServer& s) {
  const bool scripted = s.played < s.script.size();
  const std::vector<Candidate> all = candidates(s, SIZE_MAX);
  if (all.empty()) return;
  if (scripted || ctx->header->ordering == Ordering::Strict) {
    std::vector<Party> holders = holders_of(s, all, 0);
    if (!scripted && (holders.empty() || !arguments_ready(*all[0].argument_wait, all[0].message))) return;
    s.refuse = true;
    refusal = tell(s, all[0], holders, scripted ? Outcome::NotAsRecorded : Outcome::Refused).release();
    return;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (!arguments_ready(*all[i].argument_wait, all[i].message)) continue;
    if (auto holders = holders_of(s, all, i); !holders.empty()) return relax(s, all[i], holders);
  }
}

// Order is not given up, whatever it costs. The user is told who waits: what it waits for may be a loop that waits for it.
void warn_of_long_wait(InboxServer& s) {
  const uint64_t now = now_ns();
  if (s.by_arrival || s.warned || s.played < s.script.size() || has_budget(ctx->header) || now - s.sampled < kLongLookNs) return;
  s.sampled = now;
  const std::vector<Candidate> all = candidates(s, kLooked);
  for (size_t i = 0; i < all.size() && !s.warned; ++i) {
    if (now - all[i].queued->since < kLongHoldNs || !arguments_ready(*all[i].argument_wait, all[i].message)) continue;
    const std::vector<Party> holders = holders_of(s, all, i);
    s.warned = !holders.empty();
    if (s.warned) tell(s, all[i], holders, Outcome::Waits);
  }
}

uint64_t executed_anywhere() {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < ctx->header->proc_high.load(memory_order_acquire); ++i)
    sum += ctx->heap->procs[i].executed.load(memory_order_relaxed);
  return sum;
}

// While a worker is being born nobody pays: what runs there will have begun in a moment.
bool somebody_starts() {
  for (uint32_t i = 0; i < ctx->header->proc_high.load(memory_order_acquire); ++i)
    if (ctx->heap->procs[i].state.load(memory_order_relaxed) == ProcState::Starting) return true;
  return false;
}

}  // namespace

void begin_hold(InboxServer& s) {
  if (s.hold.active) return;
  s.hold.active = true;
  hold_back(true);
}

void end_hold(InboxServer& s) {
  if (!s.hold.active) return;
  s.hold.active = false;
  hold_back(false);
}

bool charge_waits(InboxServer& s, const Candidate& first, const Candidate* chosen) {
  if (!priced(s)) return warn_of_long_wait(s), false;
  const uint64_t now = now_ns();
  if (now - s.sampled < kSampleNs && (chosen || compare(s.hold.of, tag_of(first.message)) == 0)) return false;
  s.sampled = now;
  const std::vector<Candidate> all = candidates(s, kLooked);
  if (!chosen) {
    s.hold.of.assign(tag_of(first.message));
    s.hold.holders.clear();
  }
  const bool free = somebody_starts();
  const uint64_t last = chosen ? chosen->message->sent() : UINT64_MAX;  // what was sent later is not kept back by order
  struct Wait {
    uint64_t ns;
    bool wanted;
  };
  std::unordered_map<uint64_t, Wait> waits;  // of pairs; of several calls of one pair at the same time one counts
  std::vector<std::vector<Party>> holders(all.size());
  bool somebody = false;  // waits for this one or one behind it
  uint64_t since = UINT64_MAX;
  for (size_t i = all.size(); i-- > 0;) {
    const Candidate& c = all[i];
    uint64_t from = 0;
    if (wanted(s, c, from)) somebody = true, since = std::min(since, from);
    if ((chosen && c.message == chosen->message) || c.message->sent() > last || !arguments_ready(*c.argument_wait, c.message)) continue;
    holders[i] = holders_of(s, all, i);
    if (!chosen && i == 0) s.hold.holders = holders[i];
    const bool counts = somebody || s.ran - c.queued->ran >= kPolled;
    const uint64_t begun = std::max(c.queued->charged, somebody ? since : 0);
    const uint64_t ns = now > begun && !free ? now - begun : 0;
    c.queued->charged = now;
    for (Party holder : holders[i]) {
      Wait& w = waits[pair_of(c.message->caller, holder)];
      w = {std::max(w.ns, ns), w.wanted || counts};
    }
  }
  bool any = false;
  for (size_t i = 0; i < all.size(); ++i) {
    const Party caller = all[i].message->caller;
    std::vector<Party> over;
    for (Party holder : holders[i])
      if (auto w = waits.find(pair_of(caller, holder)); w != waits.end()) {
        if (charge(ctx->local, w->first, w->second.ns, w->second.wanted, now)) over.push_back(holder);
        waits.erase(w);
      }
    if (over.empty()) continue;
    relax(s, all[i], over);
    any = true;
  }
  return any;
}

void charge_held(InboxServer& s, const Candidate& chosen) {
  if (s.hold.holders.empty() || !chosen.queued->since || compare(s.hold.of, tag_of(chosen.message)) != 0) return;
  std::vector<Party> holders = std::move(s.hold.holders);
  s.hold.holders.clear();
  uint64_t since = 0;
  if (!priced(s) || !is_waited_for(ctx->heap, ctx->heap->at<Object>(chosen.message->result), since)) return;
  const uint64_t now = now_ns(), begun = std::max(chosen.queued->charged, since);
  if (now <= begun) return;
  for (Party holder : holders)  // it is found to be used up, if it is, when they meet again
    charge(ctx->local, pair_of(chosen.message->caller, holder), now - begun, true, now);
}

void tell_passed(InboxServer& s, const Candidate& chosen) {
  std::vector<Party> holders;
  for (const Passed& p : ctx->order.take_passed(s.actor, chosen.message->caller)) holders.push_back(p.holder);
  if (!holders.empty()) tell(s, chosen, holders, Outcome::Passed);
}

uint64_t held_until(const InboxServer& s) { return s.hold.active ? now_ns() + (priced(s) ? kLookNs : kLookIdleNs) : UINT64_MAX; }

void look_at_hold(InboxServer& s, bool alone, bool busy) {
  if (!s.hold.active) return;
  const uint64_t executed = executed_anywhere(), now = now_ns();
  const bool quiet = !busy && all_sleep(ctx->heap, ctx->slot, true) && executed == s.hold.executed;
  s.hold.executed = executed;
  if (!quiet) s.hold.quiet_since = 0;
  else if (!s.hold.quiet_since) s.hold.quiet_since = now;
  if (!alone && !(s.hold.quiet_since && now - s.hold.quiet_since >= kQuietNs)) return;
  s.hold.quiet_since = 0;
  give_up_order(s);
}

}  // namespace reactor
