// What a worker knows of one inbox that it serves, and which of its messages runs next.
#pragma once
#include <deque>
#include <memory>
#include "aside.h"

namespace reactor {

// One caller's channel.
struct Incoming {
  explicit Incoming(const Receiver& r) : receiver(r) {}
  Receiver receiver;
  Awaiting awaiting;           // of the head message
  bool early = false;          // its head is a call of an actor that is not made yet
  bool passed_over = false;    // its head has to wait, for what comes before it
  Off seen_segment = 0;        // up to where the order of its messages was looked at, and the last one's tag
  uint64_t seen_at = 0;
  Tag last_seen;
  bool mixed = true;           // it has the messages of several tasks or actors, in the order in which these began
};

// A call that was taken out of its channel because it has to wait: those behind it may come before it.
struct Parked {
  Kept kept;
  Awaiting awaiting;
  Message* message() const { return ctx->heap->at<Message>(kept.block); }
};

// While messages are there and none may start.
struct Hold {
  bool active = false;
  Tag of;                            // the message that waits, also while others run
  uint64_t since = 0;                // ns, when that began to wait
  uint64_t seen = 0;                 // Header::finished before the last look
  std::vector<Blocker> blockers;     // the calls that must end first; none: an argument is missing
  uint16_t method = 0;               // of the message that waits
  uint64_t executed = 0;             // calls run anywhere, at the last look at whether all sleep
  uint32_t quiet = 0;                // how many such looks in a row found that
};

struct Served {
  explicit Served(Inbox* in) : in(in), actor(in->actor), by_arrival(ctx->header->ordering == Ordering::Arrival),
        given(in->order.load(memory_order_relaxed) & kOpenActor) {}
  Inbox* in;
  uint32_t actor;              // its number
  std::vector<std::unique_ptr<Incoming>> incoming;
  Off known_channels = 0;      // head of the inbox's list when it was last looked at
  Aside aside;
  // of in_order.cpp
  std::deque<Parked> parked;   // by their tags
  Hold hold;
  bool by_arrival;             // it was not to be ordered: what is ready runs
  bool given;                  // its kOpenActor flag is raised
  bool refuse = false;         // strict: the next message fails
  std::vector<Tag> script;     // the tags of its messages, in their order, where it is given; the first ones have run
  size_t played = 0;
};

// What runs next: the head of a channel, or a call that was set aside or parked (its place).
struct Next {
  Incoming* head = nullptr;
  long aside = -1, parked = -1;
  explicit operator bool() const { return head || aside >= 0 || parked >= 0; }
};

inline TagView tag_of(Message* m) { return {m->stamp, m->tail(), m->depth}; }

void find_channels(Served& s);           // those that callers have opened since

// The least message by its tag, once nothing can come before it any more; nothing while it has to wait. See order.h.
Next next_in_order(Served& s);
Kept take_parked(Served& s, long place);
bool order_ready(const Served& s);       // for the wait loop, without the GIL: another look is worth while
uint64_t held_until(const Served& s);    // when to look whether it must be given up
// It is time; or, `alone`, everybody else sleeps. `busy`: this process itself runs a call.
void look_at_hold(Served& s, bool alone, bool busy = false);
std::vector<Kept> forget_parked(Served& s);  // the inbox is served no more
void actor_was_given(Served& s);
void add_to_script(Served& s, PyObject* tags);
inline bool in_order(const Served& s) {
  return ctx->logical && (!s.script.empty() || (s.in->order.load(memory_order_seq_cst) & (kSeveral | kPhysical)) == kSeveral);
}
bool serve_one(Served& s);           // runs the next call that can run; false: there is none
bool served_ready(const Served& s);  // whether serve_one may have something to do, or the actor's end has come; needs no GIL
bool process_asked();                // somebody wants something of the process itself; needs no GIL
void answer();                       // does that
bool is_over(Served& s);             // nobody holds the actor, and all that was sent to it is done

}  // namespace reactor
