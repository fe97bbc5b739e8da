// The choice of the next message of an inbox to which several callers may send: the holding rule of order.h, on the actor's side.
#include <algorithm>
#include <utility>
#include "inbox/inbox_server.h"

namespace reactor {
namespace {

bool before(Message* a, Message* b) { return !b || compare(tag_of(a), tag_of(b)) < 0; }

Candidate parked_front(const std::pair<const Tag, Batch>& entry) {
  auto& front = const_cast<Batch&>(entry.second).front();
  return {front.message(), &front.argument_wait, &front.queued, {nullptr, -1, &entry.first}};
}

// Calls `found` with the first call of each parked batch, by their tags, until it returns false. The batches lie by their makers: between a call and
// what it has made lies nothing else, so a batch's front comes after the batches of that call's descendants that are before it.
template <class Found> void each_parked_front(InboxServer& s, Found found) {
  std::vector<Candidate> later;  // those that come after the batches seen so far, the nearest last
  for (auto& entry : s.parked) {
    for (; !later.empty() && compare(tag_of(later.back().message), entry.first) <= 0; later.pop_back())
      if (!found(later.back())) return;
    later.push_back(parked_front(entry));
  }
  for (; !later.empty(); later.pop_back())
    if (!found(later.back())) return;
}

bool is_constructed(const InboxServer& s) { return ctx->actors.find(s.actor) != nullptr; }

// Calls `found` with the head of each channel. With `decides`, the one that runs is chosen among these: the others are passed over, and the
// process sleeps though they are there. Who only looks must not pass over what has come since.
template <class Found> void each_head(InboxServer& s, bool decides, Found found) {
  const bool constructed = is_constructed(s);
  for (auto& c : s.incoming) {
    Message* m = c->receiver.peek();
    const bool early = m && m->kind == MessageKind::Call && !constructed;
    if (decides) {
      c->early = early;
      c->passed_over = m && !early;
    }
    if (m && !early) found(Candidate{m, &c->argument_wait, &c->queued, {c.get()}});
  }
}

// The heads of the channels, but for those behind a parked call.
std::vector<Candidate> first_heads(InboxServer& s, bool decides) {
  std::vector<Candidate> heads;
  each_head(s, decides, [&](const Candidate& c) {
    if (!s.parked.has(maker_of(c.message))) heads.push_back(c);
  });
  return heads;
}

void note_wait(const InboxServer& s, const Candidate& c) {
  if (!c.queued->since) c.queued->since = c.queued->charged = now_ns(), c.queued->ran = s.ran;
}

// The least message of all by its tag. `several`: it is not alone. `drivers`: more than one driver's calls have led to those that are there.
Candidate least(InboxServer& s, bool& several, bool& drivers) {
  Candidate best;
  size_t n = s.parked.size();
  drivers = !s.parked.empty() && driver_of(s.parked.begin()->first.root) != driver_of(std::prev(s.parked.end())->first.root);
  each_head(s, true, [&](const Candidate& c) {
    ++n;
    const uint64_t driver = driver_of(c.message->order_key);
    if (driver != driver_of(best.message       ? best.message->order_key
                            : s.parked.empty() ? c.message->order_key
                                               : s.parked.begin()->first.root))
      drivers = true;
    if (before(c.message, best.message)) best = c;
  });
  each_parked_front(s, [&](const Candidate& c) {
    if (before(c.message, best.message)) best = c;
    return false;
  });
  several = n > 1;
  return best;
}

// Takes the calls out of a channel, of an actor that is made.
bool park(InboxServer& s, Incoming& c) {
  bool any = false;
  c.last_seen.root = 0;
  c.last_seen.depth = 0;
  while (Message* m = c.receiver.peek()) {
    if (m->kind != MessageKind::Call) break;
    Parked p{{}, std::exchange(c.argument_wait, {}), std::exchange(c.queued, {})};
    p.detached = detach_call(m, c.receiver);
    s.parked.add(p);
    any = true;
  }
  return any;
}

// Takes all messages out of their channels, but for a driver's, unless `drivers` is set: its own are in order. A process that runs one task after the other
// may have sent what comes later first.
bool park(InboxServer& s, bool drivers = false) {
  if (!is_constructed(s)) return false;  // a call may come before the message that makes the actor: it stays behind that
  bool any = false;
  for (auto& c : s.incoming)
    if (drivers || ctx->heap->procs[c->receiver.channel()->producer].kind != ProcKind::Driver) any = park(s, *c) || any;
  return any;
}

void park_closed(InboxServer& s) {
  if (s.incoming.size() <= kMostScannedChannels || !is_constructed(s)) return;
  for (auto& c : s.incoming)
    if (c->receiver.closed()) park(s, *c);
}

// Whether the messages of a channel came by their tags. Looks at those that came since the last look.
bool in_turn(Incoming& c) {
  Off first = c.receiver.channel()->read;
  bool known = false;
  for (Off at = first; at && !known; at = ctx->heap->at<Segment>(at)->next.load(memory_order_acquire)) known = at == c.seen_segment;
  if (!known) c.seen_segment = first, c.seen_at = 0;
  for (;;) {
    auto* s = ctx->heap->at<Segment>(c.seen_segment);
    Off next = s->next.load(memory_order_acquire);  // before tail: with the next segment seen, this one's tail is final
    uint64_t head = s->head.load(memory_order_relaxed), tail = s->tail.load(memory_order_acquire);
    for (c.seen_at = std::max(c.seen_at, head); c.seen_at != tail;) {
      Message* m = s->record(c.seen_at);
      c.seen_at += m->size;
      if (m->kind == MessageKind::Skip) continue;
      if (compare(tag_of(m), c.last_seen) < 0) return false;
      c.last_seen.assign(tag_of(m));
    }
    if (!next) return true;
    c.seen_segment = next;
    c.seen_at = 0;
  }
}

// Whether some channel may have a message behind its head that comes before that.
bool out_of_turn(InboxServer& s) {
  bool found = false;
  for (auto& c : s.incoming) found = (c->mixed && !in_turn(*c)) || found;
  return found;
}

// It runs: what is behind it, and the others, are to be looked at again.
Next go(InboxServer& s, const Candidate& chosen) {
  charge_held(s, chosen);
  tell_passed(s, chosen);
  end_hold(s);
  ++s.ran;
  if (chosen.next.head) chosen.next.head->queued = {};
  for (auto& c : s.incoming) c->passed_over = false;
  return chosen.next;
}

bool may_start(InboxServer& s, Message* m) {
  return m->kind == MessageKind::Create || ctx->order.may_start(ordered(s, m), tag_of(m), m->caller);
}

// The choice where some callers are served in the order of arrival: of the messages that nothing keeps back any more, the one that was sent first.
class FirstToCome {
 public:
  explicit FirstToCome(InboxServer& s) : s_(s), heads_(first_heads(s, true)) {
    std::sort(heads_.begin(), heads_.end(), [](const Candidate& a, const Candidate& b) { return sent_before(a.message, b.message); });
  }

