// SPDX-License-Identifier: BSD-2-Clause
//
// From rates to bands: hysteresis, the limit of eight, the probe range, the profile's text.
#include "bench/bands.h"

#include <gmock/gmock.h>

#include "bench/sizes.h"

namespace hpz::bench {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kNoLimit = UINT64_MAX;

std::vector<Band> cached_bands(const std::vector<SizeRates> &sizes) {
  return build_bands(sizes, {}).cached;
}

TEST(Bands, OneKernelIsOneBand) {
  const std::vector<SizeRates> sizes = {{4096, {{"a", 10}, {"b", 5}}, "a"},
                                        {8192, {{"a", 10}, {"b", 5}}, "a"}};
  EXPECT_THAT(cached_bands(sizes), ElementsAre(Band{kNoLimit, "a"}));
}

TEST(Bands, EndAtTheLastSizeBeforeAnotherLeads) {
  const std::vector<SizeRates> sizes = {{4096, {{"a", 10}, {"b", 5}}, "a"},
                                        {8192, {{"a", 10}, {"b", 9}}, "a"},
                                        {16384, {{"a", 5}, {"b", 10}}, "a"},
                                        {32768, {{"a", 5}, {"b", 10}}, "a"}};
  EXPECT_THAT(cached_bands(sizes), ElementsAre(Band{8192, "a"}, Band{kNoLimit, "b"}));
}

TEST(Bands, ALeadOfLessThanThreePercentDisplacesNobody) {
  const std::vector<SizeRates> sizes = {{4096, {{"a", 100}, {"b", 90}}, "a"},
                                        {8192, {{"a", 100}, {"b", 102.9}}, "a"},
                                        {16384, {{"a", 100}, {"b", 103.1}}, "a"}};
  EXPECT_THAT(cached_bands(sizes), ElementsAre(Band{8192, "a"}, Band{kNoLimit, "b"}));
}

TEST(Bands, TheUsualKernelWinsATie) {
  const std::vector<SizeRates> sizes = {{4096, {{"a", 102}, {"b", 100}}, "b"},
                                        {8192, {{"a", 102}, {"b", 100}}, "b"}};
  EXPECT_THAT(cached_bands(sizes), ElementsAre(Band{kNoLimit, "b"}));
}

TEST(Bands, ALeadWithinTheNoiseIsNoLead) {
  std::vector<SizeRates> sizes = {{4096, {{"a", 108}, {"b", 100}}, "b", 0.05}};
  EXPECT_THAT(cached_bands(sizes), ElementsAre(Band{kNoLimit, "b"}));
  sizes[0].noise = 0.01;
  EXPECT_THAT(cached_bands(sizes), ElementsAre(Band{kNoLimit, "a"}));
}

TEST(Bands, TheUsualKernelLosesWhereItIsSlow) {
  const std::vector<SizeRates> sizes = {{4096, {{"a", 110}, {"b", 100}}, "b"},
                                        {8192, {{"a", 110}, {"b", 100}}, "b"}};
  EXPECT_THAT(cached_bands(sizes), ElementsAre(Band{kNoLimit, "a"}));
}

TEST(Bands, OneLuckyMeasurementDoesNotStartABand) {
  // c leads at the first size alone; a is as good as it there, and stays.
  const std::vector<SizeRates> sizes = {{4096, {{"a", 100}, {"c", 102}, {"b", 50}}, "b"},
                                        {8192, {{"a", 100}, {"c", 60}, {"b", 50}}, "b"}};
  EXPECT_THAT(cached_bands(sizes), ElementsAre(Band{kNoLimit, "a"}));
}

TEST(Bands, NeverMoreThanTheLibraryReads) {
  std::vector<SizeRates> sizes;
  for (unsigned i = 0; i < 20; ++i) {
    const bool even = i % 2 == 0;
    // Leads of 10 %, but for one of 100 % that must survive.
    const double lead = i >= 10 ? 2.0 : 1.0;
    sizes.push_back({uint64_t{64} << i,
                     {{"a", even ? 110 : 100}, {"b", even ? 100 : 110}, {"c", 90 * lead * lead}},
                     "a"});
  }
  const std::vector<Band> bands = cached_bands(sizes);
  EXPECT_LE(bands.size(), kMaxBands);
  EXPECT_EQ(bands.back(), (Band{kNoLimit, "c"}));
  EXPECT_EQ(band_kernel(bands, 64 << 10), "c");
  EXPECT_NE(band_kernel(bands, 64 << 9), "c");
}

TEST(Bands, TheLimitIsOfBothPoliciesTogether) {
  std::vector<SizeRates> sizes;
  for (unsigned i = 0; i < 6; ++i) {
    const double lead = 1.1 + i / 10.0;
    const bool even = i % 2 == 0;
    sizes.push_back({uint64_t{64} << i, {{"a", even ? lead : 1.0}, {"b", even ? 1.0 : lead}}, "a"});
  }
  const PolicyBands bands = build_bands(sizes, sizes);
  EXPECT_LE(bands.cached.size() + bands.stream.size(), kMaxBands);
  EXPECT_EQ(bands.cached, bands.stream);
  EXPECT_GT(bands.cached.size(), 1u);
}

TEST(Bands, NothingMeasuredIsNoBand) {
  EXPECT_TRUE(cached_bands({}).empty());
}

// --- Noise -------------------------------------------------------------------------------------

SizeRates measured(double noise, size_t rounds) {
  return {4096, {{"a", 100}}, "a", noise, rounds};
}

TEST(TooNoisy, IsARunWhoseNoiseDecides) {
  EXPECT_EQ(find_too_noisy({measured(0.01, 3)}, {measured(0.02, 9), measured(0.5, 3)}), "");
  EXPECT_THAT(find_too_noisy({measured(0.08, 3)}, {measured(0.08, 9), measured(0.01, 3)}),
              testing::HasSubstr("uncertain by 8 %"));
}

TEST(TooNoisy, IsARunOfTooFewRounds) {
  EXPECT_THAT(find_too_noisy({measured(0, 1)}, {measured(0, 2), measured(0, 3)}),
              testing::HasSubstr("at 2 of 3 sizes"));
  // The largest take long.
  EXPECT_EQ(find_too_noisy({measured(0, 1)}, {measured(0, 3), measured(0, 3), measured(0, 3)}), "");
  EXPECT_EQ(find_too_noisy({}, {}), "");
}

// --- What it costs others ----------------------------------------------------------------------

bool always(const std::string &, const std::string &) {
  return true;
}

std::vector<Band> stream_bands(const std::vector<SizeRates> &sizes, const KernelCosts &costs,
                               const CertainlyDearer &is_certain = always) {
  return build_bands({}, spare_bystanders(sizes, costs, is_certain)).stream;
}

TEST(SparedBystanders, TheCheapestWithinFivePercentIsChosen) {
  const std::vector<SizeRates> sizes = {
      {kGiB, {{"dear", 100}, {"cheap", 96}, {"slow", 50}}, "dear"}};
  EXPECT_THAT(stream_bands(sizes, {}), ElementsAre(Band{kNoLimit, "dear"}));
  EXPECT_THAT(stream_bands(sizes, {{"dear", 2.0}, {"cheap", 1.2}, {"slow", 1.0}}),
              ElementsAre(Band{kNoLimit, "cheap"}));
}

TEST(SparedBystanders, NobodyWhoIsSlowerIsChosenForBeingCheap) {
  const std::vector<SizeRates> sizes = {{kGiB, {{"dear", 100}, {"cheap", 94}}, "dear"}};
  EXPECT_THAT(stream_bands(sizes, {{"dear", 2.0}, {"cheap", 1.0}}),
              ElementsAre(Band{kNoLimit, "dear"}));
}

TEST(SparedBystanders, CostsThatAreNearlyEqualDecideNothing) {
  const std::vector<SizeRates> sizes = {{kGiB, {{"a", 100}, {"b", 99}}, "a"}};
  EXPECT_THAT(stream_bands(sizes, {{"a", 1.09}, {"b", 1.0}}), ElementsAre(Band{kNoLimit, "a"}));
  EXPECT_THAT(stream_bands(sizes, {{"a", 1.11}, {"b", 1.0}}), ElementsAre(Band{kNoLimit, "b"}));
}

TEST(SparedBystanders, AKernelOfUnknownCostStays) {
  const std::vector<SizeRates> sizes = {{kGiB, {{"a", 100}, {"b", 99}}, "a"}};
  EXPECT_THAT(stream_bands(sizes, {{"b", 1.0}}), ElementsAre(Band{kNoLimit, "a"}));
  EXPECT_THAT(stream_bands(sizes, {{"a", 0}, {"b", 1.0}}), ElementsAre(Band{kNoLimit, "a"}));
}

class ProbeRangeTest : public ::testing::Test {
 protected:
  // near: through the cache; far: past it. Cached ranges are cleared near at 50 and far at 5 GB/s
  // up to and including last_cached, beyond that both are cold: near at 10, far at 20.
  void fill(uint64_t last_cached) {
    for (uint64_t size = 4 * kKiB; size <= kGiB; size *= 2) {
      const bool is_cached = size <= last_cached;
      recycled.push_back({size, {{"near", is_cached ? 50 : 10}, {"far", is_cached ? 5 : 20}}, ""});
      cold.push_back({size, {{"near", 10}, {"far", 20}}, ""});
    }
  }
  std::vector<SizeRates> recycled, cold;
  std::vector<Band> near_bands{{kNoLimit, "near"}}, far_bands{{kNoLimit, "far"}};
};

TEST_F(ProbeRangeTest, FromWhereTheProbeIsSmallToWhereNothingIsCached) {
  fill(32 * kMiB);
  // 300 ns are 5 % of 6 us, in which 50 GB/s clear 300 kB.
  EXPECT_EQ(build_probe_range(recycled, cold, near_bands, far_bands, {}),
            (ProbeRange{512 * kKiB, 64 * kMiB}));
}

TEST_F(ProbeRangeTest, NoRangeWhereOneKernelServesBoth) {
  fill(32 * kMiB);
  const ProbeRange range = build_probe_range(recycled, cold, near_bands, near_bands, {});
  EXPECT_EQ(range.from_bytes, range.upto_bytes);
}

TEST_F(ProbeRangeTest, NoRangeWhereEverythingIsSmall) {
  fill(64 * kKiB);
  const ProbeRange range = build_probe_range(recycled, cold, near_bands, far_bands, {});
  EXPECT_EQ(range.from_bytes, range.upto_bytes);
  // hpz_zero streams from there on: not below what is still found in cache.
  EXPECT_EQ(range.upto_bytes, 128 * kKiB);
}

TEST_F(ProbeRangeTest, NeverBelowWhatTheLibraryAccepts) {
  const ProbeRange range = build_probe_range({}, {}, near_bands, far_bands, {});
  EXPECT_EQ(range, (ProbeRange{16 * kKiB, 16 * kKiB}));
}

TEST(ProfileText, IsWhatTheLibraryReads) {
  Profile profile;
  profile.cpu = "GenuineIntel-6-1-2";
  profile.cached = {{32768, "avx2_st"}, {kNoLimit, "rep_stosb"}};
  profile.stream = {{kNoLimit, "avx2_nt"}};
  profile.probe = {262144, 33554432};
  profile.comments = {"why"};
  EXPECT_EQ(format_profile(profile),
            "hpzero-profile 1\n"
            "# why\n"
            "cpu GenuineIntel-6-1-2\n"
            "cached 32768 avx2_st\n"
            "cached max rep_stosb\n"
            "stream max avx2_nt\n"
            "probe 262144 33554432\n");
}

}  // namespace
}  // namespace hpz::bench
