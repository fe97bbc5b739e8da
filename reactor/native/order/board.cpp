// The owner's side of a board.
#include "order/order.h"

namespace reactor {

Off OwnBoard::allocate(uint64_t size) {
  Off off = local_.alloc.alloc_record(size);
  local_.alloc.publish(off, kPlain);
  return off;
}

// Whether all calls of the list have ended.
bool OwnBoard::ended(OpenList* l) {
  each_open(heap_, l, [](const OpenCall&, bool) { return false; });  // moves head
  return l->head.load(memory_order_acquire) == l->tail.load(memory_order_relaxed);
}

// That of a process that is dead, with the calls of it that are still open, or a new one.
void OwnBoard::adopt_or_make() {
  Header* header = heap_->header;
  for (Off off = header->boards.load(memory_order_acquire); off;) {
    auto* b = heap_->at<Board>(off);
    uint32_t nobody = kNoProc;
    if (b->producer.compare_exchange_strong(nobody, local_.slot, memory_order_acq_rel)) {
      board_ = b;
      for (Off at = b->first.load(memory_order_acquire); at;) {
        OwnList l;
        l.list = heap_->at<OpenList>(at);
        for (Off s = l.list->first.load(memory_order_acquire); s; s = l.last->next.load(memory_order_acquire)) {
          l.last = heap_->at<OpenSegment>(s);
          l.largest = std::max(l.largest, l.last->capacity);
        }
        l.list->sorted.store(l.list->tail.load(memory_order_acquire), memory_order_relaxed);  // the tag of its last call is not known here
        // An ended list may still name a callee that has another one by now.
        if (ended(l.list)) free_.push_back(l);
        else lists_.emplace(l.list->callee.load(memory_order_relaxed), l);
        at = l.list->next.load(memory_order_acquire);
      }
      return;
    }
    off = b->next.load(memory_order_acquire);
  }
  Off off = allocate(sizeof(Board));
  board_ = heap_->at<Board>(off);
  board_->producer.store(local_.slot, memory_order_relaxed);
  board_->version.store(0, memory_order_relaxed);
  board_->first.store(0, memory_order_relaxed);
  Off head = header->boards.load(memory_order_relaxed);
  do board_->next.store(head, memory_order_relaxed);
  while (!header->boards.compare_exchange_weak(head, off, memory_order_release, memory_order_relaxed));
}

void OwnBoard::take_ended_lists() {
  for (auto it = lists_.begin(); it != lists_.end();) {
    if (ended(it->second.list)) {
      free_.push_back(it->second);
      it = lists_.erase(it);
    } else {
      ++it;
    }
  }
  enough_ = 2 * lists_.size() + 2;
}

OwnBoard::OwnList& OwnBoard::list_of(uint32_t callee) {
  auto known = lists_.find(callee);
  if (known != lists_.end()) return known->second;
  if (free_.empty() && lists_.size() >= enough_) take_ended_lists();
  OwnList l;
  if (!free_.empty()) {
    l = free_.back();
    free_.pop_back();
    l.list->callee.store(callee, memory_order_release);
  } else {
    Off off = allocate(sizeof(OpenList));
    l.list = heap_->at<OpenList>(off);
    l.list->first.store(0, memory_order_relaxed);
    for (auto* at : {&l.list->head, &l.list->tail, &l.list->sorted}) at->store(0, memory_order_relaxed);
    l.list->callee.store(callee, memory_order_relaxed);
    l.list->next.store(board_->first.load(memory_order_relaxed), memory_order_relaxed);
    board_->first.store(off, memory_order_release);
  }
  return lists_.emplace(callee, l).first->second;
}

// The slot for the next call: in the last segment or, if that is full, in the first one again or in a new one.
OpenSlot& OwnBoard::next_slot(OwnList& l) {
  const uint64_t at = l.list->tail.load(memory_order_relaxed);
  if (l.last && at - l.last->base.load(memory_order_relaxed) < l.last->capacity)
    return l.last->slot(at - l.last->base.load(memory_order_relaxed));
  const Off oldest = l.list->first.load(memory_order_relaxed);
  auto* s = heap_->at<OpenSegment>(oldest);
  if (l.last && s->base.load(memory_order_relaxed) + s->capacity <= l.list->head.load(memory_order_acquire)) {
    std::atomic_thread_fence(memory_order_release);
    if (s != l.last) {
      l.list->first.store(s->next.load(memory_order_relaxed), memory_order_release);
      s->next.store(0, memory_order_release);  // who comes to the end here finds another first one
      s->base.store(at, memory_order_relaxed);
      l.last->next.store(oldest, memory_order_release);
    } else {
      s->base.store(at, memory_order_relaxed);
    }
  } else {
    const uint64_t capacity = l.largest ? std::min(2 * l.largest, OpenSegment::kLargest) : OpenSegment::kSmallest;
    Off off = allocate(sizeof(OpenSegment) + capacity * sizeof(OpenSlot));
    s = heap_->at<OpenSegment>(off);
    s->capacity = l.largest = capacity;
    s->next.store(0, memory_order_relaxed);
    s->base.store(at, memory_order_relaxed);
    (l.last ? l.last->next : l.list->first).store(off, memory_order_release);
  }
  l.last = s;
  return s->slot(0);
}

void OwnBoard::append(OwnList& l, const OpenCall& call) {
  OpenSlot& s = next_slot(l);
  uint64_t words[kOpenWords];
  memcpy(words, &call, sizeof call);
  for (size_t i = 0; i < kOpenWords; ++i) s.word[i].store(words[i], memory_order_relaxed);
  const uint64_t at = l.list->tail.load(memory_order_relaxed);
  if (compare(call.tag(), l.newest) < 0) l.list->sorted.store(at, memory_order_relaxed);
  l.newest.assign(call.tag());
  l.list->tail.store(at + 1, memory_order_release);
}

// If at most a quarter of the calls is still open, appends the open ones again, so that head can pass all the others.
void OwnBoard::close_up(OwnList& l) {
  const uint64_t end = l.list->tail.load(memory_order_relaxed), n = end - l.list->head.load(memory_order_acquire);
  std::vector<OpenCall> open;
  each_open(heap_, l.list, [&](const OpenCall& x, bool) {
    open.push_back(x);
    return 4 * open.size() <= n;
  });
  l.enough = std::max(kEnough, 2 * n);
  if (4 * open.size() > n) return;
  for (const OpenCall& x : open) append(l, x);
  for (uint64_t head = l.list->head.load(memory_order_acquire); head < end && !l.list->head.compare_exchange_weak(head, end);) {}
  l.enough = std::max(kEnough, 4 * open.size());
}

void OwnBoard::open(Object* result, OpenCall& call) {
  if (!board_) adopt_or_make();
  OwnList& l = list_of(call.actor);
  ended(l.list);  // moves head: there may be room in its segments
  if (l.list->tail.load(memory_order_relaxed) - l.list->head.load(memory_order_relaxed) >= l.enough) close_up(l);
  call.result = heap_->off(result);
  call.uid = result->uid;
  std::atomic_ref(result->kind).fetch_or(kOpenCall, memory_order_seq_cst);  // who completes it tells those that hold back
  append(l, call);
  board_->version.fetch_add(1, memory_order_seq_cst);
}

}  // namespace reactor
