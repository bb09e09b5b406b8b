// SPDX-License-Identifier: BSD-2-Clause
//
// The built-in policy over cache sizes, and Bands itself.
#include <gtest/gtest.h>

#include "tests/plan/invented_cpu.h"
#include "tests/plan/invented_kernel.h"

namespace hpz::test {
namespace {

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
constexpr Tuning kZen{Tuning::Plain::kUpToL2, "test"};
constexpr Tuning kIntel{Tuning::Plain::kUpToL1, "test"};

std::string cached_bands(const CacheSizes &caches, const Tuning &tune) {
  return text_of(built_in_bands(x86_kernels(), features_of("avx2,erms"), caches, tune).cached);
}

// A hypervisor that reports a cache of 0 or of 4 GiB changes nothing much: thresholds have a floor,
// a ceiling and a fallback.
TEST(Bands, thresholds_are_clamped) {
  EXPECT_EQ(cached_bands({48 * kKiB, 1 * kMiB, 32 * kMiB}, kZen),
            "917504:avx2_st,25165824:rep_stosb,max:avx2_nt");
  EXPECT_EQ(cached_bands({0, 0, 0}, kZen), "458752:avx2_st,6291456:rep_stosb,max:avx2_nt");
  EXPECT_EQ(cached_bands({0, 0, 0}, kIntel), "24576:avx2_st,6291456:rep_stosb,max:avx2_nt");
  EXPECT_EQ(cached_bands({1, 1, 1}, kZen), "229376:avx2_st,1572864:rep_stosb,max:avx2_nt");
  EXPECT_EQ(cached_bands({1, 1, 1}, kIntel), "12288:avx2_st,1572864:rep_stosb,max:avx2_nt");
  for (const uint64_t absurd : {4 * kGiB, uint64_t{1} << 50, UINT64_MAX}) {
    EXPECT_EQ(cached_bands({absurd, absurd, absurd}, kZen),
              "3670016:avx2_st,50331648:rep_stosb,max:avx2_nt");
    EXPECT_EQ(cached_bands({absurd, absurd, absurd}, kIntel),
              "98304:avx2_st,50331648:rep_stosb,max:avx2_nt");
  }
}

// A last-level cache smaller than the second-level one: bands that would be empty are not there.
TEST(Bands, caches_in_the_wrong_order) {
  EXPECT_EQ(cached_bands({32 * kKiB, 4 * kMiB, 2 * kMiB}, kZen), "3670016:avx2_st,max:avx2_nt");
}

TEST(Bands, are_sound_for_any_cpu) {
  for (FeatureSet features = 0; features <= kAllX86Features; ++features) {
    const Selection selection = built_in_bands(x86_kernels(), features, {}, x86::tuning(features));
    for (const Bands *const bands : {&selection.cached, &selection.stream}) {
      ASSERT_GE(bands->count, 1U) << list_of(features);
      ASSERT_EQ(bands->band[bands->count - 1].upto, kNoLimit) << list_of(features);
      for (uint32_t i = 0; i < bands->count; ++i) {
        ASSERT_EQ(missing_features(*bands->band[i].kernel, features), 0U) << list_of(features);
        if (i > 0) {
          ASSERT_LT(bands->band[i - 1].upto, bands->band[i].upto);
          ASSERT_NE(bands->band[i - 1].kernel, bands->band[i].kernel);
        }
      }
    }
    // The probe needs a page of the range to itself.
    ASSERT_GE(selection.probe_from, 16 * kKiB);
    ASSERT_LE(selection.probe_from, selection.probe_upto);
  }
}

constexpr Kernel kA = invented_kernel("a"), kB = invented_kernel("b");

TEST(Bands, append_drops_empty_ones_and_merges_equal_neighbours) {
  Bands bands;
  bands.append(0, kA);
  EXPECT_EQ(bands.count, 0U);
  bands.append(10, kA);
  bands.append(10, kB);
  bands.append(5, kB);
  bands.append(20, kA);
  EXPECT_EQ(text_of(bands), "20:a");
  bands.append(30, kB);
  bands.append(kNoLimit, kB);
  bands.append(kNoLimit, kA);
  EXPECT_EQ(text_of(bands), "20:a,max:b");
  EXPECT_EQ(&bands.find(0), &kA);
  EXPECT_EQ(&bands.find(20), &kA);
  EXPECT_EQ(&bands.find(21), &kB);
  EXPECT_EQ(&bands.find(kNoLimit), &kB);
}

TEST(Bands, append_keeps_within_its_array) {
  Bands bands;
  for (uint64_t i = 1; i <= 3 * kMaxBands; ++i) bands.append(i, i % 2 == 0 ? kA : kB);
  EXPECT_EQ(bands.count, kMaxBands);
}

}  // namespace
}  // namespace hpz::test
