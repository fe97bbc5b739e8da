// The calls of an inbox that were taken out of their channels because they have to wait, while calls behind them may run before them.
#pragma once
#include <map>
#include <set>
#include "inbox/pending_arguments.h"

namespace reactor {

// Times of a message that waits because of order alone, or that later messages have overtaken.
struct Queued {
  uint64_t since = 0;          // ns, when it was first seen so; 0: it was not
  uint64_t charged = 0;        // until when its wait is in somebody's account (patience.h)
  uint64_t ran = 0;            // InboxServer::ran when it was first seen
};

inline TagView tag_of(Message* m) { return {m->order_key, m->tail(), m->depth}; }
inline uint64_t roots_of(uint64_t root) { return driver_of(root) << kDriverBits; }
// The tag of the call that made it; of a driver's own, the tag before its first.
inline TagView maker_of(Message* m) {
  return {m->depth ? m->order_key : roots_of(m->order_key), m->tail(), m->depth ? last_number(m->tail(), m->depth) : 0};
}

// Of two messages of one time, the one with the smaller tag.
inline bool sent_before(Message* a, Message* b) {
  return a->sent() != b->sent() ? a->sent() < b->sent() : compare(tag_of(a), tag_of(b)) < 0;
}

struct Parked {
  DetachedCall detached;
  ArgumentWait argument_wait;
  Queued queued;
  Message* message() const { return ctx->heap->at<Message>(detached.block); }
};

// The parked calls that were made by one call, in the order of their numbers. Never empty.
struct Batch {
  std::vector<Parked> calls;
  size_t first = 0;            // those before it have run
  Parked& front() { return calls[first]; }
  const Parked& front() const { return calls[first]; }
};

struct Before {
  using is_transparent = void;
  bool operator()(TagView a, TagView b) const { return compare(a, b) < 0; }
};

class ParkedCalls {
 public:
  using Batches = std::map<Tag, Batch, Before>;  // by the tags of the calls that made them
  using Entry = Batches::value_type;
  struct SentBefore {
    bool operator()(const Entry* a, const Entry* b) const { return sent_before(a->second.front().message(), b->second.front().message()); }
  };
  struct TagBefore {
    using is_transparent = void;
    bool operator()(const Entry* a, const Entry* b) const { return (*this)(a, tag_of(b->second.front().message())); }
    bool operator()(const Entry* a, TagView b) const { return compare(tag_of(a->second.front().message()), b) < 0; }
    bool operator()(TagView a, const Entry* b) const { return compare(a, tag_of(b->second.front().message())) < 0; }
  };
  using OfCaller = std::map<Party, std::set<const Entry*, TagBefore>>;

  bool empty() const { return batches_.empty(); }
  bool has(TagView maker) const { return batches_.find(maker) != batches_.end(); }
  Batches::iterator begin() { return batches_.begin(); }
  Batches::iterator end() { return batches_.end(); }
  Batches::const_iterator begin() const { return batches_.begin(); }
  Batches::const_iterator end() const { return batches_.end(); }
  size_t size() const { return batches_.size(); }
  const Batch& of(const Tag& maker) const { return batches_.find(maker)->second; }

  void add(Parked p);
  DetachedCall take(const Tag& maker);  // its first call
  bool bring_forward(TagView call);     // it is the first of its batch from now on; false: it is not here
  std::vector<DetachedCall> forget();   // all
  // The batches by their first calls. Kept up to date from the first look on.
  const std::set<const Entry*, SentBefore>& by_arrival() { return index(), sent_; }
  const OfCaller& by_caller() { return index(), of_caller_; }

 private:
  void index();
  void insert(const Entry& e);
  void remove(const Entry& e);  // before its first call changes
  Batches batches_;
  bool indexed_ = false;
  std::set<const Entry*, SentBefore> sent_;
  OfCaller of_caller_;
};

}  // namespace reactor
