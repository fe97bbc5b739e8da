#include "worker/leaving.h"
#include "calls/calls.h"
#include "worker/run.h"
#include "record/recordings.h"

namespace reactor {

void leave(ExitReason reason) {
  ctx->proc->exit_reason.store(reason, memory_order_release);
  leave_recording();
  hooks.leave(reason);  // flushes and does not return
  _exit(1);
}

// The status with which Python would end for the current error; shows it, if it is not SystemExit.
static int status_of_error() {
  if (!PyErr_ExceptionMatches(PyExc_SystemExit)) return PyErr_Print(), 1;
  const Owned error = take_error();
  const Owned code(PyObject_GetAttrString(error.get(), "code"));
  if (!code || code.get() == Py_None) return 0;
  return PyLong_Check(code.get()) ? int(PyLong_AsLong(code.get()) & 0xff) : 1;
}

void end_forked_child() {
  int status = 0;
  if (PyErr_Occurred()) {
    status = status_of_error();
  } else {
    PySys_WriteStderr(
        "Process %d was forked inside of a task or a method, and has returned from it. The call goes on in the process that has forked; this one ends "
        "here. End such a process by os._exit() before it returns.\n",
        int(getpid()));
  }
  hooks.flush.tell();
  _exit(status);
}

Off note_death(uint32_t actor, Off result, ExitReason why) {
  Owned reason = hooks.create_failed(actor, result ? Owned(decode_object(ctx->heap->at<Object>(result))) : Owned::share(Py_None), why);
  Owned ref(reason ? put_value(reason.get(), Exempt::All) : nullptr);
  reason.reset();
  if (!ref) {
    PyErr_Clear();
    return 0;
  }
  auto* r = reinterpret_cast<PyRef*>(ref.get())->object;
  take_hold(r);
  Off off = ctx->heap->off(r);
  auto it = ctx->inboxes.find(actor);
  Inbox* in = it != ctx->inboxes.end() ? ctx->heap->at<Inbox>(it->second) : inbox();
  if (!in) return off;
  Off before = 0;
  if (!in->reason.compare_exchange_strong(before, off, memory_order_acq_rel)) {  // it was killed before
    drop_hold(ctx->local, r);
    off = before;
  }
  ctx->placement->actor_died(in);
  return off;
}

void forget_instance(uint32_t actor) {
  const auto entry = ctx->actors.extract(actor);  // the instance ends when the list of actors does not have it any more
  if (entry) ctx->notes.actors[entry.mapped().noted].gone = true;
}

bool restarted(uint32_t actor, ExitReason why, Off& reason) {
  Owned reply = hooks.restart ? hooks.restart(actor, why) : Owned();
  Owned ref(reply && reply.get() != Py_None ? put_value(reply.get(), Exempt::All) : nullptr);
  reply.reset();
  if (PyErr_Occurred()) hooks.restart.complain();
  if (!ref) return false;
  reason = ctx->heap->off(reinterpret_cast<PyRef*>(ref.get())->object);
  take_hold(ctx->heap->at<Object>(reason));
  return true;
}

}  // namespace reactor
