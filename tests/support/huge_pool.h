// SPDX-License-Identifier: BSD-2-Clause
//
// The pool of 2 MiB pages of this machine. Who changes it runs alone: RESOURCE_LOCK huge_pages.
#ifndef HPZERO_TESTS_SUPPORT_HUGE_POOL_H
#define HPZERO_TESTS_SUPPORT_HUGE_POOL_H

#include <stddef.h>

#include <string>

namespace hpz::test {

inline constexpr size_t kHugeBytes = size_t{2} << 20;

// At the end the pool is as it was found.
class HugePool {
 public:
  HugePool();
  ~HugePool();
  HugePool(const HugePool &) = delete;
  HugePool &operator=(const HugePool &) = delete;

  static long all_pages();   // -1: no such pages in this kernel
  static long free_pages();  // that can be taken; -1 as well

  // Sees to this many pages, or more, that can be taken. "", or why there are not: words for
  // GTEST_SKIP. It is a failure of the test, too, where the pool may be changed and they are not.
  std::string take(long pages) { return see_to(pages, false); }
  // The same, but no page more, and none beside the pool either (overcommit).
  std::string take_exactly(long pages) { return see_to(pages, true); }

 private:
  std::string see_to(long pages, bool exactly);

  long found_, found_overcommit_;
};

}  // namespace hpz::test

#endif
