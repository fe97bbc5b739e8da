// Parts that the whole core uses: the context, errors that name a run, and messages to the supervisor.
#include "process/context.h"
#include "record/recorder.h"
#include <sys/socket.h>

namespace reactor {

Context* ctx = nullptr;
uint32_t epoch = 0;
Hooks hooks;
uint32_t Inside::all = 0;
thread_local uint32_t Inside::own = 0;

Context::~Context() { delete recorder; }

OwnStrand* Context::strand_of_thread() const {
  if (timed->in_loop()) {
    OwnStrand* burst = timed->of_loop();
    return burst ? burst : call->strand;  // none: the actor's constructor
  }
  if (PyThread_get_thread_ident() != main_thread) return nullptr;
  return call == &kNoCall ? driver_strand.get() : call->strand;
}

PyObject* stale_error(const char* what) {
  if (hooks.stale) {
    Owned error = hooks.stale(what);
    if (error) set_error(error.get());
    return nullptr;
  }
  if (!ctx)
    PyErr_Format(PyExc_RuntimeError, "this %s cannot be used: the runtime it belongs to has been shut down and none is running", what);
  else
    PyErr_Format(PyExc_ValueError,
                 "this %s belongs to an earlier init() that has been shut down; its value is lost. Create it again after the new init()",
                 what);
  return nullptr;
}

void set_aborted_error() {
  PyErr_SetString(
      PyExc_RuntimeError,
      ctx && ctx->lost_descriptor
          ? "the program has closed file descriptors of the session, which it had not opened (as os.closerange(3, n) does), and cannot reach the session any more. Close only files that the program has opened. Call shutdown(), then init() for a new session"
          : "the processes of the session have ended: the process that starts the workers was killed or has failed (see stderr), and the workers have ended with it. Call shutdown(), then init() for a new session");
}

PyObject* tag_tuple(TagView tag) {
  PyObject* t = PyTuple_New(1 + tag.depth);
  if (t) PyTuple_SET_ITEM(t, 0, PyLong_FromUnsignedLongLong(tag.root));
  for (uint32_t i = 0; t && i < tag.depth; ++i) PyTuple_SET_ITEM(t, i + 1, PyLong_FromUnsignedLong(tag.tail[i]));
  return t;
}

void hold_back(bool more) {
  if (more ? ctx->holding++ == 0 : --ctx->holding == 0) set_held(ctx->local, more);
}

void give_handle(Object* actor, bool wide) {
  ActorBody body;
  memcpy(&body, actor->body, sizeof body);
  auto& order = ctx->heap->at<Inbox>(body.inbox)->order;
  if (!(order.load(memory_order_relaxed) & kSeveral)) order.fetch_or(kSeveral, memory_order_seq_cst);
  if (wide) ctx->order.note(NoticeKind::Wide, body.actor);
  if (!ctx->receiving_actor) return;
  ctx->order.note(NoticeKind::Holds, ctx->receiving_actor, body.actor);
  was_given();
}

void forget_arguments() {
  Object* last = std::exchange(ctx->last_arguments.object, nullptr);
  if (!last) return;
  drop_noted(ctx->local, last, ctx->last_arguments.note);
}

namespace {

// The kernel has no memory for a message just now; a signal has come before it was sent.
bool passes(int error) { return error == ENOMEM || error == ENOBUFS || error == EINTR; }
constexpr uint64_t kPassesNs = 5000000000;
constexpr timespec kPause{0, 1000000};

}  // namespace

void abort_run() {
  if (!ctx) return;
  ctx->aborted = true;
  ring(ctx->heap, &ctx->proc->bell);
  for (Bell* bell : ctx->waits.seats) ring(ctx->heap, bell);
}

void lost_descriptor() {
  if (!ctx) return;
  if (ctx->is_driver) {
    ctx->lost_descriptor = true;
    return abort_run();
  }
  // The worker ends, and its calls get the error of a worker that has died. Whatever it was doing is settled as after a kill.
  ctx->proc->exit_reason.store(ExitReason::LostDescriptor);
  _exit(1);
}

int send_to_supervisor(const void* data, size_t size, bool wait) {
  const int fd = ctx->heap->control.number();
  if (!ctx->heap->control.is_own()) return lost_descriptor(), EBADF;
  int error = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
  // The supervisor alone makes room there: it takes in what has come, and answers it later.
  while (error == EAGAIN && ctx && ctx->proc == &ctx->heap->procs[1] && hooks.crowded) {
    hooks.crowded.tell();
    error = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
  }
  if ((error == EAGAIN && wait) || passes(error)) {
    Py_BEGIN_ALLOW_THREADS  // the supervisor is busy and its socket full
    for (const uint64_t deadline = now_ns() + kPassesNs;;) {
      error = send(fd, data, size, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT)) < 0 ? errno : 0;
      if (!passes(error) || now_ns() > deadline) break;
      if (error != EINTR) nanosleep(&kPause, nullptr);
    }
    Py_END_ALLOW_THREADS
  }
  return error;
}

bool send_control(Control op, Off off) {
  if (!ctx || ctx->heap->control.number() < 0) return false;
  uint8_t data[9];
  data[0] = uint8_t(op);
  memcpy(data + 1, &off, sizeof off);
  return send_to_supervisor(data, sizeof data) == 0;
}

}  // namespace reactor
