// SPDX-License-Identifier: BSD-2-Clause
//
// Every kernel and every policy on single ranges: each size at each offset up to 8 KiB, then where
// something changes: lines, pages, lanes, bands. Rows C6, A9 (edges) of the field reports.
#include <string.h>

#include <random>

#include "tests/conformance/clearer.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/machine.h"
#include "tests/support/settings.h"

namespace hpz::test {
namespace {

constexpr size_t kLine = 64;

// Clears [dst, dst + len) of a poisoned buffer, expects that and nothing else cleared, poisons
// again.
[[nodiscard]] testing::AssertionResult clears_exactly(const Clearer &clearer,
                                                      const GuardedBuffer &buffer,
                                                      unsigned char *dst, size_t len) {
  if (const int result = clearer.range(dst, len); result != 0) {
    return testing::AssertionFailure() << "result " << result;
  }
  testing::AssertionResult cleared = buffer.only_cleared(dst, len);
  if (!cleared) return cleared << ", len " << len << ", offset in line " << (uintptr_t(dst) & 63);
  if (len != 0) memset(dst, kPoison, len);
  return testing::AssertionSuccess();
}

class Ranges : public ClearerTest {
 protected:
  // The range flush against the guard page behind it, then against the one before it, then with
  // odd distances to both.
  void try_length(size_t len) {
    const GuardedBuffer buffer(len + 2 * kLine);
    ASSERT_TRUE(clears_exactly(GetParam(), buffer, buffer.end() - len, len));
    ASSERT_TRUE(clears_exactly(GetParam(), buffer, buffer.begin(), len));
    ASSERT_TRUE(clears_exactly(GetParam(), buffer, buffer.begin() + kLine, len));
    ASSERT_TRUE(clears_exactly(GetParam(), buffer, buffer.begin() + 17, len));
  }
  void try_around(uint64_t len, std::initializer_list<int> distances) {
    for (const int distance : distances) {
      const uint64_t there = len + static_cast<uint64_t>(static_cast<int64_t>(distance));
      SCOPED_TRACE(there);
      ASSERT_NO_FATAL_FAILURE(try_length(there));
    }
  }
};

TEST_P(Ranges, field_C6_every_size_at_every_offset) {
  constexpr size_t kUpto = 8192;
  const GuardedBuffer buffer(kUpto + 2 * kLine);
  for (size_t len = 0; len <= kUpto; ++len) {
    const bool every_offset = !quick() || len < 3 * kLine;
    if (!every_offset && len % kLine > 1 && len % kLine != kLine - 1) continue;
    if (!every_offset && len > 1088 && len % 512 > 1 && len % 512 != 511) continue;
    // Distance to the guard page behind: all 64 of them give all 64 offsets.
    for (size_t behind = 0; behind < kLine; behind += every_offset ? size_t{1} : 21) {
      ASSERT_TRUE(clears_exactly(GetParam(), buffer, buffer.end() - behind - len, len));
    }
    ASSERT_TRUE(clears_exactly(GetParam(), buffer, buffer.begin(), len));
  }
}

TEST_P(Ranges, around_pages) {
  for (const size_t pages : Sizes{1, 2, 3, 8, 15, 16, 17, 64}) {
    ASSERT_NO_FATAL_FAILURE(try_around(pages * kPageBytes, {-65, -64, -63, -1, 0, 1, 63, 64, 65}));
  }
  for (const uint64_t huge : {uint64_t{1} << 21, uint64_t{3} << 20}) {
    ASSERT_NO_FATAL_FAILURE(try_around(huge, {-4097, -64, -1, 0, 1, 64, 4096}));
  }
}

// Where one slice becomes several, where the slices' grain goes from lines to pages, and lengths
// that leave a rest behind equal slices. A policy is tried at the lanes of the kernels it may use.
TEST_P(Ranges, around_lanes) {
  std::vector<hpz_kernel_info> infos = {GetParam().info};
  if (GetParam().kernel.empty()) infos = kernel_infos();
  for (const hpz_kernel_info &info : infos) {
    if (info.lanes < 2) continue;
    SCOPED_TRACE(info.id);
    const uint64_t from = info.lanes_from_bytes, stride = info.lanes * uint64_t{kLine};
    const uint64_t grain_changes = info.lanes * uint64_t{4 * kPageBytes};
    ASSERT_NO_FATAL_FAILURE(try_around(from, {-64, -63, -1, 0, 1, 63, 64, 127, 128}));
    ASSERT_NO_FATAL_FAILURE(try_around(grain_changes, {-4096, -64, -1, 0, 1, 64, 4096}));
    for (const size_t lines : Sizes{2, 7, 16, 33, 64, 65, 200}) {
      ASSERT_NO_FATAL_FAILURE(try_around(from + lines * stride, {-64, -1, 0, 1, 64}));
    }
  }
  if (GetParam().kernel.empty() || GetParam().info.lanes > 1) return;
  // One lane: the kernel's own unrolling is what can go wrong.
  for (const size_t lines : Sizes{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33}) {
    ASSERT_NO_FATAL_FAILURE(try_around(lines * kLine, {-1, 0, 1, 64}));
  }
}

TEST_P(Ranges, around_bands) {
  size_t tried = 0;
  for (const hpz_policy policy : {HPZ_POLICY_AUTO, HPZ_POLICY_CACHED, HPZ_POLICY_STREAM}) {
    hpz_plan_info plan = HPZ_PLAN_INFO_INIT;
    ASSERT_EQ(hpz_plan_info_get(policy, &plan), 0);
    std::vector<uint64_t> edges = {1024, plan.probe_from_bytes, plan.probe_upto_bytes};
    for (uint32_t i = 0; i < plan.bands; ++i) edges.push_back(plan.band[i].upto_bytes);
    for (const uint64_t edge : edges) {
      const uint64_t largest = quick() ? 4 << 20 : 128 << 20;
      if (edge < 128 || edge > largest) continue;
      ++tried;
      ASSERT_NO_FATAL_FAILURE(try_around(edge, {-1, 0, 1}));
      if (edge >= 1 << 20) continue;
      ASSERT_NO_FATAL_FAILURE(try_around(edge, {-64, -63, 63, 64}));
    }
  }
  EXPECT_GE(tried, 3U);
}

TEST_P(Ranges, random) {
  std::mt19937_64 random(seed());
  SCOPED_TRACE("HPZERO_TEST_SEED=" + std::to_string(seed()));
  constexpr size_t kArena = 1 << 20;
  const GuardedBuffer buffer(kArena);
  const int rounds = quick() ? 60 : 1500;
  for (int round = 0; round < rounds; ++round) {
    // Lengths of all magnitudes: a random number of random bits.
    const size_t len = random() % kArena >> random() % 20;
    const size_t at = random() % (kArena - len + 1);
    ASSERT_TRUE(clears_exactly(GetParam(), buffer, buffer.begin() + at, len));
  }
}

// Row C7 in its harmless half; the rest is in tests/api.
TEST_P(Ranges, field_C7_nothing_at_any_address) {
  const GuardedBuffer buffer(1);
  EXPECT_EQ(GetParam().range(nullptr, 0), 0);
  EXPECT_EQ(GetParam().range(reinterpret_cast<void *>(UINTPTR_MAX), 0), 0);
  EXPECT_EQ(GetParam().range(reinterpret_cast<void *>(UINTPTR_MAX - 63), 0), 0);
  EXPECT_EQ(GetParam().range(buffer.begin() - 1, 0), 0);
  EXPECT_EQ(GetParam().range(buffer.end(), 0), 0);
  EXPECT_TRUE(buffer.only_cleared(buffer.begin(), 0));
}

INSTANTIATE_TEST_SUITE_P(, Ranges, testing::ValuesIn(range_clearers()), name_of);

}  // namespace
}  // namespace hpz::test
