// SPDX-License-Identifier: BSD-2-Clause
//
// Lanes cut at block boundaries, for every block size that the architecture has, by writers that
// note what they are asked for. Row B2 of the field reports: blocks larger than the range, at every
// offset.
#include "arch/arm64/zva_blocks.h"

#include <gtest/gtest.h>
#include <string.h>

#include <vector>

#include "tests/support/guarded_buffer.h"

namespace hpz::test {
namespace {

class Blocks : public testing::TestWithParam<uintptr_t> {
 protected:
  // By fake writers; DC ZVA's clears the whole block an address points into, so a block that is not
  // all inside the range shows as bytes cleared outside.
  void clear(void *const *lanes, size_t count, size_t len) {
    arm64::clear_by_blocks(
        lanes, count, len, GetParam(),
        [&](uintptr_t from, uintptr_t to) {
          ASSERT_LT(from, to);
          ASSERT_EQ(from % kLineBytes, 0U);
          ASSERT_EQ(to % kLineBytes, 0U);
          memset(reinterpret_cast<void *>(from), 0, to - from);
          by_lines_ += to - from;
        },
        [&](uintptr_t from, uintptr_t to, uintptr_t block) {
          ASSERT_EQ(block, GetParam());
          ASSERT_LT(from, to);
          ASSERT_EQ(from % block, 0U);
          ASSERT_EQ(to % block, 0U);
          for (uintptr_t at = from; at != to; at += block) {
            const uintptr_t whole = at & ~(block - 1);
            memset(reinterpret_cast<void *>(whole), 0, block);
            ++blocks_;
          }
        });
  }

  size_t by_lines_ = 0, blocks_ = 0;
};

TEST_P(Blocks, field_B2_every_offset_and_length) {
  const uintptr_t block = GetParam();
  constexpr size_t kLongest = 8192;
  const GuardedBuffer buffer(kLongest + 2 * 4096);
  ASSERT_EQ(reinterpret_cast<uintptr_t>(buffer.begin()) % 2048, 0U);
  size_t cases = 0;
  for (size_t offset = 0; offset < 2 * block || offset == 0; offset += kLineBytes) {
    for (size_t len = kLineBytes; len <= kLongest; len += kLineBytes) {
      by_lines_ = blocks_ = 0;
      unsigned char *const dst = buffer.begin() + offset;
      void *const lane = dst;
      ASSERT_NO_FATAL_FAILURE(clear(&lane, 1, len));
      // No byte twice, and as many whole blocks as there are.
      ASSERT_EQ(by_lines_ + blocks_ * block, len);
      const size_t first = (offset + block - 1) / block, last = (offset + len) / block;
      ASSERT_EQ(blocks_, last > first ? last - first : 0) << offset << ' ' << len;
      ASSERT_TRUE(buffer.only_cleared(dst, len)) << offset << ' ' << len;
      memset(dst, kPoison, len);
      ++cases;
    }
  }
  EXPECT_GE(cases, kLongest / kLineBytes);
}

// Both ends of the memory are a guard page's: a block too far is a fault.
TEST_P(Blocks, at_the_end_of_the_memory) {
  const uintptr_t block = GetParam();
  const GuardedBuffer buffer(16384);
  for (size_t len = kLineBytes; len <= buffer.size(); len += kLineBytes) {
    for (unsigned char *const dst : {buffer.begin(), buffer.end() - len}) {
      void *const lane = dst;
      ASSERT_NO_FATAL_FAILURE(clear(&lane, 1, len));
      ASSERT_TRUE(buffer.only_cleared(dst, len)) << len << " block " << block;
      memset(dst, kPoison, len);
    }
  }
}

TEST_P(Blocks, many_lanes) {
  const GuardedBuffer buffer(64 * 4096);
  for (const size_t len : Sizes{64, 192, 960, 2048, 4096}) {
    std::vector<void *> lanes;
    for (size_t i = 0; i < 30; ++i) lanes.push_back(buffer.begin() + i * 8192 + i * kLineBytes);
    by_lines_ = blocks_ = 0;
    ASSERT_NO_FATAL_FAILURE(clear(lanes.data(), lanes.size(), len));
    ASSERT_EQ(by_lines_ + blocks_ * GetParam(), lanes.size() * len);
    ASSERT_TRUE(buffer.only_cleared(lanes, len)) << len;
    buffer.poison();
  }
}

// Of every line in the last two blocks of the address space, whose last line stays out: to round up
// may wrap to 0, which is no block. (No memory is touched: user space ends long before.)
TEST(BlocksAtTheTop, rounding_up_past_the_end_means_no_block) {
  for (uintptr_t block = arm64::kMinZvaBlock; block <= arm64::kMaxZvaBlock; block *= 2) {
    for (size_t below = 2 * kLineBytes; below <= 4096; below += kLineBytes) {
      const uintptr_t at = uintptr_t{0} - below;
      for (size_t len = kLineBytes; len < below; len += kLineBytes) {
        void *const lane = reinterpret_cast<void *>(at);
        uintptr_t lines = 0, blocks = 0;
        const auto add = [&](uintptr_t from, uintptr_t to, uintptr_t &sum) {
          ASSERT_GE(from, at);
          ASSERT_LT(from, to);
          ASSERT_LE(to, at + len);
          sum += to - from;
        };
        arm64::clear_by_blocks(
            &lane, 1, len, block, [&](uintptr_t from, uintptr_t to) { add(from, to, lines); },
            [&](uintptr_t from, uintptr_t to, uintptr_t) { add(from, to, blocks); });
        ASSERT_FALSE(HasFatalFailure()) << below << ' ' << len << " block " << block;
        ASSERT_EQ(lines + blocks, len) << below;
        // By distances from the top, which is on a boundary of every block.
        const size_t first = below / block, last = (below - len + block - 1) / block;
        ASSERT_EQ(blocks, first > last ? (first - last) * block : 0) << below << ' ' << len;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Blocks, testing::Values(16, 32, 64, 128, 256, 512, 1024, 2048),
                         [](const auto &parameter) { return std::to_string(parameter.param); });

}  // namespace
}  // namespace hpz::test
