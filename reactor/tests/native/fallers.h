// A process that gives back the last hold of an object is killed at each of its kill points: what fell is freed all the same, once.
#pragma once
#include "spilling.h"

namespace stress {

// An object with a value of `refs`, which it holds, in a block of so many bytes.
inline Object* holder(Local& l, int32_t holds, const std::vector<Object*>& refs, uint64_t bytes) {
  Object* o = new_object(l, holds);
  memset(o->body, 0x5a, sizeof o->body);
  o->block = l.alloc.alloc(bytes);
  auto* v = l.heap->at<ValueHeader>(o->block);
  v->set(0, 0, uint32_t(refs.size()), 0);
  for (size_t i = 0; i < refs.size(); ++i) value_refs(v)[i] = l.heap->off(refs[i]);
  l.alloc.publish(o->block);
  l.alloc.count_value(o->block, 1);
  if (bytes > kSlabMax) settle(l.heap, &l.heap->residence[l.heap->page_of(o->block)], false);
  o->size = bytes;
  complete(l, o, State::Value);
  return o;
}

// A large value in the spill file.
inline Object* holder_away(Local& l, int file) {
  Object* o = new_object(l, 1);
  o->block = write_value(l.heap, l, 1);
  CHECK(leave(l.heap, l.slot, file, l.heap->page_of(o->block), [] { return true; }) == Left::Moved);
  o->size = kValueBytes;
  complete(l, o, State::Value);
  return o;
}

inline void dead_faller() {
  World world;
  Heap* h = world.heap.get();
  const int file = spill_file(h);
  auto other = world.process(), supervisor = world.process();
  int points = 0;
  for (bool lives = false; !lives; ++points) {
    auto killed = world.process();
    Local& l = *other;
    Object *shared = new_object(l, 2), *reason = new_object(l, 1), *died = new_object(l, 1);
    complete(l, shared, State::Cancelled);
    complete(l, reason, State::Cancelled);
    complete_died(l, died, h->off(reason));
    drop_hold(l, reason);
    Object* twice = holder(l, 2, {}, 200);
    Object* chain = holder(l, 1, {holder(l, 1, {holder_away(l, file)}, 3 * kPage)}, 300);
    Object* root = holder(l, 1, {shared, holder(l, 1, {}, 2 * kPage), twice, died, twice, chain, holder_away(l, file)}, 5 * kPage);

    bool noted = true;
    points_left = points;
    try {
      drop_noted(*killed, root, [&] { noted = false; });
      lives = points_left >= 0;
    } catch (Killed&) {}
    points_left = -1;
    std::vector<Object*> later;  // what was freed is used again before the supervisor comes
    for (int i = 0; i < 24; ++i) later.push_back(holder(l, 1, {}, kPage));
    Proc& p = h->procs[killed->slot];
    const Off fallen = note_fallen(h, p);
    if (noted) drop_hold(*supervisor, root);
    finish_fallen(*supervisor, p, fallen);
    reap_memory(h, killed->slot);
    CHECK(shared->holds == 1);
    drop_hold(l, shared);
    for (Object* o : later) {
      CHECK(h->page_state[h->page_of(o->block)] == kRun);
      drop_hold(l, o);
    }
    CHECK(store_used(h) == 0 && h->header->runs_used == 0 && h->header->away == 0);
    CHECK(world.slots_used() == 0);
  }
  CHECK(points > 60);
  fprintf(stderr, "%d kills\n", points);
  struct stat on_disk;
  CHECK(fstat(file, &on_disk) == 0 && on_disk.st_blocks < 64);
  world.check_all_free();
}

// The last ref of a failure that nobody has seen goes: the process keeps it, to tell of it. Killed on the way, nothing stays, and nothing is freed twice.
inline void dead_teller() {
  World world;
  Heap* h = world.heap.get();
  auto other = world.process(), supervisor = world.process();
  int points = 0;
  for (bool lives = false; !lives; ++points) {
    auto killed = world.process(true);
    killed->failure_unseen = [](Local& l, Object* o) {
      mark_seen(o);
      REACTOR_KILL_POINT();
      take_noted(l, o);
      REACTOR_KILL_POINT();
    };
    Object* failure = new_object(*other, 1);
    reinterpret_cast<ValueHeader*>(failure->body)->set(0, 0, 0, 0);
    complete(*other, failure, State::Error);
    const uint32_t note = killed->hold_list.add(h->off(failure), Entry::Hold);
    points_left = points;
    try {
      drop_noted(*killed, failure, note);
      lives = points_left >= 0;
    } catch (Killed&) {}
    points_left = -1;
    Proc& p = h->procs[killed->slot];
    const Off fallen = note_fallen(h, p);
    int noted = 0;
    for (Off off = p.hold_list.load(); off;) {
      auto* chunk = h->at<HoldChunk>(off);
      for (auto& entry : chunk->entry) noted += entry.load() != 0;
      const Off next = chunk->next;
      supervisor->alloc.free(off);
      off = next;
    }
    CHECK(noted == failure->holds);
    for (int i = 0; i < noted; ++i) drop_hold(*supervisor, failure);
    finish_fallen(*supervisor, p, fallen);
    reap_memory(h, killed->slot);
    CHECK(store_used(h) == 0 && world.slots_used() == 0);
  }
  CHECK(points > 3);
  fprintf(stderr, "%d kills\n", points);
  world.check_all_free();
}

// A value is let go while it is moved: its mover frees it, or is killed on the way.
inline void dead_mover() {
  World world;
  Heap* h = world.heap.get();
  const int file = spill_file(h);
  auto other = world.process();
  int points = 0;
  for (bool lives = false; !lives; ++points) {
    auto killed = world.process();
    Object* o = holder(*other, 1, {}, 1);
    other->alloc.free_value(o->block, [] {});
    o->block = write_value(h, *other, 1);
    int step = 0;
    points_left = points;
    try {
      leave(h, killed->slot, file, h->page_of(o->block), [&] {
        const int left = std::exchange(points_left, -1);
        if (step++ == 1) drop_hold(*other, o);
        points_left = left;
        return true;
      });
      lives = points_left >= 0;
    } catch (Killed&) {}
    points_left = -1;
    if (step < 2) drop_hold(*other, o);
    reap_memory(h, killed->slot);
    CHECK(store_used(h) == 0 && h->header->runs_used == 0 && h->header->away == 0 && world.slots_used() == 0);
  }
  CHECK(points > 5);
  fprintf(stderr, "%d kills\n", points);
  struct stat on_disk;
  CHECK(fstat(file, &on_disk) == 0 && on_disk.st_blocks < 64);
  world.check_all_free();
}

}  // namespace stress
