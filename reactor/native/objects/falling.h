// Giving back holds. Who gives back an object's last one takes the object apart, and what falls with it.
//
// A hold is noted somewhere: in its process's hold list, in a message, in the value that contains the ref. Where others hold the object,
// too, the note is forgotten first: killed before the next instruction, the process leaves a hold that nobody has, and the object stays.
// Who takes a hold has one already, so that is relaxed. Who gives one back releases what it has done with the object, and who gives back the last one acquires that
// of all others [acq_rel]: nobody reads a value that is being freed.
// The last hold falls so that nothing stays, wherever the process is killed:
//
//   Proc::dropping = o
//   o.holds: 1 -> 0 [CAS]         nobody else has a hold: until here the note stands, and the supervisor gives it back
//   o joins Proc::fallen          a list through Object::next_fallen: a chain of refs can be longer than the stack is deep
//   the note is forgotten
//   Proc::dropping = 0            until here the note may still be there: what the supervisor gives back for it changes nothing, because an
//                                 object without holds that `dropping` names has fallen by this process, and nobody else takes it apart
//   Proc::apart = o
//   o leaves Proc::fallen
//   each ref in its value is given back in this same way; its note is its place in the value
//   its value is freed (free_run in alloc.h)
//   Proc::apart = 0
//   o's own memory is freed       killed just before, these 128 bytes stay
//
// The supervisor goes on with what it finds in these words of a dead process: note_fallen() before it gives back what the process had
// noted, finish_fallen() after that.
#pragma once
#include "objects/object.h"

