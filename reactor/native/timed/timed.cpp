#include "timed/timed.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace reactor {
namespace {

constexpr uint32_t kChunk = 256 << 10;
constexpr uint64_t kLateness = 0x6c617465;  // in the series of by how much a timer was late
constexpr Tick kUnknown = 50;  // ticks of a stretch of which nothing is recorded
constexpr uint64_t kStuckNs = 2000000000;
constexpr uint64_t kStartNs = 20000000000;  // the same while no process has begun the call: one is started, or resources are awaited

uint64_t hash_of_text(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (char c : text) h = (h ^ uint8_t(c)) * 0x100000001b3ull;
  return h;
}

uint32_t as_duration(Tick ticks) { return uint32_t(std::min<Tick>(ticks, UINT32_MAX)); }

// Processor time of a process and whether it runs, in clock ticks: 2 * time + runs; 0: it is gone.
uint64_t time_of(int32_t pid) {
  char path[32], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (n <= 0) return 0;
  text[n] = 0;
  char* at = strrchr(text, ')');
  if (!at || at + 3 >= text + n) return 0;
  const char state = at[2];
  at += 3;
  for (int i = 0; i < 10; ++i) strtol(at, &at, 10);  // the fields between the state and the times, see proc(5)
  const unsigned long user = strtoul(at, &at, 10), system = strtoul(at, &at, 10);
  return 2 * (user + system) + (state == 'R' || state == 'D');
}

}  // namespace

uint64_t timed_name(std::string_view name) { return hash_on(0x6e616d65, hash_of_text(name)); }

uint64_t OwnStrand::name() const { return hash_on(series, number); }

// ---- durations

// Those of call `number` of the series. Where there are more calls than were recorded, the second half of those is gone through again and again; of a
// series that was not recorded, one of the same name serves.
Timed::Sequence Timed::find(uint64_t series, uint32_t number, uint64_t name) {
  const TimedTable& t = model_.table;
  const auto* all = local_.heap->at<uint64_t>(t.series);
  auto place = [&](uint64_t wanted) {
    const auto* at = std::lower_bound(all, all + t.series_count, wanted);
    return at != all + t.series_count && *at == wanted ? uint32_t(at - all) : UINT32_MAX;
  };
  uint32_t at = t.series_count ? place(series) : UINT32_MAX;
  if (at == UINT32_MAX && t.series_count) at = place(name);
  if (at == UINT32_MAX) return {nullptr, 0};
  const auto* first_call = local_.heap->at<uint32_t>(t.first_call);
  const auto* first = local_.heap->at<uint32_t>(t.first_duration);
  const uint32_t begin = first_call[at], n = first_call[at + 1] - begin;
  if (!n) return {nullptr, 0};
  if (number >= n) number = n / 2 + (number - n) % (n - n / 2);
  const uint32_t call = begin + number;
  return {local_.heap->at<uint32_t>(t.durations) + first[call], first[call + 1] - first[call]};
}

// The duration of the stretch that begins.
Tick Timed::stretch(OwnStrand& s) {
  if (measured()) return kNever / 2;
  const uint32_t n = s.count;
  if (!n) return kUnknown;
  const uint32_t i = s.next++;
  return std::max<Tick>(s.durations[i < n ? i : n / 2 + (i - n) % (n - n / 2)], 1);
}

// So far: the longest record of a call counts.
bool Timed::is_recorded(const OwnStrand& s) { return (s.measured.size() & (s.measured.size() - 1)) == 0; }

void Timed::record_end(const OwnStrand& s) {
  if (measured() && !is_recorded(s)) record(s.series, s.number, s.measured);
}

// At the end of a measured run: calls that have begun, and have not come to an operation, took so long at least.
void Timed::record_unfinished() {
  if (!measured()) return;
  TimedModel::Lock lock(model_);
  const Tick now = model_.stamp();
  for (uint32_t k = 0; k < model_.table.running_count; ++k)
    if (const TimedStrand& s = model_.strand(model_.table.running[k]); !s.stretch) record(s.series, s.number, {as_duration(now - s.clock)});
}

