// SPDX-License-Identifier: BSD-2-Clause
//
// Medians, spreads, ratios within rounds.
#include "bench/statistics.h"

#include <gtest/gtest.h>

namespace hpz::bench {
namespace {

Sample sample(uint64_t bytes, double ns) {
  Sample s;
  s.bytes = bytes;
  s.ns = ns;
  return s;
}

TEST(Statistics, GigabytesAreDecimal) {
  EXPECT_DOUBLE_EQ(gb_per_s(sample(1'000'000'000, 1e9)), 1.0);
  EXPECT_DOUBLE_EQ(gb_per_s(sample(0, 0)), 0.0);
}

TEST(Statistics, MedianAndQuartiles) {
  EXPECT_DOUBLE_EQ(median({}), 0.0);
  EXPECT_DOUBLE_EQ(median({7}), 7.0);
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2.0);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  const Summary summary = summarize({80, 90, 100, 110, 1000});
  EXPECT_DOUBLE_EQ(summary.median, 100.0);
  EXPECT_DOUBLE_EQ(summary.spread, 0.1);
}

TEST(Statistics, RatiosAreOfOneRound) {
  const auto itself = [](double figure) { return figure; };
  // A round that is slow as a whole, and one that one of them lacks.
  EXPECT_DOUBLE_EQ(ratio_within_rounds<double>({2, 20, 3}, {1, 10, 1, 7}, itself), 2);
  EXPECT_DOUBLE_EQ(ratio_within_rounds<double>({2, 5, 9}, {1, 0, 3}, itself), 2.5);
  EXPECT_EQ(ratio_within_rounds<double>({1}, {}, itself), 0);
}

TEST(Statistics, ErrorsShrinkWithTheRoot) {
  const std::vector<double> few = {80, 90, 100, 110, 120};
  std::vector<double> many;
  for (int i = 0; i < 100; ++i) many.insert(many.end(), few.begin(), few.end());
  EXPECT_NEAR(relative_error(few) / relative_error(many), 10, 1);
  EXPECT_DOUBLE_EQ(relative_error({}), 0);
}

TEST(Statistics, MeanAndDeviation) {
  const MeanDeviation some = mean_deviation({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_DOUBLE_EQ(some.mean, 5);
  EXPECT_NEAR(some.deviation, 2.138, 0.001);  // by n - 1
  EXPECT_DOUBLE_EQ(mean_deviation({3}).mean, 3);
  EXPECT_DOUBLE_EQ(mean_deviation({3}).deviation, 0);
  EXPECT_DOUBLE_EQ(mean_deviation({}).mean, 0);
}

TEST(Statistics, RatiosArePairedByRound) {
  // The machine halves its speed in the second round, for both: the ratio does not change, while
  // the ratio of unpaired extremes would be anything from 1 to 4.
  const std::vector<Sample> a = {sample(200, 10), sample(200, 20), sample(200, 10)};
  const std::vector<Sample> b = {sample(100, 10), sample(100, 20), sample(100, 10)};
  EXPECT_DOUBLE_EQ(paired_ratio(a, b), 2.0);
  EXPECT_DOUBLE_EQ(paired_ratio(a, {}), 0.0);
}

TEST(Statistics, LevelledRatesForgetSlowRounds) {
  const std::vector<Sample> fast = {sample(110, 10), sample(110, 40), sample(110, 40)};
  const std::vector<Sample> slow = {sample(100, 10), sample(100, 40), sample(100, 40)};
  const std::vector<double> rates = levelled_rates({&fast, &slow});
  ASSERT_EQ(rates.size(), 2u);
  EXPECT_NEAR(rates[0] / rates[1], 1.1, 1e-9);
}

}  // namespace
}  // namespace hpz::bench
