// Failures that nobody asked for. The result of a call that raised, and that nobody has seen (Object::kind, kSeen) when its last hold goes,
// is not destroyed at once: it is kept until Python code may run, told to the hook `lost`, and destroyed then.
//
// Seen is a result that get() has raised, or would have with the others of its list, that wait() has given as ready, or that a call has
// been given as its argument.
#pragma once
#include "process/context.h"
#include "python/python.h"

namespace reactor {

void keep_failure(Local& l, Object* o);  // Local::failure_unseen
void tell_failures_now();
inline void tell_failures() {  // where the core has nothing half done; keeps the current Python error
  if (ctx && !ctx->failures.empty()) tell_failures_now();
}
// The form in which a value is stored, and its state. The layer above may take an exception that was returned, yielded or put as a failure. It is
// then stored as if it had been raised.
class ToStore {
 public:
  explicit ToStore(PyObject* value) : value_(value) {
    if (PyExceptionInstance_Check(value)) look();
  }
  PyObject* get() const { return value_; }  // null: Python error set
  State state() const { return form_ ? State::Error : State::Value; }

 private:
  void look();
  PyObject* value_;
  Owned form_;
};
// The argument of the error hook for a failed call: the value that is stored for it, or the reason of a death. Null: Python error set.
PyObject* failure_value(Object* o);

}  // namespace reactor
