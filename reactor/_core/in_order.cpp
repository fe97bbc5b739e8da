// Which message of an inbox runs next where several callers may send it some: the holding rule of order.h, the actor's side.
#include <algorithm>
#include "packed.h"

namespace reactor {
namespace {

constexpr uint64_t kLookNs = 200000000;

struct Least {
  Message* message = nullptr;
  Awaiting* awaiting = nullptr;
  Next next;
};

bool before(Message* a, Message* b) { return !b || compare(tag_of(a), tag_of(b)) < 0; }

// `ready_only`: of those whose arguments are there.
Least least(Served& s, bool ready_only) {
  Least best;
  const bool made = ctx->actors.count(s.actor) != 0;
  for (auto& c : s.incoming) {
    Message* m = c->receiver.peek();
    c->passed_over = c->early = false;
    if (!m) continue;
    c->early = m->kind == MessageKind::Call && !made;
    c->passed_over = !c->early;  // unless it is the one; what comes after this look is not
    if (c->early || !before(m, best.message)) continue;
    if (ready_only && !arguments_ready(c->awaiting, m)) continue;
    best = {m, &c->awaiting, {c.get(), -1, -1}};
  }
  for (size_t i = 0; i < s.parked.size(); ++i) {
    Parked& p = s.parked[i];
    if (!before(p.message(), best.message)) break;
    if (ready_only && !arguments_ready(p.awaiting, p.message())) continue;
    best = {p.message(), &p.awaiting, {nullptr, -1, long(i)}};
    break;
  }
  return best;
}

// Takes the messages out of their channels, but for the driver's: its own are in order. A process that runs one task after the other
// may have sent what comes later first.
bool park(Served& s) {
  bool any = false;
  for (auto& c : s.incoming) {
    if (c->receiver.channel()->producer == 0) continue;
    c->last_seen.root = 0;
    c->last_seen.depth = 0;
    while (Message* m = c->receiver.peek()) {
      if (m->kind != MessageKind::Call || c->early) break;
      Awaiting awaiting = c->awaiting;
      c->awaiting = {};
      Parked p{keep(m, c->receiver), awaiting};
      auto at = std::upper_bound(s.parked.begin(), s.parked.end(), p,
                                 [](const Parked& a, const Parked& b) { return compare(tag_of(a.message()), tag_of(b.message())) < 0; });
      s.parked.insert(at, p);
      any = true;
    }
  }
  return any;
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
      auto* m = reinterpret_cast<Message*>(s->data + c.seen_at % s->capacity);
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
bool out_of_turn(Served& s) {
  bool found = false;
  for (auto& c : s.incoming) found = (c->mixed && !in_turn(*c)) || found;
  return found;
}

void begin_hold(Served& s) {
  if (s.hold.active) return;
  s.hold.active = true;
  hold_back(true);
}

// The message has to wait. How long it has is counted on though others run meanwhile.
void make_wait(Served& s, Message* m) {
  begin_hold(s);
  s.hold.method = m->method;
  if (s.hold.since && compare(s.hold.of, tag_of(m)) == 0) return;
  s.hold.of.assign(tag_of(m));
  s.hold.since = now_ns();
}

void end_hold(Served& s) {
  if (!s.hold.active) return;
  s.hold.active = false;
  hold_back(false);
}

// It runs: what is behind it, and the others, are to be looked at again.
Next go(Served& s, const Next& next) {
  end_hold(s);
  for (auto& c : s.incoming) c->passed_over = false;
  return next;
}

bool out_of_patience(const Served& s) {
  return ctx->header->ordering == Ordering::Logical && s.played == s.script.size() && now_ns() >= s.hold.since + ctx->header->patience_ns;
}

void give_up_order(Served& s);

// Nothing that can still come is before the message. Looked at under the flag that makes open calls tell us of their end.
bool may_start(Served& s, Message* m) {
  if (!s.hold.active && ctx->order.may_start(s.actor, tag_of(m), s.hold.blockers)) return true;
  begin_hold(s);
  s.hold.seen = ctx->header->finished.load(memory_order_seq_cst);
  if (ctx->order.may_start(s.actor, tag_of(m), s.hold.blockers)) return true;
  make_wait(s, m);
  return false;
}

// The message whose turn it is by the script, if it is there.
Least scripted(Served& s) {
  TagView turn = s.script[s.played];
  for (auto& c : s.incoming)
    if (Message* m = c->receiver.peek(); m && compare(tag_of(m), turn) == 0) return {m, &c->awaiting, {c.get()}};
  for (size_t i = 0; i < s.parked.size(); ++i)
    if (Message* m = s.parked[i].message(); compare(tag_of(m), turn) == 0) return {m, &s.parked[i].awaiting, {nullptr, -1, long(i)}};
  return {};
}

Next next_by_script(Served& s) {
  for (;;) {
    Least turn = scripted(s);
    if (turn.message && arguments_ready(*turn.awaiting, turn.message)) {
      ++s.played;
      return go(s, turn.next);
    }
    if (park(s)) continue;
    Least other = least(s, false);
    if (!other.message) {
      end_hold(s);
      return {};
    }
    if (s.refuse) {
      s.script.clear();
      return go(s, other.next);
    }
    s.hold.blockers.clear();
    make_wait(s, other.message);
    return {};
  }
}

}  // namespace

Next next_in_order(Served& s) {
  if (s.played < s.script.size()) return next_by_script(s);
  Message* looked_at = nullptr;
  for (;;) {
    find_channels(s);
    if (!s.by_arrival && out_of_turn(s) && park(s)) looked_at = nullptr;
    Least best = least(s, s.by_arrival);
    if (!best.message) {
      end_hold(s);
      return {};
    }
    // The second time round: nothing has come in meanwhile that is before it.
    if (s.by_arrival || s.refuse || best.message == looked_at) return go(s, best.next);
    bool ready = arguments_ready(*best.awaiting, best.message);
    if (ready && may_start(s, best.message)) {
      looked_at = best.message;
      continue;
    }
    looked_at = nullptr;
    if (park(s)) continue;
    if (!ready) {
      s.hold.blockers.clear();
      make_wait(s, best.message);
    } else if (out_of_patience(s)) {
      give_up_order(s);
      continue;
    }
    return {};
  }
}

Kept take_parked(Served& s, long place) {
  Kept k = s.parked[size_t(place)].kept;
  s.parked.erase(s.parked.begin() + place);
  return k;
}

std::vector<Kept> forget_parked(Served& s) {
  end_hold(s);
  std::vector<Kept> all;
  for (Parked& p : s.parked) {
    if (p.awaiting.missing) let_go(ctx->local, p.awaiting.node);
    all.push_back(p.kept);
  }
  s.parked.clear();
  return all;
}

bool order_ready(const Served& s) {
  if (s.hold.active && !s.hold.blockers.empty() && ctx->header->finished.load(memory_order_seq_cst) != s.hold.seen) return true;
  for (const Parked& p : s.parked)
    if (p.awaiting.missing && is_done(p.awaiting.missing)) return true;
  return false;
}

uint64_t held_until(const Served& s) {
  return s.hold.active ? now_ns() + kLookNs : UINT64_MAX;
}

namespace {

// Logical: what the message was held for holds nobody any more. Strict: the message fails, with an error that says for what.
void give_up_order(Served& s) {
  const bool scripted = s.played < s.script.size();
  const bool strict = ctx->header->ordering == Ordering::Strict || scripted;
  if (!scripted && s.hold.blockers.empty() && (strict || !least(s, true).message)) {  // nothing else is there that could run
    s.hold.since = now_ns();
    return;
  }
  ctx->proc->physical.fetch_add(1, memory_order_relaxed);
  PyObject* targets = PyList_New(0);
  for (const Blocker& b : s.hold.blockers) {
    PyObject* pair = Py_BuildValue("(Ks)", static_cast<unsigned long long>(b.target), b.name.c_str());
    if (pair) PyList_Append(targets, pair);
    Py_XDECREF(pair);
    if (!strict) ctx->order.note(NoticeKind::Relaxed, b.target);
  }
  if (strict) s.refuse = true;
  else if (s.hold.blockers.empty()) s.by_arrival = true;
  if (hooks.relaxed) {
    if (ctx->host) ctx->host->keeps_turn = true;  // it asks the supervisor; another thread would serve the actor meanwhile
    PyObject* told = PyObject_CallFunction(hooks.relaxed, "IIOi", s.actor, unsigned(s.hold.method), targets, scripted ? 2 : int(strict));
    if (!told) PyErr_WriteUnraisable(hooks.relaxed);
    else if (strict) refusal = Py_NewRef(told);
    Py_XDECREF(told);
    if (ctx->host) ctx->host->keeps_turn = false;
  }
  Py_DECREF(targets);
}

uint64_t executed_anywhere() {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < ctx->header->proc_high.load(memory_order_acquire); ++i) sum += ctx->heap->procs[i].executed.load(memory_order_relaxed);
  return sum;
}

}  // namespace

void look_at_hold(Served& s, bool alone, bool busy) {
  if (!s.hold.active) return;
  uint64_t executed = executed_anywhere();
  bool quiet = !busy && all_sleep(ctx->heap, ctx->slot, true) && executed == s.hold.executed;
  s.hold.executed = executed;
  s.hold.quiet = quiet ? s.hold.quiet + 1 : 0;
  if (!alone && s.hold.quiet < 2 && !out_of_patience(s)) return;
  s.hold.quiet = 0;
  give_up_order(s);
}

void add_to_script(Served& s, PyObject* tags) {
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
void actor_was_given(Served& s) {
  if (s.given) return;
  s.given = true;
  if (s.in->order.fetch_or(kOpenActor, memory_order_seq_cst) & kPhysical) return;
  auto put = [&](Message* m) {
    if (m->kind != MessageKind::Call || m->flags & kOnBoard) return;
    OpenCall open;
    open.target = open.actor = s.actor;
    open.root = m->stamp;
    open.depth = m->depth;
    for (uint32_t i = 0; i < m->depth; ++i) open.tail[i] = m->tail()[i];
    ctx->order.open(ctx->heap->at<Object>(m->result), open);
  };
  std::atomic_thread_fence(memory_order_seq_cst);
  for (Off off = s.in->channels.load(memory_order_acquire); off; off = ctx->heap->at<Channel>(off)->next)
    each_record(ctx->heap, ctx->heap->at<Channel>(off), put);
  for (Parked& p : s.parked) put(p.message());
}

}  // namespace reactor
