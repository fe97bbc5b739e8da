// Writes the parts that an encoder has collected to their place.
#include "codec/codec.h"
#include "store/array_memory.h"
#include "memory/spill_mover.h"
#include "store/spill.h"

namespace reactor {
namespace {

uint64_t alignment(const Py_buffer& b) { return uint64_t(b.len) >= kOwnPages ? memory_page() : kLine; }

}  // namespace

std::string Encoder::layout(uint32_t items) const { return layout_of(begin_, p_, items); }

uint64_t Encoder::size() const {
  uint64_t n = ValueHeader::size_for(deps_.size(), refs_.size() + (shown_in_ != nullptr), buffers_.size()) + stream();
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (is_shown(i)) continue;
    uint64_t a = alignment(buffers_[i]);
    n = align_up(align_up(n, a) + uint64_t(buffers_[i].len), a);
  }
  return n;
}

void Encoder::write_head(uint8_t* to) {
  ctx->values_written += items_;
  auto* h = reinterpret_cast<ValueHeader*>(to);
  h->set(uint32_t(stream()), uint32_t(deps_.size()), uint32_t(refs_.size()) + (shown_in_ != nullptr), uint32_t(buffers_.size()));
  Off* refs = value_refs(h);
  for (Off off : deps_) *refs++ = off;
  for (Off off : refs_) *refs++ = off;
  if (shown_in_) *refs = ctx->heap->off(shown_in_);
  if (stream()) memcpy(value_stream(h), begin_, stream());
}

void Encoder::take_holds() {
  for (Off off : deps_) take_hold(ctx->heap->at<Object>(off));
  for (Off off : refs_) take_hold(ctx->heap->at<Object>(off));
  if (shown_in_) take_hold(shown_in_);
}

bool Encoder::is(ValueHeader* v) const {
  if (v->stream() != stream() || v->all_refs() || !deps_.empty() || !refs_.empty() || v->buffers() != buffers_.size()) return false;
  if (memcmp(value_stream(v), begin_, stream()) != 0) return false;
  const BufferEntry* entry = value_buffers(v);
  for (auto& b : buffers_)
    if (entry++->size != uint64_t(b.len)) return false;
  entry = value_buffers(v);
  for (auto& b : buffers_)
    if (memcmp(reinterpret_cast<uint8_t*>(v) + entry++->at, b.buf, size_t(b.len)) != 0) return false;
  return true;
}

Off Encoder::write_before_array() {
  if (!owner_ || buffers_.size() != 1) return 0;
  auto* data = static_cast<uint8_t*>(buffers_[0].buf);
  auto bytes = uint64_t(buffers_[0].len);
  Off run = run_of(owner_);
  if (!run) return expect_arrays_like(owner_), 0;
  uint64_t head = size() - align_up(bytes, alignment(buffers_[0])), all = run_bytes(run);
  auto* to = ctx->heap->at<uint8_t>(run);
  if (data < to + kArrayHead || data + bytes > to + all || uint64_t(data - to) % memory_page()) return 0;
  if (head > kArrayHead || bytes < all / 2 || !fits(ctx->heap, int64_t(all))) return 0;
  write_head(to);
  *value_buffers(reinterpret_cast<ValueHeader*>(to)) = {uint64_t(data - to), bytes};
  give_run_away(owner_);
  return run;
}

bool Encoder::write(uint8_t* to) {
  write_head(to);
  auto* h = reinterpret_cast<ValueHeader*>(to);
  uint64_t at = uint64_t(value_stream(h) - to) + stream();
  BufferEntry* entry = value_buffers(h);
  uint64_t total = 0;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const Py_buffer& b = buffers_[i];
    if (is_shown(i)) {
      *entry++ = {BufferEntry::kShownBuffer | shown_at_, uint64_t(b.len)};
      continue;
    }
    uint64_t a = alignment(b);
    at = align_up(at, a);
    *entry++ = {at, uint64_t(b.len)};
    at = align_up(at + uint64_t(b.len), a);
    total += uint64_t(b.len);
  }
  entry = value_buffers(h);
  auto copy = [&] {
    for (size_t i = 0; i < buffers_.size(); ++i)
      if (!is_shown(i)) memcpy(to + entry[i].at, buffers_[i].buf, size_t(buffers_[i].len));
  };
  uint64_t started = ctx->timeline.tracing && total >= kOwnPages ? now_ns() : 0;
  if (total < (1 << 20)) {
    copy();
  } else {
    Unlocked unlocked;
    copy();
    if (!unlocked.lock()) return false;
  }
  ctx->timeline.add(started, Span::Copy, ctx->call->actor, total);
  return true;
}

namespace {

// The encoded value is in the object: in its body, or in a block that becomes its own. `written`: by it, whose refs are held from now on; that comes
// last, because the size tells the supervisor that they are. `away`: in the spill file.
void attach(Object* o, Off block, uint64_t n, uint32_t note, Encoder* written = nullptr, bool away = false) {
  if (block) {
    ctx->local.alloc.publish(block);
    ctx->local.alloc.count_value(block, 1);
    if (n > kSlabMax) {
      uint32_t page = ctx->heap->page_of(block);
      if (away) drop_memory(ctx->heap, page, ctx->heap->page_run[page].load(memory_order_relaxed));
      settle(ctx->heap, &ctx->heap->residence[page], away);
    }
    o->block = block;
    ctx->local.hold_list.clear(note);
  }
  if (written) written->take_holds();
  std::atomic_ref(o->size).store(n, memory_order_release);
}

}  // namespace

bool encode_in_place(PyObject* value, Object* o, uint32_t room) {
  Off block = 0;
  uint32_t note = kNoEntry;
  if (room > sizeof o->body) {
    if (!fits(ctx->heap, int64_t(Allocator::block_bytes(room)))) return false;
    block = ctx->local.alloc.alloc(room);
    if (!block) return false;
    note = ctx->local.hold_list.add(block, Entry::Block);
  }
  Encoding e;
  e->begin_in_place(block ? ctx->heap->at<uint8_t>(block) : o->body, block ? room : sizeof o->body, 0);
  e->item(value);
  uint64_t n = e->end_in_place();
  // A small value in a large block would take the store's room for as long as it is kept.
  if (!n || (block && (n <= sizeof o->body || Allocator::block_bytes(n) < Allocator::block_bytes(room)))) {
    ctx->local.hold_list.clear(note);
    if (block) ctx->local.alloc.free(block);
    return false;
  }
  ctx->proc->count_bytes(n, 0);
  attach(o, block, n, note);
  return true;
}

bool encode_into(Encoder& e, Object* o, bool wide, Exempt exempt) {
  uint64_t n = e.size();
  if (wide && ctx->logical)
    for (Off off : e.refs())
      if (auto* r = ctx->heap->at<Object>(off); kind_of(r) == kActorObject) give_handle(r, true);
  ctx->proc->count_bytes(n, e.pickled_bytes());
  if (n <= sizeof o->body) {
    if (!e.write(o->body)) return false;
    attach(o, 0, n, kNoEntry, &e);
    return true;
  }
  if (Off run = e.write_before_array()) {
    attach(o, run, n, ctx->local.hold_list.add(run, Entry::Block), &e);
    return true;
  }
  Room room = room_for_value(n, exempt);
  if (!room.block) return false;
  uint32_t note = ctx->local.hold_list.add(room.block, Entry::Block);
  if (!e.write(room.at)) return false;
  written(room);
  attach(o, room.block, n, note, &e, room.file != nullptr);
  return true;
}

}  // namespace reactor