  Candidate choose() {
    auto head = heads_.begin();
    for (const ParkedCalls::Entry* entry : s_.parked.by_arrival()) {
      const Candidate c = parked_front(*entry);
      for (; head != heads_.end() && sent_before(head->message, c.message); ++head)
        if (may_run(*head)) return *head;
      if (may_run(c)) return c;
    }
    for (; head != heads_.end(); ++head)
      if (may_run(*head)) return *head;
    return {};
  }

 private:
  // Of the messages of one caller, of one driver's. `first`: the least message here against whose caller this one is not relaxed. `held`: an open call
  // holds it, and so all later ones of this caller.
  struct Bounds {
    Message* first = nullptr;
    Message* held = nullptr;
  };

  bool may_run(const Candidate& c) {
    note_wait(s_, c);
    if (!arguments_ready(*c.argument_wait, c.message)) return false;
    if (s_.by_arrival) return true;
    Bounds& bounds = bounds_of(c.message);
    if (compare(tag_of(bounds.first), tag_of(c.message)) < 0) return false;
    if (bounds.held && compare(tag_of(bounds.held), tag_of(c.message)) < 0) return false;
    if (may_start(s_, c.message)) return true;
    bounds.held = c.message;
    return false;
  }

  Bounds& bounds_of(Message* m) {
    const uint64_t driver = driver_of(m->order_key);
    auto [at, is_new] = bounds_.try_emplace({m->caller, driver});
    Bounds& found = at->second;
    if (!is_new) return found;
    found.first = m;
    auto see = [&](Message* other) {
      if (compare(tag_of(other), tag_of(found.first)) < 0) found.first = other;
    };
    for (const Candidate& c : heads_)
      if (driver_of(c.message->order_key) == driver && !ctx->order.relaxed(m->caller, c.message->caller)) see(c.message);
    for (auto& [caller, entries] : s_.parked.by_caller()) {
      if (ctx->order.relaxed(m->caller, caller)) continue;
      auto least = entries.lower_bound(TagView{roots_of(m->order_key), nullptr, 0});
      if (least != entries.end() && driver_of((*least)->first.root) == driver) see((*least)->second.front().message());
    }
    return found;
  }

