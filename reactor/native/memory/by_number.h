// A map by number. What was looked up is found again without the division of a hash table; entries stay where they are.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace reactor {

template <class T> class ByNumber {
 public:
  // Null: there is none.
  T* find(uint32_t number) {
    Known& known = known_[number % kKnown];
    if (known.entry && known.number == number) return known.entry;
    auto it = all_.find(number);
    if (it == all_.end()) return nullptr;
    known = {number, &it->second};
    return known.entry;
  }
  // A new one if there is none.
  T& operator[](uint32_t number) {
    if (T* entry = find(number)) return *entry;
    return all_[number];
  }
  // The entry, taken out: whoever has it decides when it ends.
  auto extract(uint32_t number) {
    Known& known = known_[number % kKnown];
    if (known.number == number) known = {};
    return all_.extract(number);
  }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }

 private:
  static constexpr size_t kKnown = 64;
  struct Known {
    uint32_t number = 0;
    T* entry = nullptr;
  };
  std::array<Known, kKnown> known_;
  std::unordered_map<uint32_t, T> all_;
};

}  // namespace reactor
