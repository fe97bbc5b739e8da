// The tags of calls. A call's tag is its caller's tag, extended by the number of the call among its caller's: the driver's calls are (1), (2),
// ...; the third call made inside (2) is (2, 3). Their order is that of the serial run (order.h).
#pragma once
#include "objects/tag_hash.h"

namespace reactor {

constexpr uint32_t kMaxTag = 40;  // words of a tag's tail

struct TagView {
  uint64_t root;  // the driver's call
  const uint32_t* tail;  // the numbers of the calls below it
  uint32_t depth;
};
struct Tag {
  uint64_t root = 0;
  uint32_t depth = 0;
  uint32_t tail[kMaxTag];
  operator TagView() const { return {root, tail, depth}; }
  void assign(TagView t) {
    root = t.root;
    depth = t.depth;
    for (uint32_t i = 0; i < depth; ++i) tail[i] = t.tail[i];
  }
  void push(uint32_t n) {
    if (depth < kMaxTag) tail[depth++] = n;
  }
};
// The roots of the driver of this number are (number << kDriverBits) + 1, ...; that of a session's own driver is 0.
constexpr uint32_t kDriverBits = 40;
inline uint64_t driver_of(uint64_t root) { return root >> kDriverBits; }
// Below 0: a is before b; an ancestor is before its descendants.
inline int compare(TagView a, TagView b) {
  if (a.root != b.root) return a.root < b.root ? -1 : 1;
  uint32_t n = a.depth < b.depth ? a.depth : b.depth;
  for (uint32_t i = 0; i < n; ++i)
    if (a.tail[i] != b.tail[i]) return a.tail[i] < b.tail[i] ? -1 : 1;
  return a.depth < b.depth ? -1 : a.depth > b.depth;
}
// The number of a call among its caller's is one word of the tail up to 2^31, then two of 30 bits each, of which the first has its highest bit
// set: so the order of the words is that of the numbers, and no word has its two highest bits set.
constexpr uint32_t kTwoWords = 1u << 31;
inline uint32_t words_of(uint64_t number) { return number < kTwoWords ? 1 : 2; }
// The place of the last number in the tail that begins before word `end`.
inline uint32_t last_number(const uint32_t* tail, uint32_t end) {
  uint32_t at = 0;
  for (uint32_t next = 0; next < end; next += tail[next] & kTwoWords ? 2 : 1) at = next;
  return at;
}
// The depth of the tag of call `number` of the call tagged `caller`. Where the tail has no room for it, what the caller's has beyond kUnfolded words is
// folded into a hash of two words, the first of which has its two highest bits set: such a tag is still one of its own, the same in every run, and
// the calls of one caller are in their order. But whether a call so deep is another's ancestor cannot be told, so it holds nobody.
constexpr uint32_t kUnfolded = kMaxTag - 4, kHash = 3u << 30, kLowBits = (1u << 30) - 1;
inline uint32_t extended_depth(TagView caller, uint64_t number) {
  uint32_t depth = caller.depth + words_of(number);
  if (depth <= kMaxTag) return depth;
  uint32_t cut = last_number(caller.tail, kUnfolded + 1);
  return cut + 2 + words_of(number);
}
// Writes its tail.
inline void extend(TagView caller, uint64_t number, uint32_t* to) {
  const bool folds = caller.depth + words_of(number) > kMaxTag;
  const uint32_t unfolded = folds ? last_number(caller.tail, kUnfolded + 1) : caller.depth;
  for (uint32_t i = 0; i < unfolded; ++i) to[i] = caller.tail[i];
  to += unfolded;
  if (folds) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (uint32_t i = unfolded; i < caller.depth; ++i) hash = (hash ^ caller.tail[i]) * 0x9e3779b97f4a7c15ull, hash ^= hash >> 29;
    *to++ = uint32_t(hash >> 32) | kHash;
    *to++ = uint32_t(hash) & kLowBits;
  }
  if (words_of(number) == 2) {
    *to++ = (uint32_t(number >> 30) & kLowBits) | kTwoWords;
    number &= kLowBits;
  }
  *to = uint32_t(number);
}

// The same in each run (objects/tag_hash.h).
inline uint64_t hash_of(TagView t) {
  uint64_t h = hash_on(0x74616773, t.root);
  for (uint32_t i = 0; i < t.depth; ++i) h = hash_on(h, t.tail[i]);
  return h;
}
// The hash of the tag of call `number` of the call tagged `caller`, whose hash is `of_caller`.
inline uint64_t hash_of_next(TagView caller, uint64_t of_caller, uint64_t number) {
  if (caller.depth < kMaxTag && words_of(number) == 1) return hash_on(of_caller, number);
  uint32_t tail[kMaxTag];
  extend(caller, number, tail);
  return hash_of({caller.root, tail, extended_depth(caller, number)});
}

// x is before t and not its ancestor, for sure.
inline bool strictly_before(TagView x, TagView t) {
  if (x.root != t.root) return x.root < t.root && driver_of(x.root) == driver_of(t.root);
  uint32_t n = x.depth < t.depth ? x.depth : t.depth;
  for (uint32_t i = 0; i < n; ++i)
    if (x.tail[i] != t.tail[i]) return x.tail[i] < t.tail[i] && t.tail[i] < kHash;
  return false;
}

}  // namespace reactor
