// SPDX-License-Identifier: BSD-2-Clause
//
// The pools of huge pages of this machine, each of one size. Who changes one runs alone:
// RESOURCE_LOCK huge_pages.
#ifndef HPZERO_TESTS_SUPPORT_HUGE_POOL_H
#define HPZERO_TESTS_SUPPORT_HUGE_POOL_H

#include <stddef.h>

#include <string>

namespace hpz::test {

inline constexpr size_t kHugeBytes = size_t{2} << 20;
inline constexpr size_t kGiganticBytes = size_t{1} << 30;

// At the end the pool is as it was found.
class HugePool {
 public:
  explicit HugePool(size_t page_bytes = kHugeBytes);
  ~HugePool();
  HugePool(const HugePool &) = delete;
  HugePool &operator=(const HugePool &) = delete;

  // That can be taken; -1: no such pages in this kernel.
  static long free_pages(size_t page_bytes = kHugeBytes);

  // Sees to this many pages, or more, that can be taken. "", or why there are not: words for
  // GTEST_SKIP. It is a failure of the test, too, where the pool may be changed and they are not;
  // but for gigantic ones, for a machine that has been up for long has not so much in one piece.
  std::string take(long pages) { return see_to(pages, false); }
  // The same, but no page more, and none beside the pool either (overcommit).
  std::string take_exactly(long pages) { return see_to(pages, true); }

 private:
  std::string see_to(long pages, bool exactly);
  long all_pages() const;

  const size_t page_bytes_;
  const long found_, found_overcommit_;
};

}  // namespace hpz::test

#endif