namespace reactor {

inline void list_fallen(Local& l, Object* o) {
  o->next_fallen = l.proc->fallen.load(memory_order_relaxed);
  l.proc->fallen.store(l.heap->off(o), memory_order_release);
}

// A failure that this process is to keep until it is told gets another hold, with a note of its own: false if it is none.
inline bool keep_failure_of(Local& l, Object* o) {
  if (!l.failure_unseen || !is_unseen_failure(o) || kind_of(o) == kActorObject) return false;
  l.failure_unseen(l, o);
  REACTOR_KILL_POINT();
  return true;
}

// Nobody holds the object any more.
inline void fall(Local& l, Object* o) {
  if (kind_of(o) == kActorObject) {
    if (l.actor_unheld) l.actor_unheld(l, o);
    return;
  }
  if (!keep_failure_of(l, o)) list_fallen(l, o);
}

// Gives back a hold, whose note `forget` takes out; what falls is not taken apart yet.
template <class Forget>
void release_hold(Local& l, Object* o, Forget&& forget) {
  if (o->holds.load(memory_order_acquire) == 1 && !keep_failure_of(l, o)) {
    atomic<Off>& dropping = l.proc->dropping;
    dropping.store(l.heap->off(o), memory_order_release);
    REACTOR_KILL_POINT();
    int32_t one = 1;
    if (o->holds.compare_exchange_strong(one, 0, memory_order_acq_rel)) {
      REACTOR_KILL_POINT();
      fall(l, o);
      REACTOR_KILL_POINT();
      forget();
      REACTOR_KILL_POINT();
      dropping.store(0, memory_order_release);
      return;
    }
    dropping.store(0, memory_order_release);
  }
  warm(o->holds);
  forget();
  if (o->holds.fetch_sub(1, memory_order_acq_rel) == 1) fall(l, o);
}

inline void take_apart(Local& l, Object* o) {
  const State s = o->state.load(memory_order_acquire);
  auto drop = [&](Off& ref) {
    if (ref) release_hold(l, l.heap->at<Object>(ref), [&] { std::atomic_ref(ref).store(0, memory_order_release); });
  };
  if (s == State::Value || s == State::Error) {
    auto* v = reinterpret_cast<ValueHeader*>(value_of(l.heap, o));
    Off* refs = value_refs(v);
    if (kind_of(o) == kStreamLink && v->refs() == 3 && refs[2]) complete(l, l.heap->at<Object>(refs[2]), State::Value);  // see stream.h
    for (uint32_t i = 0; i < v->all_refs(); ++i) drop(refs[i]);
  } else if (s == State::Died) {
    drop(*reinterpret_cast<Off*>(o->body));
  }
  o->state.store(State::Pending, memory_order_release);  // from here on nothing in the value is looked at
  REACTOR_KILL_POINT();
  if (o->block) l.alloc.free_value(o->block, [&] { std::atomic_ref(o->block).store(0, memory_order_release); });
}

inline void take_fallen_apart(Local& l) {
  if (l.falling) return;  // further out on the stack
  struct Mark {
    explicit Mark(bool& on) : on(on) { on = true; }
    ~Mark() { on = false; }
    bool& on;
  } mark(l.falling);
  Proc* p = l.proc;
  while (Off off = p->fallen.load(memory_order_relaxed)) {
    auto* o = l.heap->at<Object>(off);
    p->apart.store(off, memory_order_release);
    REACTOR_KILL_POINT();
    p->fallen.store(o->next_fallen, memory_order_release);
    REACTOR_KILL_POINT();
    take_apart(l, o);
    REACTOR_KILL_POINT();
    l.alloc.fetch_slot(off);
    p->apart.store(0, memory_order_release);
    std::atomic_ref(o->uid).store(0, memory_order_release);  // who knows where it was sees that it is gone (order.h)
    // What comes to lie there is seen later than this: who looks at `wait` between two looks at `uid` reads that of the object (unfinished() in board.h).
    std::atomic_thread_fence(memory_order_release);
    l.alloc.free(off);
  }
}

// Gives back a hold that is noted; `forget` takes the note out.
template <class Forget>
void drop_noted(Local& l, Object* o, Forget&& forget) {
  release_hold(l, o, forget);
  take_fallen_apart(l);
}
// That of an entry of the process's own hold list.
inline void drop_noted(Local& l, Object* o, uint32_t note) {
  drop_noted(l, o, [&] { l.hold_list.clear(note); });
}
inline void drop_hold(Local& l, Object* o) {
  drop_noted(l, o, [] {});
}
// By who has put the code into the store: nobody makes further calls of it.
inline void drop_code(Local& l, Object* o, uint32_t note = kNoEntry) {
  o->retired.store(1, memory_order_relaxed);
  drop_noted(l, o, note);
}
inline void drop_value_refs(Local& l, ValueHeader* v) {
  Off* refs = value_refs(v);
  for (uint32_t i = 0; i < v->all_refs(); ++i) drop_hold(l, l.heap->at<Object>(refs[i]));
}

// The object that fell by the dead process `p` while its note may still stand, or 0.
inline Off note_fallen(Heap* h, Proc& p) {
  const Off off = p.dropping.exchange(0, memory_order_acq_rel);
  return off && h->at<Object>(off)->holds.load(memory_order_acquire) == 0 ? off : 0;
}
// Goes on for the dead process, of which note_fallen() told `noted`, as process `l`.
inline void finish_fallen(Local& l, Proc& p, Off noted) {
  Off fallen = p.fallen.exchange(0, memory_order_acq_rel);
  const Off apart = p.apart.exchange(0, memory_order_acq_rel);
  if (apart && apart != fallen) {  // it has left the list
    list_fallen(l, l.heap->at<Object>(apart));
    take_fallen_apart(l);
  }
  bool listed = false;
  while (fallen) {
    auto* o = l.heap->at<Object>(fallen);
    listed = listed || fallen == noted;
    fallen = o->next_fallen;
    list_fallen(l, o);
  }
  if (noted) {
    auto* o = l.heap->at<Object>(noted);
    o->holds.store(0, memory_order_relaxed);  // where it was noted still, it was given back once more
    if (!listed) fall(l, o);
  }
  take_fallen_apart(l);
}

}  // namespace reactor
