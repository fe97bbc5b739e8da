// Storing values: put.
#include "calls/calls.h"
#include "calls/failures.h"
#include "record/recorded.h"

namespace reactor {
PyObject* put_value(PyObject* value, Exempt exempt, bool recorded, bool users) {
  if (!ctx || ctx->closing) return stale_error("runtime");
  Inside inside;
  Recorded put;
  if (recorded) {
    ctx->proc->calls.store(++ctx->operations, memory_order_relaxed);
    put.key.method = OpKey::method_and_kind(0, OpKind::Put);
    if (put.begin()) put.look_up();
  }
  const uint32_t mine = epoch;
  const uint64_t tag_hash = users ? ctx->hash_made(Made::Put) : 0;
  ToStore stored(value);
  if (!(value = stored.get())) return nullptr;
  if (epoch != mine) return stale_error("runtime");  // pickling it has ended the run
  Object* o = nullptr;
  uint32_t hold = kNoEntry;  // noted before the value is there: who is killed from here on leaves nothing behind
  if (uint32_t room = put.room()) {
    Fresh fresh(new_object(ctx->local, 1));
    hold = fresh.note = ctx->local.hold_list.add(ctx->heap->off(fresh.object), Entry::Hold);
    if (encode_in_place(value, fresh.object, room)) o = fresh.keep();
  }
  if (!o) {
    Encoding e;
    if (!e->item(value)) return nullptr;
    if (epoch != mine) return stale_error("runtime");
    Fresh fresh(new_object(ctx->local, 1, kValueObject, room_of(exempt)));
    hold = fresh.note = ctx->local.hold_list.add(ctx->heap->off(fresh.object), Entry::Hold);
    if (!encode_into(*e.encoder, fresh.object, true, exempt)) return nullptr;
    o = fresh.keep();
    put.set_room(*e.encoder);
    if (OpNote* note = put.add(nullptr, 0, 1, 1, *e.encoder)) {
      note->bytes = o->size;
      note->layout = e->layout(1);
    }
  }
  if (tag_hash) set_tag_hash(o, tag_hash);
  complete(ctx->local, o, stored.state());
  PyObject* ref = new_ref(o, false, hold);
  put.mark(ref);
  return ref;
}

PyObject* put_given(Owned value) {
  if (!ctx || ctx->closing) return stale_error("runtime");
  Inside inside;
  const uint32_t mine = epoch;
  ToStore stored(value.get());
  Encoding e;
  if (!stored.get() || !e->given(stored.get())) return nullptr;
  if (epoch != mine) return stale_error("runtime");  // pickling it has ended the run
  Fresh fresh(new_object(ctx->local, 1));
  const uint32_t hold = fresh.note = ctx->local.hold_list.add(ctx->heap->off(fresh.object), Entry::Hold);
  if (!encode_into(*e.encoder, fresh.object)) return nullptr;
  Object* o = fresh.keep();
  complete(ctx->local, o, stored.state());
  return new_ref(o, false, hold);
}

}  // namespace reactor
