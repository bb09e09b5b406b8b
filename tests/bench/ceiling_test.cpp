// SPDX-License-Identifier: BSD-2-Clause
//
// The limit: which writers are tried, which row it is, what others reach of it.
#include "bench/ceiling.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "bench/plan.h"
#include "bench/sizes.h"

namespace hpz::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const std::vector<WriterRate> kSingles = {
    {{"nt", "", 1}, 20, true},   {{"nt", "", 2}, 38, true}, {{"st", "", 1}, 10, false},
    {{"st", "", 2}, 18, false},  {{"nu", "", 1}, 19, true}, {{"nu", "", 2}, 39, true},
    {{"nv", "", 1}, 18.5, true}, {{"nv", "", 2}, 30, true},
};

TEST(Ceiling, MixesAreOfTheFastestAndOfBothSorts) {
  EXPECT_THAT(
      mixes_of(kSingles),
      UnorderedElementsAre(Writer{"nu", "nt", 1}, Writer{"nu", "nt", 2}, Writer{"nu", "nv", 1},
                           Writer{"nu", "nv", 2}, Writer{"nu", "st", 1}, Writer{"nu", "st", 2}));
  EXPECT_THAT(mixes_of({}), IsEmpty());
  EXPECT_THAT(mixes_of({{{"memset", "", 1}, 5, false}}), IsEmpty());
  // Not the same pair the other way round.
  EXPECT_THAT(mixes_of({{{"st", "", 1}, 9, false}, {{"nt", "", 1}, 8, true}}),
              ElementsAre(Writer{"st", "nt", 1}));
}

TEST(Ceiling, ContendersAreFewAndHaveTheFastestAlone) {
  const std::vector<WriterRate> mixes = {
      {{"nu", "nt", 1}, 20}, {{"nu", "nt", 2}, 40}, {{"nu", "st", 2}, 25}};
  EXPECT_THAT(contenders(kSingles, mixes),
              ElementsAre(Writer{"nt", "", 1}, Writer{"nu", "", 2}, Writer{"nt", "", 2},
                          Writer{"nv", "", 2}, Writer{"nu", "nt", 2}, Writer{"nu", "st", 2}));
  EXPECT_THAT(contenders({}, {}), IsEmpty());
}

TEST(Ceiling, WhoPassesTheCaches) {
  const auto passes = [](uint32_t roles, uint32_t flags) {
    hpz_kernel_info kernel = HPZ_KERNEL_INFO_INIT;
    kernel.roles = roles;
    kernel.flags = flags;
    return passes_caches(kernel);
  };
  EXPECT_TRUE(passes(HPZ_ROLE_STREAM, HPZ_KERNEL_NEEDS_FENCE));
  EXPECT_TRUE(passes(HPZ_ROLE_STREAM, 0));  // STNP
  EXPECT_FALSE(passes(HPZ_ROLE_STREAM | HPZ_ROLE_BULK, 0));
  EXPECT_FALSE(passes(HPZ_ROLE_CACHED, 0));
  EXPECT_FALSE(passes(HPZ_ROLE_CACHED | HPZ_ROLE_LIBC, 0));
  EXPECT_FALSE(passes(0, 0));
}

#if defined(__x86_64__)
TEST(Ceiling, HereTheyAreThoseThatNeedAFence) {
  for (const hpz_kernel_info &kernel : all_kernels()) {
    EXPECT_EQ(passes_caches(kernel), (kernel.flags & HPZ_KERNEL_NEEDS_FENCE) != 0) << kernel.id;
  }
}
#endif

TEST(Ceiling, WritersHaveNames) {
  EXPECT_EQ((Writer{"nt", "", 2}.id()), "limit_nt_t2");
  EXPECT_EQ((Writer{"nt", "st", 1}.id()), "limit_nt+st_t1");
  EXPECT_EQ((Writer{"nt", "st", 1}.title()), "nt and st mixed, 1 plain");
}

Sample sample(double ns, uint64_t threads) {
  Sample s;
  s.bytes = kGiB;
  s.ns = ns;
  s.threads = threads;
  return s;
}

JobResult result() {
  JobResult result;
  result.rows = {{"hpz_zero", "hpz_zero", {sample(1e8, 1), sample(1.1e8, 1)}},
                 {"team_t2", "team, 2", {sample(6e7, 2), sample(6e7, 2)}},
                 {"limit_nt_t1", "nt, 1 plain", {sample(9e7, 1), sample(9.9e7, 1)}},
                 {"limit_nt_t2", "nt, 2 plain", {sample(5e7, 2), sample(5e7, 2)}},
                 {"limit_st_t2", "st, 2 plain", {}}};
  return result;
}

