// SPDX-License-Identifier: BSD-2-Clause
//
// The built-in plan for arm64, by arm64's own rows: what they say is there on every machine, what
// they execute is not, so the functions are left out.
#include <gtest/gtest.h>

#include <array>

#include "arch/arm64/features.h"
#include "lib/plan/plan.h"
#include "tests/plan/invented_kernel.h"

namespace hpz::test {
namespace {

constexpr auto rows() {
  using namespace feature;
  constexpr FeatureSet none = 0;
#define HPZ_KERNEL HPZERO_KERNEL_ROW
  return std::to_array<Kernel>({
#include "arch/arm64/kernels.def"
#include "arch/generic/kernels.def"
  });
#undef HPZ_KERNEL
}
constexpr auto kRows = rows();

constexpr Tuning kTuning{Tuning::Plain::kShort, "arm64"};

std::string cached(FeatureSet features, const CacheSizes &caches = {}) {
  return text_of(built_in_bands(kRows, features, caches, kTuning).cached);
}
std::string stream(FeatureSet features) {
  return text_of(built_in_bands(kRows, features, {}, kTuning).stream);
}

TEST(Arm64Bands, dc_zva_for_bulk_and_plain_stores_for_short_ranges) {
  EXPECT_EQ(cached(feature::zva), "4096:stp,max:dc_zva");
  EXPECT_EQ(stream(feature::zva), "1024:memset,max:dc_zva");
  EXPECT_EQ(cached(feature::zva | feature::fine_counter), cached(feature::zva));
}

// Row B1: ordinary and non-temporal pairs, and never DC ZVA.
TEST(Arm64Bands, field_B1_pairs_where_dc_zva_is_prohibited) {
  EXPECT_EQ(cached(0), "6291456:stp,max:stnp");
  EXPECT_EQ(stream(0), "1024:memset,max:stnp");
  for (FeatureSet features = 0; features < 8; ++features) {
    if ((features & feature::zva) != 0) continue;
    EXPECT_EQ((cached(features) + stream(features)).find("zva"), std::string::npos) << features;
  }
}

TEST(Arm64Bands, mops_where_the_cpu_has_it) {
  for (const FeatureSet more : {FeatureSet{0}, feature::zva}) {
    EXPECT_EQ(cached(feature::mops | more), "4096:stp,max:mops_set");
    EXPECT_EQ(stream(feature::mops | more), "1024:memset,max:mops_set");
  }
}

// EL0 cannot read cache sizes, but libcpuinfo may tell them to hpz_init.
TEST(Arm64Bands, caches_decide_where_pairs_leave_the_cache) {
  constexpr uint64_t kMiB = 1 << 20;
  EXPECT_EQ(cached(0, {65536, kMiB, 32 * kMiB}), "25165824:stp,max:stnp");
  EXPECT_EQ(cached(0, {UINT64_MAX, UINT64_MAX, UINT64_MAX}), "50331648:stp,max:stnp");
  EXPECT_EQ(cached(0, {1, 1, 1}), "1572864:stp,max:stnp");
  EXPECT_EQ(cached(feature::zva, {1, 1, 1}), cached(feature::zva));
}

TEST(Arm64Bands, are_sound_for_every_set_of_features) {
  for (FeatureSet features = 0; features < 8; ++features) {
    const Selection selection = built_in_bands(kRows, features, {}, kTuning);
    for (const Bands *const bands : {&selection.cached, &selection.stream}) {
      ASSERT_GE(bands->count, 1U);
      ASSERT_EQ(bands->band[bands->count - 1].upto, kNoLimit);
      for (uint32_t i = 0; i < bands->count; ++i) {
        ASSERT_EQ(missing_features(*bands->band[i].kernel, features), 0U) << features;
      }
    }
    ASSERT_LE(selection.probe_from, selection.probe_upto);
  }
}

}  // namespace
}  // namespace hpz::test
