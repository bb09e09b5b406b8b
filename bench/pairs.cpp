// SPDX-License-Identifier: BSD-2-Clause
#include "bench/pairs.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "bench/clock.h"
#include "bench/statistics.h"
#include "bench/table.h"
#include "bench/threads.h"

namespace hpz::bench {
namespace {

// Long enough that threads which share a CPU have each had their turns.
constexpr long kSampleNs = 50'000'000;

// Between two looks whether it is over.
constexpr int kPairsAtOnce = 64;

enum Phase : int { kWaiting, kRunning, kOver };

// Of one taker: how many pairs it came to.
uint64_t pairs_while(const std::atomic<int> &phase, const CleanPool &pool) {
  const hpz_take_options options = pool.take_options(HPZ_TAKE_CLEAN_ONLY);
  hpz_page page = HPZ_PAGE_INIT;
  uint64_t pairs = 0;
  phase.wait(kWaiting);
  // Some in any case, however late its turn comes: a sample of none would be no figure.
  do {
    for (int pair = 0; pair < kPairsAtOnce; ++pair) {
      pool.take(options, page);
      pool.give(page, HPZ_GIVE_UNWRITTEN);
    }
    pairs += kPairsAtOnce;
  } while (phase.load(std::memory_order_relaxed) == kRunning);
  return pairs;
}

Sample take_and_give(const CleanPool &pool, uint32_t takers) {
  const std::vector<int> cpus = usable_cpu_numbers();
  std::atomic<int> phase{kWaiting};
  const auto enter = [&](Phase next) {
    phase.store(next, std::memory_order_relaxed);
    phase.notify_all();
  };
  std::mutex mutex;
  std::exception_ptr trouble;
  Sample sample;
  uint64_t begin_ns = 0, end_ns = 0;
  const auto be_taker = [&](uint32_t index) {
    uint64_t pairs = 0;
    std::exception_ptr own;
    try {
      if (!cpus.empty()) run_on(cpus[index % cpus.size()]);
      pairs = pairs_while(phase, pool);
    } catch (...) {
      own = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    sample.ranges += pairs;
    end_ns = now_ns();
    if (own) trouble = own;
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (uint32_t i = 0; i < takers; ++i) threads.emplace_back(be_taker, i);
    } catch (...) {
      enter(kOver);
      throw;
    }
    begin_ns = now_ns();
    enter(kRunning);
    const timespec length = {0, kSampleNs};
    nanosleep(&length, nullptr);
    enter(kOver);
  }
  if (trouble) std::rethrow_exception(trouble);
  sample.ns = static_cast<double>(end_ns - begin_ns);
  sample.threads = takers;
  sample.sections = 1;
  return sample;
}

double median_ns(const JobRowResult &row) {
  std::vector<double> values;
  for (const Sample &sample : row.samples) values.push_back(ns_per_range(sample));
  return median(std::move(values));
}

}  // namespace

std::vector<uint32_t> taker_counts(uint32_t cpus, size_t pages) {
  constexpr uint32_t kAlways = 4;
  std::vector<uint32_t> counts = doubling_counts(std::max(cpus, kAlways));
  std::erase_if(counts, [pages](uint32_t count) { return count > pages; });
  return counts;
}

std::vector<JobRow> pair_rows(const CleanPool &pool, const std::vector<uint32_t> &counts) {
  std::vector<JobRow> rows;
  rows.reserve(counts.size());
  for (const uint32_t count : counts) {
    rows.push_back({with_threads("pairs", count),
                    std::to_string(count) + (count == 1 ? " taker" : " takers"),
                    [&pool, count] { return take_and_give(pool, count); }});
  }
  return rows;
}

std::string render_pairs(const JobResult &result) {
  TextTable table;
  table.add_row({"", "ns for a pair", "pairs/us each", "pairs/us in all", "by 1 taker"});
  double alone = 0;
  for (const JobRowResult &row : result.rows) {
    if (row.samples.empty()) continue;
    const double ns = median_ns(row);  // between two pairs, of whomever
    const auto takers = static_cast<double>(row.samples.front().threads);
    if (alone == 0) alone = ns;
    table.add_row({row.title, decimals(ns * takers, 0), decimals(1e3 / ns / takers, 2),
                   decimals(1e3 / ns, 2), format_ratio(alone / ns)});
  }
  return table.text();
}

}  // namespace hpz::bench