// The time of the operation that the strand has come to; the next stretch begins.
Tick Timed::operation(OwnStrand& s) {
  TimedStrand& shared = model_.strand(s.index);
  Tick at;
  if (measured()) {
    at = std::max(model_.stamp(), s.clock + 1);
    s.measured.push_back(as_duration(at - s.clock));
    shared.stretch = 1;
    if (is_recorded(s)) record(s.series, s.number, s.measured);  // it may never end
  } else {
    at = shared.at;
    model_.table.last = std::max(model_.table.last, at);
  }
  s.clock = shared.clock = at;
  shared.at = at + stretch(s);
  return at;
}

// ---- records

uint8_t* Timed::room(uint32_t size) {
  auto* chunk = chunk_ ? local_.heap->at<TimedChunk>(chunk_) : nullptr;
  if (!chunk || chunk->used.load(memory_order_relaxed) + size > chunk->size) {
    const uint32_t bytes = std::max<uint32_t>(kChunk, size + sizeof(TimedChunk));
    const Off off = local_.alloc.alloc(bytes, For::Runtime);
    if (!off) return nullptr;
    chunk = local_.heap->at<TimedChunk>(off);
    chunk->size = bytes - uint32_t(sizeof(TimedChunk));
    chunk->used.store(0, memory_order_relaxed);
    local_.alloc.publish(off, kPlain);
    chunk->next = model_.table.records.load(memory_order_relaxed);
    while (!model_.table.records.compare_exchange_weak(chunk->next, off, memory_order_release)) {}
    chunk_ = off;
  }
  return reinterpret_cast<uint8_t*>(chunk + 1) + chunk->used.load(memory_order_relaxed);
}

// A record is: series, number, count, then the durations. With a count of 0 it is a name: series, its length, 0, the text, padded to 4 bytes.
void Timed::record(uint64_t series, uint32_t number, const std::vector<uint32_t>& durations) {
  if (durations.empty()) return;
  const auto size = uint32_t(16 + 4 * durations.size());
  uint8_t* at = room(size);
  if (!at) return;
  const auto n = uint32_t(durations.size());
  memcpy(at, &series, 8);
  memcpy(at + 8, &number, 4);
  memcpy(at + 12, &n, 4);
  memcpy(at + 16, durations.data(), 4 * durations.size());
  local_.heap->at<TimedChunk>(chunk_)->used.fetch_add(size, memory_order_release);
}

void Timed::record_name(uint64_t series, std::string_view name) {
  if (!named_.try_emplace(series, true).second) return;
  const auto length = uint32_t(name.size()), size = uint32_t(16 + align_up(length, 4));
  uint8_t* at = room(size);
  if (!at) return;
  memset(at, 0, size);
  memcpy(at, &series, 8);
  memcpy(at + 8, &length, 4);
  memcpy(at + 16, name.data(), length);
  local_.heap->at<TimedChunk>(chunk_)->used.fetch_add(size, memory_order_release);
}

// ---- drivers

std::unique_ptr<OwnStrand> Timed::begin_driver() {
  auto s = std::make_unique<OwnStrand>();
  s->series = hash_of_text("driver");
  const Sequence known = find(s->series, 0, 0);
  s->durations = known.durations;
  s->count = known.count;
  record_name(s->series, "driver");
  TimedModel::Lock lock(model_);
  s->clock = model_.table.last;
  s->index = model_.new_strand(s->clock, stretch(*s));
  if (!s->index) return nullptr;
  model_.strand(s->index).slot = local_.slot;
  return s;
}

void Timed::leave(OwnStrand& s) {
  TimedModel::Lock lock(model_);
  model_.end(s.index, operation(s));
  record_end(s);
}

// ---- operations

