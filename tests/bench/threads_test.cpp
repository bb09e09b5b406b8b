// SPDX-License-Identifier: BSD-2-Clause
//
// Slices for plain threads, and what a sample of them says.
#include "bench/threads.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "bench/refusal.h"
#include "bench/sizes.h"

namespace hpz::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Slices, CoverAllOnceAndMeetAtGrains) {
  struct Case {
    uint64_t bytes, grain;
    uint32_t count;
  };
  for (const auto &[bytes, grain, count] :
       {Case{kGiB, 2 * kMiB, 1}, Case{kGiB, 2 * kMiB, 2}, Case{kGiB, 2 * kMiB, 7},
        Case{kGiB + 4096, 2 * kMiB, 3}, Case{5, 2, 3}, Case{2 * kMiB, 2 * kMiB, 4},
        Case{uint64_t{1} << 50, 4096, 16'384}, Case{1, 4096, 2}}) {
    uint64_t next = 0, smallest = UINT64_MAX, largest = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const Slice slice = slice_of(bytes, grain, i, count);
      EXPECT_EQ(slice.begin, next);
      next += slice.bytes;
      if (next < bytes) {
        EXPECT_EQ(next % grain, 0u);
      }
      smallest = std::min(smallest, slice.bytes);
      largest = std::max(largest, slice.bytes);
    }
    EXPECT_EQ(next, bytes);
    EXPECT_LE(largest - smallest, 2 * grain) << bytes << " in " << count;
  }
}

TEST(ThreadCounts, DoubleUpToAll) {
  EXPECT_THAT(doubling_counts(1), ElementsAre(1));
  EXPECT_THAT(doubling_counts(2), ElementsAre(1, 2));
  EXPECT_THAT(doubling_counts(6), ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(doubling_counts(8), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(doubling_counts(0), ElementsAre(1));
}

TEST(ThreadCounts, CpusHaveNumbers) {
  const std::vector<int> cpus = usable_cpu_numbers();
  EXPECT_EQ(cpus.size(), usable_cpus());
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
  EXPECT_THAT(cpus, ::testing::Contains(sched_getcpu()));
}

TEST(ThreadCounts, MoreThanThereAreCpusIsRefused) {
  EXPECT_THAT(thread_counts({1}, 64), ElementsAre(1));
  EXPECT_EQ(thread_counts({}, 4), doubling_counts(4));
  EXPECT_THROW(thread_counts({1, usable_cpus() + 1}, 1), Refusal);
  EXPECT_THROW(refuse_more_than_cpus({1, usable_cpus() + 1}), Refusal);
  EXPECT_NO_THROW(refuse_more_than_cpus({usable_cpus()}));
}

TEST(CpuPair, IsUndoneAndHasTwoCpusWhereThereAreTwo) {
  const uint32_t before = usable_cpus();
  {
    const CpuPair cpus;
    ASSERT_GE(cpus.here(), 0) << "nobody tells the CPUs";
    EXPECT_EQ(cpus.here() == cpus.other(), before == 1);
    run_on(cpus.other());
    EXPECT_EQ(usable_cpus(), 1u);
  }
  EXPECT_EQ(usable_cpus(), before);
}

TEST(Unpinned, ThreadsMayRunOnAllCpusAndTheCallerIsBackAfterwards) {
  const CpuPair undo;
  const std::vector<int> cpus = usable_cpu_numbers();
  ASSERT_THAT(cpus, Not(IsEmpty())) << "nobody tells the CPUs";
  run_on(cpus.back());
  ASSERT_THAT(usable_cpu_numbers(), ElementsAre(cpus.back()));
  {
    const Unpinned unpinned(cpus, cpus.back());
    time_on_threads(1, 1, 1, [&](const Slice &) { EXPECT_EQ(usable_cpu_numbers(), cpus); });
  }
  EXPECT_THAT(usable_cpu_numbers(), ElementsAre(cpus.back()));
}

TEST(PlainThreads, EachHasItsSliceAndItsCpuTimeCounts) {
  std::atomic<uint64_t> sum{0};
  std::atomic<int> calls{0};
  const Sample sample = time_on_threads(3, 30, 1, [&](const Slice &slice) {
    sum += slice.bytes;
    ++calls;
  });
  EXPECT_EQ(sum, 30u);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(sample.bytes, 30u);
  EXPECT_EQ(sample.threads, 3u);
  EXPECT_GT(sample.ns, 0);
  EXPECT_GT(sample.cpu_ns, 0u);
  EXPECT_EQ(sample.local_bytes + sample.remote_bytes, 0u);
}

TEST(PlainThreads, WhatOneThrowsArrives) {
  EXPECT_THROW(time_on_threads(2, 2, 1,
                               [](const Slice &slice) {
                                 if (slice.begin == 1) throw std::runtime_error("no");
                               }),
               std::runtime_error);
}

}  // namespace
}  // namespace hpz::bench
