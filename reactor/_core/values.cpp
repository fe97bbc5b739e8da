// Storing values: put.
#include "calls.h"
#include "packed.h"
#include "recorder.h"
#include "site.h"

namespace reactor {
namespace {

void record_put(Encoder& e, PyRef* ref) {
  Recorder* rec = ctx->recorder;
  ctx->proc->calls.store(++ctx->operations, memory_order_relaxed);
  if (!rec || !rec->awake() || PyThread_get_thread_ident() != ctx->main_thread) return;
  OpKey key{0, uint32_t(OpKind::Put), 0, nullptr, 0, 0};
  reactor_call_site(&key.code, &key.instruction);
  uint32_t node = rec->follow(key);
  ctx->proc->replayed.store(rec->matched(), memory_order_relaxed);
  if (!node) node = rec->record(key, nullptr, 0, 1, 1);
  if (!node) return;
  if (rec->undescribed(node)) {
    OpNote& note = *rec->note(node);
    note.bytes = ref->object->size;
    note.layout = e.layout(1);
  }
  ref->segment = rec->segment();
  ref->op = rec->depth();
  ref->recorded = node;
}

}  // namespace

PyObject* put_value(PyObject* value, bool recorded) {
  if (!ctx) return stale_error("runtime");
  Encoding e;
  if (!e->item(value)) return nullptr;
  Object* o = new_object(ctx->local, 1);
  uint32_t mine = epoch;
  if (!encode_into(*e.encoder, o)) {
    if (epoch == mine) ctx->local.alloc.free(ctx->heap->off(o));
    return nullptr;
  }
  complete(ctx->local, o, State::Value);
  PyObject* ref = new_ref(o, false);
  if (ref && recorded) record_put(*e.encoder, reinterpret_cast<PyRef*>(ref));
  return ref;
}

}  // namespace reactor
