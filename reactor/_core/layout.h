// What lies where in the shared heap, and the words every process agrees on.
//
//   offset 0      Header                     one page (64 KiB)
//                 page_state u32[pages]      who owns each 64 KiB page
//                 page_run   u32[pages]      length of the run that starts here; a slab page's owner
//                 Proc[kMaxProcs]            one entry per process of the run
//                 pages …                    slab pages and page runs (alloc.h)
//
// The heap is one memfd, mapped by the driver and inherited by every other process. Addresses differ between
// processes, so shared structures name each other by offset (Off; 0 is "none").
#pragma once
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
constexpr size_t kPage = 64 * 1024;
constexpr size_t kLine = 64;
constexpr uint32_t kMaxProcs = 16384;
constexpr uint32_t kNoProc = 0xffffffff;
constexpr int kClasses = 12;      // slab size classes, see alloc.h
constexpr int kMaxResources = 32;
constexpr int kMaxDemands = 320;  // distinct resource demands of tasks and actors
constexpr int kCpu = 0;           // index of the resource CPU
constexpr int kPool = 1024;       // task workers alive at once
constexpr int64_t kUnit = 10000;  // resources are counted in 1/10000, as Ray does

inline uint64_t align_up(uint64_t n, uint64_t a) { return (n + a - 1) & ~(a - 1); }

// A word to sleep on. `sleeping` is 1 from before the sleeper's last look at its condition until a ringer claims
// the wake-up, so that of many ringers exactly one pays for the system call (bell.h).
struct Bell {
  atomic<uint32_t> word;
  atomic<uint32_t> sleeping;
};

enum class ProcState : uint32_t { Free = 0, Starting, Live, Dead };
enum class ProcKind : uint32_t { Driver = 0, Supervisor, Actor, Pool };
enum class ExitReason : uint32_t { Unknown = 0, Intended, CreationFailed, OutOfScope, IdlePool, SystemExit };

struct alignas(64) Proc {
  Bell bell;
  alignas(64) atomic<ProcState> state;
  ProcKind kind;
  int32_t pid;
  atomic<ExitReason> exit_reason;
  atomic<uint32_t> awake;      // counted in Header::awake
  atomic<uint32_t> demand;     // resource demand held + 1, 0 for none
  atomic<uint32_t> blocked;    // its main thread is inside get or wait
  atomic<uint32_t> lent;       // its demand has been given back while it waits
  atomic<uint32_t> idle;       // counted in Header::pool_idle
  atomic<uint64_t> cancel;     // uid of the running call's result that is to be interrupted
  atomic<uint32_t> cancel_children;  // and the tasks that it started with it
  atomic<Off> inbox;           // the inbox served, 0 for none
  atomic<Off> journal;         // first journal chunk (journal.h)
  atomic<Off> remote_free[kClasses];  // slab slots freed by others
  // counters, shown by the runtime's report
  atomic<uint64_t> wakes;      // futex wake-ups sent
  atomic<uint64_t> sleeps;     // futex waits entered
  atomic<uint64_t> executed;   // messages and tasks run
  atomic<uint64_t> bytes_native, bytes_pickled;  // of values written
  atomic<uint64_t> calls, replayed;              // operations issued, and those that followed a recording
  atomic<uint32_t> recording_round;  // the last request for its recording that it has answered
  atomic<Off> recording;             // Object with the recording, held by this entry

  void count_bytes(uint64_t all, uint64_t pickled) {  // one writer: no need for read-modify-write
    bytes_native.store(bytes_native.load(std::memory_order_relaxed) + all - pickled, std::memory_order_relaxed);
    bytes_pickled.store(bytes_pickled.load(std::memory_order_relaxed) + pickled, std::memory_order_relaxed);
  }
};

struct Demand {
  int32_t n;
  int32_t index[8];
  int64_t amount[8];
};

struct Header {
  uint64_t magic;
  uint64_t capacity;
  uint64_t pages_at;           // offset of page 0
  uint32_t pages;
  int32_t cores;
  int64_t store_limit;
  int64_t warm_limit;          // free pages kept resident, in bytes

