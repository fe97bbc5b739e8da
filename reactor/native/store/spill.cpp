#include "store/spill.h"
#include "store/garbage.h"
#include <cstdlib>
#include "memory/spill_mover.h"
#include "types/refs.h"

namespace reactor {
namespace {

constexpr uint64_t kMapped = 256ull * 1024;    // smaller values are read into memory of the reader's own
constexpr uint64_t kLeastWaitNs = 100000000;  // how long a value waits for room in the store at least
constexpr uint64_t kCollectEachNs = 1000000000;  // how often a process has garbage collected for that at most
constexpr int kMoveEach = 50;                 // of so many looks for room while it waits, one looks for values to move as well

// All that is in memory is being read: the value is written into the file at once. An empty Room: the disk is full.
Room room_in_file(uint64_t size) {
  Heap* h = ctx->heap;
  if (h->lost_spill_file()) lost_descriptor();
  int file = h->spill_file();
  if (file < 0 || size <= kSlabMax || !disk_has(h, file, size)) return {};
  Off block = ctx->local.alloc.alloc(size);
  if (!block) return {};
  uint32_t page = h->page_of(block);
  h->residence[page].word.store(kFiled, memory_order_release);  // a kill from here on gives its place in the file back
  if (posix_fallocate(file, off_t(block), off_t(size)) == 0) {
    void* p = map_undumped(size, PROT_READ | PROT_WRITE, MAP_SHARED, file, block);
    if (p != MAP_FAILED) return {block, static_cast<uint8_t*>(p), static_cast<uint8_t*>(p), size};
  }
  h->residence[page].word.store(0, memory_order_release);
  h->punch_file(block, size);
  ctx->local.alloc.free(block);
  return {};
}

void tell_of_spilling() {
  Header* hdr = ctx->header;
  int64_t note = hdr->spill_note.load(memory_order_relaxed), spilled = hdr->spilled.load(memory_order_relaxed);
  if (note && spilled >= note && hdr->spill_note.compare_exchange_strong(note, 2 * spilled)) send_control(Control::Spilled, 0);
}

// A value that would have been let in anyway says nothing of the store.
void note_room(uint64_t size) {
  atomic<uint64_t>& since = ctx->header->full_since;
  if (size > uint64_t(Exempt::Small) && since.load(memory_order_relaxed)) since.store(0, memory_order_relaxed);
}

Room found(Off off, uint64_t size) {
  note_room(size);
  return {off, ctx->heap->at<uint8_t>(off), nullptr, size};
}

// Room for the value now: where the store has some, or makes some by moving others to the disk, or on the disk. Gives up the GIL for moves; a
// Python error only if the run has ended meanwhile.
Room room_now(uint64_t size, int64_t bytes, bool may_move) {
  Heap* h = ctx->heap;
  if (fits(ctx->heap, bytes)) {
    if (Off off = ctx->local.alloc.alloc(size)) return found(off, size);
  }
  if (!may_move || !ctx->header->spills) return {};
  bool room;
  {
    uint32_t slot = ctx->slot;
    Unlocked unlocked;
    room = make_room(h, slot, bytes);
    if (!unlocked.lock()) return {};
  }
  tell_of_spilling();
  if (Off off = room ? ctx->local.alloc.alloc(size) : 0) return found(off, size);
  Room file = room_in_file(size);
  if (file.block) note_room(size);
  return file;
}

// Once more, as garbage may have come since all processes collected. False: Python error set, a destructor has ended the run.
bool collect_garbage(uint64_t now) {
  static uint64_t last = 0;
  static uint32_t run = 0;
  const uint32_t mine = epoch;
  if (std::exchange(run, mine) == mine && now - last < kCollectEachNs) return true;
  last = now;
  return collect_here();
}

// Nobody can be made to give way: somebody may let go of a value in a moment, or read one to the end, or the disk may be emptied. The time for
// that counts from when the store became full: a program of many calls that find it full does not wait for each of them.
Room wait_for_room(uint64_t size, int64_t bytes) {
  Header* hdr = ctx->header;
  const uint64_t now = now_ns();
  uint64_t since = 0;
  if (hdr->full_since.compare_exchange_strong(since, now, memory_order_relaxed)) since = now;
  const uint64_t deadline = std::max(since + hdr->full_wait_ns, now + kLeastWaitNs);
  const uint32_t mine = epoch;
  if (!collect_garbage(now)) return {};
  if (Room room = room_now(size, bytes, true); room.block || epoch != mine) return room;  // it may have taken all the time there is
  for (int i = 1; bytes <= hdr->store_limit && now_ns() <= deadline; ++i) {
    {
      timespec t{0, 2000000};
      Unlocked unlocked;
      nanosleep(&t, nullptr);
      if (!unlocked.lock() || PyErr_CheckSignals() != 0) return {};
    }
    if (epoch != mine) return set_ended_error(), Room{};  // a signal handler has ended the run
    Room room = room_now(size, bytes, i % kMoveEach == 0);
    if (room.block || epoch != mine) return room;
  }
  Owned error = hooks.store_full(int64_t(bytes), store_used(ctx->heap), hdr->store_limit, hdr->spills != 0);
  if (error) set_error(error.get());
  return {};
}

}  // namespace

Mapping::~Mapping() {
  if (mapped_) munmap(base_, size_);
  else std::free(base_);
}

Mapping* Mapping::open(Heap* h, Off block) {
  uint64_t size = align_up(value_end(h->at<ValueHeader>(block)), memory_page());
  int file = h->spill_file();
  if (file < 0) {
    lost_descriptor();
    return set_aborted_error(), nullptr;
  }
  if (size >= kMapped) {
    void* p = map_undumped(size, PROT_READ, MAP_SHARED, file, block);
    if (p != MAP_FAILED) return new Mapping(static_cast<uint8_t*>(p), size, true);
  }  // too many mappings: a copy does as well
  auto* copy = static_cast<uint8_t*>(std::aligned_alloc(memory_page(), size));
  if (!copy) return reinterpret_cast<Mapping*>(PyErr_NoMemory());
  uint64_t end = value_end(h->at<ValueHeader>(block));
  errno = 0;
  if (read_all(file, copy, end, block)) return new Mapping(copy, size, false);
  int e = errno;
  std::free(copy);
  PyErr_Format(PyExc_OSError, "reading a value of %llu bytes that was moved to the disk: %s", static_cast<unsigned long long>(end),
               e ? strerror(e) : "the file ends before it");
  return nullptr;
}

Reading::Reading(Object* o, bool held) : object_(o), value_(value_of(ctx->heap, o)), held_(held) {
  if (!held) return;
  Residence* r = in_run(o) ? residence_of(ctx->heap, o) : nullptr;
  note_ = take_noted(ctx->local, o);  // decoding runs code of the program's: it may end here
  if (r && pin(ctx->heap, r)) {
    ctx->local.hold_list.retag(note_, Entry::View);
    pinned_ = r;
  }
  if (!r || pinned_) return;
  mapping_ = Mapping::open(ctx->heap, o->block);
  value_ = mapping_ ? mapping_->base() : nullptr;
}

PyObject* Reading::view(uint8_t* data, uint64_t size, bool last) {
  if (!last) return new_view(object_, data, size, mapping_);
  if (!held_) ctx->local.hold_list.reserve();
  PyView* v = bare_view(object_, data, size);
  if (!v) return nullptr;
  v->mapping = mapping_;
  v->pinned = pinned_ != nullptr;
  v->note = held_ ? note_ : take_noted(ctx->local, object_, Entry::SmallView);
  object_ = nullptr;
  return reinterpret_cast<PyObject*>(v);
}

Reading::~Reading() {
  if (!object_ || !held_) return;
  if (mapping_) mapping_->drop();
  if (!ctx || epoch != epoch_) return;
  ctx->local.hold_list.retag(note_, Entry::Hold);
  if (pinned_) unpin(pinned_);
  drop_noted(ctx->local, object_, note_);
}

Room room_for_value(uint64_t size, Exempt exempt) {
  const auto bytes = int64_t(Allocator::block_bytes(size));
  const bool of_supervisor = ctx->proc->kind == ProcKind::Supervisor;  // all depends on it: it neither waits nor fails
  const uint32_t mine = epoch;
  Room room = room_now(size, bytes, false);
  if (!room.block) {
    forget_arguments();
    // Before others are moved to the disk; never for a value that would not fit into an empty store.
    if (!of_supervisor && bytes <= ctx->header->store_limit && size > uint64_t(Exempt::Small) && !collect_everywhere(bytes)) return {};
    room = room_now(size, bytes, !of_supervisor);
  }
  if (room.block || epoch != mine) return room;
  if (of_supervisor || size <= uint64_t(exempt)) {
    if (Off off = ctx->local.alloc.alloc(size, room_of(exempt))) return {off, ctx->heap->at<uint8_t>(off), nullptr, size};
  }
  return wait_for_room(size, bytes);
}

void written(const Room& room) {
  if (!room.file) return;
  Heap* h = ctx->heap;
  memcpy(h->at<uint8_t>(room.block), room.file, std::min(room.size, head_bytes(reinterpret_cast<ValueHeader*>(room.file))));
  munmap(room.file, room.size);
  h->header->spilled.fetch_add(int64_t(room.size), memory_order_relaxed);
  h->header->spilled_values.fetch_add(1, memory_order_relaxed);
}

}  // namespace reactor
