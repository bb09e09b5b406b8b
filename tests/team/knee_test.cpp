// SPDX-License-Identifier: BSD-2-Clause
//
// The climb to the knee, on invented machines: how the rate grows with the workers, and noise.
#include "lib/team/knee.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace hpz::test {
namespace {

constexpr uint64_t kChunk = 32 << 20;

struct Climbed {
  uint32_t threads;
  uint64_t chunks;
};

// Runs chunks until the climb has settled; rate in bytes per ns for so many workers.
Climbed climb(Climb climb, const std::function<double(uint32_t)> &rate, double noise = 0) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> spread(1 - noise, 1 + noise);
  double now = 1e9;
  uint64_t chunks = 0;
  while (!climb.is_settled() && chunks < 100'000) {
    now += static_cast<double>(kChunk) / rate(climb.limit()) * spread(random);
    climb.chunk_ended(static_cast<uint64_t>(now), kChunk, climb.limit());
    ++chunks;
  }
  return {climb.limit(), chunks};
}

// Each adds its own rate, up to what the memory gives.
std::function<double(uint32_t)> memory_of(double own, double most) {
  return [=](uint32_t threads) { return std::min(own * threads, most); };
}

TEST(Climb, ends_at_the_knee) {
  EXPECT_EQ(climb(Climb(64, 0, false), memory_of(10, 10)).threads, 1u) << "one fills it";
  EXPECT_EQ(climb(Climb(64, 0, false), memory_of(10, 20)).threads, 2u);
  EXPECT_EQ(climb(Climb(64, 0, false), memory_of(10, 39)).threads, 4u);
  const uint32_t many = climb(Climb(64, 0, false), memory_of(10, 120)).threads;
  EXPECT_GE(many, 12u);
  EXPECT_LE(many, 13u);
  EXPECT_EQ(climb(Climb(8, 0, false), memory_of(10, 1000)).threads, 8u) << "as many as there are";
  EXPECT_EQ(climb(Climb(2, 0, false), memory_of(10, 1000)).threads, 2u);
  // The last step, from 63, could not bring 5 %.
  EXPECT_EQ(climb(Climb(64, 0, false), memory_of(10, 1000)).threads, 63u);
}

TEST(Climb, is_over_soon) {
  EXPECT_LE(climb(Climb(2, 0, false), memory_of(10, 1000)).chunks, 4u + 8u);
  EXPECT_LE(climb(Climb(64, 0, false), memory_of(10, 1000)).chunks, 1100u) << "of 16384 in 512 GiB";
}

// More workers than the knee make many machines slower.
TEST(Climb, takes_a_loss_back) {
  const auto rate = [](uint32_t threads) { return threads <= 3 ? 10.0 * threads : 20.0; };
  EXPECT_EQ(climb(Climb(16, 0, false), rate).threads, 3u);
}

TEST(Climb, noise_of_2_percent_does_not_decide) {
  EXPECT_EQ(climb(Climb(8, 0, false), memory_of(10, 30), 0.02).threads, 3u);
  EXPECT_EQ(climb(Climb(8, 0, false), memory_of(10, 80), 0.02).threads, 8u);
}

TEST(Climb, a_trusted_knee_is_taken_at_its_word) {
  EXPECT_TRUE(Climb(8, 3, true).is_settled());
  EXPECT_EQ(Climb(8, 3, true).limit(), 3u);
  EXPECT_EQ(Climb(2, 3, true).limit(), 2u) << "a team with fewer workers";
  EXPECT_TRUE(Climb(1, 0, false).is_settled()) << "nothing to find out";
}

TEST(Climb, an_old_knee_moves_either_way) {
  EXPECT_EQ(climb(Climb(16, 4, false), memory_of(10, 40)).threads, 4u);
  EXPECT_EQ(climb(Climb(16, 4, false), memory_of(10, 60)).threads, 6u) << "a neighbour has left";
  EXPECT_EQ(climb(Climb(16, 6, false), memory_of(10, 20)).threads, 2u) << "a neighbour has come";
  EXPECT_EQ(climb(Climb(16, 16, false), memory_of(10, 20)).threads, 2u) << "from the top";
  EXPECT_EQ(climb(Climb(16, 16, false), memory_of(10, 1000)).threads, 16u);
}

// While workers are still on their way nothing is measured.
TEST(Climb, waits_for_all_workers) {
  Climb climb(4, 0, false);
  uint64_t now = 1'000'000'000;
  while (climb.limit() == 1) climb.chunk_ended(now += 1'000'000, kChunk, 1);
  ASSERT_EQ(climb.limit(), 2u);
  for (int i = 0; i < 100; ++i) {
    climb.chunk_ended(now += 1'000'000, kChunk, 1);
    EXPECT_EQ(climb.limit(), 2u);
    EXPECT_FALSE(climb.is_settled());
  }
}

TEST(Knee, is_trusted_for_a_while) {
  const Knee knee = {3, 1000};
  EXPECT_EQ(knee.trusted(999), 3u);
  EXPECT_EQ(knee.trusted(1000), 0u);
  EXPECT_EQ(Knee().trusted(0), 0u);
}

}  // namespace
}  // namespace hpz::test
