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

// CPUs that the calling thread may run on: how many; their numbers, ascending, none where nobody
// tells.
uint32_t usable_cpus();
std::vector<int> usable_cpu_numbers();

// Two CPUs: the one the calling thread is on, and another one that it may use, or the same where
// there is no other; -1 where nobody tells. Destroying it lets the thread run where it could
// before.
class CpuPair {
 public:
  CpuPair();
  ~CpuPair();
  CpuPair(const CpuPair &) = delete;
  CpuPair &operator=(const CpuPair &) = delete;

  int here() const { return here_; }
  int other() const { return other_; }

 private:
  std::vector<unsigned long> before_;
  int here_ = -1, other_ = -1;
};
// The calling thread runs there from now on, where that is permitted.
void run_on(int cpu);
void run_on_any(const std::vector<int> &cpus);

// Threads of one that is pinned begin on its CPU, and the kernel takes longer to part them than
// they have work: while this lives, the calling thread may run on all of them.
class Unpinned {
 public:
  // pinned_to: where it stays afterwards; -1: as now.
  Unpinned(const std::vector<int> &cpus, int pinned_to) : pinned_to_(pinned_to) {
    run_on_any(cpus);
  }
  ~Unpinned() { run_on(pinned_to_); }
  Unpinned(const Unpinned &) = delete;
  Unpinned &operator=(const Unpinned &) = delete;

 private:
  int pinned_to_;
};

// Throws Refusal for more than there are usable CPUs.
void refuse_more_than_cpus(const std::vector<uint32_t> &threads);

// What was asked for, or doubling_counts(most) if nothing was. Refuses like that.
std::vector<uint32_t> thread_counts(const std::vector<uint32_t> &asked_for, uint32_t most);

using SliceWork = std::function<void(const Slice &)>;

// bytes: of the sample. The time begins before the first thread is started and ends when the last
// one is joined.
Sample time_on_threads(uint32_t count, uint64_t bytes, uint64_t grain, const SliceWork &work);
Sample time_alone(uint64_t bytes, const std::function<void()> &work);

}  // namespace hpz::bench

#endif