  alignas(64) atomic<uint32_t> high_page;  // pages below were used at least once
  atomic<uint64_t> low_page;               // frees noted << 32 | no free page below this one (alloc.h, note_free)
  alignas(64) atomic<int64_t> store_used;  // bytes in page runs
  atomic<int64_t> warm_free;               // bytes free but resident
  alignas(64) atomic<int32_t> awake;       // processes not asleep on a bell
  atomic<uint32_t> proc_high;
  alignas(64) atomic<Off> queues;          // list of TaskQueue, one per (process, demand)
  atomic<uint32_t> pool_high;
  atomic<int32_t> pool_idle;
  atomic<uint32_t> spawn_asked;
  atomic<uint32_t> actors_waiting;         // actors that wait for resources
  atomic<uint64_t> next_uid;
  atomic<uint32_t> recording_round;        // raised to ask every process for its recording
  atomic<uint64_t> past[4];                // of dead processes: bytes native, pickled, calls, replayed

  alignas(64) atomic<uint32_t> resources;
  char resource_name[kMaxResources][56];
  int64_t resource_total[kMaxResources];
  atomic<int64_t> resource_free[kMaxResources];
  atomic<uint32_t> demands;
  Demand demand[kMaxDemands];
  atomic<uint32_t> pool[kPool];            // proc slot + 1 of each task worker
};
static_assert(sizeof(Header) <= kPage);

// Object states. Only the process that moved Pending to Running may complete an object (or the supervisor, once
// that process is dead), so a result has one writer.
enum class State : uint32_t { Pending = 0, Running = 1, Value = 16, Error, Died, Cancelled };

// The thing an object ref refers to: a call's result or a put value. Also the root of an actor (ActorBody).
struct alignas(64) Object {
  atomic<uint64_t> wait;     // bit 0: done; the rest: list of WaitNode (object.h)
  atomic<State> state;
  atomic<int32_t> holds;     // refs, array views, messages and values that contain it
  uint64_t uid;
  uint32_t kind;             // one of the three below
  atomic<uint32_t> runner;   // proc slot that runs the call that makes it
  Off block;                 // 0: the value is in `body`
  uint64_t size;
  uint8_t body[80];
};
static_assert(sizeof(Object) == 128);

constexpr uint32_t kValueObject = 0;
constexpr uint32_t kActorObject = 1;
constexpr uint32_t kMethodResult = 2;  // a value that an actor's method makes

enum class InboxState : uint32_t { Open = 0, Ending, Dead };

// Where an actor's messages arrive: one channel per caller.
struct alignas(64) Inbox {
  atomic<Off> channels;      // list, pushed by callers
  atomic<uint32_t> proc;     // slot of the serving process, kNoProc until it starts
  atomic<InboxState> state;
  atomic<Off> reason;        // Object that tells why it died; set before state becomes Dead
};

struct ActorBody {
  Off inbox;
  uint32_t actor;            // number within the run, unique
  uint32_t weak;             // atomic: handles that do not keep the actor alive (those found by name)
};

// An encoded value (codec.h): header, then refs[deps + refs], buffers[], the stream, then the buffers, each
// 64-byte aligned. The first `deps` refs are arguments to be replaced by their values.
struct ValueHeader {
  uint32_t stream;
  uint32_t deps;
  uint32_t refs;
  uint32_t buffers;
};
struct BufferEntry {
  uint64_t at;               // from the start of the value
  uint64_t size;
};

enum class MessageKind : uint8_t { Call = 1, Create, Task, Skip };

constexpr uint8_t kReplayed = 1;  // Message::flags: the call followed a recording

// A call on its way. In a channel it is followed by the further results' offsets and the arguments' value; a task
// lies in a block of its own.
struct Message {
  uint32_t size;             // whole record
  MessageKind kind;
  uint8_t flags;
  uint16_t method;
  uint64_t stamp;            // time of the call; decides arrival order (worker's Inbox::next)
  uint32_t actor;
  uint32_t results;
  Off result;                // first result
  uint32_t args;             // positional
  uint32_t kwargs;
  Off args_object;           // set when the arguments are too large for the channel
  Off function;              // Object of the task's function
  uint32_t demand;
  uint32_t retries;
  Off* more_results() { return reinterpret_cast<Off*>(this + 1); }
  Off result_at(uint32_t i) { return i ? more_results()[i - 1] : result; }
  uint8_t* value() { return reinterpret_cast<uint8_t*>(more_results() + (results - 1)); }
};
static_assert(sizeof(Message) == 64);

}  // namespace reactor
