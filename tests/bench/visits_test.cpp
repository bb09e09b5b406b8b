// SPDX-License-Identifier: BSD-2-Clause
//
// Visits: all rounds are in them, and cells whose rounds take long are not visited for ever.
#include "bench/visits.h"

#include <gtest/gtest.h>

#include "bench/clock.h"

namespace hpz::bench {
namespace {

TEST(Visits, HaveAllRoundsBetweenThem) {
  for (const int rounds : {1, 2, 3, 4, 7, 8, 51}) {
    JobTime time(0, rounds, 0);
    time.expect(1);
    Visits visits(time, {1.0}, rounds);
    int all = 0, most = 0, least = rounds;
    for (int visit = 0; visit < kVisits; ++visit) {
      const auto patience = visits.begin(0, visit, now_ns());
      const int now = patience ? patience->max_rounds : 0;
      if (patience) {
        EXPECT_EQ(patience->min_rounds, now);
        visits.end(0, static_cast<size_t>(now), 0.001);
      }
      all += now;
      most = std::max(most, now);
      least = std::min(least, now);
    }
    EXPECT_EQ(all, rounds);
    EXPECT_LE(most - least, 1) << rounds;
  }
}

TEST(Visits, ShareTheTime) {
  JobTime time(40, 0, 0);
  for (int cell = 0; cell < 2; ++cell) time.expect(1);
  Visits visits(time, {1.0, 1.0}, 0);
  for (int visit = 0; visit < kVisits; ++visit) {
    for (size_t cell = 0; cell < 2; ++cell) {
      const uint64_t now = now_ns();
      const auto patience = visits.begin(cell, visit, now);
      ASSERT_TRUE(patience);
      // 40 s, 2 cells, 4 visits.
      EXPECT_NEAR(static_cast<double>(patience->deadline_ns - now) / 1e9, 5, 0.5);
      EXPECT_GE(patience->min_rounds, 1);
      visits.end(cell, 10, 5);
    }
  }
  EXPECT_NEAR(time.used(), 40, 0.1);
}

TEST(Visits, ACellWhoseRoundTakesTooLongIsLeftAlone) {
  JobTime time(40, 0, 0);
  for (int cell = 0; cell < 2; ++cell) time.expect(1);
  Visits visits(time, {1.0, 1.0}, 0);
  int visited = 0;
  for (int visit = 0; visit < kVisits; ++visit) {
    if (visits.begin(0, visit, now_ns())) {
      ++visited;
      visits.end(0, 1, 14);  // of 20 that are its own; twice that is the most
    }
    ASSERT_TRUE(visits.begin(1, visit, now_ns()));
    visits.end(1, 10, 0.1);
  }
  EXPECT_EQ(visited, 2);
}

TEST(Visits, WhatIsGivenUpIsTheOthers) {
  JobTime time(40, 0, 0);
  for (int cell = 0; cell < 2; ++cell) time.expect(1);
  Visits visits(time, {1.0, 1.0}, 0);
  for (int visit = 0; visit < kVisits; ++visit) visits.give_up(0);
  const uint64_t now = now_ns();
  const auto patience = visits.begin(1, 0, now);
  ASSERT_TRUE(patience);
  EXPECT_NEAR(static_cast<double>(patience->deadline_ns - now) / 1e9, 10, 0.5);
}

}  // namespace
}  // namespace hpz::bench
