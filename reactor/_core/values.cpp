// Storing values: room in the store, put.
#include "calls.h"
#include "recorder.h"
#include "site.h"

namespace reactor {
namespace {

constexpr uint64_t kFullTimeoutNs = 5000000000;  // how long a value waits for room in the store

}  // namespace

Off alloc_value(uint64_t size) {
  Header* hdr = ctx->header;
  auto bytes = int64_t(Allocator::block_bytes(size));
  uint64_t deadline = 0;
  while (bytes <= hdr->store_limit) {
    if (hdr->store_used.load(memory_order_relaxed) + bytes <= hdr->store_limit) {
      Off off = ctx->local.alloc.alloc(size);
      if (off) return off;
    }
    if (!deadline) deadline = now_ns() + kFullTimeoutNs;
    if (now_ns() > deadline) break;
    timespec t{0, 2000000};
    Unlocked unlocked;
    nanosleep(&t, nullptr);
    if (!unlocked.lock() || PyErr_CheckSignals() != 0) return 0;
  }
  PyObject* e = PyObject_CallFunction(hooks.store_full, "LLL", static_cast<long long>(bytes),
                                      static_cast<long long>(hdr->store_used.load()), static_cast<long long>(hdr->store_limit));
  if (e) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(e)), e);
  Py_XDECREF(e);
  return 0;
}

namespace {

void record_put(Encoder& e, PyRef* ref) {
  Recorder* rec = ctx->recorder;
  ctx->proc->calls.store(++ctx->operations, memory_order_relaxed);
  if (!rec || !rec->awake() || PyThread_get_thread_ident() != ctx->main_thread) return;
  OpKey key{0, uint32_t(OpKind::Put), 0, nullptr, 0, 0};
  reactor_call_site(&key.code, &key.instruction);
  uint32_t node = rec->follow(key);
  ctx->proc->replayed.store(rec->matched(), memory_order_relaxed);
  if (!node) {
    OpNote note{nullptr, 0, 1, 1, ref->object->size, e.layout(1), {}, 0, {}};
    node = rec->record(key, std::move(note));
  }
  if (!node) return;
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
