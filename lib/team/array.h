// SPDX-License-Identifier: BSD-2-Clause
//
// A growing array of plain values on malloc: std::vector needs the C++ run-time library, which this
// library does without. Running out of memory is a result, not an exception.
#ifndef HPZERO_LIB_TEAM_ARRAY_H
#define HPZERO_LIB_TEAM_ARRAY_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <type_traits>
#include <utility>

namespace hpz {

template <class T> class Array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  constexpr Array() noexcept = default;
  Array(Array &&other) noexcept { swap(other); }
  Array &operator=(Array &&other) noexcept {
    swap(other);
    return *this;
  }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() { free(data_); }

  // New elements are all zero bytes. False: no memory, nothing changed.
  [[nodiscard]] bool resize(size_t size) noexcept {
    if (size > capacity_ && !reserve(size)) return false;
    if (size > size_) memset(static_cast<void *>(data_ + size_), 0, (size - size_) * sizeof(T));
    size_ = size;
    return true;
  }
  [[nodiscard]] bool push_back(const T &value) noexcept {
    const T copy = value;  // may lie in the memory that moves
    if (size_ == capacity_ && !reserve(capacity_ == 0 ? 16 : 2 * capacity_)) return false;
    data_[size_++] = copy;
    return true;
  }
  [[nodiscard]] bool reserve(size_t capacity) noexcept {
    if (capacity <= capacity_) return true;
    size_t bytes;
    // NOLINTNEXTLINE(bugprone-sizeof-expression): elements may be pointers
    if (__builtin_mul_overflow(capacity, sizeof(T), &bytes)) return false;
    void *const grown = realloc(static_cast<void *>(data_), bytes);
    if (grown == nullptr) return false;
    data_ = static_cast<T *>(grown);
    capacity_ = capacity;
    return true;
  }
  [[nodiscard]] bool assign(const T *from, size_t size) noexcept {
    if (!resize(size)) return false;
    if (size != 0) memcpy(static_cast<void *>(data_), from, size * sizeof(T));
    return true;
  }
  void clear() noexcept { size_ = 0; }

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T *data() noexcept { return data_; }
  const T *data() const noexcept { return data_; }
  T *begin() noexcept { return data_; }
  T *end() noexcept { return data_ + size_; }
  const T *begin() const noexcept { return data_; }
  const T *end() const noexcept { return data_ + size_; }
  T &operator[](size_t i) noexcept { return data_[i]; }
  const T &operator[](size_t i) const noexcept { return data_[i]; }
  T &back() noexcept { return data_[size_ - 1]; }
  const T &back() const noexcept { return data_[size_ - 1]; }

 private:
  void swap(Array &other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  T *data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace hpz

#endif
