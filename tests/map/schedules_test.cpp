// SPDX-License-Identifier: BSD-2-Clause
//
// What the search of schedules.h is worth: it finds faults that only some orders show, and leaves
// out no order but those that differ from others in nothing.
#include "tests/map/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/map/steps.h"

namespace hpz::test {
namespace {

using testing::StartsWith;

constexpr uint64_t kMostStates = 1000;

TEST(Schedules, find_a_lost_update) {
  int shared = 0;
  const auto add = [&] {
    test_step(&shared, sizeof shared, false);
    const int seen = shared;
    test_step(&shared, sizeof shared, true);
    shared = seen + 1;
  };
  const auto prepare = [&] {
    shared = 0;
    test_step(&shared, sizeof shared, true);
    return Execution{{add, add}, [&] {
                       if (shared != 2) fail_execution("lost");
                     }};
  };
  EXPECT_THAT(explore(prepare, kMostStates).failure, StartsWith("lost"));
}

// One that sleeps on the word until it is set.
Explored sleep_beside(const std::function<void(FutexWord &)> &set) {
  FutexWord word{0};
  const auto prepare = [&] {
    word = 0;
    map_step(word, Access::kWrite);
    return Execution{{[&] { map_sleep(word, 0, 0); }, [&] { set(word); }}, [] {}};
  };
  return explore(prepare, kMostStates);
}

TEST(Schedules, find_a_lost_wake) {
  const auto set = [](FutexWord &word) {
    map_step(word, Access::kWrite);
    word = 1;
  };
  EXPECT_THAT(sleep_beside(set).failure, StartsWith("all wait"));
  const auto set_and_wake = [&](FutexWord &word) {
    set(word);
    map_wake(word);
  };
  EXPECT_EQ(sleep_beside(set_and_wake).failure, "");
}

// Two writes: to one place, of which either may be the first, or to two, where that is the same.
TEST(Schedules, try_each_order_that_matters) {
  int places[2] = {};
  for (const bool is_one : {true, false}) {
    const auto add = [&](int &place) {
      return [&place] {
        test_step(&place, sizeof place, true);
        ++place;
      };
    };
    const auto prepare = [&] {
      for (int &place : places) {
        place = 0;
        test_step(&place, sizeof place, true);
      }
      return Execution{{add(places[0]), add(places[is_one ? 0 : 1])}, [&] {
                         if (places[0] + places[1] != 2) fail_execution("not both");
                       }};
    };
    const Explored explored = explore(prepare, kMostStates);
    EXPECT_EQ(explored.failure, "");
    EXPECT_EQ(explored.executions, is_one ? 2u : 1u);
    EXPECT_GE(explored.states, is_one ? 3u : 2u) << "before the first, and after either";
  }
}

}  // namespace
}  // namespace hpz::test
