// SPDX-License-Identifier: BSD-2-Clause
//
// Jobs: their names in JSON, their table, the time each cell gets.
#include "bench/jobs.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "bench/clock.h"
#include "bench/refusal.h"
#include "bench/sizes.h"

namespace hpz::bench {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

Sample sample(uint64_t bytes, double ns, uint64_t threads, uint64_t cpu_ns) {
  Sample s;
  s.bytes = bytes;
  s.ns = ns;
  s.threads = threads;
  s.cpu_ns = cpu_ns;
  return s;
}

TEST(Jobs, NamesHaveFourParts) {
  const JobRow row = {"team_t2", "team, 2", nullptr};
  EXPECT_EQ(job_name(row, {PageKind::k2m, kAnyNode, kGiB, "touched", ""}),
            "team_t2/1GiB/touched/2m");
  EXPECT_EQ(job_name(row, {PageKind::k2m, 3, kGiB, "touched", ""}),
            "team_t2/1GiB/touched/2m.node3");
  EXPECT_EQ(job_name(row, {PageKind::kThp, kAnyNode, kGiB, "sparse", "anonymous"}),
            "team_t2/1GiB/sparse/anonymous");
}

TEST(Jobs, TableHasRatioCpuTimeAndPlaces) {
  JobResult result;
  result.rows.push_back({"one", "one thread", {sample(kGiB, 1e8, 1, 100'000'000)}});
  Sample team = sample(kGiB, 5e7, 2, 250'000'000);
  team.local_bytes = kGiB / 2 + kGiB / 4;
  team.remote_bytes = kGiB / 4;
  result.rows.push_back({"team_t2", "team, 2", {team}});
  const std::string text = render_jobs(result, "one");
  EXPECT_THAT(text, ContainsRegex("one thread +1 +10\\.7 \\+- 0% +1\\.00 +0\\.100 +- +-"));
  EXPECT_THAT(text, ContainsRegex("team, 2 +2 +21\\.5 \\+- 0% +2\\.00 +0\\.250 +768 MiB +256 MiB"));
  EXPECT_THAT(render_jobs(result, "nobody"), Not(HasSubstr("2.00")));
}

TEST(Jobs, AKneeThatWasNotFoundIsSaid) {
  JobResult result;
  for (const char *id : {"team_t2", "team_auto", "other_auto"}) {
    result.rows.push_back({id, id, {sample(kGiB, 1e8, 1, 1)}});
  }
  mark_knee(result, "team", true);
  EXPECT_THAT(render_jobs(result, "nobody"), Not(HasSubstr("not found")));
  mark_knee(result, "team", false);
  const std::string text = render_jobs(result, "nobody");
  EXPECT_THAT(text, HasSubstr("team_auto (not found)"));
  EXPECT_THAT(text, Not(HasSubstr("other_auto (not found)")));
}

size_t rounds_of(const Patience &patience) {
  Rounds rounds;
  return run_rounds(rounds, {{"job", [] { return sample(1, 1, 1, 1); }}}, patience).front().size();
}

TEST(Jobs, TimeIsSharedByWeightAndOneRoundIsForAll) {
  Options options;
  options.seconds = 12;
  JobTime time(options, 1);
  time.expect(1);
  time.expect(3);
  const uint64_t before_ns = now_ns();
  const uint64_t deadline_ns = time.next(1).deadline_ns;
  EXPECT_GE(deadline_ns, before_ns + 2'900'000'000);
  EXPECT_LE(deadline_ns, now_ns() + 3'100'000'000);
  time.spent(1, 12);
  const Patience late = time.next(3);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(rounds_of(late), 1u);
  JobTime strict(12, 0, 0);
  strict.expect(3);
  strict.spent(1, 12);
  EXPECT_EQ(rounds_of(strict.next(3)), 0u);
  EXPECT_EQ(time.used(), 12);

  options.repetitions = 7;
  options.seconds.reset();
  EXPECT_EQ(JobTime(options, 1).next(1).max_rounds, 7);
}

TEST(Jobs, SizesFitAsOftenAsTheyAreWanted) {
  Options options;
  JobBook book(options);
  const auto fitting = [&](const UsualSizes &usual) {
    return sizes_that_fit(options, PageKind::k4k, kAnyNode, usual, book);
  };
  // No machine has so much: the default is smaller, and smaller still for more copies of it.
  const std::vector<uint64_t> one = fitting({{kGiB << 30}});
  const std::vector<uint64_t> eight = fitting({{kGiB << 30}, 1, 8});
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(eight.size(), 1u);
  EXPECT_LE(eight[0] * 4, one[0]);
  // What does not fit twice is measured once.
  EXPECT_EQ(fitting({{kGiB << 30, kGiB << 31}}).size(), 1u);
  EXPECT_THAT(fitting({{kMiB, 2 * kMiB}, kMiB, 2}), ::testing::ElementsAre(kMiB, 2 * kMiB));

  options.pages = {PageKind::k4k};
  options.sizes = {kGiB << 10};
  try {
    fitting({{kMiB}, 1, 2});
    ADD_FAILURE() << "1 TiB twice fits this machine";
  } catch (const Refusal &refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("for each of 2 copies: use sizes up to"));
  }
}

TEST(Jobs, WhatDidNotHappenIsNotInJson) {
  Rounds rounds;
  rounds.begin_tasks();
  for (const bool is_void : {false, true, false}) {
    rounds.run_round({{"cancel", [=] {
                         Sample taken = sample(1, 1000, 1, 1);
                         taken.is_void = is_void;
                         return taken;
                       }}});
  }
  const std::string json = rounds.json("parallel");
  EXPECT_THAT(json, HasSubstr("\"repetition_index\": 0"));
  EXPECT_THAT(json, Not(HasSubstr("\"repetition_index\": 1")));
  EXPECT_THAT(json, HasSubstr("\"repetition_index\": 2"));
}

}  // namespace
}  // namespace hpz::bench