uint64_t Timed::call(OwnStrand* by, const Call& c) {
  OwnStrand& s = by ? *by : none_;
  const uint64_t series = hash_on(hash_on(s.name(), c.server_key), hash_of_text(c.name));
  const uint32_t number = s.calls[series]++;
  const uint64_t name = timed_name(c.name);
  if (measured()) record_name(series, c.name);
  const auto n = uint32_t(c.arguments->size());
  Off arguments = 0;
  TimedModel::Lock lock(model_);
  const Tick at = operation_or_now(by);
  const Index i = model_.new_message();
  if (!i) return hash_on(series, number);
  TimedMessage& m = model_.message(i);
  if (n) {
    arguments = local_.alloc.alloc_record(n * sizeof(Off));
    std::copy(c.arguments->begin(), c.arguments->end(), local_.heap->at<Off>(arguments));
  }
  m.server = c.server;
  m.sent = at;
  m.series = series;
  m.number = number;
  m.arguments = arguments;
  m.n = n;
  m.result = c.result->uid;
  m.wake = 0;
  m.tag.assign(c.tag);
  const Sequence known = find(series, number, name);
  m.first = known.count ? known.durations[0] : kUnknown;
  m.before = m.before_serial = 0;
  if (c.server) {
    if (c.several) model_.server(c.server).several = true;
    auto& last = s.before[c.server];
    m.before = last.first;
    m.before_serial = last.second;
    last = {i, m.serial};
  }
  model_.send(i);
  return hash_on(series, number);
}

Index Timed::make_server(Off inbox) {
  TimedModel::Lock lock(model_);
  return model_.new_server(inbox, 0);
}

bool Timed::block(OwnStrand& s, const std::vector<Off>& refs, uint32_t count, bool in_list_order, Tick timeout, Off bell) {
  if (s.room < refs.size()) {
    if (s.refs) local_.alloc.free(s.refs);
    s.room = uint32_t(std::max<size_t>(refs.size(), 8));
    s.refs = local_.alloc.alloc_record(s.room * sizeof(Off));
    local_.alloc.publish(s.refs, kPlain);
  }
  std::copy(refs.begin(), refs.end(), local_.heap->at<Off>(s.refs));
  {
    TimedModel::Lock lock(model_);
    const Tick at = operation(s);
    TimedStrand& shared = model_.strand(s.index);
    shared.stretch = measured() ? 1 : shared.at - at;
    shared.limit = timeout == kNever ? kNever : at + timeout;
    shared.in_list_order = in_list_order;
    shared.n = uint32_t(refs.size());
    shared.count = count;
    shared.bell = bell;
    shared.refs = s.refs;
    model_.block(s.index);
  }
  return is_answered(s);
}

void Timed::time_is_up(OwnStrand& s) {
  TimedModel::Lock lock(model_);
  TimedStrand& shared = model_.strand(s.index);
  if (shared.state == StrandState::Blocked) model_.unblock(s.index, shared.limit);
}

std::vector<bool> Timed::go_on(OwnStrand& s, const std::vector<Off>& refs) {
  TimedStrand& shared = model_.strand(s.index);
  s.clock = shared.clock;
  std::vector<bool> there(refs.size(), true);
  if (shared.in_list_order && shared.is_final) return there;
  TimedModel::Lock lock(model_);
  for (size_t i = 0; i < refs.size(); ++i) there[i] = model_.done_at(refs[i]) <= shared.answer;
  return there;
}

void Timed::give_up(OwnStrand& s) {
  TimedModel::Lock lock(model_);
  TimedStrand& shared = model_.strand(s.index);
  if (shared.state == StrandState::Blocked) model_.unblock(s.index, std::max(shared.clock, model_.table.last));
  s.clock = shared.clock;
}

void Timed::go_outside(OwnStrand& s) {
  TimedModel::Lock lock(model_);
  model_.put(s.index, StrandState::Outside);
}

void Timed::come_back(OwnStrand& s) {
  TimedModel::Lock lock(model_);
  TimedStrand& shared = model_.strand(s.index);
  if (shared.state != StrandState::Outside) return;
  model_.put(s.index, StrandState::Running);
  model_.lose(Loss::Outside);
  if (measured()) return;
  s.clock = shared.clock = std::max(shared.clock, model_.table.last);
  shared.at = std::max(shared.at, shared.clock + 1);
}

// ---- calls that run here

