// SPDX-License-Identifier: BSD-2-Clause
//
// Work as programs without this library share it out: std::threads, started for the job and joined
// after it, each with one slice of the memory that is fixed beforehand. Also what the calling
// thread does alone, timed in the same way. Knows nothing of what the work is.
#ifndef HPZERO_BENCH_THREADS_H
#define HPZERO_BENCH_THREADS_H

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/statistics.h"

namespace hpz::bench {

struct Slice {
  uint64_t begin = 0, bytes = 0;
};

// The slice of one of count threads: neighbours meet at multiples of grain, sizes differ by at most
// one grain. Empty where there are more threads than grains. Pure.
Slice slice_of(uint64_t bytes, uint64_t grain, uint32_t index, uint32_t count);

// 1, 2, 4 ... and most itself. Pure.
std::vector<uint32_t> doubling_counts(uint32_t most);

// CPUs that the calling thread may run on.
uint32_t usable_cpus();

// What was asked for, or doubling_counts(most) if nothing was. Throws Refusal for more than there
// are usable CPUs.
std::vector<uint32_t> thread_counts(const std::vector<uint32_t> &asked_for, uint32_t most);

using SliceWork = std::function<void(const Slice &)>;

// bytes: of the sample. The time begins before the first thread is started and ends when the last
// one is joined.
Sample time_on_threads(uint32_t count, uint64_t bytes, uint64_t grain, const SliceWork &work);
Sample time_alone(uint64_t bytes, const std::function<void()> &work);

}  // namespace hpz::bench

#endif
