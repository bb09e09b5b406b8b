// SPDX-License-Identifier: BSD-2-Clause
//
// Who decides, and which row of a role wins, on an invented table of kernels.
#include <gtest/gtest.h>

#include "tests/plan/invented_kernel.h"

namespace hpz::test {
namespace {

constexpr FeatureSet kWide = 1, kQuirk = 2, kOther = 4;
constexpr Kernel kTable[] = {
    invented_kernel("wide_nt", kStream, kWide, kQuirk),
    invented_kernel("narrow_nt", kStream, 0, kQuirk),
    invented_kernel("wide_st", kCached, kWide | kOther),
    invented_kernel("string", kBulk | kStream, kOther),
    invented_kernel("library", kCached | kLibc),
    invented_kernel("listed_only"),
};

std::string best(FeatureSet features, Role role) {
  const Kernel *const row = best_of_role(kTable, features, role);
  return row == nullptr ? "" : row->id;
}

TEST(BestOfRole, takes_the_first_that_may_and_should) {
  EXPECT_EQ(best(0, kStream), "narrow_nt");
  EXPECT_EQ(best(kWide, kStream), "wide_nt");
  EXPECT_EQ(best(kWide | kOther, kStream), "wide_nt");
  // Avoided: the first that is not, and where all are, the first that may run.
  EXPECT_EQ(best(kWide | kQuirk | kOther, kStream), "string");
  EXPECT_EQ(best(kWide | kQuirk, kStream), "wide_nt");
  EXPECT_EQ(best(kQuirk, kStream), "narrow_nt");
  // Needs all of its features.
  EXPECT_EQ(best(kWide, kCached), "library");
  EXPECT_EQ(best(kWide | kOther, kCached), "wide_st");
  EXPECT_EQ(best(0, kBulk), "");
  EXPECT_EQ(best_of_role({}, 0, kLibc), nullptr);
}

TEST(FindKernel, by_its_exact_id) {
  EXPECT_EQ(find_kernel(kTable, "string"), &kTable[3]);
  for (const char *const id : {"", "strin", "strings", "String", " string"}) {
    EXPECT_EQ(find_kernel(kTable, id), nullptr) << id;
  }
  EXPECT_EQ(find_kernel(kTable, nullptr), nullptr);
}

TEST(WhyNot, names_what_is_missing_and_what_speaks_against) {
  EXPECT_EQ(missing_features(kTable[2], kWide), kOther);
  EXPECT_EQ(missing_features(kTable[2], kWide | kOther | kQuirk), 0U);
  EXPECT_EQ(avoided_for(kTable[0], kWide | kQuirk), kQuirk);
  EXPECT_EQ(avoided_for(kTable[0], kWide), 0U);
}

TEST(Select, forced_before_profile_before_built_in) {
  Selection profile;
  profile.cached.append(kNoLimit, kTable[3]);
  profile.stream.append(kNoLimit, kTable[1]);
  profile.probe_from = profile.probe_upto = 1 << 20;
  SelectInput input;
  input.table = kTable;
  input.features = kOther;
  const Selection built_in = select(input);
  EXPECT_EQ(text_of(built_in.cached), "max:library");
  EXPECT_EQ(built_in, built_in_bands(kTable, kOther, {}, {}));
  input.profile = &profile;
  EXPECT_EQ(select(input), profile);
  input.forced = &kTable[5];
  const Selection forced = select(input);
  EXPECT_EQ(text_of(forced.cached), "max:listed_only");
  EXPECT_EQ(text_of(forced.stream), "max:listed_only");
  // Nothing may be tried before a forced kernel, so there is no probe.
  EXPECT_EQ(forced.probe_from, forced.probe_upto);
}

// Detection is a function: the same answers, the same CPU (the plan list is bounded by that).
TEST(Detect, the_machine_itself_twice) {
  EXPECT_EQ(detect_cpu(), detect_cpu());
}

}  // namespace
}  // namespace hpz::test
