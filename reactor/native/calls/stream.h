// Streams: what a generator yields, one object after the other, while it still runs.
//
//   Message::results = {completion, link 0}
//
//   link 0 (done) ──> value 0                link 1 (done) ──> value 1               link 2 (pending)
//                ──> link 1 ───────────────────^           ──> link 2 ────────────────^
//                ──> ticket 0 (with a window)              ──> ticket 1
//
// A call that gives a stream has two results. The completion is done when the generator is: None, or the error if the call
// failed other than by the generator's own exception (cancelled, and the unread values are not to be had any more; a worker that died). The links are a chain of objects. The producer completes the link that is
// pending with refs to the value and to the next link; a link without refs is the end. A generator's exception is a value of
// state Error with the end behind it. The consumer holds one link, and moves on to the next as it takes a value.
//
// Nothing here is counted beside the objects' holds. A link holds what it refers to, so a consumer that lets go of its link (or is
// killed) frees all that is unread, and the producer, whose hold keeps only the pending link, goes on and each later value
// falls as its link does. With a window (backpressure) the link's third ref is a ticket, completed when the link is destroyed
// (object.h): that is when the consumer has moved past it or is gone, whoever drops the last hold. The producer waits for the
// ticket of the value `window` before. With a window over all streams of a process (an actor's) it also waits until, of the
// tickets of all of them, fewer than that are open: whichever it is, for their consumers need not take turns.
//
// Killed producers: the pending link is noted as running, as the completion is, so the supervisor completes both as died. A
// call that may be run again lies in a block, whose second result is always the pending link; a new run is to give the
// values from that link's index on, and drops those before. The order of the stores for a value:
//
//   note the next link (Run) · write the refs into the link · count its holds of the next link and the ticket · clear the value's note ·
//   set the link's size · complete it · second result = next link · drop the link, with its note
//
// so a kill between the completion and the second result leaves a block whose link is done: the next one is in it (find_pending_link). The size of a
// link that is not done says that it holds what its refs name (forget_value). A kill between the counting and the size leaves the value, the next link
// and the ticket for good.
#pragma once
#include <string>
#include <unordered_set>
#include "calls/calls.h"

namespace reactor {

// At the end of a pending link's body; a link's value does not reach so far.
struct LinkBody {
  uint64_t index;  // of the value
  uint32_t window;  // values that may be unread before the producer waits, 0: any number
  uint32_t per_yield;  // values in one yield
};
constexpr size_t kLinkBodyAt = sizeof(Object::body) - sizeof(LinkBody);

Object* new_stream_link(const LinkBody& body, int32_t holds);

constexpr uint64_t kGateSliceNs = 100000000;  // a producer that waits looks so often whether it was cancelled

// From now on, each generator of this process may give so many values. `by`: for the error, the setting that says so.
void limit_streams(uint64_t most, std::string by);

// What the consumer at `link` would get now. Closing: there are no more values, but the completion is not done yet. Cancelled: the same, and
// values that are unread are lost. Failed: the completion's error is what is left.
enum class StreamState { Pending, Closing, Cancelled, Item, End, Failed };
StreamState stream_state(Object* link, Object* completion);
// next_item(link, completion, timeout) -> (ref of the value, next link), None when no value is to come, or TIMED_OUT.
PyObject* next_item(PyRef* link, PyRef* completion, uint64_t deadline, PyObject* timed_out);

// The producer's side of one call. Guarded by the GIL.
class Stream {
 public:
  // `results` and `notes` are the call's, of the completion and the pending link; they are kept up to date. `block`: the message,
  // if it outlives this process, else null.
  Stream(Off* results, uint32_t* notes, Message* block, PyObject* name, bool of_method);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  bool item(PyObject* value);  // publishes what one yield gave; false: Python error set
  Owned gate();  // a new ref to wait for before the generator goes on; null: none, or Python error set
  // Of the window over all streams: tickets of which one is to be waited for, all of them in use by others at most for a moment
  // when there is none. True: the generator may give one more value.
  bool let_on(std::vector<PyRef*>& open);
  bool drain(PyObject* generator);  // runs it to its end; false: Python error set
  // No more values. The result of the completion is stored, for the caller to complete: None, or cancelled if a method's call was cancelled.
  void end();
  // The current Python exception is the last value. If the call was cancelled, the completion has the error of an interruption instead, or is
  // cancelled, if a method's generator went no further (drain). False: as store_failure().
  bool fail();
  bool was_cancelled() const;

 private:
  bool publish(PyObject* value);  // null: the current Python exception
  void close();
  bool ends_uncancelled();  // closes it; from then on it cannot be cancelled
  Off* results_;
  uint32_t* notes_;
  Message* block_;
  PyObject* name_;
  bool of_method_;
  LinkBody at_;
  uint64_t skip_;  // values that an earlier run has given
  bool wait_to_be_let_on();  // false: Python error set
  std::vector<Owned> tickets_;
  bool making_ = false;  // counted in Streams::making
};

// Supervisor: the pending link of a call whose process died, made the second result of its block; the link before it, if it was
// done but still there, goes into `settled`.
void find_pending_link(Message* m, std::vector<Off>& settled);
// Then: if the stream had come to its end (Stream::close), all values are there, and so is the exception that has ended it. So it completes.
void complete_if_ended(Message* m, std::unordered_set<Off>& freed);

}  // namespace reactor
