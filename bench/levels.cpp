// SPDX-License-Identifier: BSD-2-Clause
#include "bench/levels.h"

#include <algorithm>
#include <cmath>

#include "bench/json_schema.h"
#include "bench/statistics.h"

namespace hpz::bench {
namespace {

constexpr std::string_view kMachineFacts[] = {
    "host_name",    "cpu_model", "cpu_identity",    "cpu_microcode", "cpu_caches",
    "cpu_governor", "num_cpus",  "virtual_machine", "linux",         "transparent_huge_pages",
    "clock_source",
};

// What one library may be told to do otherwise: by options, variables or a profile.
constexpr std::string_view kChoices[] = {
    "hpzero_kernels",     "hpzero_plan_source", "hpzero_plan_auto",
    "hpzero_plan_cached", "hpzero_plan_stream", "mapping_kernel",
};

template <size_t kCount>
bool are_same(const ResultsFile &a, const ResultsFile &b, const std::string_view (&facts)[kCount]) {
  return std::all_of(std::begin(facts), std::end(facts), [&](std::string_view fact) {
    return a.context_value(fact) == b.context_value(fact);
  });
}

// The C library's and the kernel's own clearing.
constexpr std::string_view kOthersRows[] = {"memset", "std_fill", "release_populate"};

// One of so many that became faster moves their median little.
constexpr size_t kManyRows = 5;

// Of normally distributed logarithms, from the middle of their distances: what stands out is not
// part of it.
double spread_about(double level, const std::vector<double> &ratios) {
  if (ratios.size() < kManyRows) return 0;
  std::vector<double> distances;
  for (const double ratio : ratios) distances.push_back(std::abs(std::log(ratio / level)));
  return median(std::move(distances)) / 0.6745;
}

bool is_others(const std::string &task_name) {
  const std::string_view row = std::string_view(task_name).substr(0, task_name.find('/'));
  return std::find(std::begin(kOthersRows), std::end(kOthersRows), row) != std::end(kOthersRows);
}

}  // namespace

double Level::stands_out() const {
  constexpr double kDeviations = 3;
  return std::exp(kDeviations * spread);
}

bool is_one_machine(const ResultsFile &a, const ResultsFile &b) {
  return are_same(a, b, kMachineFacts);
}

bool is_one_library(const ResultsFile &a, const ResultsFile &b) {
  const std::string library = a.context_value(kLibraryKey);
  return !library.empty() && library != "unknown" && library == b.context_value(kLibraryKey) &&
         are_same(a, b, kChoices);
}

std::string cell_of(const std::string &task_name) {
  return task_name.substr(task_name.find('/') + 1);
}

std::map<std::string, Level> levels_of(const std::vector<RowRatio> &rows, bool is_one_library) {
  std::map<std::string, std::vector<double>> all, others;
  for (const RowRatio &row : rows) {
    const std::string cell = cell_of(row.task_name);
    all[cell].push_back(row.ratio);
    if (is_others(row.task_name)) others[cell].push_back(row.ratio);
  }
  std::map<std::string, Level> levels;
  for (const auto &[cell, ratios] : all) {
    const bool can_be_all = is_one_library && ratios.size() >= kManyRows;
    const std::vector<double> &calibrating = can_be_all ? ratios : others[cell];
    if (calibrating.empty()) continue;
    const double level = median(calibrating);
    levels[cell] = {level, spread_about(level, calibrating), calibrating.size()};
  }
  return levels;
}

}  // namespace hpz::bench