TEST(Ceiling, IsTheFastestRowAndSaysWhatOthersReach) {
  const JobResult measured = result();
  EXPECT_EQ(find_ceiling(measured, 1)->id, "limit_nt_t1");
  EXPECT_EQ(find_ceiling(measured, 2)->id, "limit_nt_t2");
  EXPECT_EQ(find_ceiling({}, 2), nullptr);
  const std::string text = render_ceiling(measured, {"hpz_zero", "team_t2", "nobody"});
  EXPECT_THAT(text, HasSubstr("limit, 1 thread: 11.4 GB/s (nt, 1 plain); of it: hpz_zero 0.90\n"));
  EXPECT_THAT(text, HasSubstr("limit, up to 2 threads: 21.5 GB/s (nt, 2 plain); of it: hpz_zero "
                              "0.48, team, 2 0.83\n"));
  EXPECT_THAT(render_ceiling({}, {"hpz_zero"}), IsEmpty());
}

TEST(Ceiling, IsInTheContextOfJson) {
  const ContextEntries entries = describe_ceiling(result(), {"hpz_zero", "team_t2"}, "_2m");
  EXPECT_THAT(entries,
              ElementsAre(Pair("limit_one_thread_2m", "limit_nt_t1"),
                          Pair("limit_one_thread_2m_gb_per_s", HasSubstr("11.")),
                          Pair("limit_one_thread_2m_reached_by_hpz_zero", "0.9000"),
                          Pair("limit_2m", "limit_nt_t2"), Pair("limit_2m_gb_per_s", "21.475"),
                          Pair("limit_2m_reached_by_hpz_zero", HasSubstr("0.4")),
                          Pair("limit_2m_reached_by_team_t2", "0.8333")));
}

TEST(Ceiling, WindowsFollowEachOtherAndNeverEndOutside) {
  std::vector<char> memory(100);
  const Windows windows(memory.data(), memory.size());
  const Windows copy = windows;
  EXPECT_EQ(windows.next(30), memory.data());
  EXPECT_EQ(copy.next(40), memory.data() + 30);
  EXPECT_EQ(windows.next(30), memory.data() + 70);
  EXPECT_EQ(windows.next(10), memory.data());
  // What is left at the end is too little.
  EXPECT_EQ(windows.next(91), memory.data());
  EXPECT_EQ(copy.next(100), memory.data());
}

// In memory that was just written a kernel that stores into caches seems to be the fastest.
TEST(Ceiling, RowsTakeMemoryInTurn) {
  constexpr uint64_t kBytes = 4 * kMiB;
  std::vector<char> memory(3 * kBytes);
  const CeilingPlace place = {Windows(memory.data(), memory.size()), kBytes, {1}};
  std::vector<JobRow> rows;
  add_ceiling_rows(rows, place);
  ASSERT_GT(rows.size(), 0u);
  const auto cleared = [&] {
    std::vector<bool> third;
    for (size_t i = 0; i < 3; ++i) {
      const auto begin = memory.begin() + static_cast<ptrdiff_t>(i * kBytes);
      third.push_back(std::all_of(begin, begin + kBytes, [](char c) { return c == 0; }));
    }
    return third;
  };
  std::memset(memory.data(), 0xA5, memory.size());
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::ranges::count(cleared(), true), static_cast<ptrdiff_t>(i));
    rows[i % rows.size()].take();
  }
  EXPECT_THAT(cleared(), testing::Each(true));
}

TEST(Ceiling, RowsClearAllOfTheirMemory) {
  constexpr uint64_t kBytes = 5 * kMiB + 4096;
  std::vector<char> memory(kBytes);
  const CeilingPlace place = {Windows(memory.data(), kBytes), kBytes, {1, 2}};
  std::vector<JobRow> rows = {{"memset_t1", "memset, 1 plain", nullptr}};
  add_ceiling_rows(rows, place);
  ASSERT_GT(rows.size(), 1u);
  for (size_t i = 1; i < rows.size(); ++i) {
    SCOPED_TRACE(rows[i].id);
    EXPECT_THAT(rows[i].id, HasSubstr(kCeilingPrefix));
    EXPECT_THAT(rows[i].id, Not("limit_memset_t1"));
    std::memset(memory.data(), 0xA5, kBytes);
    const Sample taken = rows[i].take();
    EXPECT_EQ(taken.bytes, kBytes);
    EXPECT_TRUE(std::all_of(memory.begin(), memory.end(), [](char c) { return c == 0; }));
  }
}

}  // namespace
}  // namespace hpz::bench