std::unique_ptr<OwnStrand> Timed::take(Index i) {
  TimedStrand& shared = model_.strand(i);
  auto s = std::make_unique<OwnStrand>();
  s->index = i;
  s->series = shared.series;
  s->number = shared.number;
  s->clock = shared.clock;
  shared.slot = local_.slot;
  const Sequence known = find(s->series, s->number, 0);
  s->durations = known.durations;
  s->count = known.count;
  s->next = 1;
  return s;
}

std::unique_ptr<OwnStrand> Timed::starts(uint64_t result) {
  TimedModel::Lock lock(model_);
  const TimedResult* r = model_.find(result, false);
  if (!r || !r->strand || model_.strand(r->strand).beside) return nullptr;
  auto s = take(r->strand);
  if (const Index server = model_.strand(r->strand).server) model_.server(server).granted.store(0, memory_order_relaxed);
  return s;
}

void Timed::hand_on(std::unique_ptr<OwnStrand> s) {
  TimedStrand& shared = model_.strand(s->index);
  if (shared.server) {
    burst_ = std::move(s);
    begun_ = false;
    return;
  }
  TimedModel::Lock lock(model_);
  shared.beside = true;
}

std::unique_ptr<OwnStrand> Timed::take_back(uint64_t result) {
  if (burst_ && !begun_) return std::move(burst_);
  TimedModel::Lock lock(model_);
  const TimedResult* r = model_.find(result, false);
  if (!r || !r->strand) return nullptr;
  model_.strand(r->strand).beside = false;
  return take(r->strand);
}

void Timed::burst_over() {
  if (!burst_ || !begun_) return;
  const std::unique_ptr<OwnStrand> s = std::move(burst_);
  begun_ = false;
  if (s->refs) local_.alloc.free(s->refs);
  TimedModel::Lock lock(model_);
  TimedStrand& shared = model_.strand(s->index);
  if (shared.state != StrandState::Running) model_.put(s->index, StrandState::Running);
  const Tick at = operation(*s);
  record_end(*s);
  model_.end(s->index, at);
}

// A message that a coroutine, or a callback of its loop, sends its own actor, to go on. `argument`: the object that has to be done; 0: none.
Index Timed::message_to_itself(Index server, uint32_t wake, uint64_t series, uint32_t number, std::string_view name, Tick sent,
                               Off argument) {
  const Index i = model_.new_message();
  if (!i) return 0;
  TimedMessage& m = model_.message(i);
  m.server = server;
  m.sent = sent;
  m.series = series;
  m.number = number;
  m.arguments = argument ? local_.alloc.alloc_record(sizeof(Off)) : 0;
  if (argument) *local_.heap->at<Off>(m.arguments) = argument;
  m.n = argument ? 1 : 0;
  m.result = 0;
  m.wake = wake;
  m.before = m.before_serial = 0;
  m.tag.root = UINT64_MAX;  // after calls of the same time, in the order in which they began to wait
  m.tag.depth = 0;
  m.tag.push(wake);
  const Sequence known = find(series, number, timed_name(name));
  m.first = known.count ? known.durations[0] : kUnknown;
  model_.server(server).several = true;
  model_.send(i);
  return i;
}

uint32_t Timed::await(OwnStrand* by, Index server, Off object) {
  OwnStrand& s = by ? *by : none_;
  const uint64_t series = hash_on(s.name(), hash_of_text("await"));
  const uint32_t number = s.calls[series]++;
  if (measured()) record_name(series, "await");
  TimedModel::Lock lock(model_);
  const uint32_t wake = ++awaits_;
  const Tick at = operation_or_now(by);
  const Index message = message_to_itself(server, wake, series, number, "await", at, object);
  if (message) timers_.emplace(wake, Timer{server, message, model_.message(message).serial, number, series, at});
  return message ? wake : 0;
}

bool Timed::has_failed(Object* o) {
  TimedModel::Lock lock(model_);
  const TimedResult* r = model_.find(o->uid, false);
  return r ? r->failed : is_done(o) && o->state.load(memory_order_acquire) != State::Value;
}

