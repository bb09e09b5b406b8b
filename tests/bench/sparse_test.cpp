// SPDX-License-Identifier: BSD-2-Clause
//
// Sparse memory: one page in a hundred is there, and the others are not brought in by looking.
#include "bench/sparse.h"

#include <gtest/gtest.h>

#include <cstring>

#include "bench/sizes.h"

namespace hpz::bench {
namespace {

TEST(Sparse, OnePageInAHundred) {
  SparseMemory memory(PageKind::k4k, 64 * kMiB);
  const uint64_t page = page_bytes(PageKind::k4k);
  EXPECT_EQ(memory.places(), (64 * kMiB / page + 99) / 100);
  EXPECT_EQ(memory.touched_bytes(), memory.places() * page);
  memory.dirty();
  EXPECT_FALSE(memory.reads_zero());
  const uint64_t resident = memory.resident();
  EXPECT_EQ(resident, memory.touched_bytes());
  for (uint64_t at = 0; at < memory.bytes(); at += 100 * page) {
    std::memset(memory.base() + at, 0, page);
  }
  EXPECT_TRUE(memory.reads_zero());
  memory.base()[100 * page + page - 1] = 1;
  EXPECT_FALSE(memory.reads_zero());
  EXPECT_EQ(memory.resident(), resident);
}

}  // namespace
}  // namespace hpz::bench
