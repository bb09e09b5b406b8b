// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of the C library that fail when a test wants, for the objects that a program is linked of:
// the linker gives them what is in failing_calls.cpp instead (--wrap, tests/pool/CMakeLists.txt).
#ifndef HPZERO_TESTS_POOL_FAILING_CALLS_H
#define HPZERO_TESTS_POOL_FAILING_CALLS_H

#include <errno.h>
#include <stdint.h>

#include <atomic>

namespace hpz::test {

struct FailingCalls {
  // So many calls work, then one fails; negative: nothing fails.
  std::atomic<int64_t> left{-1};
  std::atomic<bool> has_failed{false};
  // What mmap and madvise say: the latter for ENOMEM, too, and both of a program that locks its
  // memory.
  int no_memory = ENOMEM;
  // What happens just before one fails, once.
  void (*before_failing)() = nullptr;

  // O_TMPFILE is not known, as in hugetlbfs of older kernels.
  std::atomic<bool> is_without_tmpfile{false};
  // Whoever lifts a filler out of its class stops on the way into the kernel, while that is wanted.
  std::atomic<bool> lifters_stop{false}, has_stopped{false};

  // Mapped by such calls, and not unmapped.
  std::atomic<int64_t> mapped_bytes{0};
};

extern FailingCalls failing_calls;

}  // namespace hpz::test

#endif
