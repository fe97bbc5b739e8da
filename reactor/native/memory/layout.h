// The layout of the shared heap, and its structures, which all processes use.
//
//   offset 0      Header                     kHeaderPages of 64 KiB; its tables are large and mostly untouched: no memory is behind what was
//                                            never written
//                 page_state u32[pages]      the owner of each 64 KiB page
//                 page_run   u32[pages]      length of the run that starts here; a slab page's owner
//                 residence  Residence[pages] whether the value that starts here is in memory or on the disk (residence.h)
//                 Proc[kMaxProcs]            one entry per process of the run
//                 pages …                    slab pages and page runs (alloc.h)
//
// The heap is one memfd, which the driver maps and every other process inherits. Addresses differ between processes, so
// structures refer to each other by offset (Off; 0 means "none").
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace reactor {

using Off = uint64_t;
using std::atomic;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

constexpr uint64_t kMagic = 0x72656163746f7231;  // "reactor1"
constexpr size_t kPage = size_t(64) * 1024;
constexpr size_t kLine = 64;
constexpr uint32_t kMaxProcs = 16384;
constexpr uint32_t kNoProc = 0xffffffff;
constexpr uint32_t kMaxCores = 1024;  // beyond them two count as one
constexpr int kClasses = 12;  // slab size classes, see alloc.h
constexpr uint32_t kMaxResources = 1 << 22;  // that are there at one time
constexpr uint32_t kMaxDemands = 1 << 24;  // distinct resource demands of tasks and actors
constexpr uint32_t kMaxParts = 1 << 26;  // of all demands
constexpr int kCounters = 8;
constexpr uint32_t kProcRotation = 1024;  // an entry is used again only after so many others, if there are as many
constexpr uint64_t kEndedBytes = 16 << 20;  // of recordings of workers that have ended; more are not kept
constexpr int kCpu = 0;  // index of the resource CPU
constexpr uint32_t kOneCpu = 0, kNothing = 1;  // demands that each run has from its beginning
constexpr int kPool = 1024;  // entries of task workers; more than the supervisor has alive at once (supervisor.py, _POOL_LIMIT)
constexpr int kWaitedBuckets = 256;
constexpr uint64_t kForeverNs = UINT64_MAX;
constexpr int64_t kUnit = 10000;  // resources are counted in 1/10000

inline uint64_t align_up(uint64_t n, uint64_t a) { return (n + a - 1) & ~(a - 1); }

// A word on which a process sleeps. `sleeping` is 1 from before the sleeper's last check of its condition until a ringer takes over
// the wake-up, so that only one of several ringers makes the system call (bell.h).
struct Bell {
  atomic<uint32_t> word;
  atomic<uint32_t> sleeping;
};

enum class ProcState : uint32_t { Free = 0, Starting, Live, Dead };
enum class ProcKind : uint32_t { Driver = 0, Supervisor, Actor, Pool };
enum class Digest : uint32_t { None = 0, Sampled, Full };  // see digest.h
enum class Ordering : uint32_t { Arrival = 0, Logical, Strict, Timed };  // see order.h, timed/table.h
enum class ExitReason : uint32_t {
  Unknown = 0,
  Intended,
  CreationFailed,
  OutOfScope,
  IdlePool,
  SystemExit,
  Drained,
  Finished,
  LostDescriptor
};

// A pending object that a call waits for. The process that runs the call writes it after it has waited for a while. A reader may see parts of
// two successive entries, so it reads twice.
struct Wanted {
  atomic<Off> object;  // 0: not in use; stored last, and cleared before the ref is dropped
  atomic<uint32_t> by;  // the waiting call's process and place, as in Object::runner
  atomic<uint32_t> actor;  // number of the packed actor that waits, 0 for others
  atomic<uint64_t> thread;  // Python's name of the thread that waits
};
constexpr uint32_t kWants = 32;  // of a process's calls together; what is not told is not looked at

// How far a process is in telling those who wait for an object, see countdown.h.
struct Walk {
  atomic<Off> object;  // 0: it tells nobody
  atomic<uint64_t> task;  // that it counts down, the serial number of this count, and whether another process has acknowledged it
  atomic<Off> ring;  // the TaskRing to which it adds a task; 0: to none since `task` was set
  atomic<uint64_t> tail;  // of this ring, before
};

struct alignas(64) Proc {
  Bell bell;
  alignas(64) atomic<ProcState> state;
  ProcKind kind;
  uint32_t setting;  // of a task worker: the tasks it runs are those whose demand names it, 0 is the plain one
  int32_t pid;
  atomic<ExitReason> exit_reason;
  atomic<uint32_t> awake;  // counted in Header::awake
  atomic<uint32_t> counted;  // in Core::work of the core of this number, less 1; 0: in none
  atomic<uint32_t> core;  // on which it has last gone on after a wait, or looked
  atomic<uint32_t> demand;  // resource demand held + 1, 0 for none
  atomic<uint32_t> blocked;  // its main thread is inside get or wait
  atomic<uint32_t> lent;  // its demand has been given back while it waits
  atomic<uint32_t> idle;  // counted in Header::pool_idle
  atomic<uint32_t> held;  // it holds a message back until open calls have ended (order.h); counted in Header::held
  atomic<uint32_t> deferred;  // calls handed to threads or an event loop and not finished
  atomic<uint32_t> loop_idle;  // they are an event loop's, and it waits, with no time set, to be told something
  atomic<uint32_t> waits;  // entries of the next from here on have never been used
  Wanted wants[kWants];
  atomic<uint32_t> constructed;  // an instance: its constructor has ended well
  atomic<uint64_t> running_class;  // of the task that a task worker runs, 0 for none (lent_cpus.h)
  atomic<uint64_t> running_task;  // the same task: twice the uid of its result, and 1 if it has retries; 0 for none
  atomic<uint64_t> cancel;  // uid of the running call's result that is to be interrupted
  atomic<uint32_t> cancel_children;  // 1: and the calls that it has made, too; 2: and then the process is to end itself
  atomic<Off> cancels;  // list of CancelNote: calls handed to threads or an event loop that are to be interrupted
  atomic<Off> inbox;  // the inbox served, 0 for none
  atomic<Off> host_notes;  // of a packed worker: list of HostNote, newest first
  atomic<Off> hold_list;  // first chunk of its hold list (hold_list.h)
  uint32_t generation;  // processes that had this entry before
  atomic<uint32_t> counting;  // first page + 1 of the large value that it publishes or frees, 0 for none (alloc.h)
  atomic<Off> remote_free[kClasses];  // slab slots freed by others, see alloc.h
  // of objects whose last hold it gives back, see falling.h
  alignas(64) atomic<Off> dropping;
  atomic<Off> fallen;  // list through Object::next_fallen
  atomic<Off> apart;
  atomic<int64_t> small_values;  // bytes of small values stored less those freed, not yet in Header::store_used (alloc.h)
  // counters, shown by the runtime's report
  atomic<uint64_t> bytes_native, bytes_pickled;  // of values written
  atomic<uint64_t> calls, in_patterns;  // operations issued, and those that followed a known pattern
  atomic<uint64_t> wakes;  // futex wake-ups sent
  atomic<uint64_t> sleeps;  // futex waits entered
  atomic<uint64_t> digest;  // sum over the calls run here, see digest.h
  atomic<uint64_t> physical;  // questions that the clock has answered: timeouts, kill, cancel
  atomic<uint64_t> executed;  // messages and tasks run
  atomic<uint32_t> loaded;  // a worker: it has loaded what it needs, and looks for work
  atomic<uint32_t> submits;  // it has submitted tasks
  atomic<uint32_t> put_offs;  // tasks that it has begun to give to the supervisor, to be run again later (supervise/retries.h)
  Walk walk;
  atomic<uint32_t> recording_round;  // the last request for its recording that it has answered
  atomic<uint32_t> collect_round;  // and for a garbage collection (garbage.h)
  atomic<Off> recording;  // Object with the recording, held by this entry
  char running[96];  // title of the task that a task worker runs, cut; empty between tasks. Read when it has died

  std::array<atomic<uint64_t>*, kCounters> counters() {
    return {&bytes_native, &bytes_pickled, &calls, &in_patterns, &wakes, &sleeps, &physical, &digest};
  }
  void count_bytes(uint64_t all, uint64_t pickled) {  // one writer: no need for read-modify-write
    bytes_native.store(bytes_native.load(std::memory_order_relaxed) + all - pickled, std::memory_order_relaxed);
    bytes_pickled.store(bytes_pickled.load(std::memory_order_relaxed) + pickled, std::memory_order_relaxed);
  }
};

// For each run of pages with a value: see residence.h.
struct Residence {
  atomic<uint64_t> word;
  atomic<uint64_t> used;  // Header::large_puts at its last reading
};

// A message of the supervisor to a packed worker: host an actor, or remove it (its inbox then has the reason).
struct alignas(64) HostNote {
  Off next;
  Off actor;  // Object
  Off facts;  // Object with what is told of the actor, held by this; 0 for none
  uint32_t place;  // the actor's, in the worker
  uint32_t remove;
};

// The recording of an ended worker; an encoded value follows.
struct alignas(64) EndedRecording {
  Off next;
  uint64_t size;  // of the value
};

// A kind of resource.
//
// Only the process that changes resources (the supervisor, or the only process of a run) writes all but `free`. Others may read name and total while an
// entry is given to another resource, so they are read between two readings of `version`: odd while they change [release before and after the
// change], the same before and after the reading [acquire, then a fence]. The name's block may be freed meanwhile; a reader stays inside the heap.
struct Resource {
  atomic<int64_t> free;
  atomic<int64_t> total;
  atomic<Off> name;  // a ResourceName; 0: the entry is free, to be used again
  atomic<uint32_t> version;
  atomic<uint32_t> lent;  // a task that waits lends it out
};
struct ResourceName {
  atomic<uint32_t> size;
  atomic<char> text[];
};

// Submitters of tasks that have ended, see supervise/orphans.h.
struct EndedSubmitters {
  static constexpr uint32_t kEntries = 126;
  struct Ended {
    uint64_t submitter;
    Off reason;  // Object that the results of its tasks get, held
  };
  Off next;
  atomic<uint32_t> n;
  Ended ended[kEntries];
};

// A resource that is asked for.
struct Part {
  int64_t amount;
  int32_t index;
};

struct Demand {
  int32_t n;
  atomic<uint32_t> retired;  // nobody gets it any more: what it asks for was taken back
  uint32_t first;  // of its parts
  uint32_t setting = 0;  // what a worker must have been born with to run the task (see runtime/supervisor/supervisor.py)
};

// See cores.h.
struct alignas(64) Core {
  atomic<int32_t> work;  // processes that have something to do and ran there last
  atomic<uint32_t> poller;  // proc slot + 1 of the one that waits there without sleeping
  atomic<uint32_t> displaced;  // proc slot + 1 of one that sleeps there until results come, because others had work there
};

struct Header {
  uint64_t magic;
  uint64_t capacity;
  uint64_t pages_at;  // offset of page 0
  uint32_t pages;
  int32_t cores;
  uint32_t cpus;  // their numbers are below
  int64_t store_limit;
  int64_t warm_limit;  // free pages kept resident, in bytes

  alignas(64) atomic<uint32_t> high_page;  // pages below were used at least once
  atomic<uint64_t> low_page;  // frees noted << 32 | no free page below this one (alloc.h, note_free)
  alignas(64) atomic<int64_t> store_used;  // bytes of values, less what is in Proc::small_values
  atomic<int64_t> runs_used;  // of these, in large values alone
  atomic<int64_t> warm_free;  // bytes free but resident
  atomic<uint64_t> large_puts;  // large values ever stored: the clock by which those read longest ago are found
  atomic<int64_t> away;  // bytes of large values that are in the spill file instead
  atomic<int64_t> spilled;  // bytes that were ever moved there
  atomic<int64_t> spilled_values;  // values, likewise
  atomic<int64_t> spilled_ns;  // time that took
  atomic<int64_t> spill_note;  // `spilled` at which the user is told next, 0: never
  uint64_t spills;  // 1: the run has a spill file
  atomic<uint64_t> full_since;  // ns, when a value first found no room, since one last did; 0: it did
  uint64_t full_wait_ns;  // how long values wait for room from then on
  double disk_left;  // share of the spill file's disk that is left free
  alignas(64) atomic<int32_t> awake;  // processes not asleep on a bell, without the supervisor
  atomic<uint32_t> proc_high;
  Core core[kMaxCores];
  alignas(64) atomic<Off> queues;  // list of TaskQueue, one per (process, demand)
  atomic<uint32_t> pool_high;
  atomic<int32_t> pool_idle;
  atomic<uint32_t> spawn_asked;  // proc slot + 1 of who is to start a task worker or to ask for one, see kick_pool()
  atomic<int32_t> lenders;  // processes whose Proc::lent is set
  atomic<uint32_t> settings;  // the highest Demand::setting there is
  atomic<uint32_t> actors_waiting;  // actors that wait for resources
  atomic<uint64_t> next_uid;
  atomic<uint32_t> next_actor;  // number
  atomic<uint32_t> recording_round;  // raised to ask every process for its recording
  atomic<uint32_t> collect_round;  // and for a garbage collection (garbage.h)
  atomic<uint64_t> collect_asked;  // ns, when that was last asked; 0: never
  atomic<uint64_t> past[kCounters];  // of dead processes, see Proc::counters
  Ordering ordering;
  uint32_t journaling;  // calls are told to the hooks call_tag, call_sent, result, call_started, executed and call_finished
  Digest digesting;  // what calls add to Proc::digest
  uint64_t patience_ns;  // what order may cost, see patience.h; kForeverNs: anything
  double patience_share;
  atomic<Off> run_records;  // see run_records.h
  atomic<Off> waited[kWaitedBuckets];  // lists of Waited, see patience.h
  atomic<Off> boards, notices;  // see order.h
  atomic<Off> timed;  // the TimedTable of timed order; 0: the order is another
  atomic<uint32_t> names;  // there are actors that anybody can look up
  atomic<uint32_t> held;  // processes that hold a message back
  atomic<uint64_t> finished;  // open calls that have ended while there were any
  atomic<uint32_t> answering;  // the supervisor has, or may have, taken control messages that it has not answered
  atomic<Off> ended_submitters;  // list of EndedSubmitters
  atomic<Off> ended_recordings;  // list of EndedRecording
  Off ended_moved;  // likewise, in the supervisor's blocks
  atomic<uint32_t> ended_busy;  // proc slot + 1 of who takes from these
  atomic<uint32_t> late_tasks;  // tasks with kLate that nobody has claimed, and after kills perhaps more
  atomic<uint64_t> ended_bytes;

  atomic<uint32_t> pool[kPool];  // proc slot + 1 of each task worker
  alignas(64) atomic<uint32_t> resources;  // entries of `resource` that were ever used
  atomic<uint32_t> demands;  // of `demand`
  uint32_t parts;  // of `part`
  alignas(64) Resource resource[kMaxResources];
  Demand demand[kMaxDemands];
  Part part[kMaxParts];
};
constexpr uint64_t kHeaderPages = (sizeof(Header) + kPage - 1) / kPage;

// Object states. Only the process that changed Pending to Running may complete an object (or the supervisor, after that process
// has died), so a result has one writer.
enum class State : uint32_t { Pending = 0, Running = 1, Value = 16, Error, Died, Cancelled };

// Of a call's first result. Running: cancel() has found the call running. StreamOver: a stream has come to its end first, and cannot be cancelled
// any more. Yielding: the call's generator runs, although some of its results are stored: the call can be cancelled.
enum class Cancellation : uint16_t { None = 0, Running, StreamOver, Yielding };

// Large arguments that several calls share are read copy-on-write, because a program can write to read-only arrays, for example through
// torch.from_numpy. The first reader changes Fresh to ReadAsTheyLie, and a caller that shares the arguments with a second call changes Fresh
// to InCommon; only one of the two succeeds. If the reader loses, it reads copy-on-write; if the caller loses, it stores a copy. Later reads (when a call
// runs again) are copy-on-write, too. Shown: a result may refer to the arguments (array_memory.h), and others read them.
enum class ArgumentsUse : uint16_t { Fresh = 0, ReadAsTheyLie, InCommon, Shown };

// The target of an object ref: the result of a call, or a put value. Also the root of an actor (ActorBody).
struct alignas(64) Object {
  atomic<uint64_t> wait;  // bit 0: done; the rest: list of WaitNode (object.h)
  atomic<State> state;
  atomic<int32_t> holds;  // refs, array views, messages and values that contain it
  uint64_t uid;
  uint16_t kind;  // one of those below, and flags
  union {  // which one is valid is told by what the object is; all are 0 in a new one
    atomic<Cancellation> cancellation;  // the first result of a call
    atomic<ArgumentsUse> use;  // kArguments
    atomic<uint16_t> retired;  // kCode: 1 when who has put it there has let it go
  };
  atomic<uint32_t> runner;  // who runs the call that makes it: proc slot, and from bit 16 on the actor's place in that process
  Off block;  // 0: the value is in `body`
  union {
    uint64_t size;  // of the value, once the object is done
    Off next_fallen;  // when nobody holds the object any more: the next one of Proc::fallen (falling.h)
  };
  uint8_t body[72];  // while it is pending: number of the actor whose call makes it, uint32_t; 0 for none
  uint64_t tag_hash;  // of the operation that made it, the same in each run; from `uid` where that has no tag (tag.h)
};
static_assert(sizeof(Object) == 128);

// One of several results of a call, or a value of a stream: whoever has a ref of it can find the call's first result, or the stream's completion.
struct JoinedResult : Object {
  Off first;
  uint64_t first_uid;  // the first result may be gone: then another object, or none, lies there
  Off next;  // of several results: the next one, 0 after the last
};

constexpr int kHostBit = 16;
constexpr uint32_t kMaxPackedActors = 0xfffe;  // actors of one packed worker
static_assert(kMaxProcs <= 1u << kHostBit);
inline uint32_t slot_of(uint32_t runner) { return runner == kNoProc ? kNoProc : runner & ((1u << kHostBit) - 1); }
inline uint32_t place_of_runner(uint32_t runner) { return runner == kNoProc ? 0 : runner >> kHostBit; }

// Object::kind
constexpr uint16_t kValueObject = 0;
constexpr uint16_t kActorObject = 1;
constexpr uint16_t kMethodResult = 2;  // a value that an actor's method makes
constexpr uint16_t kStreamLink = 3;  // see stream.h
constexpr uint16_t kCode = 4;  // a function, a class or its description, that the runtime has put there
constexpr uint16_t kArguments = 5;  // a call's large arguments
// Flags on top of it
constexpr uint16_t kJoined = 1 << 13;  // it is a JoinedResult
constexpr uint16_t kSeen = 1 << 14;  // somebody has seen how the call ended, or nobody is to be told (failures.h)
constexpr uint16_t kOpenCall = 1 << 15;  // the first result of a call that is on a board (order.h)

enum class InboxState : uint32_t { Open = 0, Ending, Dead };

// Flags in Inbox::order, which the actor's callers and the actor itself set, and all processes read; see order.h.
constexpr uint32_t kSeveral = 1 << 0;  // its handle was given to somebody: there may be several callers
constexpr uint32_t kOpenActor = 1 << 1;  // it was given a handle or a ref: its calls may have further ones as consequences
constexpr uint32_t kPhysical = 1 << 2;  // it runs several calls at a time: its messages are taken as they come, and its calls hold nobody
constexpr uint32_t kNamed = 1 << 3;  // it has, or had, a name
constexpr uint32_t kLoop = 1 << 4;  // with kPhysical: its calls run on one event loop

// The inbox of an actor: its channels, one per caller.
struct alignas(64) Inbox {
  atomic<Off> channels;  // list, pushed by callers
  atomic<uint32_t> proc;  // slot of the serving process, kNoProc until it starts
  atomic<InboxState> state;
  atomic<Off> reason;  // Object that tells why it died; set before state becomes Dead
  atomic<Off> creation;  // the constructor call (a Message), stored while the actor may be restarted; else 0
  atomic<Off> unavailable;  // while it is restarted: Object that calls without retries get as their result (restarts.cpp); else 0
  Off reasons[2];  // those of its last restarts, held: a caller may be reading `unavailable` just now
  atomic<uint32_t> order;  // kSeveral and so on
  uint32_t restarts;  // whether the actor may be restarted when its process has died (restarts.cpp)
  uint32_t actor;  // its number, as in ActorBody
  uint32_t timed;  // Index of its TimedServer, set before its creation is sent; 0 for none
};

struct ActorBody {
  Off inbox;
  uint32_t actor;  // number within the run, unique
  uint32_t weak;  // atomic: handles that do not keep the actor alive (those found by name)
};

// An encoded value (codec.h): header, then refs[deps + refs], buffers[], the stream, then the buffers, each 64-byte aligned. The first `deps`
// refs are arguments, which are replaced by their values. If a buffer of the value is part of a call's arguments, the last ref refers to these
// arguments (array_memory.h). A value without refs and buffers has only the first word of the header, so that a number in the body of its object
// lies in the object's first cache line.
struct ValueHeader {
  static constexpr uint32_t kBare = uint32_t(1) << 31;
  static constexpr uint64_t kBareSize = sizeof(uint32_t);
  uint32_t word;
  uint32_t counts[3];  // not there if the value is bare
  bool bare() const { return word & kBare; }
  uint32_t stream() const { return word & ~kBare; }  // bytes
  uint32_t deps() const { return bare() ? 0 : counts[0]; }
  uint32_t refs() const { return bare() ? 0 : counts[1]; }
  uint32_t buffers() const { return bare() ? 0 : counts[2]; }
  uint32_t all_refs() const { return bare() ? 0 : counts[0] + counts[1]; }
  static uint64_t size_for(size_t deps, size_t refs, size_t buffers) {
    return deps || refs || buffers ? sizeof(ValueHeader) + 8 * (deps + refs) + 16 * buffers : kBareSize;
  }
  void set(uint32_t stream, uint32_t deps, uint32_t refs, uint32_t buffers) {
    if (!deps && !refs && !buffers) {
      word = stream | kBare;
      return;
    }
    *this = {stream, {deps, refs, buffers}};
  }
};
struct BufferEntry {
  uint64_t at;  // from the start of the value; with kShownBuffer, of the arguments' value
  uint64_t size;
  bool shown() const { return at & kShownBuffer; }
  uint64_t offset() const { return at & ~kShownBuffer; }
  static constexpr uint64_t kShownBuffer = uint64_t(1) << 63;
};
static_assert(sizeof(BufferEntry) == 16);
inline constinit ValueHeader no_value{ValueHeader::kBare, {}};  // of a call without arguments

enum class MessageKind : uint8_t { Call = 1, Create, Task, Skip };

// Flags in Message::flags
constexpr uint8_t kStreaming = 1 << 1;  // its results are a stream's completion and first link (stream.h)
constexpr uint8_t kDynamic = 1 << 2;  // its result is the list of what its generator yields
constexpr uint8_t kOnBoard = 1 << 3;  // the call is on a board (order.h)
constexpr uint8_t kTimestamped = 1 << 4;  // it tells when it was sent; a task, who has submitted it (calls/submitter.h)
constexpr uint8_t kLate =
    1 << 5;  // of a task: it was not in a queue all the time since it was submitted; of an actor's call: it is run again

constexpr uint32_t kForever = 0xffffffff;

// A cancel() of a running call, for the process that runs it.
struct CancelNote {
  Off next;
  uint64_t uid;  // of the call's result
  uint32_t children;  // what it started is to be cancelled too
};

// A call that has been sent. It is followed by the offsets of its further results, the value of its arguments, if there are any, the time at which it was sent
// (if the actor may have several callers; of a task, its submitter instead), and the tail of its tag. A call of an actor is in a channel, a task in a separate block.
constexpr Off kLetGo = 1;
struct Message {
  uint32_t size;  // whole record
  MessageKind kind;
  uint8_t flags;
  union {
    uint16_t method;  // of an actor's call: which one
    uint16_t nesting;  // of a task: how deep in other tasks it is
  };
  uint64_t order_key;  // the root of its tag (order.h); where messages are taken as they come: the time of the call
  union {
    uint32_t actor;  // of an actor's call
    uint32_t missing;  // of a task: how many arguments are not there yet, and who counted last (countdown.h)
  };
  uint32_t results;
  Off result;  // first result
  uint32_t args;  // positional
  uint16_t kwargs;
  uint16_t depth;  // length of the tag's tail
  Off args_object;  // set when the arguments are too large for the channel; kLetGo: they were, see release_message
  Off function;  // Object of the task's function, or of what a call asks for around its method
  union {
    uint32_t demand;  // of a task: for what resources it asks
    uint32_t caller;  // of an actor's call: the Party that made it (order.h)
  };
  uint32_t retries;  // how often it may be run again, kForever: without end
  Off* more_results() { return reinterpret_cast<Off*>(this + 1); }
  Off result_at(uint32_t i) { return i ? more_results()[i - 1] : result; }
  uint32_t* tail() { return reinterpret_cast<uint32_t*>(reinterpret_cast<uint8_t*>(this) + size) - depth; }  // see order.h
  uint64_t* time() { return reinterpret_cast<uint64_t*>(reinterpret_cast<uint8_t*>(this) + size - align_up(uint64_t(4) * depth, 8)) - 1; }
  uint64_t* submitter() { return time(); }  // of a task
  uint64_t sent() { return flags & kTimestamped ? *time() : 0; }  // timestamp(); 0: before the actor had several callers
  uint8_t* value() { return reinterpret_cast<uint8_t*>(args || kwargs ? static_cast<void*>(more_results() + (results - 1)) : &no_value); }
};
static_assert(sizeof(Message) == 64);

}  // namespace reactor
