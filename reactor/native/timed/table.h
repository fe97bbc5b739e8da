// Timed order: the shared table of what the program's parts do next, and when, in logical time.
//
// A strand is a driver's main thread, or a call that has started. Its operations (a call, a get, a wait, its end) are separated by stretches of code, and
// each stretch has a duration that is fixed when it begins. So the table knows when a running strand does something next: its bound. The rule:
//
//   - A message's key is the latest of the times of its sending, of its arguments, and of the key of the message before it, of the same strand to the same
//     actor. An actor runs its messages by (key, tag), each from max(key, end of the one before) on.
//   - A message starts when every other source has a bound greater than its key: then nothing can come that belongs before it. Sources are running
//     strands (bound: the next operation), actors that are free and have a message whose key is known (the tick after its start), and blocked strands
//     whose answer is known (the tick after it). Blocked strands whose answer is not known are none: what they wait for is one.
//   - A get goes on when its values are done, at the latest of their times. A wait goes on at the k-th time, or when its time is up, as soon as every
//     other source has a greater bound.
//   - Tasks, and calls of actors that run several at a time, start at their keys: others see of them when they end, and that is in their durations.
//
// Each duration is a tick at least. So what happens at one tick is independent of each other, and the tags, which are the same in each run, decide
// between equal keys. A readable model of this, with the proof by trial, is reactor/tests/timed_order.py.
//
// A measured run has no durations yet: a strand's clock is the time of day when it does an operation, nothing is held back, and the durations are recorded.
// All operations are made under one lock, whose holder stamps them one after the other. So a measured run is a run by the rule, with the durations that it has
// recorded, and a later run with these durations has the same order.
//
// An actor with an event loop runs its coroutines one at a time: its place is free again as soon as the loop has nothing to do. So the stretches from a
// call's start, or from where a coroutine goes on, to the next await of something that is not there are calls of it, too. A coroutine that awaits a ref sends its own actor a
// message with that ref as its argument.
//
// Everything here is read and written under `mutex`, but for the words that are atomic. The lock is robust: if its holder is killed, the next one goes on with the table
// as it is. Each change of the table is such that this loses at most the dead strand's own operation; the run is then no longer repeatable, and
// `lost` says so.
#pragma once
#include <pthread.h>
#include "order/tag.h"
#include "memory/layout.h"

namespace reactor {

using Tick = uint64_t;  // a microsecond of logical time
constexpr Tick kNever = UINT64_MAX;

// Index + 1 of an entry of one of the arrays below; 0 for none.
using Index = uint32_t;

enum class StrandState : uint32_t {
  Free = 0,
  Running,
  Blocked,
  Outside,  // it waits for something that is not in the table (a stream, another program): no source
};

struct TimedStrand {
  StrandState state;
  uint32_t place;  // in TimedTable::running or blocked
  uint32_t slot;  // of the process that runs it; kNoProc: none yet
  Index server;  // whose call it is; 0: a driver, a task, or a call beside others
  bool beside;  // a call that was handed on to a thread or an event loop: it ends when its results are there
  Tick clock;  // of its last operation, or of its start
  Tick at;  // Running: of its next operation
  Tick stretch;  // Blocked: the duration from its answer to its next operation. In a measured run: 0 until its first operation
  Tick limit;  // Blocked: when its time is up
  Tick answer;  // Blocked: when it goes on, as far as that is known now
  bool is_final;  // nothing else can change the answer
  bool in_list_order;  // get: it waits for all, and for the first that failed when those before it are done
  uint32_t n, count;
  uint32_t known;  // so many of them, from the first on, are done, the last of them at `known_at`: they are not looked at again
  Tick known_at;
  Off refs;  // Off[n], objects
  Off bell;  // on which it sleeps
  atomic<uint32_t> answered;
  uint64_t series;
  uint32_t number;
  uint64_t result;  // uid of the call's first result
};

struct TimedMessage {
  // Of its server's, if its key is known; of those that wait for the same, if it is not; `next` also of the free ones.
  Index next, previous;
  bool listed;  // its key is known
  bool open;  // it waits for a result, or for the message before it
  uint64_t open_for;  // uid of that result; 0: the message before it
  Index first_open;  // of the messages that wait for its key
  uint32_t serial;  // raised when it leaves the table
  Index server;
  Index before;  // the message before it, of the same strand to the same server, while that has no key
  uint32_t before_serial;
  Tick sent, key;  // kNever: not known
  Tick first;  // duration of the first stretch of its call
  uint64_t series;
  uint32_t number;
  uint32_t wake;  // not 0: no call; a coroutine of the actor goes on, and its process knows by this number which
  uint32_t n;
  Off arguments;  // Off[n], those of its arguments that are refs; 0: none
  uint64_t result;
  Tag tag;
};

struct TimedServer {
  Off inbox;
  uint64_t key;  // names it in each run
  Index first, last;  // of its messages whose keys are known, by (key, tag)
  uint32_t place;  // in TimedTable::ready + 1; 0: it is not there
  Index running;  // the strand of its call
  Index taken;  // the message that may start, until its process takes it
  Tick free_since;
  bool several;  // several strands may send it messages
  bool disbanded;  // its process has died: calls start at their keys, and run as they come
  atomic<uint32_t> granted;  // Index of the strand of the call that may start
};

// What is known of an object. An entry whose time is less than every bound is dropped when room is needed: it changes nothing any more.
struct TimedResult {
  uint64_t uid;  // 0: free
  Tick done;  // kNever: not yet
  Index strand, message;
  Index first_open;  // of the messages that wait for it
  bool failed, waited;
};

struct TimedTable {
  static constexpr uint32_t kStrands = 1 << 15, kMessages = 1 << 16, kServers = 1 << 15, kResults = 1 << 19, kProbes = 64;
  pthread_mutex_t mutex;
  uint32_t measured;
  atomic<uint32_t> lost;  // what is not repeatable any more, see Loss
  uint64_t base;  // ns of the monotonic clock at tick 0
  Tick last;  // of all operations
  atomic<uint64_t> changes;
  // recorded durations, see strand.h
  uint32_t series_count;
  Off series, first_call, first_duration, durations;
  atomic<Off> records;  // chunks of what is recorded now
  uint32_t strand_high, strand_free, server_high, message_high, message_free;
  uint32_t running_count, blocked_count, ready_count;
  Index running[kStrands], blocked[kStrands];
  Index ready[kServers];  // servers that are free and have a message whose key is known
  TimedStrand strand[kStrands];
  TimedServer server[kServers];
  TimedMessage message[kMessages];
  TimedResult result[kResults];
};

enum class Loss : uint32_t { Death = 1, Full = 2, Outside = 4, Stuck = 8 };

// A part of the records: `used` bytes follow.
struct TimedChunk {
  Off next;
  uint32_t size;
  atomic<uint32_t> used;
};

}  // namespace reactor
