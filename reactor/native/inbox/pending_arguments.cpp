#include "inbox/pending_arguments.h"

namespace reactor {

// If not, asks to be rung when the missing one is there.
bool arguments_ready(ArgumentWait& w, Message* m) {
  if (w.missing) {
    if (!is_done(w.missing)) return false;
    let_go(ctx->local, w.node);
    w.missing = nullptr;
  }
  auto* v = message_value(ctx->heap, m);
  Off* deps = value_refs(v);
  for (uint32_t i = 0; i < v->deps(); ++i) {
    auto* o = ctx->heap->at<Object>(deps[i]);
    if (is_done(o)) continue;
    WaitNode* n = watch(ctx->local, o, NodeKind::Bell, ctx->heap->off(&ctx->proc->bell));
    if (!n) continue;
    w.missing = o;
    w.node = n;
    return false;
  }
  return true;
}

DetachedCall detach_call(Message* m, Receiver& from) {
  Off block = ctx->local.alloc.alloc_record(m->size);
  memcpy(ctx->heap->at<Message>(block), m, m->size);
  ctx->local.alloc.publish(block, kPlain);
  uint32_t note = ctx->local.hold_list.add(block, Entry::Call);
  from.pop(m);
  return {block, note};
}

void release_detached(DetachedCall k) {
  release_message(ctx->local, ctx->heap->at<Message>(k.block));
  ctx->local.hold_list.clear(k.note);
  ctx->local.alloc.free(k.block);
}

bool CallsPendingArguments::behind(const Channel* channel, int32_t lane, size_t end) const {
  if (lane < 0) return false;
  for (size_t i = 0; i < end; ++i)
    if (calls_[i].channel == channel && calls_[i].lane == lane) return true;
  return false;
}

bool CallsPendingArguments::take(ArgumentWait& head, Receiver& from, Message* m, int32_t lane) {
  if (!behind(from.channel(), lane, calls_.size()) && arguments_ready(head, m)) return false;
  ArgumentWait waits = head;
  head = {};
  Channel* channel = from.channel();
  calls_.push_back({detach_call(m, from), channel, lane, waits});
  return true;
}

long CallsPendingArguments::next(uint64_t& key) {
  long best = -1;
  for (size_t i = 0; i < calls_.size(); ++i) {
    Call& c = calls_[i];
    auto* m = ctx->heap->at<Message>(c.detached.block);
    if (m->order_key >= key || behind(c.channel, c.lane, i) || !arguments_ready(c.argument_wait, m)) continue;
    best = long(i);
    key = m->order_key;
  }
  return best;
}

DetachedCall CallsPendingArguments::remove(long place) {
  DetachedCall k = calls_[size_t(place)].detached;
  calls_.erase(calls_.begin() + place);
  return k;
}

std::vector<DetachedCall> CallsPendingArguments::take_all() {
  std::vector<DetachedCall> all;
  for (Call& c : calls_) {
    if (c.argument_wait.missing) let_go(ctx->local, c.argument_wait.node);
    all.push_back(c.detached);
  }
  calls_.clear();
  return all;
}

bool CallsPendingArguments::ready() const {
  for (const Call& c : calls_)
    if (c.argument_wait.missing && is_done(c.argument_wait.missing)) return true;
  return false;
}

}  // namespace reactor
