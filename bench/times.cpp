// SPDX-License-Identifier: BSD-2-Clause
#include "bench/times.h"

#include <algorithm>
#include <cmath>

#include "bench/table.h"

namespace hpz::bench {

MeanDeviation time_ns(const std::vector<Sample> &samples) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const Sample &sample : samples) values.push_back(ns_per_range(sample));
  return mean_deviation(values);
}

double time_part(const std::vector<Sample> &a, const std::vector<Sample> &b) {
  return paired_ratio(b, a);
}

std::string format_time(double ns) {
  struct Unit {
    const char *name;
    double ns;
  };
  constexpr Unit kUnits[] = {{" ns", 1}, {" us", 1e3}, {" ms", 1e6}, {" s", 1e9}};
  // From here on three digits are rounded to the next unit's 1.
  constexpr double kNextUnit = 999.5;
  const Unit *unit = kUnits;
  while (ns / unit->ns >= kNextUnit && unit + 1 != std::end(kUnits)) ++unit;
  const double value = ns / unit->ns;
  return decimals(value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2) + unit->name;
}

std::string format_part(double part) {
  if (part <= 0) return "-";
  if (part >= 9.995) return decimals(part, part >= 99.95 ? 0 : 1);
  if (part >= 0.0995) return decimals(part, 2);
  // Two digits, however small.
  return decimals(part, static_cast<int>(std::min(std::ceil(-std::log10(part)) + 1, 9.0)));
}

std::string format_saved(double part) {
  return part <= 0 ? "-" : decimals((1 - part) * 100, 0) + " %";
}

const JobRowResult *measured_row(const JobResult &result, const std::string &id) {
  const auto found = std::find_if(result.rows.begin(), result.rows.end(),
                                  [&](const JobRowResult &row) { return row.id == id; });
  return found == result.rows.end() || found->samples.empty() ? nullptr : &*found;
}

std::string render_times(const JobResult &result, const TimeTable &table) {
  const JobRowResult *const against = measured_row(result, table.reference);
  const bool has_parts = !table.reference.empty();
  const bool has_remarks = !table.remark.empty();
  TextTable text;
  std::vector<std::string> heading = {"", "mean", "+-"};
  if (has_parts) heading.push_back("by " + table.reference_name);
  if (has_remarks) heading.push_back(table.remark);
  text.add_row(std::move(heading));
  for (const JobRowResult &row : result.rows) {
    if (row.samples.empty()) continue;
    const MeanDeviation time = time_ns(row.samples);
    std::vector<std::string> line = {row.title, format_time(time.mean),
                                     format_time(time.deviation)};
    if (has_parts) {
      line.push_back(against == nullptr ? "-"
                                        : format_part(time_part(row.samples, against->samples)));
    }
    if (has_remarks) {
      const auto remark = table.remarks.find(row.id);
      line.push_back(remark == table.remarks.end() ? "" : remark->second);
    }
    text.add_row(std::move(line));
  }
  return text.text();
}

}  // namespace hpz::bench
