// SPDX-License-Identifier: BSD-2-Clause
//
// The comparison of CPUs on machines that need not exist, and on this one.
#include "lib/plan/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <map>
#include <vector>

namespace hpz::test {
namespace {

constexpr unsigned kWordBits = 8 * sizeof(unsigned long);

// CPU -> what it reads. A CPU of the mask that is not here cannot be visited.
struct InventedCores {
  std::map<unsigned, uint64_t> signature;
  std::vector<unsigned> visited;
  unsigned here = 0;
};

bool visit(void *context, unsigned cpu) noexcept {
  auto &cores = *static_cast<InventedCores *>(context);
  if (cores.signature.count(cpu) == 0) return false;
  cores.visited.push_back(cpu);
  cores.here = cpu;
  return true;
}

uint64_t read(void *context) noexcept {
  auto &cores = *static_cast<InventedCores *>(context);
  return cores.signature.at(cores.here);
}

CoreCheck compare(InventedCores &cores, const std::vector<unsigned> &allowed, unsigned bits = 256) {
  std::vector<unsigned long> mask(bits / kWordBits);
  for (const unsigned cpu : allowed) mask.at(cpu / kWordBits) |= 1ul << cpu % kWordBits;
  return compare_cores(mask.data(), bits, {visit, read, &cores});
}

TEST(CompareCores, alike) {
  InventedCores cores{{{0, 4}, {1, 4}, {63, 4}, {64, 4}, {255, 4}}, {}};
  EXPECT_EQ(compare(cores, {0, 1, 63, 64, 255}), CoreCheck::kAlike);
  // Each of them once, and no other.
  EXPECT_EQ(cores.visited, (std::vector<unsigned>{0, 1, 63, 64, 255}));
}

TEST(CompareCores, one_that_differs_wherever_it_is) {
  const std::vector<unsigned> all = {0, 1, 63, 64, 65, 255};
  for (const unsigned odd : all) {
    InventedCores cores;
    for (const unsigned cpu : all) cores.signature[cpu] = cpu == odd ? 0x14 : 4;
    EXPECT_EQ(compare(cores, all), CoreCheck::kDiffer) << odd;
    // ... unless it may not be used.
    std::vector<unsigned> allowed;
    for (const unsigned cpu : all) {
      if (cpu != odd) allowed.push_back(cpu);
    }
    EXPECT_EQ(compare(cores, allowed), CoreCheck::kAlike) << odd;
  }
}

// A difference in any bit counts, and zero is a signature like any other.
TEST(CompareCores, every_bit_counts) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    InventedCores cores{{{2, 0}, {3, uint64_t{1} << bit}}, {}};
    EXPECT_EQ(compare(cores, {2, 3}), CoreCheck::kDiffer) << bit;
  }
  InventedCores zeroes{{{2, 0}, {3, 0}}, {}};
  EXPECT_EQ(compare(zeroes, {2, 3}), CoreCheck::kAlike);
}

TEST(CompareCores, offline_cpus_count_for_nothing) {
  InventedCores cores{{{5, 4}, {7, 4}}, {}};
  EXPECT_EQ(compare(cores, {0, 5, 6, 7, 200}), CoreCheck::kAlike);
  EXPECT_EQ(cores.visited, (std::vector<unsigned>{5, 7}));
  cores.signature[7] = 9;
  EXPECT_EQ(compare(cores, {0, 5, 6, 7, 200}), CoreCheck::kDiffer);
}

TEST(CompareCores, nothing_visited_is_a_failure_and_not_alike) {
  InventedCores none;
  EXPECT_EQ(compare(none, {0, 1, 2}), CoreCheck::kFailed);
  InventedCores some{{{0, 4}}, {}};
  EXPECT_EQ(compare(some, {}), CoreCheck::kFailed);
  EXPECT_EQ(compare(some, {0}), CoreCheck::kAlike);
}

// Of this machine, whose CPUs are expected to be alike; the caller's thread stays where it may run.
TEST(CompareCores, leaves_the_callers_affinity_alone) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(compare_cores(), CoreCheck::kAlike);
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace hpz::test
