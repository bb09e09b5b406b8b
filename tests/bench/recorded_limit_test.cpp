// SPDX-License-Identifier: BSD-2-Clause
//
// The limit as it is read from a file: which row it is, whose line it is, what is reached of it.
#include "bench/recorded_limit.h"

#include <gmock/gmock.h>

#include "recorded.h"

namespace hpz::bench {
namespace {

using ::testing::HasSubstr;

// 16 KiB each: 16.384 GB/s in 1000 ns.
const std::vector<test::Keys> kEntries = {
    test::timed_entry("hpz_zero/256MiB/limit/1g", 0, 1000),
    test::timed_entry("limit_nt_t1/256MiB/limit/1g", 0, 800),
    test::timed_entry("limit_nt_t2/256MiB/limit/1g", 0, 400),
    test::timed_entry("hpz_zero/4GiB/touched/2m", 0, 1000),
    test::timed_entry("team_t1/4GiB/touched/2m", 0, 1000),
    test::timed_entry("team_t2/4GiB/touched/2m", 0, 625),
    test::timed_entry("nt_t2/4GiB/touched/2m", 0, 500),
    test::timed_entry("memset/4KiB/cold/1g", 0, 1),
};

class RecordedLimit : public ::testing::Test {
 protected:
  const ResultsFile file_ = parse_results(test::results_text(kEntries), "x.json");
  const std::vector<RecordedCell> cells_ = cells_of(file_);
};

TEST_F(RecordedLimit, IsTheFastestRowOfThosePages) {
  const auto alone = limit_line(cells_, "1g", LimitOf::kOneThread);
  const auto all = limit_line(cells_, "1g", LimitOf::kAnyThreads);
  ASSERT_TRUE(alone && all);
  EXPECT_DOUBLE_EQ(alone->y, 20.48);
  EXPECT_EQ(alone->name, "the limit of memory, one thread");
  EXPECT_DOUBLE_EQ(all->y, 40.96);
  EXPECT_EQ(all->name, "the limit of memory, any number of threads");
  const auto other = limit_line(cells_, "2m", LimitOf::kAnyThreads);
  ASSERT_TRUE(other);
  EXPECT_DOUBLE_EQ(other->y, 32.768);
}

TEST_F(RecordedLimit, OfOtherPagesIsNamedAfterThem) {
  const auto line = limit_line(cells_, "4k", LimitOf::kOneThread);
  ASSERT_TRUE(line);
  EXPECT_DOUBLE_EQ(line->y, 20.48);
  EXPECT_THAT(line->name, HasSubstr(", on 1 GiB pages"));
  EXPECT_FALSE(limit_line({}, "4k", LimitOf::kOneThread));
}

TEST_F(RecordedLimit, WhatIsReachedOfItIsOfTheSameNumberOfThreads) {
  EXPECT_EQ(limit_sentence(cells_[0]),
            " hpz_zero reaches 80.0 % of the limit of one thread, 20.5 GB/s.");
  EXPECT_EQ(limit_sentence(cells_[1]),
            " hpz_zero reaches 100 % of the limit of one thread, 16.4 GB/s. The team reaches "
            "80.0 % of the limit, 32.8 GB/s.");
  EXPECT_EQ(limit_sentence(cells_[2]), "");
}

}  // namespace
}  // namespace hpz::bench
