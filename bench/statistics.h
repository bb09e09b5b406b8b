// SPDX-License-Identifier: BSD-2-Clause
//
// From samples to figures. Pure.
#ifndef HPZERO_BENCH_STATISTICS_H
#define HPZERO_BENCH_STATISTICS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hpz::bench {

// A pass over somebody's working set: as warm as it gets, and then. 0: not read.
struct Reread {
  double warm_ns = 0, ns = 0;
};

// One measurement, as raw as it was taken: rates are computed from it, never stored.
struct Sample {
  uint64_t bytes = 0;      // cleared
  double ns = 0;           // in which, clock_ns already subtracted
  uint64_t ranges = 0;     // calls, or pages of batches
  uint64_t sections = 0;   // how often the clock was read for it
  double clock_ns = 0;     // subtracted for reading the clock
  uint64_t faults = 0;     // page faults while it was taken
  uint64_t preempted = 0;  // involuntary context switches while it was taken
  bool is_void = false;    // what was to be timed did not happen: no figure, and not in JSON
  // Of work by several threads; threads 0: of one thread, and nothing of this was looked at.
  uint64_t threads = 0;                        // that worked on it
  uint64_t cpu_ns = 0;                         // of all of them together
  uint64_t local_bytes = 0, remote_bytes = 0;  // both 0: nobody tells
  // What it cost by-standers: half the second-level and half the last-level cache of theirs.
  Reread l2, llc;
  // What else the experiment wants in JSON, by these names.
  std::vector<std::pair<std::string, double>> more;
};

// Decimal gigabytes a second: bytes per nanosecond.
inline double gb_per_s(const Sample &sample) {
  return sample.ns > 0 ? static_cast<double>(sample.bytes) / sample.ns : 0;
}
inline double ns_per_range(const Sample &sample) {
  return sample.ranges > 0 ? sample.ns / static_cast<double>(sample.ranges) : 0;
}

// What it costs whoever pays for CPU time.
inline double cpu_seconds_per_gib(const Sample &sample) {
  constexpr double kGibibyte = 1024.0 * 1024 * 1024;
  return sample.bytes > 0 ? static_cast<double>(sample.cpu_ns) / 1e9 * kGibibyte /
                                static_cast<double>(sample.bytes)
                          : 0;
}

double median(std::vector<double> values);  // 0 if there are none
// Medians of fewer rounds decide nothing, and are warned of.
inline constexpr size_t kRoundsToTrust = 3;

struct Summary {
  double median = 0;
  double spread = 0;  // half the distance between the quartiles, as a part of the median
};
Summary summarize(const std::vector<double> &values);

// As published figures of repeated runs are: arithmetic mean and standard deviation (of the sample,
// divided by n - 1; 0 for one value).
struct MeanDeviation {
  double mean = 0;
  double deviation = 0;
};
MeanDeviation mean_deviation(const std::vector<double> &values);

// Standard error of a median, as a part of it, from the quartiles.
double relative_error(const std::vector<double> &values);

std::vector<double> rates(const std::vector<Sample> &samples);

// Rates of several rows, freed of what slowed down whole rounds: each row's median of its rate by
// the round's middle rate, times the median of those. Comparable among each other better than
// medians are.
std::vector<double> levelled_rates(const std::vector<const std::vector<Sample> *> &rows);

// Median over rounds of a's figure divided by b's in the same round, so that a machine that slows
// down for a while slows down both. 0 if there are none.
template <class Round, class Figure>
double ratio_within_rounds(const std::vector<Round> &a, const std::vector<Round> &b,
                           Figure figure) {
  std::vector<double> ratios;
  for (size_t round = 0; round < std::min(a.size(), b.size()); ++round) {
    const double under = figure(b[round]);
    if (under > 0) ratios.push_back(figure(a[round]) / under);
  }
  return median(std::move(ratios));
}

// Of rates.
double paired_ratio(const std::vector<Sample> &a, const std::vector<Sample> &b);

// How many times as long as warm a by-stander's pass took: median, of samples during which nobody
// else had the CPU if there are any, for whoever that was swept the caches, too. 0: none was read.
double slow_down(const std::vector<Sample> &samples, Reread Sample::*set);

}  // namespace hpz::bench

#endif
