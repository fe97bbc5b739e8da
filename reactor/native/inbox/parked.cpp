#include "inbox/parked.h"
#include <algorithm>
#include "process/placement.h"

namespace reactor {

void ParkedCalls::insert(const Entry& e) {
  if (!indexed_) return;
  sent_.insert(&e);
  of_caller_[e.second.front().message()->caller].insert(&e);
}

void ParkedCalls::remove(const Entry& e) {
  if (!indexed_) return;
  sent_.erase(&e);
  auto of = of_caller_.find(e.second.front().message()->caller);
  of->second.erase(&e);
  if (of->second.empty()) of_caller_.erase(of);
}

void ParkedCalls::index() {
  if (indexed_) return;
  indexed_ = true;
  for (const Entry& e : batches_) insert(e);
}

void ParkedCalls::add(Parked p) {
  auto entry = batches_.find(maker_of(p.message()));
  if (entry == batches_.end()) {
    Tag maker;
    maker.assign(maker_of(p.message()));
    entry = batches_.emplace(maker, Batch{}).first;
  } else {
    remove(*entry);
  }
  auto& [calls, first] = entry->second;
  auto at = calls.end();
  while (at != calls.begin() + long(first) && compare(tag_of(p.message()), tag_of((at - 1)->message())) < 0) --at;
  calls.insert(at, p);
  insert(*entry);
}

DetachedCall ParkedCalls::take(const Tag& maker) {
  auto entry = batches_.find(maker);
  remove(*entry);
  Batch& batch = entry->second;
  DetachedCall k = batch.front().detached;
  if (++batch.first == batch.calls.size()) batches_.erase(entry);
  else insert(*entry);
  return k;
}

bool ParkedCalls::bring_forward(TagView call) {
  for (auto& entry : batches_) {
    auto& [calls, first] = entry.second;
    const auto begin = calls.begin() + long(first);
    const auto at = std::find_if(begin, calls.end(), [&](const Parked& p) { return compare(tag_of(p.message()), call) == 0; });
    if (at == calls.end()) continue;
    remove(entry);
    std::rotate(begin, at, at + 1);
    insert(entry);
    return true;
  }
  return false;
}

std::vector<DetachedCall> ParkedCalls::forget() {
  std::vector<DetachedCall> all;
  for (auto& [maker, batch] : batches_)
    for (size_t i = batch.first; i < batch.calls.size(); ++i) {
      if (batch.calls[i].argument_wait.missing) let_go(ctx->local, batch.calls[i].argument_wait.node);
      all.push_back(batch.calls[i].detached);
    }
  sent_.clear();
  of_caller_.clear();
  batches_.clear();
  return all;
}

}  // namespace reactor