// The message of a timer is sent at the time that is asked for, and the time by which the loop was late in the measured run.
uint32_t Timed::set_timer(OwnStrand* by, Index server, Tick delay) {
  OwnStrand& s = by ? *by : none_;
  const uint64_t series = hash_on(s.name(), hash_of_text("timer"));
  const uint32_t number = s.calls[series]++;
  const uint32_t wake = ++awaits_;
  TimedModel::Lock lock(model_);
  Timer timer{server, 0, 0, number, series, operation_or_now(by) + delay};
  if (measured()) {
    record_name(series, "timer");
    record_name(hash_on(series, kLateness), "late");
  } else {
    const Sequence late = find(hash_on(series, kLateness), number, timed_name("late"));
    timer.when += late.count ? late.durations[0] - 1 : kUnknown;
    timer.message = message_to_itself(server, wake, series, number, "timer", timer.when, 0);
    if (!timer.message) return 0;
    timer.serial = model_.message(timer.message).serial;
  }
  timers_.emplace(wake, timer);
  return wake;
}

void Timed::timer_is_due(uint32_t wake) {
  const auto found = timers_.find(wake);
  if (found == timers_.end() || found->second.message) return;
  Timer& timer = found->second;
  TimedModel::Lock lock(model_);
  const Tick now = model_.table.last = std::max(model_.stamp(), timer.when);  // the loop's clock and this one round differently
  was_late(timer, now);
  timer.message = message_to_itself(timer.server, wake, timer.series, timer.number, "timer", now, 0);
  if (timer.message) timer.serial = model_.message(timer.message).serial;
}

void Timed::was_late(const Timer& timer, Tick now) {
  record(hash_on(timer.series, kLateness), timer.number, {as_duration(now - timer.when + 1)});  // 0 is no duration
}

// Its message has not started: the actor runs what cancels it. In a measured run it may not have been sent although the time was over. In a later one it must not
// come before what cancels it, either.
void Timed::cancel_timer(uint32_t wake) {
  const auto found = timers_.find(wake);
  if (found == timers_.end()) return;
  const Timer timer = found->second;
  timers_.erase(found);
  TimedModel::Lock lock(model_);
  if (!timer.message) {
    if (const Tick now = model_.stamp(); now >= timer.when) was_late(timer, now + 1);
    return;
  }
  const TimedMessage& m = model_.message(timer.message);
  if (m.serial == timer.serial && (m.listed || m.open)) model_.forget(timer.message);
}

Tick Timed::read_clock(OwnStrand* by) {
  TimedModel::Lock lock(model_);
  return by ? operation(*by) : measured() ? std::max(model_.table.last, (now_ns() - model_.table.base) / 1000) : model_.table.last;
}

uint32_t Timed::wakes(Index server) {
  TimedServer& of = model_.server(server);
  const Index strand = of.granted.load(memory_order_seq_cst), taken = of.taken;
  const uint32_t wake = strand && taken ? model_.message(taken).wake : 0;
  if (!wake) return 0;
  TimedModel::Lock lock(model_);
  burst_ = take(strand);
  begun_ = false;
  of.granted.store(0, memory_order_relaxed);
  timers_.erase(wake);
  return wake;
}

uint32_t Timed::wakes_only(Index server) {
  for (;;) {
    if (const uint32_t wake = wakes(server)) return wake;
    TimedModel::Lock lock(model_);
    const Index call = model_.server(server).granted.load(memory_order_relaxed);
    if (!call) return 0;
    model_.end(call, std::max(model_.table.last, model_.strand(call).clock));
  }
}

void Timed::ends(OwnStrand& s, const Off* results, uint32_t n) {
  ending_ = &s;
  if (s.refs) local_.alloc.free(std::exchange(s.refs, 0));
  TimedModel::Lock lock(model_);
  TimedStrand& shared = model_.strand(s.index);
  if (shared.state != StrandState::Running) model_.put(s.index, StrandState::Running);
  const Tick at = operation(s);
  record_end(s);  // at once: the program may be over when its results are there
  for (uint32_t i = 0; i < n; ++i) {
    auto* o = local_.heap->at<Object>(results[i]);
    model_.done(o, at, o->state.load(memory_order_relaxed) != State::Value);
  }
  model_.end(s.index, at);
}

