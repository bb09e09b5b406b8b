// SPDX-License-Identifier: BSD-2-Clause
#include "bench/bystanders.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <thread>

#include "bench/clock.h"
#include "bench/cpu_choice.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/threads.h"
#include "bench/working_set.h"

namespace hpz::bench {
namespace {

// A cache that is all of what is cleared, or most of it, is not swept by clearing it.
constexpr uint64_t kClearedPerSet = 4;
// Less is no working set of a last-level cache: then that of the second level is the larger one.
constexpr uint64_t kSmallestSet = 64 * kKiB;

void keep_time(Sample &sample, uint64_t bytes, double ns) {
  sample.bytes = bytes;
  sample.ns = std::max(ns, 1.0);
  sample.ranges = sample.sections = 1;
}

// How often the calling thread had to leave its CPU to others so far.
uint64_t preempted_so_far() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_nivcsw);
}

double time_of(const Bystanders::Clear &clear) {
  const uint64_t begin = now_ns();
  clear();
  return static_cast<double>(now_ns_all_stored() - begin);
}

std::string format_times(double times) {
  return times <= 0 ? "-" : format_ratio(times);
}

}  // namespace

BystanderSizes bystander_sizes(const Caches &caches, uint64_t cleared, uint64_t room,
                               std::optional<uint64_t> asked_for) {
  BystanderSizes sizes;
  sizes.l2_bytes = caches.l2 / 2;
  sizes.llc_bytes = asked_for.value_or(caches.llc / 2);
  if (asked_for) return sizes;
  const uint64_t wanted = sizes.llc_bytes;
  const auto at_most = [&](uint64_t bytes, const std::string &why) {
    if (sizes.llc_bytes <= bytes) return;
    sizes.llc_bytes = std::max(bytes, std::min(wanted, kSmallestSet));
    sizes.note = "the last-level working set is " + format_size_rounded(sizes.llc_bytes) +
                 " instead of " + format_size_rounded(wanted) + ", " + why;
  };
  at_most(cleared / kClearedPerSet,
          "a quarter of what is cleared: use a larger --size for a larger one");
  at_most(room, "for there is no more memory: free some, or use --set for another size");
  return sizes;
}

Neighbour find_neighbour(int here, const std::vector<int> &usable, const std::string &root) {
  const auto [core, near] = sharers_of(here, root);
  struct Choice {
    bool is_core, is_near;
    const char *title;
  };
  constexpr Choice kChoices[] = {{true, true, "another core, the same last-level cache"},
                                 {true, false, "another core, another last-level cache"},
                                 {false, true, "another thread of the same core"},
                                 {false, false, "another thread of the same core"}};
  for (const auto &[is_core, is_near, title] : kChoices) {
    for (const int cpu : usable) {
      if (cpu == here || holds(core, cpu) == is_core) continue;
      // Where nobody tells who shares, everybody does.
      if ((near.empty() || holds(near, cpu)) != is_near) continue;
      const char *const known = core.empty()              ? "another CPU"
                                : near.empty() && is_core ? "another core"
                                                          : title;
      return {cpu, "CPU " + std::to_string(cpu) + ": " + known};
    }
  }
  return {};
}

// --- Taking samples ----------------------------------------------------------------------------

struct Bystanders::Sets {
  explicit Sets(const BystanderSizes &sizes) : l2(sizes.l2_bytes), llc(sizes.llc_bytes) {}
  WorkingSet l2, llc;
};

Bystanders::Bystanders(const BystanderSizes &sizes, int neighbour)
    : sets_(std::make_unique<Sets>(sizes)), neighbour_(neighbour) {}

Bystanders::~Bystanders() = default;

Sample Bystanders::same_thread(uint64_t bytes, const Clear &clear) {
  Sample sample;
  // The small set second: it takes little from the large one, which takes all of it.
  sets_->llc.warm();
  sample.llc.warm_ns = sets_->llc.timed_pass_ns();
  sets_->l2.warm();
  const uint64_t before = preempted_so_far();
  sample.l2.warm_ns = sets_->l2.timed_pass_ns();
  keep_time(sample, bytes, time_of(clear));
  sample.l2.ns = sets_->l2.timed_pass_ns();
  sample.llc.ns = sets_->llc.timed_pass_ns();
  sample.preempted = preempted_so_far() - before;
  return sample;
}

