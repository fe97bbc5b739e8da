// The process's connection to a run: one heap, one process entry. Everything here is guarded by the GIL.
#pragma once
#include <cxxabi.h>
#include <unistd.h>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include "channels/channel.h"
#include "python/hooks.h"
#include "order/order.h"
#include "channels/lent_cpus.h"
#include "process/notes.h"
#include "process/placement.h"
#include "process/timeline.h"
#include "memory/by_number.h"
#include "timed/timed.h"

namespace reactor {

constexpr uint64_t kOwnPages = 64ull * 1024;  // buffers from this size on lie on memory pages of their own

// Control messages to the supervisor that the core itself sends; others are pickled by Python (first byte 0x80).
enum class Control : uint8_t { Release = 1, Drain = 2, Spawn = 3, Resources = 4, Refuse = 5, Spilled = 6, Collect = 7 };

// The channel to one actor, shared by all handles of it in this process: its calls have one order.
struct Outlet {
  Sender sender;
  uint32_t note;   // entry in the hold list
  int links = 0;
};

class Recorder;
class ActorStates;

struct ActorEntry {
  Owned methods;                  // list of callables
  bool deferred = false;
  MethodNote* notes = nullptr;    // one per method
  size_t noted = 0;               // in Notes::actors
  uint64_t digest = 0;            // of what has passed it so far; begins with what names it in every run
  bool several = false;           // it runs several calls at once, see MessageRun::digest
  std::vector<int32_t> lanes;     // of each method; empty: all calls keep their caller's order (serve.cpp, next_message)
};

// A function that this process has loaded to run it, or what calls ask for around their methods.
struct LoadedFunction {
  Owned callable;
  Owned ref;                      // of its code
  MethodNote* note;               // of all functions of its name
  bool used;                      // since the last look for those that nobody calls any more
};

struct LoadedFunctions {
  std::unordered_map<uint64_t, LoadedFunction> all;  // by uid
  size_t loaded = 0;              // since the last look for those that nobody calls any more
};

// For the threads of this process that wait.
struct Waits {
  std::vector<Bell*> seats;       // bells on which threads other than the main one wait
  std::vector<Off> spare_bells;
  std::vector<Off> spare_groups;
  std::vector<WaitNode*> lingering;  // of waits that are over: a completer had claimed them and was not through with them yet
};

// In the process that changes resources: their places by name, the free places, and how many places these two cover.
struct ResourcePlaces {
  std::unordered_map<std::string, uint32_t> by_name;
  std::vector<uint32_t> free;
  uint32_t known = 0;
};

// Large arguments of the last call since the last wait, held, if no refs are among them: the same given by value to several
// actors are stored once.
struct LastArguments {
  Object* object = nullptr;
  uint32_t note = kNoEntry;       // entry in the hold list
  bool repeat = false;            // they were those of the call before: the next ones may be shared from the start
};

// The window over all this process's streams (stream.h).
struct Streams {
  uint32_t window = 0;            // values that may be unread at once, 0: any number
  std::vector<Owned> tickets;     // of those that perhaps are
  uint32_t making = 0;            // streams that have been let on to make one more
};

struct Context {
  Context(Heap* h, uint32_t slot, bool with_hold_list, std::unique_ptr<Placement> placement)
      : heap(h), header(h->header), local(h, slot, with_hold_list), order(local), spin(h->header), slot(slot), proc(&h->procs[slot]),
        placement(std::move(placement)), mark(slot) {}
  // A thread that waits keeps the context (and so the mapping) alive through a shutdown by another thread.
  static void release(Context* c) {
    if (--c->users > 0) return;
    if (--c->heap->users == 0) delete c->heap;
    delete c;
  }
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  int users = 1;
  Heap* heap;
  Header* header;
  Local local;
  Order order;
  Spin spin;
  uint32_t slot;
  Proc* proc;
  std::unique_ptr<Placement> placement;   // where calls run, and all that depends on it
  const bool journaling = header->journaling;
  const bool logical = placement->sends_calls() && (header->ordering != Ordering::Arrival || journaling);
  const bool tagged = logical || journaling || !placement->sends_calls();
  std::unique_ptr<Timed> timed;           // null: the order is another
  std::unique_ptr<OwnStrand> driver_strand;
  // The strand whose operation the calling thread does; null: it is none.
  OwnStrand* strand() const { return timed ? strand_of_thread() : nullptr; }
  OwnStrand* strand_of_thread() const;
  uint32_t level = 0;                     // how many calls run here, one inside of the other; the driver's own are made at 0
  Tag here;                               // of the running call; the driver has none
  uint64_t hash_of_here = 0;              // 0: not known yet
  uint64_t issued = 0;                    // calls that the running call, or the driver, has made
  uint64_t made = 0;                      // values that it has put, and actors
  const bool is_driver = proc->kind == ProcKind::Driver;
  // The hash of the running call's tag.
  uint64_t hash_here() { return hash_of_here ? hash_of_here : hash_of_here = hash_of(here); }
  // For Object::tag_hash of what the running call, or the driver, makes next by another operation than a call; 0: that has no tag, as in a thread of a
  // worker that outlives its call.
  uint64_t hash_made(Made what) {
    if (!tagged || (here.root == 0 && !is_driver)) return 0;
    return hash_of_made(level == 0 && is_driver ? roots : hash_here(), what, ++made);
  }
  // Calls that the driver makes in several threads have no order that each run repeats.
  unsigned long issuer = 0;               // the thread of its last call
  uint64_t issuer_changes = 0;
  std::string issuer_place;               // "file:line" of the first call that was in another thread than the one before
  uint64_t roots = 0;                     // of a driver's own calls: those after this number (order.h)
  uint32_t holding = 0;                   // see hold_back
  uint32_t receiving_actor = 0;           // the actor whose message is run or decoded
  Party caller = kDriverParty;            // of the calls that are made here; in a packed worker it is the running actor
  bool aborted = false;                   // the zygote died, and with it every worker
  bool lost_descriptor = false;           // or this driver cannot reach them any more
  std::atomic<bool> closing{false};       // the run ends: nothing new begins, and who waits is to give up
  Waits waits;
  std::unordered_map<uint32_t, Off> inboxes;  // of the actors that share this process
  bool serving = false;
  unsigned long main_thread = 0;          // in a packed worker the thread that has the turn
  unsigned long bell_thread = 0;          // waits on proc->bell, others on bells of their own; 0: none does, in a packed worker
  std::unordered_map<Off, Outlet> outlets;          // by inbox
  std::unordered_map<uint32_t, TaskQueue*> queues;  // by demand
  ResourcePlaces resources;
  LastArguments last_arguments;
  ByNumber<ActorEntry> actors;
  Streams streams;
  Notes notes;
  LoadedFunctions functions;
  Timeline timeline;
  std::vector<Owned> ended;               // recordings of workers that have ended, fetched by this process
  std::unordered_set<uint8_t*> shadowed;  // where large buffers have copy-on-write views
  // what runs now, for cancel and the runtime context
  Recorder* recorder = nullptr;           // null: not wanted
  bool unflushed = false;                 // see Hooks::flush
  const RunningCall* call = &kNoCall;     // the running one
  bool leave_after = false;               // this worker ends after the running calls
  bool run_later = false;                 // the running task has failed, and is to be run again later (supervise/retries.h)
  bool was_put_off = false;               // that was the outcome of the task that has just run
  uint32_t departing = 0;                 // the actor that ends with its running call
  Owned breaking_off;                     // inline: what a signal has raised in the call whose outcome is being stored, see breaks_off()
  std::vector<std::pair<Object*, uint32_t>> failures;  // to be told, each with the hold list's entry of its hold (failures.h)
  Started children;                       // of the running call
  Unheard unheard;
  PyObject* handed_on = nullptr;          // the ContextVar of calls that were handed on, see set_handed_on
  uint16_t depth = 0;                     // of the running task in other tasks
  uint32_t mark;                          // what Object::runner says of the running call's results
  ActorStates* states = nullptr;      // of a process that has several actors (actor_states.h)
  std::atomic<uint32_t> deferred_open{0};  // calls handed to threads or an event loop and not finished
  uint64_t operations = 0;                // issued by this process
  const bool digesting = header->digesting != Digest::None, whole = header->digesting == Digest::Full;
#ifdef REACTOR_TESTING
  const uint64_t delays = getenv("REACTOR_DELAYS") ? strtoull(getenv("REACTOR_DELAYS"), nullptr, 10) : 0;  // see delay()
#endif
  uint64_t values_written = 0, values_read = 0;  // by it: arguments and results, refs not counted
};

extern Context* ctx;     // null before init and after shutdown
extern uint32_t epoch;   // grows with every context, and when one begins to close; a ref of another epoch is stale

// Around all that uses the context and may run Python code meanwhile, which may let another thread run: a thread that ends the run
// waits until the others are outside (close_context). Guarded by the GIL.
class Inside {
 public:
  Inside() { ++all, ++own; }
  ~Inside() { --all, --own; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  static uint32_t all;  // of every thread
  static thread_local uint32_t own __attribute__((tls_model("initial-exec")));
};

inline void set_ended_error() { PyErr_SetString(PyExc_RuntimeError, "the runtime was shut down while this thread was using it"); }

// The GIL is given up for a while. Another thread may end the run meanwhile: the context stays until the end of this scope
// all the same, and lock() tells, with a Python error set, that it must not be used for anything new.
class Unlocked {
 public:
  Unlocked() : context_(ctx), epoch_(epoch) {
    ++context_->users;
    saved_ = PyEval_SaveThread();
  }
  bool lock() {
    try {
      PyEval_RestoreThread(saved_);
    } catch (abi::__forced_unwind&) {
      // The interpreter is ending, and Python ends this thread. What lies on its stack must not be touched without the GIL.
      for (;;) pause();
    }
    saved_ = nullptr;
    Context::release(context_);
    if (epoch == epoch_) return true;
    set_ended_error();
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

int send_to_supervisor(const void* data, size_t size, bool wait = true);  // with the GIL; 0 or errno: EAGAIN, if it is not to wait for room
bool send_control(Control op, Off off);  // whether it was sent
void abort_run();  // the zygote has died, and with it every worker: who waits is told
void lost_descriptor();  // the program has closed a descriptor of the runtime. Ends a worker; a driver's calls fail from now on
#ifdef REACTOR_TESTING
void delay();  // testing.cpp
#else
inline void delay() {}
#endif
void give_handle(Object* actor, bool wide);  // a handle goes from this process to others; wide: in a value, where any may find it
void hold_back(bool more);  // this process holds a message back, or one less: from the first to the last, see set_held
void was_given();  // the actor that is served has come by a ref or a handle
void forget_arguments();  // those of the last call, see LastArguments
PyObject* tag_tuple(TagView tag);

PyObject* stale_error(const char* what);
void set_aborted_error();

}  // namespace reactor