  InboxServer& s_;
  std::vector<Candidate> heads_;
  std::map<std::pair<Party, uint64_t>, Bounds> bounds_;
};

Candidate choose(InboxServer& s, const Candidate& least, bool drivers) {
  if (s.by_arrival || drivers || ctx->order.any_relaxed()) return FirstToCome(s).choose();
  return arguments_ready(*least.argument_wait, least.message) && may_start(s, least.message) ? least : Candidate{};
}

// The message tagged so, if it is there.
Candidate tagged(InboxServer& s, TagView turn) {
  for (auto& c : s.incoming)
    if (Message* m = c->receiver.peek(); m && compare(tag_of(m), turn) == 0) return {m, &c->argument_wait, &c->queued, {c.get()}};
  for (auto& entry : s.parked)
    if (Candidate c = parked_front(entry); compare(tag_of(c.message), turn) == 0) return c;
  return {};
}

Candidate scripted(InboxServer& s) { return tagged(s, s.script[s.played]); }

// The message that the table of timed order lets run. It was in its channel before the table knew of it. What a process sends is in order there, but for
// the calls of threads that are no strands.
Next next_in_time(InboxServer& s) {
  while (const uint32_t coroutine = ctx->timed->wakes(s.in->timed)) hooks.woken.tell(coroutine);
  for (;;) {
    find_channels(s);
    bool several, drivers;
    least(s, several, drivers);  // from here on heads are passed over: the table's word wakes this process
    Tag turn;
    if (!ctx->timed->next(s.in->timed, turn)) return {};
    Candidate found = tagged(s, turn);
    s.awaited = nullptr;
    s.sought = 0;
    if (found.message && arguments_ready(*found.argument_wait, found.message)) return go(s, found);
    if (found.message) s.awaited = found.argument_wait->missing;
    if (found.message) return {};
    if (park(s, true) || s.parked.bring_forward(turn)) continue;
    s.sought = ctx->timed->granted(s.in->timed);
    return {};
  }
}

Next next_by_script(InboxServer& s) {
  for (;;) {
    bool several, drivers;
    Candidate other = least(s, several, drivers);
    Candidate turn = scripted(s);  // after it: what has come since is not passed over
    if (turn.message && arguments_ready(*turn.argument_wait, turn.message)) {
      ++s.played;
      return go(s, turn);
    }
    if (park(s)) continue;
    if (!other.message) {
      end_hold(s);
      return {};
    }
    if (s.refuse) {
      s.script.clear();
      return go(s, other);
    }
    begin_hold(s);
    s.hold.seen = ctx->header->finished.load(memory_order_seq_cst);
    return {};
  }
}

}  // namespace

std::vector<Candidate> candidates(InboxServer& s, size_t most) {
  std::vector<Candidate> heads = first_heads(s, false), all;
  std::sort(heads.begin(), heads.end(), [](const Candidate& a, const Candidate& b) { return before(a.message, b.message); });
  auto head = heads.begin();
  each_parked_front(s, [&](const Candidate& c) {
    while (head != heads.end() && before(head->message, c.message)) all.push_back(*head++);
    all.push_back(c);
    return all.size() < most;
  });
  all.insert(all.end(), head, heads.end());
  if (all.size() > most) all.resize(most);
  for (const Candidate& c : all) note_wait(s, c);
  return all;
}

Next next_in_order(InboxServer& s) {
  if (ctx->timed) return next_in_time(s);
  if (s.played < s.script.size()) return next_by_script(s);
  Message* looked_at = nullptr;
  for (;;) {
    find_channels(s);
    park_closed(s);
    if (s.hold.active) s.hold.seen = ctx->header->finished.load(memory_order_seq_cst);
    if (is_constructed(s) && out_of_turn(s) && park(s)) looked_at = nullptr;
    bool several, drivers;
    Candidate first = least(s, several, drivers);
    if (!first.message) {
      end_hold(s);
      return {};
    }
    if (s.refuse) return go(s, first);
    Candidate chosen = choose(s, first, drivers);
    if (chosen.message) {
      if (several && charge_waits(s, first, &chosen)) looked_at = nullptr;
      // The second time round: nothing has come in meanwhile that is before it.
      if (chosen.message == looked_at) return go(s, chosen);
      looked_at = chosen.message;
      continue;
    }
    looked_at = nullptr;
    if (!s.hold.active) begin_hold(s);  // from here on open calls tell us of their end: look again
    else if (!park(s) && !charge_waits(s, first, nullptr)) return {};
  }
}

std::vector<DetachedCall> forget_detached(InboxServer& s) {
  end_hold(s);
  std::vector<DetachedCall> all = s.pending_arguments.take_all();
  for (DetachedCall k : s.parked.forget()) all.push_back(k);
  for (auto& [key, k] : s.of_closed) all.push_back(k);
  s.of_closed.clear();
  return all;
}

bool order_ready(const InboxServer& s) {
  if (ctx->timed && is_timed(s)) {
    const uint32_t granted = ctx->timed->granted(s.in->timed);
    return granted && granted != s.sought && (!s.awaited || is_done(s.awaited));
  }
  if (s.hold.active && ctx->header->finished.load(memory_order_seq_cst) != s.hold.seen) return true;
  for (auto& [maker, batch] : s.parked)
    if (batch.front().argument_wait.missing && is_done(batch.front().argument_wait.missing)) return true;
  return false;
}

void add_to_script(InboxServer& s, PyObject* tags) {
  s.script.clear();
  s.played = 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tags); ++i) {
    PyObject* t = PyList_GET_ITEM(tags, i);
    Tag tag;
    tag.root = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(t, 0));
    for (Py_ssize_t k = 1; k < PyTuple_GET_SIZE(t); ++k) tag.push(uint32_t(PyLong_AsUnsignedLong(PyTuple_GET_ITEM(t, k))));
    s.script.push_back(tag);
  }
}

// See 2. in order.h.
void actor_was_given(InboxServer& s) {
  if (s.given) return;
  s.given = true;
  if (s.in->order.fetch_or(kOpenActor, memory_order_seq_cst) & kPhysical) return;
  auto put = [&](Message* m) {
    if (m->kind != MessageKind::Call || m->flags & kOnBoard) return;
    OpenCall open;
    open.target = open.actor = s.actor;
    open.root = m->order_key;
    open.depth = m->depth;
    for (uint32_t i = 0; i < m->depth; ++i) open.tail[i] = m->tail()[i];
    ctx->order.open(ctx->heap->at<Object>(m->result), open);
  };
  std::atomic_thread_fence(memory_order_seq_cst);
  for (Off off = s.in->channels.load(memory_order_acquire); off; off = ctx->heap->at<Channel>(off)->next)
    each_record(ctx->heap, ctx->heap->at<Channel>(off), put);
  for (auto& [maker, batch] : s.parked)
    for (size_t i = batch.first; i < batch.calls.size(); ++i) put(batch.calls[i].message());
}

}  // namespace reactor