Sample Bystanders::other_thread(uint64_t bytes, const Clear &clear, bool is_llc) {
  WorkingSet &set = is_llc ? sets_->llc : sets_->l2;
  Reread read;
  uint64_t preempted = 0;
  std::atomic<bool> is_warm = false, begun = false, ended = false;
  Sample sample;
  std::exception_ptr trouble;
  {
    const std::jthread reader([&] {
      run_on(neighbour_);
      set.warm();
      const uint64_t before = preempted_so_far();
      read.warm_ns = set.timed_pass_ns();
      is_warm.store(true, std::memory_order_release);
      is_warm.notify_one();
      read.ns = set.pass_ns_between(begun, ended);
      preempted = preempted_so_far() - before;
    });
    is_warm.wait(false, std::memory_order_acquire);
    begun.store(true, std::memory_order_release);
    // Whatever happens, the reader is told.
    try {
      keep_time(sample, bytes, time_of(clear));
    } catch (...) {
      trouble = std::current_exception();
    }
    ended.store(true, std::memory_order_release);
  }
  if (trouble) std::rethrow_exception(trouble);
  (is_llc ? sample.llc : sample.l2) = read;
  sample.preempted = preempted;
  return sample;
}

Sample Bystanders::other_thread_l2(uint64_t bytes, const Clear &clear) {
  return other_thread(bytes, clear, false);
}
Sample Bystanders::other_thread_llc(uint64_t bytes, const Clear &clear) {
  return other_thread(bytes, clear, true);
}

// --- Samples as figures ------------------------------------------------------------------------

double BystanderCost::together() const {
  double logarithms = 0;
  int count = 0;
  for (const double times : {same_l2, same_llc, other_l2, other_llc}) {
    if (times <= 0) continue;
    logarithms += std::log(std::max(times, 1.0));
    ++count;
  }
  return count == 0 ? 0 : std::exp(logarithms / count);
}

BystanderCost BystanderRow::cost() const {
  return {slow_down(same, &Sample::l2), slow_down(same, &Sample::llc),
          slow_down(other_l2, &Sample::l2), slow_down(other_llc, &Sample::llc)};
}

std::string render_bystanders(const std::vector<BystanderRow> &rows) {
  TextTable table;
  table.add_row({"", "GB/s", "same L2", "same LLC", "other L2", "other LLC", "together"});
  for (const BystanderRow &row : rows) {
    if (row.same.empty()) continue;
    const BystanderCost cost = row.cost();
    const double rate = summarize(rates(row.same)).median;
    table.add_row({row.title, rate > 0 ? format_rate(rate) : "-", format_times(cost.same_l2),
                   format_times(cost.same_llc), format_times(cost.other_l2),
                   format_times(cost.other_llc), format_times(cost.together())});
  }
  return table.text();
}

std::vector<std::string> bystander_warnings(const std::vector<BystanderRow> &rows,
                                            const std::string &control, const BystanderSizes &sizes,
                                            const std::string &smaller_set) {
  // A set that somebody swept takes longer than this; one that nobody touched less.
  constexpr double kSwept = 1.2;
  std::vector<std::string> warnings;
  double most = 0;
  for (const BystanderRow &row : rows) {
    const BystanderCost cost = row.cost();
    if (row.id != control) {
      most = std::max(most, cost.same_llc);
    } else if (std::max({cost.same_l2, cost.same_llc, cost.other_l2, cost.other_llc}) > kSwept) {
      warnings.push_back(
          "working sets became slower while nothing was cleared: others use these "
          "caches; compare rows with that one, and run again when they are quiet");
    }
  }
  if (most > 0 && most < kSwept) {
    warnings.push_back("no row made the last-level working set of " +
                       format_size_rounded(sizes.llc_bytes) +
                       " slower, so it was hardly ever in that cache (a virtual machine reports "
                       "its host's, which others share): " +
                       smaller_set);
  }
  return warnings;
}

}  // namespace hpz::bench
