// SPDX-License-Identifier: BSD-2-Clause
//
// The verb zero: exactly these bytes, whatever the extents, ranges, chunks and threads.
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <string.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/support/guarded_buffer.h"
#include "tests/support/settings.h"
#include "tests/support/workers.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;

class ZeroVerb : public ByWorkers {};
HPZERO_BY_WORKERS(ZeroVerb);

// The oracle is a second copy that a byte loop clears.
TEST_P(ZeroVerb, exactly_the_extents) {
  SCOPED_TRACE("HPZERO_TEST_SEED=" + std::to_string(seed()));
  std::mt19937_64 random(seed() + GetParam());
  const auto up_to = [&](uint64_t most) { return random() % (most + 1); };
  const GuardedBuffer first(300 * 1024), second(64 * 1024), third(2 * kMiB);
  const GuardedBuffer *const buffers[] = {&first, &second, &third};
  for (int round = 0; round < (quick() ? 20 : 80); ++round) {
    std::vector<hpz_range> ranges;
    std::vector<std::vector<unsigned char>> expected;
    std::vector<size_t> skips;
    uint64_t total = 0;
    for (const GuardedBuffer *const buffer : buffers) {
      buffer->poison();
      expected.emplace_back(buffer->size(), kPoison);
      const size_t skip = up_to(200);
      const size_t len = buffer->size() - skip - up_to(200);
      ranges.push_back({buffer->begin() + skip, len});
      skips.push_back(skip);
      total += len;
    }
    std::vector<hpz_extent> extents(up_to(40));
    const bool are_pages = up_to(1) == 0;
    for (hpz_extent &extent : extents) {
      extent.offset = are_pages ? up_to(total / 4096 - 1) * 4096 : up_to(total);
      const uint64_t most = std::min<uint64_t>(total - extent.offset, up_to(3) == 0 ? total : 5000);
      extent.len = are_pages ? 4096 : up_to(most);
      uint64_t begin = 0;
      for (size_t i = 0; i < ranges.size(); ++i) {
        for (uint64_t at = extent.offset; at < extent.offset + extent.len; ++at) {
          if (at >= begin && at < begin + ranges[i].len) expected[i][skips[i] + at - begin] = 0;
        }
        begin += ranges[i].len;
      }
    }
    const SpacePointer space = make_space(ranges);
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.chunk_bytes = up_to(1) == 0 ? 0 : 1 + up_to(200'000);
    if (up_to(1) == 0) {
      options.touch_next = static_cast<const char *>(ranges[up_to(2)].base) + up_to(100'000);
    }
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    // A list that is there and empty means no bytes, not all of them.
    const hpz_extent none = {};
    ASSERT_EQ(hpz_space_zero(space.get(), team(), extents.empty() ? &none : extents.data(),
                             extents.size(), &options, &report),
              0);
    uint64_t cleared = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      ASSERT_EQ(memcmp(buffers[i]->begin(), expected[i].data(), expected[i].size()), 0)
          << "round " << round << ", range " << i;
      cleared += static_cast<uint64_t>(std::count(expected[i].begin(), expected[i].end(), 0));
    }
    EXPECT_EQ(report.done_bytes, cleared);
    EXPECT_EQ(report.cleared_bytes, cleared);
  }
}

TEST_P(ZeroVerb, whole_space_over_huge_page_borders) {
  const Memory memory(40 * kMiB);
  for (const size_t skip : {size_t{0}, size_t{1}, size_t{4096}, size_t{2 * kMiB - 64}}) {
    memset(memory.begin(), kPoison, memory.bytes());
    const size_t len = memory.bytes() - 2 * skip;
    const SpacePointer space = make_space(memory.begin() + skip, len);
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    ASSERT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, nullptr, &report), 0);
    EXPECT_EQ(report.done_bytes, len);
    EXPECT_TRUE(all_are(memory.begin(), memory.begin() + skip, kPoison, "before"));
    EXPECT_TRUE(hpz_is_zero(memory.begin() + skip, len));
    EXPECT_TRUE(all_are(memory.begin() + skip + len, memory.end(), kPoison, "behind"));
  }
}

TEST_P(ZeroVerb, many_small_extents) {
  const Memory memory(32 * kMiB);
  memset(memory.begin(), kPoison, memory.bytes());
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  std::vector<hpz_extent> extents;
  for (size_t at = 0; at < memory.bytes(); at += 8192) extents.push_back({at, 4096});
  SCOPED_TRACE("HPZERO_TEST_SEED=" + std::to_string(seed()));
  std::shuffle(extents.begin(), extents.end(), std::mt19937_64(seed() + GetParam()));
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  ASSERT_EQ(hpz_space_zero(space.get(), team(), extents.data(), extents.size(), nullptr, &report),
            0);
  EXPECT_EQ(report.done_bytes, memory.bytes() / 2);
  for (size_t at = 0; at < memory.bytes(); at += 8192) {
    ASSERT_TRUE(hpz_is_zero(memory.begin() + at, 4096));
    ASSERT_TRUE(all_are(memory.begin() + at + 4096, memory.begin() + at + 8192, kPoison, ""));
  }
}

// A space of several ranges is one job: threads do not wait for each other at their borders.
TEST_P(ZeroVerb, ranges_in_any_order) {
  const Memory memory(16 * kMiB);
  memset(memory.begin(), kPoison, memory.bytes());
  const SpacePointer space = make_space({{memory.begin() + 12 * kMiB, 4 * kMiB},
                                         {memory.begin(), 4 * kMiB},
                                         {memory.begin() + 6 * kMiB, 100}});
  const hpz_extent across = {4 * kMiB - 10, 20};
  ASSERT_EQ(hpz_space_zero(space.get(), team(), &across, 1, nullptr, nullptr), 0);
  EXPECT_TRUE(hpz_is_zero(memory.end() - 10, 10));
  EXPECT_TRUE(hpz_is_zero(memory.begin(), 10));
  EXPECT_EQ(memory.begin()[10], kPoison);
  ASSERT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, nullptr, nullptr), 0);
  EXPECT_TRUE(hpz_is_zero(memory.begin() + 12 * kMiB, 4 * kMiB));
  EXPECT_TRUE(hpz_is_zero(memory.begin(), 4 * kMiB));
  EXPECT_TRUE(hpz_is_zero(memory.begin() + 6 * kMiB, 100));
  EXPECT_EQ(memory.begin()[6 * kMiB + 100], kPoison);
}

}  // namespace
}  // namespace hpz::test
