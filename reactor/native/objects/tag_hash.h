// Hashes by which objects are named the same in each run. The hash of a tag is that of its numbers (order/tag.h); what an operation makes has a hash of the
// operation's tag.
#pragma once
#include <cstdint>

namespace reactor {

// For a fixed `h` a one-to-one map: what one call makes has different hashes. `what`: a number of a tag, of 32 bits, or of something made.
inline uint64_t hash_on(uint64_t h, uint64_t what) {
  h = (h ^ what) * 0x9e3779b97f4a7c15ull;
  return (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
}
// One of the results of a call; a value that `put` has stored; an actor; a value that the call's generator has yielded.
enum class Made : uint64_t { Result = 1, Put, Actor, Yielded };
inline uint64_t hash_of_made(uint64_t of_call, Made what, uint64_t number) { return hash_on(of_call, uint64_t(what) << 56 | number); }

}  // namespace reactor
