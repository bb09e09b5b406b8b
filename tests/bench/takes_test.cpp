// SPDX-License-Identifier: BSD-2-Clause
//
// Times of takes: figures, what goes to JSON, the published table.
#include "bench/takes.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

namespace hpz::bench {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Takes, FiguresAreThoseOfAllTakes) {
  const TakeFigures figures = figures_of({30, 10, 20, 40});
  EXPECT_DOUBLE_EQ(figures.total, 100);
  EXPECT_DOUBLE_EQ(figures.mean, 25);
  EXPECT_DOUBLE_EQ(figures.min, 10);
  EXPECT_DOUBLE_EQ(figures.median, 25);
  EXPECT_DOUBLE_EQ(figures.p999, 40);
  EXPECT_DOUBLE_EQ(figures.max, 40);
  EXPECT_EQ(figures_of({}).max, 0);
}

TEST(Takes, OneInAThousandMayBeAbove) {
  std::vector<double> ns(2000);
  std::iota(ns.rbegin(), ns.rend(), 1.0);
  EXPECT_DOUBLE_EQ(figures_of(ns).p999, 1998);
  ns.resize(999);
  EXPECT_DOUBLE_EQ(figures_of(ns).p999, figures_of(ns).max);
}

TEST(Takes, ASampleHasThemByName) {
  const Sample sample = sample_of({{100, 300, 50, 250}, 1, 1, 0}, 2, 4096);
  EXPECT_EQ(sample.ranges, 4u);
  EXPECT_EQ(sample.bytes, 16384u);
  EXPECT_DOUBLE_EQ(sample.ns, 700);
  const std::map<std::string, double> more(sample.more.begin(), sample.more.end());
  EXPECT_EQ(more.at("hits"), 1);
  EXPECT_EQ(more.at("misses"), 1);
  EXPECT_EQ(more.at("waits"), 0);
  EXPECT_EQ(more.at("min_ns"), 50);
  EXPECT_EQ(more.at("median_ns"), 175);
  EXPECT_EQ(more.at("p999_ns"), 300);
  EXPECT_EQ(more.at("max_ns"), 300);
  EXPECT_EQ(more.at("first_pass_ns"), 400);
}

TEST(Takes, RatiosArePairedByIteration) {
  // Ten times slower in the second iteration; each says three.
  const TakeRow slow = {"a", "", {{{300, 300}, 0, 0, 0}, {{3000, 3000}, 0, 0, 0}}};
  const TakeRow fast = {"b", "", {{{50, 150}, 0, 0, 0}, {{500, 1500}, 0, 0, 0}}};
  EXPECT_DOUBLE_EQ(mean_ratio(slow, fast), 3);
  // Without the first take of each.
  EXPECT_DOUBLE_EQ(mean_ratio(slow, fast, 1), 2);
  EXPECT_EQ(mean_ratio(slow, fast, 2), 0);
  EXPECT_DOUBLE_EQ(mean_ns(fast), 550);
  EXPECT_DOUBLE_EQ(median_ns({"c", "", {{{1, 2, 9}, 0, 0, 0}, {{4, 8, 9}, 0, 0, 0}}}), 5);
  EXPECT_THAT(all_ns(fast, 1), ElementsAre(150, 1500));
  EXPECT_THAT(all_ns(fast, 3), IsEmpty());
}

TEST(Takes, ALineIsTheIterationInTheMiddle) {
  const TakeRow kernel = {"kernel", "by the kernel", {{{1e6, 3e6}, 0, 0, 0}}};
  const TakeRow pool = {
      "pool", "by the pool", {{{900}, 7, 0, 0}, {{100}, 8, 1, 0}, {{300}, 9, 2, 3}}};
  const TakeRow nothing = {"none", "not taken", {}};
  const std::string text = render_takes({&kernel, &pool, &nothing},
                                        {{"published", "20 s", "39 us", "", "512", "0", ""}});
  EXPECT_THAT(text, ContainsRegex("total +average +min +median +99.9 % +max +hits +misses +waits"));
  EXPECT_THAT(text, ContainsRegex("by the kernel +4.00 ms +2.00 ms +1.00 ms +2.00 ms +3.00 ms "
                                  "+3.00 ms +- +- +-\n"));
  EXPECT_THAT(text, ContainsRegex("by the pool +300 ns +300 ns .* 300 ns +9 +2 +3\n"));
  EXPECT_THAT(text, ContainsRegex("published +20 s +39 us +- +- +- +- +512 +0 +-\n"));
  EXPECT_THAT(text, Not(HasSubstr("not taken")));
}

}  // namespace
}  // namespace hpz::bench
