// Objects: completion, waiting, holds.
//
// Object::wait is a word with two parts: bit 0 "done" and the head of a list of wait nodes.
//
// Completer                                     Waiter
//   write value, state            [release]       node.armed = 1, node.next = head
//   old = wait.fetch_or(1)        [seq_cst]       CAS wait: head -> node          [acq_rel]
//   if old had bit 0: no more to do                 fails with bit 0 set: done, no need to wait
//   for node in list of old:
//     if node.armed.exchange(0): act on it
//     wait = node.next | 1        [release]
//     node.life.exchange(Done); free it if it was Orphan
//
// A node that got in before fetch_or is in the completer's list; one that did not sees bit 0. Two may complete the same
// object (a cancelled call: who cancels it, and the worker that then finds it): who sets bit 0 walks.
// `armed.exchange` gives the right to act on a node to one party, so a waiter that gives up (timeout) and the completer
// never both count it. A waiter that arms a node again, linked since an earlier wait, stores armed = 1 and then looks at
// bit 0, while the completer sets bit 0 and then takes `armed`: all four are seq_cst, so one of the two sees the other's.
// `life` decides who frees the node: the second of {waiter, completer} to be through with it.
//
// The list shrinks as it is walked, each node leaving it before it may be freed, and the completer says in Walk::object which list it
// walks, so that the supervisor can finish the walk of a completer that was killed. If the killed one was acting on a node, the supervisor
// does for a task what is still to be done (countdown.h). A group's waiter checks its objects now and then, and a bell's owner is woken,
// as all processes are when one has died.
#pragma once
#include "sync/bell.h"
#include "sync/countdown.h"
#include "memory/hold_list.h"
#include "objects/tag_hash.h"
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace reactor {

enum class NodeKind : uint32_t { Group = 0, Task, Bell };
enum class Life : uint32_t { Linked = 0, Orphan, Done };

struct alignas(64) WaitNode {
  Off next;
  atomic<uint32_t> armed;
  NodeKind kind;
  Off target;            // WaitGroup, task block or Bell; 0: no completer has claimed the node since its maker took it back
  atomic<Life> life;
  uint32_t note;           // its maker's entry in the hold list as long as that may touch it
  atomic<uint64_t> since;  // ns, when its waiter began to wait if some process held a message back then; else 0 (patience.h)
};

// Counts completions down; rings `bell` at zero. Group memory is used again only when no completer can still touch it.
struct alignas(64) WaitGroup {
  atomic<int32_t> remaining;
  atomic<uint32_t> failed;   // a completion was an error
  Off bell;
};
constexpr int32_t kBias = 1 << 30;

inline uint16_t kind_bits(Object* o) { return std::atomic_ref(o->kind).load(memory_order_seq_cst); }
inline uint16_t kind_of(Object* o) { return kind_bits(o) & uint16_t(~(kJoined | kOpenCall | kSeen)); }
// Whether nobody has a ref of this result of a call that runs.
inline bool unwanted(Object* o) { return kind_bits(o) & kSeen; }
inline void mark_seen(Object* o) {
  if (!(kind_bits(o) & kSeen)) std::atomic_ref(o->kind).fetch_or(kSeen, memory_order_relaxed);
}
inline bool is_done(const Object* o) { return o->wait.load(memory_order_seq_cst) & 1; }

// What one process needs to work with objects. Thread safety: its process's GIL.
struct Local {
  Heap* heap;
  uint32_t slot;
  Proc* proc;
  Allocator alloc;
  HoldList hold_list;
  uint64_t uid_next = 0, uid_end = 0;
  bool falling = false;         // take_fallen_apart is on the stack
  uint32_t holding_back = 0;    // actors of this process that hold a message back, see set_held()
  void (*task_ready)(Local&, Off task) = nullptr;     // a task's last argument came in
  void (*actor_unheld)(Local&, Object*) = nullptr;    // an actor's last handle is gone
  void (*completes)(Local&, Object*, State) = nullptr;  // timed order: an object is about to be completed
  void (*failure_unseen)(Local&, Object*) = nullptr;  // takes over the result of a call whose failure nobody can ask for any more

  Local(Heap* h, uint32_t slot, bool with_hold_list)
      : heap(h), slot(slot), proc(&h->procs[slot]), alloc(h, slot), hold_list(h, &alloc, with_hold_list ? &h->procs[slot] : nullptr) {}

  uint64_t uid() {
    if (uid_next == uid_end) {
      uid_next = heap->header->next_uid.fetch_add(1024, memory_order_relaxed);
      uid_end = uid_next + 1024;
    }
    return uid_next++;
  }
};

// Before anybody else knows the object; who looks at memory that may be another's by now reads it, too.
inline void set_tag_hash(Object* o, uint64_t hash) { std::atomic_ref(o->tag_hash).store(hash, memory_order_relaxed); }

inline void init_object(Local& l, Object* o, int32_t holds, uint16_t kind) {
  o->wait.store(0, memory_order_release);  // see take_fallen_apart()
  o->state.store(State::Pending, memory_order_relaxed);
  o->holds.store(holds, memory_order_relaxed);
  const uint64_t uid = l.uid();
  std::atomic_ref(o->uid).store(uid, memory_order_release);
  set_tag_hash(o, hash_on(0, uid));
  o->kind = kind;
  o->cancellation.store(Cancellation::None, memory_order_relaxed);
  o->runner.store(kNoProc, memory_order_relaxed);
  o->block = 0;
  o->size = 0;
  memset(o->body, 0, sizeof(uint32_t));
}

inline Object* new_object(Local& l, int32_t holds, uint16_t kind = kValueObject, For whom = For::User) {
  Off off = l.alloc.alloc(sizeof(Object), whom);
  if (!off) throw NoRoom();
  auto* o = l.heap->at<Object>(off);
  init_object(l, o, holds, kind);
  return o;
}

// `first`: null if it is the first one.
inline JoinedResult* new_joined(Local& l, int32_t holds, uint16_t kind, Object* first) {
  Off off = l.alloc.alloc(sizeof(JoinedResult));
  if (!off) throw NoRoom();
  auto* o = l.heap->at<JoinedResult>(off);
  init_object(l, o, holds, kind | kJoined);
  o->first = first ? l.heap->off(first) : off;
  o->first_uid = first ? first->uid : o->uid;
  o->next = 0;
  return o;
}

inline uint8_t* value_of(Heap* h, Object* o) { return o->block ? h->at<uint8_t>(o->block) : o->body; }
inline Off* value_refs(ValueHeader* v) { return reinterpret_cast<Off*>(v + 1); }  // not of a bare value
inline BufferEntry* value_buffers(ValueHeader* v) { return reinterpret_cast<BufferEntry*>(value_refs(v) + v->all_refs()); }
inline uint8_t* value_stream(ValueHeader* v) {
  return v->bare() ? reinterpret_cast<uint8_t*>(v) + ValueHeader::kBareSize : reinterpret_cast<uint8_t*>(value_buffers(v) + v->buffers());
}

// The arguments in which a buffer of the value lies, or null.
inline Object* shown_arguments(Heap* h, ValueHeader* v) {
  auto* last = v->refs() ? h->at<Object>(value_refs(v)[v->all_refs() - 1]) : nullptr;
  return last && kind_of(last) == kArguments ? last : nullptr;
}
// Bytes of the object's value, with those that lie in arguments.
inline uint64_t full_size(Heap* h, Object* o) {
  auto* v = reinterpret_cast<ValueHeader*>(value_of(h, o));
  uint64_t n = o->size;
  for (uint32_t i = 0; i < v->buffers(); ++i)
    if (value_buffers(v)[i].shown()) n += value_buffers(v)[i].size;
  return n;
}

// The calls that a running call has made: cancelling it may cancel them. Nothing is held: an object whose uid is another is no longer theirs.
//
// The process is told of a cancellation a little later than it can see it in the call's result. A call that sees it first, and so ends or begins to clean up,
// stops the list until the process is told: what it calls in between is not cancelled. If it has ended by then, the list is in Unheard.
class Started {
 public:
  struct Call {
    Off result;  // the first one
    uint64_t uid;
    Off inbox;  // of the actor that is called; 0: it is a task
  };
  void add(Heap* h, Object* result, Off inbox) {
    if (stopped_) return;
    if (calls_.size() >= most_) {
      std::erase_if(calls_, [h](auto& call) { return !under_way(h, call); });
      most_ = 64 + 2 * calls_.size();
    }
    calls_.push_back({h->off(result), result->uid, inbox});
  }
  std::vector<Call> under_way(Heap* h) const {
    std::vector<Call> found;
    for (auto& call : calls_)
      if (under_way(h, call)) found.push_back(call);
    return found;
  }
  static bool under_way(Heap* h, const Call& call) {
    auto* o = h->at<Object>(call.result);
    return o->uid == call.uid && o->holds.load() > 0 && !is_done(o);
  }
  void stop() { stopped_ = !heard_; }
  // The process has been told.
  void hear() {
    heard_ = true;
    stopped_ = false;
  }
  bool heard() const { return heard_; }
  void clear() {
    calls_.clear();
    heard_ = stopped_ = false;
  }

 private:
  std::vector<Call> calls_;
  bool heard_ = false, stopped_ = false;
  size_t most_ = 64;  // then those that are done are forgotten
};

// The lists of calls that were cancelled and have ended before their process was told, by the uid of the result.
class Unheard {
 public:
  // The call with this first result ends.
  void keep(Heap* h, Object* first, Started& children) {
    if (first->cancellation.load(memory_order_acquire) != Cancellation::Running || children.heard()) return;
    std::vector<Started::Call> calls = children.under_way(h);
    if (calls.empty()) return;
    if (calls_.size() >= kMany)  // of some the canceller was killed before it could tell
      std::erase_if(calls_, [h](auto& kept) {
        return std::none_of(kept.second.begin(), kept.second.end(), [h](auto& call) { return Started::under_way(h, call); });
      });
    calls_[first->uid] = std::move(calls);
  }
  std::vector<Started::Call> take(uint64_t uid) {
    auto node = calls_.extract(uid);
    return node ? std::move(node.mapped()) : std::vector<Started::Call>();
  }

 private:
  static constexpr size_t kMany = 64;
  std::unordered_map<uint64_t, std::vector<Started::Call>> calls_;
};

inline void take_hold(Object* o) { o->holds.fetch_add(1, memory_order_relaxed); }
// The same, in the hold list: its entry there.
inline uint32_t take_noted(Local& l, Object* o, Entry tag = Entry::Hold) { return l.hold_list.take(o->holds, l.heap->off(o), tag); }

// A task or method raised, or a task's process died, and nobody has seen it. A dead actor's calls do not count: its death is told
// to who calls it next. Nor does the link of a stream that failed before its first value: the stream's completion has the same failure.
inline bool is_unseen_failure(Object* o) {
  State s = o->state.load(memory_order_acquire);
  if (s != State::Error && s != State::Died) return false;
  const uint16_t kind = kind_of(o);
  return !(kind_bits(o) & kSeen) && kind != kStreamLink && (s == State::Error || kind == kValueObject);
}

inline void ring_counted(Local& l, Off bell) {
  if (ring(l.heap, l.heap->at<Bell>(bell))) l.proc->wakes.fetch_add(1, memory_order_relaxed);
}

inline void act_on(Local& l, WaitNode* n, bool failed) {
  if (n->kind == NodeKind::Task) {
    if (l.task_ready) l.task_ready(l, n->target);
    return;
  }
  if (n->kind == NodeKind::Bell) {
    ring_counted(l, n->target);
    return;
  }
  auto* g = l.heap->at<WaitGroup>(n->target);
  Off bell = g->bell;
  bool first_failure = failed && g->failed.exchange(1, memory_order_acq_rel) == 0;
  bool last = g->remaining.fetch_sub(1, memory_order_acq_rel) == 1;
  if (last || first_failure) ring_counted(l, bell);
}

inline void walk_waiters(Local& l, Object* o, uint64_t word) {
  bool failed = o->state.load(memory_order_relaxed) != State::Value;
  REACTOR_KILL_POINT();
  l.proc->walk.object.store(l.heap->off(o), memory_order_release);
  while (Off at = word & ~uint64_t(1)) {
    auto* n = l.heap->at<WaitNode>(at);
    word = n->next | 1;
    if (n->kind == NodeKind::Task) begin_count(l.heap, l.slot, n->target);
    REACTOR_KILL_POINT();
    if (n->armed.exchange(0, memory_order_seq_cst)) act_on(l, n, failed);
    REACTOR_KILL_POINT();
    o->wait.store(word, memory_order_release);
    REACTOR_KILL_POINT();
    if (n->kind == NodeKind::Task) end_count(l.proc);
    if (n->life.exchange(Life::Done, memory_order_acq_rel) == Life::Orphan) l.alloc.free(at);
  }
  REACTOR_KILL_POINT();
  l.proc->walk.object.store(0, memory_order_release);
}

// An open call has ended: those that hold messages back look whether they still must. Its result's done bit was set before [seq_cst].
inline void tell_held(Local& l) {
  Header* h = l.heap->header;
  if (h->held.load(memory_order_seq_cst) == 0) return;
  h->finished.fetch_add(1, memory_order_seq_cst);
  uint32_t high = h->proc_high.load(memory_order_acquire);
  for (uint32_t i = 0; i < high; ++i)
    if (l.heap->procs[i].held.load(memory_order_relaxed) && ring(l.heap, &l.heap->procs[i].bell))
      l.proc->wakes.fetch_add(1, memory_order_relaxed);
}

// Marks the object done and wakes who waits, unless it is done already. The value (or reason) has been written; the
// caller is its only writer.
inline void complete(Local& l, Object* o, State s) {
  if (l.completes) l.completes(l, o, s);
  o->state.store(s, memory_order_release);
  uint64_t old = o->wait.fetch_or(1, memory_order_seq_cst);
  if (old && !(old & 1)) walk_waiters(l, o, old);
  if (kind_bits(o) & kOpenCall) tell_held(l);
}

inline void complete_died(Local& l, Object* o, Off reason) {
  if (reason) take_hold(l.heap->at<Object>(reason));
  o->block = 0;
  memcpy(o->body, &reason, sizeof reason);
  complete(l, o, State::Died);
}

// Puts `n` on the object's list. False: the object is done and the node was not linked.
inline bool link(Local& l, Object* o, WaitNode* n) {
  uint64_t head = o->wait.load(memory_order_acquire);
  Off off = l.heap->off(n);
  do {
    if (head & 1) return false;
    n->next = head;
  } while (!o->wait.compare_exchange_weak(head, off, memory_order_acq_rel, memory_order_acquire));
  return true;
}

// For WaitNode::since.
inline uint64_t begin_of_wait(const Local& l) { return l.heap->header->held.load(memory_order_relaxed) ? now_ns() : 0; }

inline WaitNode* new_node(Local& l, NodeKind kind, Off target) {
  Off off = l.alloc.alloc_record(sizeof(WaitNode));
  auto* n = l.heap->at<WaitNode>(off);
  n->next = 0;
  n->kind = kind;
  n->target = target;
  n->note = kNoEntry;
  n->life.store(Life::Linked, memory_order_relaxed);
  n->since.store(begin_of_wait(l), memory_order_relaxed);
  n->armed.store(1, memory_order_relaxed);
  return n;
}
// A node on the object's list, or null: the object is done. `life` Orphan: its maker will not touch it again.
inline WaitNode* watch(Local& l, Object* o, NodeKind kind, Off target, Life life = Life::Linked) {
  l.hold_list.reserve();
  WaitNode* n = new_node(l, kind, target);
  n->life.store(life, memory_order_relaxed);
  if (life == Life::Linked) n->note = l.hold_list.add(l.heap->off(n), Entry::Node);
  if (link(l, o, n)) return n;
  l.hold_list.clear(n->note);
  l.alloc.free(l.heap->off(n));
  return nullptr;
}
// The waiter's last touch of a linked node. The entry goes first: a completer may free an orphan at any time.
inline void let_go(Local& l, WaitNode* n) {
  l.hold_list.clear(n->note);
  if (n->life.exchange(Life::Orphan, memory_order_acq_rel) == Life::Done) l.alloc.free(l.heap->off(n));
}

}  // namespace reactor
