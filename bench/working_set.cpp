// SPDX-License-Identifier: BSD-2-Clause
#include "bench/working_set.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "bench/clock.h"
#include "bench/refusal.h"
#include "bench/sizes.h"

namespace hpz::bench {
namespace {

// Passes until all is where it stays, the timed one apart. A last-level cache that takes what falls
// out of the second level prefers lines that were used more than once; but a pass over a large one
// takes as long as what is to be timed.
constexpr int kWarmingPasses = 3;
constexpr uint64_t kLargeSet = 32 * kMiB;

// Steps between two looks at the flags: some microseconds. More: the window gets blurred; less:
// looking is part of the time.
constexpr uint64_t kStepsPerLook = 64;

}  // namespace

WorkingSet::WorkingSet(uint64_t bytes)
    : lines_(std::max<uint64_t>(bytes / kLine / kChains, 1) * kChains),
      steps_(lines_ / kChains),
      // Huge pages where there are any: what is asked is where lines are, not translations.
      mapping_(PageKind::kThp, round_up(lines_ * kLine, page_bytes(PageKind::kThp))) {
  if (!populate(mapping_.base(), mapping_.bytes())) {
    throw Refusal("memory for a working set of " + format_size_rounded(lines_ * kLine) +
                  " cannot be had: use a smaller --set");
  }
  auto *const lines = reinterpret_cast<Line *>(mapping_.base());
  std::vector<uint32_t> order(lines_);
  std::iota(order.begin(), order.end(), 0u);
  // The same order in every run: a figure that changes was not changed by it.
  std::mt19937 random(4711);
  std::shuffle(order.begin(), order.end(), random);
  for (size_t chain = 0; chain < kChains; ++chain) {
    const uint64_t first = chain * steps_;
    for (uint64_t i = 0; i < steps_; ++i) {
      lines[order[first + i]].next = &lines[order[first + (i + 1) % steps_]];
    }
    at_[chain] = &lines[order[first]];
  }
}

void WorkingSet::advance(uint64_t steps) {
  Line *at[kChains];
  std::copy(std::begin(at_), std::end(at_), at);
  for (uint64_t i = 0; i < steps; ++i) {
    for (Line *&line : at) line = line->next;
  }
  std::copy(std::begin(at), std::end(at), at_);
}

double WorkingSet::timed_pass_ns() {
  const uint64_t begin = thread_cpu_ns();
  pass();
  return std::max(static_cast<double>(thread_cpu_ns() - begin), 1.0);
}

void WorkingSet::warm() {
  for (int i = 0; i < (bytes() < kLargeSet ? kWarmingPasses : 1); ++i) pass();
}

double WorkingSet::pass_ns_between(const std::atomic<bool> &begun, const std::atomic<bool> &ended) {
  const uint64_t look = std::min(kStepsPerLook, steps_);
  while (!begun.load(std::memory_order_acquire)) advance(look);
  const uint64_t begin = thread_cpu_ns();
  uint64_t done = 0;
  // At least once: a window that was over before anybody looked is still a figure.
  do {
    advance(look);
    done += look;
  } while (!ended.load(std::memory_order_acquire));
  const auto ns = std::max(static_cast<double>(thread_cpu_ns() - begin), 1.0);
  return ns * static_cast<double>(steps_) / static_cast<double>(done);
}

}  // namespace hpz::bench
