#include "timed/model.h"
#include <algorithm>

namespace reactor {

// The lock is held for less than a microsecond, unless its holder has lost its core: who finds it taken looks again for about as long before it sleeps.
TimedModel::Lock::Lock(TimedModel& m) : model_(m) {
  constexpr int kLooks = 40, kPauses = 8;
  int error = EBUSY;
  for (int i = 0; i < kLooks && (error = pthread_mutex_trylock(&m.table.mutex)) == EBUSY; ++i)
    for (int k = 0; k < kPauses; ++k) cpu_relax();
  if (error == EBUSY) error = pthread_mutex_lock(&m.table.mutex);
  if (error != EOWNERDEAD) return;
  m.lose(Loss::Death);
  pthread_mutex_consistent(&m.table.mutex);
  m.look_at_all();
}

TimedModel::Lock::~Lock() {
  TimedModel& m = model_;
  m.settle();
  m.table.changes.fetch_add(1, memory_order_relaxed);
  m.ringing_.swap(m.to_ring_);
  pthread_mutex_unlock(&m.table.mutex);
  for (Off bell : m.ringing_) ring_counted(m.local_, bell);
  m.ringing_.clear();
}

Tick TimedModel::stamp() { return table.last = std::max(table.last + 1, (now_ns() - table.base) / 1000); }

// ---- entries

TimedModel::List TimedModel::list_of(StrandState state) {
  return state == StrandState::Running ? List{table.running, table.running_count} : List{table.blocked, table.blocked_count};
}

// Gives the strand a state, and takes it from the list of its old one to that of the new one.
void TimedModel::put(Index i, StrandState state) {
  TimedStrand& s = strand(i);
  auto is_listed = [](StrandState of) { return of == StrandState::Running || of == StrandState::Blocked; };
  if (is_listed(s.state)) {
    List list = list_of(s.state);
    const Index last = list.entries[--list.count];
    list.entries[s.place] = last;
    strand(last).place = s.place;
  }
  s.state = state;
  if (is_listed(state)) {
    List list = list_of(state);
    s.place = list.count;
    list.entries[list.count++] = i;
  }
}

// Puts the server into the list of those that could start a message, or takes it out.
void TimedModel::set_ready(Index i) {
  TimedServer& s = server(i);
  const bool is = s.first && !s.running;
  if (is == (s.place != 0)) return;
  if (is) {
    table.ready[table.ready_count++] = i;
    s.place = table.ready_count;
  } else {
    const Index last = table.ready[--table.ready_count];
    table.ready[s.place - 1] = last;
    server(last).place = s.place;
    s.place = 0;
  }
}

Index TimedModel::new_strand(Tick clock, Tick stretch) {
  Index i = table.strand_free;
  if (i) {
    table.strand_free = strand(i).n;
  } else if (table.strand_high < TimedTable::kStrands) {
    i = ++table.strand_high;
  } else {
    lose(Loss::Full);
    return 0;
  }
  put(i, StrandState::Running);
  TimedStrand& s = strand(i);
  s.slot = kNoProc;
  s.server = 0;
  s.beside = false;
  s.clock = clock;
  s.at = clock + std::max<Tick>(stretch, 1);
  s.stretch = 0;
  s.refs = 0;
  s.answered.store(0, memory_order_relaxed);
  s.series = s.result = 0;
  s.number = 0;
  return i;
}

Index TimedModel::new_server(Off inbox, uint64_t key) {
  if (table.server_high >= TimedTable::kServers) return lose(Loss::Full), 0;
  const Index i = ++table.server_high;
  TimedServer& s = server(i);
  s.inbox = inbox;
  s.key = key;
  return i;
}

Index TimedModel::new_message() {
  Index i = table.message_free;
  if (i) {
    table.message_free = message(i).next;
  } else if (table.message_high < TimedTable::kMessages) {
    i = ++table.message_high;
  } else {
    lose(Loss::Full);
  }
  return i;
}

void TimedModel::free_message(Index i) {
  TimedMessage& m = message(i);
  if (m.arguments) local_.alloc.free(std::exchange(m.arguments, 0));
  ++m.serial;
  m.key = 0;
  if (m.first_open) look_again(m.first_open);  // they wait for it no more
  m.next = table.message_free;
  table.message_free = i;
}

TimedResult* TimedModel::find(uint64_t uid, bool make) {
  const uint64_t hash = uid * 0x9e3779b97f4a7c15ull >> 40;
  TimedResult *free = nullptr, *oldest = nullptr;
  for (uint32_t i = 0; i < TimedTable::kProbes; ++i) {
    TimedResult& r = table.result[(hash + i) & (TimedTable::kResults - 1)];
    if (r.uid == uid) return &r;
    if (!r.uid) {
      if (!free) free = &r;
    } else if (r.done != kNever && !r.strand && !r.message && !r.waited && (!oldest || r.done < oldest->done)) {
      oldest = &r;
    }
  }
  if (!make) return nullptr;
  if (!free && oldest && oldest->done < horizon()) free = oldest;
  if (!free) return lose(Loss::Full), nullptr;
  *free = {uid, kNever, 0, 0, 0, false, false};
  return free;
}

Tick TimedModel::done_at(Off object) {
  auto* o = local_.heap->at<Object>(object);
  if (const TimedResult* r = find(o->uid, false)) return r->done;
  return is_done(o) ? 0 : kNever;
}

// ---- messages

// The key, if it is known; else what is missing first.
bool TimedModel::find_key(TimedMessage& m) {
  Tick key = m.sent;
  m.open_for = 0;
  if (m.before) {
    const TimedMessage& before = message(m.before);
    if (before.serial == m.before_serial) {
      if (before.key == kNever) return false;
      key = std::max(key, before.key);
    }
  }
  const Off* arguments = m.arguments ? local_.heap->at<Off>(m.arguments) : nullptr;
  for (uint32_t i = 0; arguments && i < m.n; ++i) {
    const Tick at = done_at(arguments[i]);
    if (at == kNever) {
      m.open_for = local_.heap->at<Object>(arguments[i])->uid;
      if (find(m.open_for, true)) return false;
      continue;  // the table is full: it goes by arrival
    }
    key = std::max(key, at);
  }
  m.key = key;
  return true;
}

Index* TimedModel::chain_of(const TimedMessage& m) {
  if (!m.open_for) return &message(m.before).first_open;
  TimedResult* r = find(m.open_for, false);
  return r ? &r->first_open : nullptr;
}

// What find_key has found missing knows of it.
void TimedModel::wait_for_key(Index i) {
  TimedMessage& m = message(i);
  Index* first = chain_of(m);
  m.open = true;
  m.previous = 0;
  m.next = *first;
  if (m.next) message(m.next).previous = i;
  *first = i;
  if (m.open_for) find(m.open_for, false)->waited = true;
}

void TimedModel::stop_waiting(TimedMessage& m) {
  if (!std::exchange(m.open, false)) return;
  if (m.next) message(m.next).previous = m.previous;
  if (m.previous) message(m.previous).next = m.next;
  else if (Index* first = chain_of(m)) *first = m.next;
}

// What these messages waited for is there. Those that have their keys now may be what others wait for.
void TimedModel::look_again(Index& chain) {
  auto take = [&](Index& first) {
    for (Index i = std::exchange(first, 0); i; i = message(i).next) {
      message(i).open = false;
      again_.push_back(i);
    }
  };
  const size_t done = again_.size();
  take(chain);
  while (again_.size() > done) {
    const Index i = again_.back();
    again_.pop_back();
    if (!find_key(message(i))) {
      wait_for_key(i);
      continue;
    }
    take(message(i).first_open);
    is_known(i);
  }
}

// Who has held the lock was killed in it: it may have taken messages from the list of what they wait for, and not have put them anywhere.
void TimedModel::look_at_all() {
  again_.clear();
  for (TimedResult& r : table.result) r.first_open = 0;
  Index open = 0;
  for (Index i = table.message_high; i > 0; --i) {
    TimedMessage& m = message(i);
    m.first_open = 0;
    if (m.key != kNever) continue;
    m.next = open;
    open = i;
  }
  look_again(open);
}

void TimedModel::send(Index i) {
  TimedMessage& m = message(i);
  m.key = kNever;
  m.listed = m.open = false;
  m.first_open = 0;
  if (TimedResult* r = m.result ? find(m.result, true) : nullptr) r->message = i;
  if (find_key(m)) return is_known(i);
  wait_for_key(i);
}

// The message's key is known: it starts, or has its place among those of its server. As a rule it comes after all others.
void TimedModel::is_known(Index i) {
  TimedMessage& m = message(i);
  if (m.server && server(m.server).disbanded) {
    m.server = 0;
    if (m.wake) return free_message(i);
  }
  if (!m.server) return start(i);
  TimedServer& s = server(m.server);
  auto before = [](const TimedMessage& a, const TimedMessage& b) { return a.key != b.key ? a.key < b.key : compare(a.tag, b.tag) < 0; };
  Index after = s.last;
  while (after && before(m, message(after))) after = message(after).previous;
  m.previous = after;
  m.next = after ? message(after).next : s.first;
  (after ? message(after).next : s.first) = i;
  (m.next ? message(m.next).previous : s.last) = i;
  m.listed = true;
  set_ready(m.server);
}

void TimedModel::unlist(TimedServer& s, TimedMessage& m) {
  if (!std::exchange(m.listed, false)) return;
  (m.previous ? message(m.previous).next : s.first) = m.next;
  (m.next ? message(m.next).previous : s.last) = m.previous;
}

void TimedModel::forget(Index i) {
  TimedMessage& m = message(i);
  stop_waiting(m);
  if (m.server) {
    unlist(server(m.server), m);
    set_ready(m.server);
  }
  free_message(i);
}

// What its process ran, runs again in another one, or has failed; what goes on in it does so no more.
void TimedModel::disband(Index i) {
  TimedServer& s = server(i);
  s.disbanded = true;
  const Index running = std::exchange(s.running, 0), taken = std::exchange(s.taken, 0);
  s.granted.store(0, memory_order_seq_cst);
  if (running) strand(running).server = 0;
  if (running && taken && message(taken).wake) end(running, std::max(table.last, strand(running).clock));
  if (taken) free_message(taken);
  while (const Index first = s.first) {
    unlist(s, message(first));
    is_known(first);
  }
  set_ready(i);
}

void TimedModel::start(Index i) {
  TimedMessage& m = message(i);
  TimedServer* s = m.server ? &server(m.server) : nullptr;
  const Tick at = s ? std::max(m.key, s->free_since) : m.key;
  const Index strand_of = new_strand(at, m.first);
  if (TimedResult* r = m.result ? find(m.result, true) : nullptr) {
    r->message = 0;
    r->strand = strand_of;
  }
  if (strand_of) {
    TimedStrand& call = strand(strand_of);
    call.server = m.server;
    call.series = m.series;
    call.number = m.number;
    call.result = m.result;
  }
  if (!s) return free_message(i);
  unlist(*s, m);
  s->running = strand_of;
  set_ready(m.server);
  s->taken = i;
  s->granted.store(strand_of, memory_order_seq_cst);
  const uint32_t p = local_.heap->at<Inbox>(s->inbox)->proc.load(memory_order_seq_cst);
  if (p != kNoProc) wake(local_.heap->off(&local_.heap->procs[p].bell));
}

// ---- strands

void TimedModel::end(Index i, Tick at) {
  TimedStrand& s = strand(i);
  if (s.server) {
    TimedServer& of = server(s.server);
    of.free_since = at;
    of.running = 0;
    if (of.taken) free_message(std::exchange(of.taken, 0));
    of.granted.store(0, memory_order_relaxed);
    set_ready(s.server);
  }
  if (TimedResult* r = s.result ? find(s.result, false) : nullptr) r->strand = 0;
  put(i, StrandState::Free);
  s.n = table.strand_free;
  table.strand_free = i;
}

void TimedModel::look_for_answer(TimedStrand& s) {
  s.answer = kNever;
  s.is_final = false;
  const Off* refs = local_.heap->at<Off>(s.refs);
  if (s.in_list_order || s.count == s.n) {
    bool failed = false;
    for (; s.known < s.n && !failed; ++s.known) {
      const Tick done = done_at(refs[s.known]);
      if (done == kNever) break;
      s.known_at = std::max(s.known_at, done);
      const TimedResult* r = s.in_list_order ? find(local_.heap->at<Object>(refs[s.known])->uid, false) : nullptr;
      failed = r && r->failed;
    }
    const bool known = failed || s.known == s.n;
    if (failed) --s.known;  // it is looked at again
    if (known) s.answer = s.known_at;
    s.is_final = known && (!s.in_list_order || s.known_at <= s.limit);
  } else {
    times_.clear();
    for (uint32_t i = 0; i < s.n; ++i)
      if (const Tick done = done_at(refs[i]); done != kNever) times_.push_back(std::max(done, s.clock));
    s.is_final = times_.size() == s.n;
    if (times_.size() >= s.count) {
      std::nth_element(times_.begin(), times_.begin() + s.count - 1, times_.end());
      s.answer = times_[s.count - 1];
    }
  }
  if (s.answer > s.limit) s.answer = s.limit;
}

void TimedModel::block(Index i) {
  TimedStrand& s = strand(i);
  put(i, StrandState::Blocked);
  s.answered.store(0, memory_order_relaxed);
  s.known = 0;
  s.known_at = s.clock;
  look_for_answer(s);
  const Off* refs = local_.heap->at<Off>(s.refs);
  for (uint32_t k = 0; !s.is_final && k < s.n; ++k) {
    auto* o = local_.heap->at<Object>(refs[k]);
    if (is_done(o) && !find(o->uid, false)) continue;
    if (TimedResult* r = find(o->uid, true); r && r->done == kNever) r->waited = true;
  }
}

void TimedModel::unblock(Index i, Tick at) {
  TimedStrand& s = strand(i);
  s.answer = s.clock = at;
  s.at = at + std::max<Tick>(s.stretch, 1);
  put(i, StrandState::Running);
  s.answered.store(1, memory_order_seq_cst);
  if (s.bell) wake(s.bell);
}

void TimedModel::done(Object* o, Tick at, bool failed) {
  TimedResult* r = find(o->uid, true);
  if (!r || r->done != kNever) return;
  r->done = at;
  r->failed = failed;
  if (!std::exchange(r->waited, false)) return;
  for (uint32_t k = 0; k < table.blocked_count; ++k) look_for_answer(strand(table.blocked[k]));
  look_again(r->first_open);
}

// ---- the rule

template <class See> void TimedModel::each_source(See see) {
  for (uint32_t k = 0; k < table.running_count; ++k) see(strand(table.running[k]).at, table.running[k]);
  for (uint32_t k = 0; k < table.blocked_count; ++k) {
    const TimedStrand& s = strand(table.blocked[k]);
    if (const Tick at = std::min(s.answer, s.limit); at != kNever) see(at + 1, table.blocked[k]);
  }
  for (uint32_t k = 0; k < table.ready_count; ++k) {
    const TimedServer& s = server(table.ready[k]);
    see(std::max(message(s.first).key, s.free_since) + 1, TimedTable::kStrands + table.ready[k]);
  }
}

Tick TimedModel::horizon() {
  Tick least = kNever;
  each_source([&](Tick bound, Index) { least = std::min(least, bound); });
  return least == kNever ? table.last : least;
}

// Whether its first message may start whatever other sources do: who gives the actor's handle to another strand does so later than this was sent.
bool TimedModel::alone(const TimedServer& s) const {
  const TimedMessage& m = table.message[s.first - 1];
  return !s.several && m.key == m.sent;
}

// Lets go on what needs no look at other sources.
bool TimedModel::settle_at_once() {
  bool any = false;
  needs_bounds_ = false;
  for (uint32_t k = table.ready_count; k-- > 0;) {
    const TimedServer& s = server(table.ready[k]);
    if (!table.measured && !alone(s)) {
      needs_bounds_ = true;
      continue;
    }
    start(s.first);
    any = true;
  }
  for (uint32_t k = table.blocked_count; k-- > 0;) {
    const TimedStrand& s = strand(table.blocked[k]);
    const bool in_time =
        s.answer != kNever && (s.answer < s.limit || s.limit == kNever);  // that its time is up, a measured run sees by the time of day
    if (table.measured ? !in_time : !s.is_final) {
      needs_bounds_ = needs_bounds_ || std::min(s.answer, s.limit) != kNever;
      continue;
    }
    unblock(table.blocked[k], s.answer);
    any = true;
  }
  return any;
}

bool TimedModel::settle_by_bounds() {
  Tick least = kNever, second = kNever;
  Index who = 0;
  each_source([&](Tick bound, Index source) {
    if (bound < least) second = least, least = bound, who = source;
    else if (bound < second) second = bound;
  });
  auto nothing_until = [&](Tick threshold, Index source) { return (source == who ? second : least) > threshold; };
  bool any = false;
  for (uint32_t k = table.ready_count; k-- > 0;) {
    const Index i = table.ready[k];
    const Index first = server(i).first;
    if (!nothing_until(message(first).key, TimedTable::kStrands + i)) continue;
    start(first);
    any = true;
  }
  for (uint32_t k = table.blocked_count; k-- > 0;) {
    const Index i = table.blocked[k];
    const TimedStrand& s = strand(i);
    const Tick at = std::min(s.answer, s.limit);
    if (at == kNever || !nothing_until(at, i)) continue;
    unblock(i, at);
    any = true;
  }
  return any;
}

void TimedModel::settle() {
  do {
    while (settle_at_once()) {}
  } while (needs_bounds_ && !table.measured && settle_by_bounds());
}

}  // namespace reactor
