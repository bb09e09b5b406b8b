// SPDX-License-Identifier: BSD-2-Clause
//
// Times from samples, and their table.
#include "bench/times.h"

#include <gmock/gmock.h>

#include "bench/sizes.h"

namespace hpz::bench {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

Sample sample(double ns, uint64_t ranges = 1) {
  Sample s;
  s.ranges = ranges;
  s.bytes = ranges * kMiB;
  s.ns = ns;
  return s;
}

TEST(Times, AreOfOneRange) {
  const MeanDeviation time = time_ns({sample(800, 8), sample(120), sample(140)});
  EXPECT_DOUBLE_EQ(time.mean, 120);
  EXPECT_DOUBLE_EQ(time.deviation, 20);
  EXPECT_EQ(time_ns({}).mean, 0);
}

TEST(Times, PartsArePairedByRound) {
  // The machine is ten times slower in the second round; each round says a half.
  EXPECT_DOUBLE_EQ(time_part({sample(100), sample(1000)}, {sample(200), sample(2000)}), 0.5);
  EXPECT_DOUBLE_EQ(time_part({sample(300)}, {sample(200)}), 1.5);
  // As many bytes take half of the time, though one of them does eight ranges at a time.
  EXPECT_DOUBLE_EQ(time_part({sample(400, 8)}, {sample(100)}), 0.5);
  EXPECT_EQ(time_part({}, {sample(100)}), 0);
}

TEST(Times, HaveThreeDigitsAndAUnit) {
  EXPECT_EQ(format_time(1), "1.00 ns");
  EXPECT_EQ(format_time(874), "874 ns");
  EXPECT_EQ(format_time(999.4), "999 ns");
  EXPECT_EQ(format_time(999.6), "1.00 us");
  EXPECT_EQ(format_time(131e3), "131 us");
  EXPECT_EQ(format_time(31.831e6), "31.8 ms");
  EXPECT_EQ(format_time(24.189e9), "24.2 s");
  EXPECT_EQ(format_time(3252e9), "3252 s");
}

TEST(Times, PartsHaveTwoDigitsHoweverSmall) {
  EXPECT_EQ(format_part(0), "-");
  EXPECT_EQ(format_part(1), "1.00");
  EXPECT_EQ(format_part(0.375), "0.38");
  EXPECT_EQ(format_part(0.0086), "0.0086");
  EXPECT_EQ(format_part(0.0000193), "0.000019");
  EXPECT_EQ(format_part(12.34), "12.3");
  EXPECT_EQ(format_part(6656.2), "6656");
  EXPECT_EQ(format_saved(0.38), "62 %");
  EXPECT_EQ(format_saved(1.13), "-13 %");
  EXPECT_EQ(format_saved(0), "-");
}

TEST(Times, TableHasPartsOfTheReference) {
  JobResult result;
  result.rows.push_back({"slow", "both", {sample(4e6), sample(8e6)}});
  result.rows.push_back({"fast", "one", {sample(1e6), sample(2e6)}});
  result.rows.push_back({"never", "not taken", {}});
  const std::string text =
      render_times(result, {"slow", "both", "memory", {{"fast", "500 B"}, {"never", "1 B"}}});
  EXPECT_THAT(text, ContainsRegex("mean +\\+- +by both +memory\n"));
  EXPECT_THAT(text, ContainsRegex("both +6\\.00 ms +2\\.83 ms +1\\.00\n"));
  EXPECT_THAT(text, ContainsRegex("one +1\\.50 ms +707 us +0\\.25 +500 B\n"));
  EXPECT_THAT(text, Not(HasSubstr("not taken")));
  EXPECT_THAT(render_times(result, {"nobody", "nobody", "", {}}),
              ContainsRegex("one +1\\.50 ms +707 us +-\n"));
  const std::string alone = render_times(result, {"", "", "", {}});
  EXPECT_THAT(alone, Not(HasSubstr("by ")));
  EXPECT_THAT(alone, ContainsRegex("one +1\\.50 ms +707 us *\n"));
}

TEST(Times, ARowWithoutSamplesIsNotMeasured) {
  JobResult result;
  result.rows.push_back({"never", "", {}});
  result.rows.push_back({"once", "", {sample(1)}});
  EXPECT_EQ(measured_row(result, "never"), nullptr);
  EXPECT_EQ(measured_row(result, "nobody"), nullptr);
  ASSERT_NE(measured_row(result, "once"), nullptr);
  EXPECT_EQ(measured_row(result, "once")->id, "once");
}

}  // namespace
}  // namespace hpz::bench
