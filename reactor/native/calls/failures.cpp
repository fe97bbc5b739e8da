#include "calls/failures.h"
#include "codec/codec.h"
#include <utility>

namespace reactor {

PyObject* failure_value(Object* o) {
  State s = o->state.load(memory_order_acquire);
  if (s == State::Error) return decode_object(o);
  Off reason = 0;
  if (s == State::Died) memcpy(&reason, o->body, sizeof reason);
  return reason ? decode_object(ctx->heap->at<Object>(reason)) : Py_NewRef(Py_None);
}

void ToStore::look() {
  if (!hooks.as_failure) return;
  Owned form = hooks.as_failure(value_);
  if (form.get() == Py_None) return;
  value_ = form.get();
  form_ = std::move(form);
}

void keep_failure(Local& l, Object* o) {
  mark_seen(o);
  if (ctx->failures.empty()) Py_AddPendingCall([](void*) { return tell_failures(), 0; }, nullptr);
  ctx->failures.emplace_back(o, take_noted(l, o));
}

void tell_failures_now() {
  SavedError error;
  const uint32_t mine = epoch;
  for (auto [o, note] : std::exchange(ctx->failures, {})) {
    if (hooks.lost) hooks.lost.tell(o->state.load(memory_order_relaxed), Owned(failure_value(o)));
    if (epoch != mine) break;  // the hook has ended the run
    drop_noted(ctx->local, o, note);
  }
}

}  // namespace reactor
