// The caller's side, as the rest of the core uses it.
#pragma once
#include "codec/codec.h"
#include "types/refs.h"
#include <utility>

namespace reactor {

inline ValueHeader* message_value(Heap* h, Message* m) {
  return reinterpret_cast<ValueHeader*>(m->args_object ? value_of(h, h->at<Object>(m->args_object)) : m->value());
}
// Gives back what a message held, after it was run or failed; its results are another matter. Each hold leaves the message before
// it is dropped [drop_hold releases], so the supervisor can go on with the message of a process that was killed in between.
inline void release_message(Local& l, Message* m) {
  auto drop = [&](Off& held, Off gone) {
    if (Off off = held; off && off != kLetGo) {
      drop_noted(l, l.heap->at<Object>(off), [&] { held = gone; });
    }
  };
  if (m->args_object) {
    drop(m->args_object, kLetGo);
  } else {
    auto* v = reinterpret_cast<ValueHeader*>(m->value());
    for (uint32_t i = 0; i < v->all_refs(); ++i) drop(value_refs(v)[i], 0);
  }
  drop(m->function, 0);
}
// An object that nobody has seen; its memory is given back unless it is kept.
struct Fresh {
  explicit Fresh(Object* o) : object(o) {}
  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;
  ~Fresh() {
    if (!object || epoch != epoch_) return;
    ctx->local.hold_list.clear(note);
    ctx->local.alloc.free(ctx->heap->off(object));
  }
  Object* keep() { return std::exchange(object, nullptr); }
  Object* object;
  uint32_t note = kNoEntry;  // the hold list's entry of it, if it has one; whoever keeps it takes that, too
  const uint32_t epoch_ = epoch;
};
// recorded: as an operation of the user's. users: the user gets the ref, which is named by the tag (objects/tag_hash.h).
PyObject* put_value(PyObject* value, Exempt exempt, bool recorded = false, bool users = false);
PyObject* put_given(Owned value);  // the caller is through with it: an array that nobody else has is stored where it lies
int wait_objects(PyRef** refs, Py_ssize_t n, Py_ssize_t need, bool fail_fast, uint64_t deadline, bool looked = false);
// Timed order: the strand waits for `count` of the refs, or (`in_list_order`) for all, or the first that failed. `timeout` in ns of logical time, UINT64_MAX
// for none. `there`: which of them are done then. 0, or -1 with a Python error.
int wait_in_time(OwnStrand& strand, PyRef** refs, Py_ssize_t n, Py_ssize_t count, bool in_list_order, uint64_t timeout,
                 std::vector<bool>& there);
bool look_at_objects(PyRef** refs, Py_ssize_t n, uint64_t deadline, bool& looked, bool& ended);
void kick_queues();
void kick_pool(uint32_t demand);
void task_ready(Local& l, Off task);
void queue_task(Off task);  // no argument of it is missing
PyObject* call_method(PyLink* link, const CallSpec& spec, MessageKind kind, uint32_t index, PyObject* const* args, Py_ssize_t nargs,
                      PyObject* kwnames, uint32_t retries = 0, PyRef* options = nullptr);
PyObject* call_function(PyFunction* f, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
void close_link(PyLink* link);

}  // namespace reactor
