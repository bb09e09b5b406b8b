// SPDX-License-Identifier: BSD-2-Clause
#include "bench/statistics.h"

#include <algorithm>
#include <cmath>

namespace hpz::bench {
namespace {

// Linear between neighbours; values must be sorted and not empty.
double quantile(const std::vector<double> &values, double part) {
  const double position = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], position - static_cast<double>(below));
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

Summary summarize(const std::vector<double> &values) {
  if (values.empty()) return {};
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  Summary summary;
  summary.median = quantile(sorted, 0.5);
  if (summary.median > 0) {
    summary.spread = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 2 / summary.median;
  }
  return summary;
}

MeanDeviation mean_deviation(const std::vector<double> &values) {
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  MeanDeviation result;
  for (const double value : values) result.mean += value / count;
  if (values.size() == 1) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / (count - 1));
  return result;
}

double relative_error(const std::vector<double> &values) {
  if (values.empty()) return 0;
  // Of normally distributed values the quartiles lie 0.674 deviations from the median, whose own
  // error is 1.253 deviations by the root of their number.
  return summarize(values).spread / 0.674 * 1.253 / std::sqrt(static_cast<double>(values.size()));
}

std::vector<double> rates(const std::vector<Sample> &samples) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const Sample &sample : samples) values.push_back(gb_per_s(sample));
  return values;
}

std::vector<double> levelled_rates(const std::vector<const std::vector<Sample> *> &rows) {
  std::vector<double> levels;  // per round
  for (size_t round = 0;; ++round) {
    std::vector<double> rates_of_round;
    for (const std::vector<Sample> *row : rows) {
      if (round < row->size()) rates_of_round.push_back(gb_per_s((*row)[round]));
    }
    if (rates_of_round.empty()) break;
    levels.push_back(median(std::move(rates_of_round)));
  }
  const double level = median(levels);
  std::vector<double> result;
  for (const std::vector<Sample> *row : rows) {
    std::vector<double> parts;
    for (size_t round = 0; round < row->size(); ++round) {
      if (levels[round] > 0) parts.push_back(gb_per_s((*row)[round]) / levels[round]);
    }
    result.push_back(median(std::move(parts)) * level);
  }
  return result;
}

double paired_ratio(const std::vector<Sample> &a, const std::vector<Sample> &b) {
  return ratio_within_rounds(a, b, gb_per_s);
}

double slow_down(const std::vector<Sample> &samples, Reread Sample::*set) {
  std::vector<double> undisturbed, all;
  for (const Sample &sample : samples) {
    const Reread &read = sample.*set;
    if (read.warm_ns <= 0 || read.ns <= 0) continue;
    all.push_back(read.ns / read.warm_ns);
    if (sample.preempted == 0) undisturbed.push_back(all.back());
  }
  return median(undisturbed.empty() ? std::move(all) : std::move(undisturbed));
}

}  // namespace hpz::bench
