// A worker's state for one inbox that it serves, and the choice of the next message.
#pragma once
#include <memory>
#include "inbox/parked.h"
#include "order/patience.h"

namespace reactor {

// One caller's channel.
struct Incoming {
  explicit Incoming(const Receiver& r) : receiver(r) {}
  Receiver receiver;
  ArgumentWait argument_wait;           // of the head message
  Queued queued;               // likewise
  bool early = false;          // its head is a call of an actor whose constructor has not ended
  bool passed_over = false;    // its head has to wait, for what comes before it
  Off seen_segment = 0;        // up to where the order of its messages was looked at, and the last one's tag
  uint64_t seen_at = 0;
  Tag last_seen;
  bool mixed = true;           // it has the messages of several tasks or actors, in the order in which these began
};

// The state while there are messages, but none of them may start.
struct Hold {
  bool active = false;
  Tag of;                            // the message that waits, also while others run
  std::vector<Party> holders;        // what it waits for
  uint64_t seen = 0;                 // Header::finished before the last look
  uint64_t executed = 0;             // calls run anywhere, at the last look at whether all sleep
  uint64_t quiet_since = 0;          // ns; since then each such look found that they do; 0: the last one did not
};

struct InboxServer {
  explicit InboxServer(Inbox* in)
      : in(in), actor(in->actor), by_arrival(ctx->header->ordering == Ordering::Arrival),
        given(in->order.load(memory_order_relaxed) & kOpenActor) {}
  Inbox* in;
  uint32_t actor;              // its number
  std::vector<std::unique_ptr<Incoming>> incoming;
  Off known_channels = 0;      // head of the inbox's list when it was last looked at
  CallsPendingArguments pending_arguments;
  std::multimap<uint64_t, DetachedCall>
      of_closed;  // calls that can run, out of channels that are closed (see take_closed); by their order_key
  Tag created;                 // of its Create message, once that has run
  // of in_order.cpp
  ParkedCalls parked;
  Hold hold;
  uint64_t ran = 0;            // calls of it
  uint64_t sampled = 0;        // ns, when it was last looked at who waits (holds.cpp)
  const bool by_arrival;       // its run is recorded, in the order of arrival
  bool given;                  // its kOpenActor flag is raised
  bool refuse = false;         // strict: the next message fails
  bool warned = false;         // the user was told that a message waits for long
  std::vector<Tag> script;     // the tags of its messages, in their order, where it is given; the first ones have run
  size_t played = 0;
  uint32_t sought = 0;         // timed order: the strand whose call may run, but has not come yet
  Object* awaited = nullptr;   // timed order: the argument of the message whose turn it is that is being written
};

// Channels that are looked through for the next message, each time. Each task that is given a handle has a channel of its own, so there may be thousands
// with one message: what is in a closed one is taken out when there are more than these.
constexpr size_t kMostScannedChannels = 32;

// The next call to run: the head of a channel, a call whose arguments were pending (its index), the first call of a parked batch, or of those of closed channels.
struct Next {
  Incoming* head = nullptr;
  long pending_arguments = -1;
  const Tag* parked = nullptr;
  bool of_closed = false;
  explicit operator bool() const { return head || pending_arguments >= 0 || parked || of_closed; }
};

// A message that could be the next one: the first message of its caller.
struct Candidate {
  Message* message = nullptr;
  ArgumentWait* argument_wait = nullptr;
  Queued* queued = nullptr;
  Next next;
};

void find_channels(InboxServer& s);           // those that callers have opened since

// The message with the smallest tag, if no message with a smaller tag can arrive any more; otherwise none. See order.h.
Next next_in_order(InboxServer& s);
std::vector<Candidate> candidates(InboxServer& s, size_t most);  // by their tags
bool order_ready(const InboxServer& s);       // for the wait loop, without the GIL: another look is worth while
uint64_t held_until(const InboxServer& s);    // when to look whether it must be given up
// Checks whether the hold must end, because its time has come or (`alone`) because all other processes sleep. `busy`: this process runs a call.
void look_at_hold(InboxServer& s, bool alone, bool busy = false);
std::vector<DetachedCall> forget_detached(InboxServer& s);  // all calls out of their channels; the inbox is served no more
void actor_was_given(InboxServer& s);
void add_to_script(InboxServer& s, PyObject* tags);
void follow_script(uint32_t actor, PyObject* tags);  // its messages come in the order of these tags, [tuple]
extern PyObject* refusal;  // the next message fails with this exception (order "strict")

// Defined in holds.cpp.
void begin_hold(InboxServer& s);
void end_hold(InboxServer& s);
// Adds the waiting time of messages that order keeps back to the accounts of their callers, when no message may run, or (`chosen`) another
// one runs before them. Returns whether some pairs are relaxed now.
bool charge_waits(InboxServer& s, const Candidate& first, const Candidate* chosen);
void charge_held(InboxServer& s, const Candidate& chosen);  // it has waited, and runs now
void tell_passed(InboxServer& s, const Candidate& chosen);  // it runs now, and has not waited for some
inline Ordered ordered(const InboxServer& s, const Message* m) {
  return {s.actor, s.in->order.load(memory_order_relaxed) & kNamed ? TagView{} : TagView(s.created), m->method};
}
// Timed order: its messages run when the table says so (timed/table.h).
inline bool is_timed(const InboxServer& s) {
  const uint32_t order = s.in->order.load(memory_order_seq_cst);
  return s.in->timed && (!(order & kPhysical) || order & kLoop);
}
inline bool in_order(const InboxServer& s) {
  return ctx->timed ? is_timed(s)
                    : ctx->logical && (!s.script.empty() || (s.in->order.load(memory_order_seq_cst) & (kSeveral | kPhysical)) == kSeveral);
}
// Tells of the actor's calls that somebody wants to be interrupted.
void pass_on_cancels();
bool serve_one(InboxServer& s);  // runs the next call that can run; false: there is none
bool may_have_work(const InboxServer& s);  // whether serve_one may have something to do, or the actor's end has come; needs no GIL
bool process_asked();  // somebody wants something of the process itself; needs no GIL
void answer();  // does that
bool is_over(InboxServer& s);  // nobody holds the actor, and all that was sent to it is done

}  // namespace reactor
