// SPDX-License-Identifier: BSD-2-Clause
//
// Marks, zeroing and a second zeroing of the same pages in every order of their steps.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/map/stepped_world.h"

namespace hpz::test {
namespace {

TEST(Interleavings, mark_and_zero) {
  uint64_t executions = 0;
  for (const Case &which : {kOne, kDirty, kPartly, kClean, kTwoPages}) {
    const uint64_t all = which.dirty.size();
    for (uint64_t from = 0; from < all; ++from) {
      for (uint64_t to = from + 1; to <= all; ++to) {
        executions += explore_case(which, [&](SteppedWorld &world) {
          world.memory().tells_halves = true;
          return std::vector{world.mark(from, to), world.zero(0, all)};
        });
        executions += explore_case(which, [&](SteppedWorld &world) {
          return std::vector{world.mark_by_bitmap(from, to), world.zero(from, all)};
        });
      }
    }
  }
  EXPECT_GT(executions, 2000u);
}

// (Less would be a search that has lost its way; the numbers are somewhat less than what was found
// when these tests were written.)
TEST(Interleavings, zero_and_zero) {
  uint64_t executions = 0;
  for (const Case &which : {kOne, kPartly, kDirty}) {
    const uint64_t all = which.dirty.size();
    executions += explore_case(which, [&](SteppedWorld &world) {
      world.memory().tells_halves = true;
      return std::vector{world.zero(0, all), world.zero(0, 1)};
    });
    executions += explore_case(which, [&](SteppedWorld &world) {
      return std::vector{world.zero(0, all), world.zero(0, all)};
    });
  }
  EXPECT_GT(executions, 1000u);
}

TEST(Interleavings, mark_zero_and_zero) {
  uint64_t executions = 0;
  for (const bool is_dirty : {true, false}) {
    executions += explore_case({1, {is_dirty}}, [&](SteppedWorld &world) {
      return std::vector{world.mark(0, 1), world.zero(0, 1), world.zero(0, 1)};
    });
  }
  EXPECT_GT(executions, 1000u);
}

// The job of one of them fails, after none or some of the subpages.
TEST(Interleavings, a_zero_that_fails) {
  uint64_t executions = 0;
  for (const Case &which : {kOne, kDirty}) {
    const uint64_t all = which.dirty.size();
    for (uint64_t fails_after = 0; fails_after < all; ++fails_after) {
      executions += explore_case(which, [&](SteppedWorld &world) {
        world.memory().fails_after = fails_after;
        return std::vector{world.mark(0, 1), world.zero(0, all, true)};
      });
      executions += explore_case(which, [&](SteppedWorld &world) {
        world.memory().fails_after = fails_after;
        return std::vector{world.zero(0, all), world.zero(0, all, true)};
      });
    }
  }
  EXPECT_GT(executions, 100u);
}

// The second one comes after a mark of its own thread: it finds what was marked while the first one
// was clearing it, or had already told that it is done, and must not take it for the first one's,
// nor the first one for its own.
TEST(Interleavings, a_zero_after_a_mark) {
  uint64_t executions = 0;
  for (const Case &which : {kOne, kDirty, kPartly}) {
    const uint64_t all = which.dirty.size();
    for (const bool fails : {false, true}) {
      executions += explore_case(which, [&](SteppedWorld &world) {
        world.memory().tells_halves = true;
        world.memory().fails_after = 1;
        const auto both = [mark = world.mark(0, 1), zero = world.zero(0, 1)] {
          mark();
          zero();
        };
        return std::vector<std::function<void()>>{world.zero(0, all, fails), both};
      });
    }
  }
  EXPECT_GT(executions, 1000u);
}

// A call that has failed deals only with what it has not told: what it has may be in the hands of
// the other one again, whose memory is not zero yet.
TEST(Interleavings, a_zero_after_one_that_failed) {
  const uint64_t executions = explore_case(kDirty, [](SteppedWorld &world) {
    world.memory().tells_halves = true;
    world.memory().fails_after = 1;
    const auto first = [fails = world.zero(0, 2, true), look = world.look()] {
      fails();
      look();
    };
    const auto second = [mark = world.mark(0, 1), zero = world.zero(0, 1)] {
      mark();
      zero();
    };
    return std::vector<std::function<void()>>{first, second};
  });
  EXPECT_GT(executions, 1000u);
}

TEST(Interleavings, others) {
  uint64_t executions = 0;
  for (const Case &which : {kOne, kPartly, kClean}) {
    const uint64_t all = which.dirty.size();
    executions += explore_case(which, [&](SteppedWorld &world) {
      return std::vector{world.mark(0, 1), world.release(0, all)};
    });
    executions += explore_case(which, [&](SteppedWorld &world) {
      return std::vector{world.zero(0, all), world.release(0, all)};
    });
    executions += explore_case(which, [&](SteppedWorld &world) {
      return std::vector{world.mark(0, 1), world.mark_by_bitmap(0, all)};
    });
  }
  EXPECT_GT(executions, 100u);
}

}  // namespace
}  // namespace hpz::test
