#include "worker/turns.h"
#include <fcntl.h>
#include "worker/packed.h"

namespace reactor {
namespace {

std::vector<TurnThread*> threads;  // all; never freed
thread_local TurnThread* turn_thread __attribute__((tls_model("initial-exec"))) = nullptr;

void trace_opcodes(PyObject* frame, PyObject* on) {
  if (PyObject_SetAttrString(frame, "f_trace_opcodes", on) != 0) PyErr_Clear();
}

// The thread goes on without stops. Python 3.12 calls the trace function of a thread that has none any more, at each bytecode of a frame that is
// marked, as long as another thread has one: the mark has to go, too.
void go_on(TurnThread* h) {
  h->gated = false;
  if (Owned frame = std::exchange(h->marked, Owned())) trace_opcodes(frame.get(), Py_False);
}

int gate(PyObject*, PyFrameObject*, int, PyObject*) {
  PyEval_SetTrace(nullptr, nullptr);
  if (turn_thread && turn_thread->gated) {
    go_on(turn_thread);
    come_back(turn_thread);
  }
  return 0;
}

}  // namespace

TurnThread::TurnThread()
    : ident(PyThread_get_thread_ident()), tid(int(syscall(SYS_gettid))), clock(CLOCK_MONOTONIC), state(PyThreadState_Get()) {
  pthread_getcpuclockid(pthread_self(), &clock);  // the other clock never stands still: then nobody is passed over
}
TurnThread* own_turn_thread() { return turn_thread; }
TurnThread* make_turn_thread() {  // its thread lives as long as the process
  threads.push_back(turn_thread = new TurnThread);
  return turn_thread;
}

Started* children_of(uint64_t uid) {
  if (ctx->call->uid == uid) return &ctx->children;
  for (TurnThread* h : threads)
    if (h->suspended.running->uid == uid) return &h->suspended.children;
  return nullptr;
}

Execution put_away() {
  Packed& p = packed();
  Execution e{ctx->call, std::move(ctx->children), ctx->mark, {}, p.running, p.call, p.in_method()};
  e.here.assign(ctx->here);
  e.issued = ctx->issued;
  e.made = ctx->made;
  e.level = ctx->level;
  e.receiving_actor = ctx->receiving_actor;
  if (ctx->recorder) e.caller = ctx->recorder->exchange({});
  Execution none;
  none.mark = ctx->slot;
  take_back(std::move(none));
  return e;
}

void take_back(Execution&& e) {
  ctx->call = e.running;
  ctx->children = std::move(e.children);
  ctx->caller = e.call ? e.call->actor : kDriverParty;
  ctx->mark = e.mark;
  ctx->here.assign(e.here);
  ctx->hash_of_here = 0;
  ctx->issued = e.issued;
  ctx->made = e.made;
  ctx->level = e.level;
  ctx->receiving_actor = e.receiving_actor;
  packed().running = e.packed_actor;
  packed().call = e.call;
  packed().set_in_method(e.in_method);
  if (ctx->recorder) ctx->recorder->exchange(e.caller);
}

void sleep_on(TurnThread* h, uint32_t seen) {
  Py_BEGIN_ALLOW_THREADS
  while (h->word.load(memory_order_acquire) == seen) futex_wait(&h->word, seen, UINT64_MAX);
  Py_END_ALLOW_THREADS
}

void Turns::begin(TurnThread* h) {
  holder_.store(h, memory_order_release);
  ctx->main_thread = h ? h->ident : 0;
  count_.store(count_.load(memory_order_relaxed) + 1, memory_order_relaxed);
}

void Turns::take(TurnThread* h) {
  if (!holder()) return begin(h);
  asked_.push_back(h);
  while (holder() != h) {
    uint32_t seen = h->word.load(memory_order_acquire);
    sleep_on(h, seen);
  }
}

// The word is raised with the GIL held, and read with it before the sleep: no turn is missed.
void Turns::give() {
  if (asked_.empty()) return begin(nullptr);
  TurnThread* next = asked_.front();
  asked_.pop_front();
  begin(next);
  next->word.fetch_add(1, memory_order_release);
  futex_wake(&next->word);
}

// A trace function set from outside is the one means to have a thread stop between two bytecodes. A thread that is being
// traced by a debugger is left alone.
void stop_at_next_bytecode(TurnThread* h) {
  if (h->gated || h->state->c_tracefunc) return;
  h->gated = true;
  // Every bytecode, not every line: what follows a blocking call may be in its line.
  h->marked.reset(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(h->state)));
  if (h->marked) trace_opcodes(h->marked.get(), Py_True);
#if PY_VERSION_HEX >= 0x030C0000
  PyEval_SetTraceAllThreads(gate, nullptr);
#else
  _PyEval_SetTrace(h->state, gate, nullptr);
#endif
}

void stop_no_more(TurnThread* h) {
  if (!h->gated) return;
  SavedError error;
  if (h->state->c_tracefunc == gate) PyEval_SetTrace(nullptr, nullptr);
  go_on(h);
}

namespace {

// The text of a file of the thread in /proc; empty if it cannot be read.
template <size_t N>
void read_of_thread(const TurnThread* h, const char* name, char (&text)[N]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", h->tid, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, N - 1);
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = 0;
}

}  // namespace

uint64_t time_run(const TurnThread* h) {
  timespec t{};
  clock_gettime(h->clock, &t);
  return uint64_t(t.tv_sec) * 1000000000ull + uint64_t(t.tv_nsec);
}

bool sleeps(const TurnThread* h) {
  char text[512];
  read_of_thread(h, "stat", text);
  const char* end = strrchr(text, ')');  // of the thread's name
  return end && end[1] && end[2] == 'S';
}

bool may_be_a_barrier(const TurnThread* h) {
  char text[256];
  read_of_thread(h, "syscall", text);
  char* rest = text;
  unsigned long call = strtoul(rest, &rest, 10);
  strtoul(rest, &rest, 16);  // the address
  return call == SYS_futex && (strtoul(rest, nullptr, 16) & FUTEX_CMD_MASK) == FUTEX_WAIT;
}

}  // namespace reactor
