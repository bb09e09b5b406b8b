// SPDX-License-Identifier: BSD-2-Clause
//
// The example runs, on pages of both kinds: its guests see zero memory, it says how long they
// waited, and what to do where there are no huge pages. No speed is checked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/support/huge_pool.h"
#include "tests/support/program.h"

namespace hpz::test {
namespace {

using ::testing::HasSubstr;

constexpr unsigned kGuests = 5, kPages = 4;

Outcome toy(const std::vector<std::string> &more) {
  std::vector<std::string> words = {
      HPZERO_TOY_VMM, "--guests", std::to_string(kGuests), "--pages", std::to_string(kPages),
      "--think-ms",   "1"};
  words.insert(words.end(), more.begin(), more.end());
  return run(words);
}

void expect_percentiles(const Outcome &outcome, const std::string &way) {
  const size_t at = outcome.out.find('\n' + way);
  ASSERT_NE(at, std::string::npos) << outcome;
  double p50 = 0, p90 = 0, p99 = 0, max = 0;
  ASSERT_EQ(
      sscanf(outcome.out.c_str() + at + 1 + way.size(), "%lf %lf %lf %lf", &p50, &p90, &p99, &max),
      4)
      << outcome;
  EXPECT_TRUE(0 < p50 && p50 <= p90 && p90 <= p99 && p99 <= max) << outcome;
}

void expect_good(const Outcome &outcome) {
  ASSERT_EQ(outcome.status, 0) << outcome;
  EXPECT_EQ(outcome.err, "");
  expect_percentiles(outcome, "kernel");
  expect_percentiles(outcome, "pool  ");
  EXPECT_THAT(outcome.out, HasSubstr("\nkernel / pool, medians: "));
  EXPECT_THAT(outcome.out,
              HasSubstr("not read zero at a start: 0 of " + std::to_string(2 * kGuests * kPages)));
  const size_t at = outcome.out.find("\npool: ");
  ASSERT_NE(at, std::string::npos) << outcome;
  unsigned hits = 0, misses = 0, waits = 0;
  ASSERT_EQ(sscanf(outcome.out.c_str() + at, " pool: %u hits, %u misses, %u waits", &hits, &misses,
                   &waits),
            3)
      << outcome;
  EXPECT_EQ(hits + misses + waits, kGuests * kPages);
}

TEST(ToyVmm, guests_of_ordinary_pages) {
  const std::string page_kib = std::to_string(sysconf(_SC_PAGESIZE) / 1024);
  expect_good(toy({"--page-kib", page_kib}));
  expect_good(toy({"--page-kib", page_kib, "--pool", std::to_string(kPages), "--think-ms", "0"}));
}

TEST(ToyVmm, guests_of_huge_pages) {
  HugePool machine;
  if (const std::string why = machine.take_exactly(3 * kPages); !why.empty()) GTEST_SKIP() << why;
  expect_good(toy({}));
  EXPECT_EQ(HugePool::free_pages(), 3 * kPages) << "all come back";
}

TEST(ToyVmm, says_how_to_reserve_huge_pages) {
  HugePool machine;
  if (const std::string why = machine.take_exactly(2 * kPages); !why.empty()) GTEST_SKIP() << why;
  const Outcome outcome = toy({});
  EXPECT_EQ(outcome.status, 2) << "there would be none for the other guests: " << outcome;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("reserve 12 more by 'echo $(($(cat /sys/kernel/mm/hugepages/"
                                     "hugepages-2048kB/nr_hugepages) + 12)) | sudo tee /sys/"));
}

TEST(ToyVmm, says_what_can_be_told) {
  EXPECT_EQ(toy({"--help"}).status, 0);
  for (const std::vector<std::string> &words : std::vector<std::vector<std::string>>{
           {"--pages"}, {"--pages", "0"}, {"--pages", "-1"}, {"--pages", "4x"}, {"--wages", "4"}}) {
    const Outcome outcome = toy(words);
    EXPECT_EQ(outcome.status, 2) << outcome;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("\n--pages "));
  }
}

}  // namespace
}  // namespace hpz::test
