// SPDX-License-Identifier: BSD-2-Clause
//
// Memory that a by-stander reads while, or after, others clear: what somebody else's program has in
// the caches. Only read, line after line, so that what is timed is where the lines are found.
#ifndef HPZERO_BENCH_WORKING_SET_H
#define HPZERO_BENCH_WORKING_SET_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/memory.h"

namespace hpz::bench {

class WorkingSet {
 public:
  // bytes: rounded down to whole lines for all chains, at least one each. Throws Refusal.
  explicit WorkingSet(uint64_t bytes);

  uint64_t bytes() const { return lines_ * kLine; }

  // Each line once, in an order that no prefetcher guesses. Times are the thread's own on a CPU:
  // who else runs there takes from the cache, and not from the clock.
  void pass() { advance(steps_); }
  double timed_pass_ns();
  // Untimed, until it is as warm as it gets.
  void warm();

  // Reads on and on, from when begun is set until ended is; the time for as much as a pass.
  double pass_ns_between(const std::atomic<bool> &begun, const std::atomic<bool> &ended);

  static constexpr uint64_t kLine = 64;
  // Chains of lines, each of which names the next: reads of one chain wait for each other, those of
  // different chains do not. One chain would be latency alone, as no program of any size is, and
  // minutes for a large cache.
  static constexpr size_t kChains = 8;

 private:
  struct alignas(kLine) Line {
    Line *next;
  };
  void advance(uint64_t steps);

  uint64_t lines_, steps_;  // steps_: of all chains together, for a pass
  Mapping mapping_;
  Line *at_[kChains] = {};
};

}  // namespace hpz::bench

#endif
