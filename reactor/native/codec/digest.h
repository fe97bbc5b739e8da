// A running hash of what passed an actor: each call's arguments and results, as the bytes that were shared, in the actor's order.
//
// The fold of a 128-bit product, as in wyhash: about 10 GB/s and some nanoseconds for a small value. It tells runs apart; it is no
// protection against somebody who wants two of them to look alike.
#pragma once
#include <cstring>
#include "objects/object.h"

namespace reactor {

inline uint64_t mix(uint64_t a, uint64_t b) {
  auto r = static_cast<unsigned __int128>(a ^ 0xa0761d6478bd642full) * (b ^ 0xe7037ed1a0b428dbull);
  return uint64_t(r) ^ uint64_t(r >> 64);
}

inline uint64_t hash_bytes(const uint8_t* p, uint64_t n, uint64_t seed) {
  auto load = [](const uint8_t* at) {
    uint64_t v;
    memcpy(&v, at, 8);
    return v;
  };
  uint64_t a = seed, b = seed + n, c = ~seed, left = n;
  for (; left >= 48; left -= 48, p += 48) {
    a = mix(load(p) ^ a, load(p + 8));
    b = mix(load(p + 16) ^ b, load(p + 24));
    c = mix(load(p + 32) ^ c, load(p + 40));
  }
  a = mix(a, b) ^ c;
  for (; left >= 8; left -= 8, p += 8) a = mix(load(p) ^ a, n);
  uint8_t last[8] = {};
  memcpy(last, p, left);
  return mix(load(last) ^ a, n + left);
}

// Of a large buffer one cache line in 64: reading all of it would take as long again as copying it did. Wholly with Digest::Full.
constexpr uint64_t kHashedWhole = 64ull * 1024;
inline uint64_t hash_buffer(const uint8_t* p, uint64_t n, uint64_t seed, bool whole) {
  if (whole || n <= kHashedWhole) return hash_bytes(p, n, seed);
  seed = mix(seed, n);
  uint64_t at = 0;
  for (; at + kLine <= n; at += 64 * kLine) seed = hash_bytes(p + at, kLine, seed);
  return hash_bytes(p + n - kLine, kLine, seed);
}

// Refs count by their number and their place in the stream, not by where the objects lie, which differs from run to run. A buffer that
// lies in arguments counts as one of the value's own.
inline uint64_t hash_value(Heap* h, uint8_t* value, uint64_t seed, bool whole) {
  auto* v = reinterpret_cast<ValueHeader*>(value);
  if (v->bare()) return hash_bytes(value_stream(v), v->stream(), mix(seed, 0));
  Object* shown = shown_arguments(h, v);
  seed = hash_bytes(value_stream(v), v->stream(), mix(seed, v->deps() << 16 | (v->refs() - (shown != nullptr))));
  for (uint32_t i = 0; i < v->buffers(); ++i) {
    const BufferEntry& b = value_buffers(v)[i];
    seed = hash_buffer((b.shown() ? value_of(h, shown) : value) + b.offset(), b.size, seed, whole);
  }
  return seed;
}

// An error counts as that: its text tells processes and places.
inline uint64_t hash_result(Heap* h, Object* o, uint64_t seed, bool whole) {
  State s = o->state.load(memory_order_relaxed);
  return s == State::Value ? hash_value(h, value_of(h, o), seed, whole) : mix(seed, uint64_t(s));
}

}  // namespace reactor
