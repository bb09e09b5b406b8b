// SPDX-License-Identifier: BSD-2-Clause
//
// A short text in a fixed buffer, for the reasons that queries report. Truncates; allocates nothing
// and calls nothing, so that the first call in a signal handler may use it.
#ifndef HPZERO_LIB_PLAN_TEXT_H
#define HPZERO_LIB_PLAN_TEXT_H

#include <stddef.h>
#include <stdint.h>

namespace hpz {

template <size_t kCapacity> class FixedText {
 public:
  FixedText &operator<<(const char *word) noexcept {
    while (*word != '\0' && length_ + 1 < kCapacity) put(*word++);
    return *this;
  }
  FixedText &operator<<(char c) noexcept {
    if (length_ + 1 < kCapacity) put(c);
    return *this;
  }
  FixedText &operator<<(uint64_t value) noexcept {
    char digits[20];
    int count = 0;
    do digits[count++] = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    while (count > 0 && length_ + 1 < kCapacity) put(digits[--count]);
    return *this;
  }
  const char *c_str() const noexcept { return buffer_; }
  bool empty() const noexcept { return length_ == 0; }
  friend bool operator==(const FixedText &, const FixedText &) = default;

 private:
  void put(char c) noexcept { buffer_[length_++] = c; }

  size_t length_ = 0;
  char buffer_[kCapacity] = {};  // what follows the text is always zero
};

}  // namespace hpz

#endif
