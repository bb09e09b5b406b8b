// SPDX-License-Identifier: BSD-2-Clause
#include "bench/warnings.h"

#include <algorithm>

#include "bench/json_schema.h"
#include "bench/sizes.h"
#include "bench/table.h"

namespace hpz::bench {
namespace {

// A set of this many last-level caches is gone from them when the walk comes round.
constexpr uint64_t kCachesPerSet = 4;
// Beyond this part of the time, what was subtracted is no longer a detail.
constexpr double kLargeSubtraction = 0.05;
// Half the distance of the quartiles by the median: more, and the second digit is not good.
constexpr double kNoisySpread = 0.10;
constexpr double kLargeStolenPart = 0.01;

// "4KiB, 64KiB, 1MiB", each once, in the order met.
class SizeList {
 public:
  void add(uint64_t size) {
    if (std::find(sizes_.begin(), sizes_.end(), size) == sizes_.end()) sizes_.push_back(size);
  }
  bool empty() const { return sizes_.empty(); }
  std::string text() const { return joined(", "); }
  std::string option() const { return joined(","); }  // as --size takes it

 private:
  std::string joined(const char *separator) const {
    std::string list;
    for (const uint64_t size : sizes_) list += (list.empty() ? "" : separator) + format_size(size);
    return list;
  }
  std::vector<uint64_t> sizes_;
};

double subtracted_part(const Sample &sample) {
  return sample.clock_ns / (sample.clock_ns + sample.ns);
}

bool is_zero_only(const Cell &cell) {
  return cell.state != MemoryState::kFresh;
}

}  // namespace

std::vector<std::string> find_warnings(const std::vector<CellResult> &results,
                                       const Circumstances &circumstances) {
  std::vector<std::string> warnings;
  const uint64_t llc = circumstances.caches.llc;

  SizeList cached, short_sections, few_rounds;
  bool has_cold = false;
  int noisy = 0, rows = 0, faulted = 0, preempted = 0, samples = 0, most_rounds = 0;
  for (const CellResult &result : results) {
    const Cell &cell = result.cell;
    has_cold |= cell.state == MemoryState::kCold;
    const bool is_near = cell.state == MemoryState::kHot || cell.state == MemoryState::kRecycled;
    if (is_near && cell.size < kCachesPerSet * llc) cached.add(cell.size);
    for (const RowResult &row : result.rows) {
      if (row.samples.size() < kRoundsToTrust) few_rounds.add(cell.size);
      ++rows;
      most_rounds = std::max(most_rounds, static_cast<int>(row.samples.size()));
      if (summarize(rates(row.samples)).spread > kNoisySpread) ++noisy;
      for (const Sample &sample : row.samples) {
        ++samples;
        if (sample.preempted > 0) ++preempted;
        const bool may_fault = row.kind == RowKind::kBaseline;
        if (sample.faults > 0 && is_zero_only(cell) && !may_fault) ++faulted;
        if (subtracted_part(sample) > kLargeSubtraction) short_sections.add(cell.size);
      }
    }
  }

  if (circumstances.smallest_cold_set_bytes != 0 &&
      circumstances.smallest_cold_set_bytes < kCachesPerSet * llc) {
    const bool are_jobs = circumstances.are_jobs;
    warnings.push_back((are_jobs ? "the buffer of " : "the cold set of ") +
                       format_size(circumstances.smallest_cold_set_bytes) + " is less than " +
                       std::to_string(kCachesPerSet) + " times the last-level cache (" +
                       format_size_rounded(llc) + "), so " + (are_jobs ? "its" : "cold") +
                       " figures may show the cache and not memory: use " +
                       (are_jobs ? "--size " : "--set ") + format_size(kCachesPerSet * llc) +
                       " or more, on a machine that has it");
  }
  // Who has figures of memory beside them is not misled.
  if (!cached.empty() && !has_cold) {
    warnings.push_back("hot and recycled figures at " + cached.text() +
                       " show caches and not memory: use --memory cold for memory");
  }
  if (!few_rounds.empty()) {
    warnings.push_back(
        "at " + few_rounds.text() + " there was time for less than " +
        std::to_string(kRoundsToTrust) + " rounds: run again with " +
        (circumstances.has_size_list ? "--size " + few_rounds.option() + ", or with " : "") +
        "a larger --seconds");
  }
  if (!short_sections.empty()) {
    warnings.push_back("at " + short_sections.text() +
                       " reading the clock was more than 5 % of what was "
                       "timed, and was subtracted: trust differences under 5 % there only when "
                       "'hpzero-bench overhead' or a second run confirms them");
  }
  if (faulted > 0) {
    warnings.push_back(std::to_string(faulted) + " of " + std::to_string(samples) +
                       " samples contain page faults, which are not zeroing: stop what makes the "
                       "kernel move or swap pages (numa_balancing, compaction, memory shortage)");
  }
  if (noisy > 0) {
    const std::string more = std::to_string(std::max(2 * most_rounds, 21));
    warnings.push_back(std::to_string(noisy) + " of " + std::to_string(rows) +
                       " medians have quartiles more than 10 % away: stop other programs or run "
                       "again with --repetitions " +
                       more);
  }
  // One in twenty is what a timer and a shell cost.
  if (preempted * 20 > samples) {
    warnings.push_back(std::to_string(preempted) + " of " + std::to_string(samples) +
                       " samples were interrupted by another program: stop what else runs on this "
                       "CPU, or give hpzero-bench another by taskset");
  }
  if (circumstances.stolen_part > kLargeStolenPart) {
    warnings.push_back("the hypervisor gave " + format_percent(circumstances.stolen_part) +
                       " of this machine's CPU time to others: trust ratios of one run, and run "
                       "again at a quieter time for rates");
  }
  if (circumstances.governor != "performance" && circumstances.governor != "unknown") {
    warnings.push_back("the CPU frequency governor is '" + circumstances.governor +
                       "', so rates may depend on what ran before: set it to 'performance' by "
                       "'cpupower frequency-set -g performance' and run again");
  }
  if (circumstances.cpus == 1) {
    warnings.push_back(
        "this machine has a single CPU, shared with everything else: stop other "
        "programs while measuring");
  }
  if (!circumstances.is_pinned) {
    warnings.push_back("the thread could not be pinned to one CPU: run under taskset -c 0");
  }
  return warnings;
}

std::string joined_warnings(const std::vector<std::string> &warnings) {
  std::string all;
  for (const std::string &line : warnings) {
    if (!all.empty()) all += kWarningSeparator;
    all += line;
  }
  return all;
}

}  // namespace hpz::bench
