// Storing values: put.
#include "calls.h"
#include "packed.h"
#include "recorder.h"
#include "site.h"

namespace reactor {
namespace {

// A put's place in the recording.
struct Recorded {
  OpKey key{0, uint32_t(OpKind::Put), 0, nullptr, 0, 0};
  Recorder* rec = nullptr;  // null: it is not recorded
  uint32_t node = 0, position = 0, segment = 0, depth = 0;

  void look_up() {
    ctx->proc->calls.store(++ctx->operations, memory_order_relaxed);
    if (!ctx->recorder || !ctx->recorder->awake() || PyThread_get_thread_ident() != ctx->main_thread) return;
    rec = ctx->recorder;
    reactor_call_site(&key.code, &key.instruction);
    follow();
  }
  void follow() {
    node = rec->follow(key);
    position = rec->position();
    if (!node) return;
    ctx->proc->replayed.store(rec->matched(), memory_order_relaxed);
    locate();
  }
  void locate() {
    segment = rec->segment();
    depth = rec->depth();
  }
  uint32_t room() const { return node && rec->note(node) ? rec->room(node) : 0; }
  // Its value was encoded: adds the put to the recording if it is new, and what is shown of it.
  void record(Encoder& e, Object* o) {
    if (!rec) return;
    if (!node && rec->position() != position) follow();  // pickling the value has made calls
    if (!node) {
      node = rec->record(key, nullptr, 0, 1, 1);
      if (!node) return;
      locate();
    }
    rec->set_room(node, room_for(e));
    if (!rec->undescribed(node)) return;
    OpNote& note = *rec->note(node);
    note.bytes = o->size;
    note.layout = e.layout(1);
  }
};

}  // namespace

PyObject* put_value(PyObject* value, bool recorded) {
  if (!ctx) return stale_error("runtime");
  Recorded put;
  if (recorded) put.look_up();
  Object* o = nullptr;
  if (uint32_t room = put.room()) {
    o = new_object(ctx->local, 1);
    if (!place_into(value, o, room)) {
      ctx->local.alloc.free(ctx->heap->off(o));
      o = nullptr;
    }
  }
  if (!o) {
    const uint32_t mine = epoch;
    Encoding e;
    if (!e->item(value)) return nullptr;
    if (epoch != mine) return stale_error("runtime");  // pickling it has ended the run
    o = new_object(ctx->local, 1);
    if (!encode_into(*e.encoder, o)) {
      if (epoch == mine) ctx->local.alloc.free(ctx->heap->off(o));
      return nullptr;
    }
    put.record(*e.encoder, o);
  }
  complete(ctx->local, o, State::Value);
  PyObject* ref = new_ref(o, false);
  if (ref && put.node) {
    auto* r = reinterpret_cast<PyRef*>(ref);
    r->segment = put.segment;
    r->op = put.depth;
    r->recorded = put.node;
  }
  return ref;
}

}  // namespace reactor
