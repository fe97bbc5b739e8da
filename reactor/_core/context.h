// The process's connection to a run: one heap, one process entry, the Python hooks. Everything here is guarded by the GIL.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include "channel.h"
#include "recorder.h"
#include "tasks.h"

namespace reactor {

constexpr uint64_t kMemoryPage = 4096;
constexpr uint64_t kOwnPages = 64 * 1024;  // buffers from this size on lie on memory pages of their own

// Control messages to the supervisor that the core itself sends; others are pickled by Python (first byte 0x80).
enum class Control : uint8_t { Release = 1, Drain = 2, Spawn = 3, Resources = 4 };

struct Hooks {
  PyObject* dumps = nullptr;      // value -> (bytes, [buffer])
  PyObject* loads = nullptr;      // (bytes, [buffer]) -> value
  PyObject* failure = nullptr;    // (exception, callable or None, it is an argument's) -> value stored as the error
  PyObject* error = nullptr;      // (state, value, ref) -> exception to raise in get
  PyObject* create = nullptr;     // (actor number, args, kwargs) -> ([bound methods], calls are handed on: deferred)
  PyObject* create_failed = nullptr;  // (actor number, error value or None, ExitReason) -> reason of the actor's death
  PyObject* function = nullptr;   // (ref) -> callable
  PyObject* exit_kind = nullptr;  // (exception) -> ExitReason or 0: goes on as an error
  PyObject* store_full = nullptr; // (bytes wanted, bytes used, limit) -> exception to raise
  PyObject* deferred = nullptr;   // (actor, method index, callable, args, kwargs, Completion) for threaded and async actors
  PyObject* switched = nullptr;   // (actor left, actor entered): inline placement; 0 is no actor, entered -1: the left one is gone
};

// One span of the timeline: a call that ran here, or a wait of this process.
constexpr size_t kMaxEvents = 1 << 20;  // of one process; later ones are dropped
struct Event {
  uint64_t start_ns, end_ns;
  PyObject* name;      // owned; null: a wait
  uint32_t actor;
  bool replayed;
};

// The channel to one actor, shared by all handles of it in this process: its calls have one order.
struct Outlet {
  Sender sender;
  uint32_t note;   // journal entry
  int links = 0;
};

struct ActorEntry {
  PyObject* methods = nullptr;    // list of callables
  bool deferred = false;
};

struct Context {
  Context(Heap* h, uint32_t slot, bool journaled, bool inline_mode)
      : heap(h), header(h->header), local(h, slot, journaled), spin(h->header), slot(slot), proc(&h->procs[slot]), inline_mode(inline_mode) {}
  // A thread that waits keeps the context (and so the mapping) alive through a shutdown by another thread.
  static void release(Context* c) {
    if (--c->users > 0) return;
    if (--c->heap->users == 0) delete c->heap;
    delete c;
  }
  ~Context() {
    delete recorder;
    for (auto& e : events) Py_XDECREF(e.name);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  int users = 1;
  Heap* heap;
  Header* header;
  Local local;
  Spin spin;
  uint32_t slot;
  Proc* proc;
  bool inline_mode;
  bool aborted = false;                   // the zygote died, and with it every worker
  std::unordered_map<uint32_t, Off> inboxes;  // inline placement: actor -> inbox
  bool serving = false;
  int control = -1;                       // datagram socket to the supervisor
  unsigned long main_thread = 0;          // sleeps on proc->bell; other threads have bells of their own
  std::vector<Off> spare_bells;
  std::vector<Off> spare_groups;
  std::unordered_map<Off, Outlet> outlets;          // by inbox
  std::unordered_map<uint32_t, TaskQueue*> queues;  // by demand
  std::unordered_map<uint32_t, ActorEntry> actors;
  std::unordered_set<uint8_t*> shadowed;  // large buffers that have a copy-on-write view
  PyObject* functions = nullptr;          // uid -> callable
  // what runs now, for cancel and the runtime context
  Recorder* recorder = nullptr;           // null: not wanted
  bool tracing = false;
  std::vector<Event> events;
  PyObject* running_callable = nullptr;
  std::vector<std::pair<Off, uint64_t>> children;  // (result, uid) of tasks that the running task started
  Off running = 0;
  uint64_t running_uid = 0;
  uint32_t running_actor = 0;
  std::atomic<uint32_t> deferred_open{0};  // calls handed to threads or an event loop and not finished
  uint64_t operations = 0;                // issued by this process
};

extern Context* ctx;     // null before init and after shutdown
extern uint32_t epoch;   // grows with every context; a ref of another epoch is stale
extern Hooks hooks;

// The GIL is given up for a while. Another thread may end the run meanwhile: the context stays until the end of this scope
// all the same, and lock() tells, with a Python error set, that it must not be used for anything new.
class Unlocked {
 public:
  Unlocked() : context_(ctx), epoch_(epoch) {
    ++context_->users;
    saved_ = PyEval_SaveThread();
  }
  bool lock() {
    PyEval_RestoreThread(saved_);
    saved_ = nullptr;
    Context::release(context_);
    if (epoch == epoch_) return true;
    PyErr_SetString(PyExc_RuntimeError, "the runtime was shut down while this thread was using it");
    return false;
  }
  ~Unlocked() {
    if (saved_) lock();
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  Context* context_;
  uint32_t epoch_;
  PyThreadState* saved_;
};

void send_control(Control op, Off off);
void kick_pool(uint32_t demand);
void task_ready(Local& l, Off task);

// A value's bytes are written by the caller after this. Waits for room; null with a Python error set when there is none.
Off alloc_value(uint64_t size);

// Sleeps until `group` is through. For callers that hold the GIL. Returns 0, ETIMEDOUT or -1 (Python error set).
int sleep_on_group(WaitGroup* g, uint64_t deadline);

PyObject* stale_error(const char* what);
void set_aborted_error();

}  // namespace reactor
