// SPDX-License-Identifier: BSD-2-Clause
//
// Memory between two pages that cannot be touched, filled with a byte that nobody writes by
// accident, and the oracle that says whether a range of it, and nothing else, was cleared.
#ifndef HPZERO_TESTS_SUPPORT_GUARDED_BUFFER_H
#define HPZERO_TESTS_SUPPORT_GUARDED_BUFFER_H

#include <gtest/gtest.h>
#include <stddef.h>

#include <initializer_list>
#include <vector>

namespace hpz::test {

inline constexpr unsigned char kPoison = 0xA5;
inline constexpr size_t kPageBytes = 4096;

using Sizes = std::initializer_list<size_t>;  // for (size_t len : Sizes{1, 2, 3})

class GuardedBuffer {
 public:
  explicit GuardedBuffer(size_t bytes);  // rounded up to whole pages; poisoned
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer &) = delete;
  GuardedBuffer &operator=(const GuardedBuffer &) = delete;

  unsigned char *begin() const { return begin_; }  // the byte before is a guard page's
  unsigned char *end() const { return end_; }      // this byte is a guard page's
  size_t size() const { return static_cast<size_t>(end_ - begin_); }

  void poison() const;
  // Expects zeroes in [dst, dst + len) and poison everywhere else.
  testing::AssertionResult only_cleared(const unsigned char *dst, size_t len) const;
  // The same of every [lane, lane + len); in any order, apart or side by side.
  testing::AssertionResult only_cleared(std::vector<void *> lanes, size_t len) const;

 private:
  unsigned char *map_ = nullptr;
  unsigned char *begin_ = nullptr;
  unsigned char *end_ = nullptr;
};

// The first byte of [from, to) that differs from value; to if none does.
const unsigned char *find_other(const unsigned char *from, const unsigned char *to,
                                unsigned char value);

// Expects value in all of [from, to). what names the range in the failure.
testing::AssertionResult all_are(const unsigned char *from, const unsigned char *to,
                                 unsigned char value, const char *what);

// Row C9: to MemorySanitizer this memory is not initialised from here on, so that it reports
// whoever looks at it before somebody has written it and said so. Without MemorySanitizer: nothing.
void forget(const void *at, size_t len);

}  // namespace hpz::test

#endif
