// SPDX-License-Identifier: BSD-2-Clause
//
// What runs beside a filler, and who takes pages at once: the parts without clocks.
#include "bench/beside_filler.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "bench/pairs.h"
#include "bench/plan.h"
#include "bench/sizes.h"

namespace hpz::bench {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(BesideFiller, StepsReachEveryLineOnce) {
  for (const uint64_t lines : {1u, 2u, 3u, 7u, 64u, 1000u, 16384u, 65537u}) {
    const uint64_t step = scattering_step(lines);
    std::vector<bool> was_read(lines);
    uint64_t line = 0;
    for (uint64_t i = 0; i < lines; ++i) {
      ASSERT_FALSE(was_read[line]) << lines;
      was_read[line] = true;
      line = (line + step) % lines;
    }
    EXPECT_EQ(line, 0u) << lines;
    // No prefetcher follows: the next lines are nowhere near.
    if (lines > 100) {
      EXPECT_GT(std::min(step, lines - step), lines / 4) << lines;
    }
  }
}

std::vector<std::string> ids(const std::vector<WorkBesideFiller> &works) {
  std::vector<std::string> list;
  list.reserve(works.size());
  for (const WorkBesideFiller &work : works) list.push_back(work.id);
  return list;
}

TEST(BesideFiller, WorksOnHalfOfWhatIsThere) {
  const Caches caches = {32 * kKiB, 2 * kMiB, 480 * kMiB};
  const std::vector<WorkBesideFiller> works = works_beside_filler(caches, kGiB);
  ASSERT_THAT(ids(works), ElementsAre("registers", "half_l2", "half_llc"));
  EXPECT_EQ(works[1].set_bytes, kMiB);
  EXPECT_EQ(works[2].set_bytes, 240 * kMiB);
  EXPECT_THAT(works[2].title, HasSubstr("240 MiB"));
  EXPECT_THAT(ids(works_beside_filler(caches, 100 * kMiB)), ElementsAre("registers", "half_l2"));
  EXPECT_THAT(ids(works_beside_filler({32 * kKiB, kMiB, kMiB}, kGiB)),
              ElementsAre("registers", "half_llc"));
  EXPECT_THAT(ids(works_beside_filler({}, kGiB)), ElementsAre("registers"));
}

Sample sample(double ns, uint64_t ranges, std::vector<std::pair<std::string, double>> more = {}) {
  Sample s;
  s.ns = ns;
  s.ranges = ranges;
  s.more = std::move(more);
  return s;
}

TEST(BesideFiller, SlowerByWhatARoundSays) {
  JobResult result;
  const auto beside = [](double ns, uint64_t ranges) {
    return sample(ns, ranges, {{"filler_cpu_ns", 15}, {"filled_bytes", 3000}});
  };
  // A round that is slow as a whole, and one that does twice as much: both say 10 %.
  result.rows = {{"registers_alone", "counts", {sample(1000, 100), sample(500, 10)}},
                 {"registers_beside", "counts", {beside(1100, 100), beside(1100, 20)}}};
  EXPECT_NEAR(slowdown(result, "registers"), 0.1, 1e-9);
  EXPECT_EQ(slowdown(result, "half_llc"), 0);
  const std::string text =
      render_beside_filler(result, {{"registers", "counts", 0}, {"half_llc", "reads", kMiB}});
  EXPECT_THAT(text, ContainsRegex("counts +30.00 ns +33.00 ns +10.0 % +1.4 % +2.73 GB/s\n"));
  EXPECT_THAT(text, Not(HasSubstr("reads")));
}

TEST(Pairs, FourTakersInAnyCase) {
  EXPECT_THAT(taker_counts(1, 100), ElementsAre(1, 2, 4));
  EXPECT_THAT(taker_counts(6, 100), ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(taker_counts(64, 1000), ElementsAre(1, 2, 4, 8, 16, 32, 64));
  // Never more than there are pages: none of them waits for another one's.
  EXPECT_THAT(taker_counts(64, 4), ElementsAre(1, 2, 4));
  EXPECT_THAT(taker_counts(64, 1), ElementsAre(1));
  EXPECT_THAT(taker_counts(64, 0), IsEmpty());
}

TEST(Pairs, AreOfATaker) {
  JobResult result;
  Sample one = sample(1000, 10), two = sample(1000, 15);
  one.threads = 1;
  two.threads = 2;
  result.rows = {{"pairs_t1", "1 taker", {one}}, {"pairs_t2", "2 takers", {two}}};
  const std::string text = render_pairs(result);
  EXPECT_THAT(text, ContainsRegex("1 taker +100 +10.00 +10.00 +1.00\n"));
  EXPECT_THAT(text, ContainsRegex("2 takers +133 +7.50 +15.00 +1.50\n"));
}

}  // namespace
}  // namespace hpz::bench
