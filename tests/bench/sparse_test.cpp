// SPDX-License-Identifier: BSD-2-Clause
//
// Sparse memory: one page in a hundred is there, and the others are not brought in by looking.
#include "bench/sparse.h"

#include <gtest/gtest.h>

#include <cstring>

#include "bench/sizes.h"
#include "tests/support/settings.h"

namespace hpz::bench {
namespace {

TEST(Sparse, OnePageInAHundred) {
  SparseMemory memory(PageKind::k4k, 64 * kMiB);
  const uint64_t page = page_bytes(PageKind::k4k);
  EXPECT_EQ(memory.places(), (64 * kMiB / page + 99) / 100);
  EXPECT_EQ(memory.touched_bytes(), memory.places() * page);
  memory.dirty();
  EXPECT_FALSE(memory.reads_zero());
  for (uint64_t at = 0; at < memory.bytes(); at += 100 * page) {
    std::memset(memory.base() + at, 0, page);
  }
  EXPECT_TRUE(memory.reads_zero());
  memory.base()[100 * page + page - 1] = 1;
  EXPECT_FALSE(memory.reads_zero());
}

TEST(Sparse, LookingBringsNothingIn) {
  if (test::is_set("HPZERO_TEST_EMULATOR")) {
    GTEST_SKIP() << "NOT TESTED HERE: an emulator does not tell what is resident";
  }
  SparseMemory memory(PageKind::k4k, 64 * kMiB);
  memory.dirty();
  EXPECT_EQ(memory.resident(), memory.touched_bytes());
  EXPECT_FALSE(memory.reads_zero());
  EXPECT_EQ(memory.resident(), memory.touched_bytes());
}

}  // namespace
}  // namespace hpz::bench
