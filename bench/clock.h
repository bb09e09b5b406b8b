// SPDX-License-Identifier: BSD-2-Clause
//
// The clock, and what reading it costs. Works without a cycle counter.
#ifndef HPZERO_BENCH_CLOCK_H
#define HPZERO_BENCH_CLOCK_H

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace hpz::bench {

inline uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// What the calling thread has had of a CPU: stands still while others have it.
inline uint64_t thread_cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// The end of a timed section. Stores that wait in the store buffer are part of the work: without
// the fence a kernel that leaves its last 4 KiB there would look faster than it is.
inline uint64_t now_ns_all_stored() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return now_ns();
}

// What an empty section measures: subtracted from every timed section. Median of many.
inline double measure_clock_cost_ns() {
  constexpr size_t kReadings = 10'001;
  std::vector<uint64_t> readings;
  readings.reserve(kReadings);
  for (size_t i = 0; i < kReadings; ++i) {
    const uint64_t begin = now_ns();
    readings.push_back(now_ns_all_stored() - begin);
  }
  const auto middle = readings.begin() + kReadings / 2;
  std::nth_element(readings.begin(), middle, readings.end());
  return static_cast<double>(*middle);
}

}  // namespace hpz::bench

#endif