void Timed::completes(OwnStrand* by, Object* o, State state) {
  if (ending_) return;  // see ends()
  const bool failed = state != State::Value;
  TimedModel::Lock lock(model_);
  TimedResult* r = model_.find(o->uid, false);
  if (r && r->message) {  // a call that has not started: it was cancelled, or its actor is dead
    model_.forget(std::exchange(r->message, 0));
    model_.lose(Loss::Death);
  }
  const Index made_by = r ? r->strand : 0;
  if (by) {
    // What others may wait for is completed by an operation: the next value of a stream, the call's own result, another's that it cancels. Of a value that
    // it puts, others know after its next operation only.
    const bool operates = kind_of(o) == kStreamLink || made_by || (r && r->waited) || o->runner.load(memory_order_relaxed) != kNoProc;
    return model_.done(o, operates ? operation(*by) : by->clock, failed);
  }
  if (!made_by) return model_.done(o, model_.table.last, failed);
  TimedStrand& s = model_.strand(made_by);
  Tick at;
  if (s.beside) {
    at = measured() ? model_.stamp() : s.at;
    model_.table.last = std::max(model_.table.last, at);
    if (measured()) record(s.series, s.number, {as_duration(at - s.clock)});
  } else {  // its process has died, or it was killed
    at = std::max(model_.table.last, s.clock);
    model_.lose(Loss::Death);
  }
  model_.done(o, at, failed);
  model_.end(made_by, at);
}

// Without the lock: what the tag was copied from stays until this process has taken the message, or the actor is dead.
bool Timed::next(Index server, Tag& tag) {
  if (!granted(server)) return false;
  if (const Index taken = model_.server(server).taken) return tag.assign(model_.message(taken).tag), true;
  return false;
}

// A source that does not come to its next operation although nothing in this program keeps it: a barrier between actors, a lock, a stream. It is no
// source until it does.
void Timed::look_if_stuck() {
  if (measured()) return;
  const uint64_t now = now_ns();
  TimedModel::Lock lock(model_);
  const uint64_t changes = model_.table.changes.fetch_sub(1, memory_order_relaxed);  // the lock adds it again: to look is no change
  Index least = 0;
  for (uint32_t k = 0; k < model_.table.running_count; ++k) {
    const Index i = model_.table.running[k];
    if (!least || model_.strand(i).at < model_.strand(least).at) least = i;
  }
  if (!least) return;
  TimedStrand& s = model_.strand(least);
  const uint32_t slot = s.slot;
  const uint64_t time = slot == kNoProc ? 0 : time_of(local_.heap->procs[slot].pid);
  if (changes != stuck_changes_ || time != stuck_time_ || time & 1) {
    stuck_changes_ = changes;
    stuck_time_ = time;
    stuck_since_ = now;
    return;
  }
  if (now - stuck_since_ < (slot == kNoProc ? kStartNs : kStuckNs) + 4000 * (s.at - s.clock)) return;
  model_.put(least, StrandState::Outside);
  model_.lose(Loss::Stuck);
  stuck_since_ = now;
}

// ---- the table

void make_timed_table(Local& l, bool measured, const std::vector<uint64_t>& series, const std::vector<uint32_t>& first_call,
                      const std::vector<uint32_t>& first_duration, const std::vector<uint32_t>& durations) {
  auto block = [&](const void* data, size_t size) {
    const Off off = l.alloc.alloc_record(std::max<size_t>(size, 1));
    memcpy(l.heap->at<uint8_t>(off), data, size);
    l.alloc.publish(off, kPlain);
    return off;
  };
  const Off off = l.alloc.alloc_record(sizeof(TimedTable));
  l.alloc.publish(off, kPlain);
  auto* t = l.heap->at<TimedTable>(off);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&t->mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  t->measured = measured;
  t->base = now_ns();
  t->series_count = uint32_t(series.size());
  t->series = block(series.data(), 8 * series.size());
  t->first_call = block(first_call.data(), 4 * first_call.size());
  t->first_duration = block(first_duration.data(), 4 * first_duration.size());
  t->durations = block(durations.data(), 4 * durations.size());
  l.heap->header->timed.store(off, memory_order_release);
}

}  // namespace reactor
