// An array whose length is known when it is made and is nearly always small: no allocation up to N elements.
#pragma once
#include <cstddef>
#include <memory>

namespace reactor {

template <class T, size_t N> class InlineArray {
 public:
  explicit InlineArray(size_t n) : size_(n), more_(n > N ? new T[n]() : nullptr) {}
  InlineArray(const InlineArray&) = delete;
  InlineArray& operator=(const InlineArray&) = delete;
  T* data() { return more_ ? more_.get() : here_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }

 private:
  T here_[N] = {};
  size_t size_;
  std::unique_ptr<T[]> more_;
};

}  // namespace reactor
