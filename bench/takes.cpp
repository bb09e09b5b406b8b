// SPDX-License-Identifier: BSD-2-Clause
#include "bench/takes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/table.h"
#include "bench/times.h"

namespace hpz::bench {
namespace {

double sum(const std::vector<double> &ns) {
  return std::accumulate(ns.begin(), ns.end(), 0.0);
}

// 0 where nothing is left.
double mean_of(const Takes &takes, size_t skipped) {
  if (takes.ns.size() <= skipped) return 0;
  const auto begin = takes.ns.begin() + static_cast<std::ptrdiff_t>(skipped);
  return std::accumulate(begin, takes.ns.end(), 0.0) /
         static_cast<double>(takes.ns.size() - skipped);
}

const Takes &middle_round(const TakeRow &row) {
  std::vector<const Takes *> rounds;
  for (const Takes &takes : row.samples) rounds.push_back(&takes);
  const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>((rounds.size() - 1) / 2);
  std::nth_element(rounds.begin(), middle, rounds.end(),
                   [](const Takes *a, const Takes *b) { return sum(a->ns) < sum(b->ns); });
  return **middle;
}

std::string or_dash(const std::string &text) {
  return text.empty() ? "-" : text;
}

// With the Linux patches "khzerod": background clearing of hugetlb pages.
constexpr const char *kPublishedKernel = "published, AMD Milan, 512 x 1 GiB: kernel";
constexpr const char *kPublishedFilled = "... filled in the background (khzerod)";

}  // namespace

std::vector<PublishedTakes> published_once() {
  return {{kPublishedKernel, "20253322 us", "39557 us", "41347 us", "", "", ""},
          {kPublishedFilled, "760 us", "1 us", "10 us", "512", "0", "0"}};
}
std::vector<PublishedTakes> published_rounds() {
  return {{kPublishedKernel, "321.9 s", "", "", "", "", ""},
          {kPublishedFilled, "112.0 s", "", "", "5299", "2877", "16"}};
}

TakeFigures figures_of(const std::vector<double> &ns) {
  TakeFigures figures;
  if (ns.empty()) return figures;
  std::vector<double> sorted = ns;
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<double>(sorted.size());
  figures.total = sum(sorted);
  figures.mean = figures.total / count;
  figures.min = sorted.front();
  figures.median = median(sorted);
  figures.p999 = sorted[static_cast<size_t>(std::ceil(count * 0.999)) - 1];
  figures.max = sorted.back();
  return figures;
}

Sample sample_of(const Takes &takes, size_t pages, uint64_t page_bytes) {
  const auto first_pass_end =
      takes.ns.begin() + static_cast<std::ptrdiff_t>(std::min(pages, takes.ns.size()));
  const TakeFigures figures = figures_of(takes.ns);
  Sample sample;
  sample.ranges = sample.sections = takes.ns.size();
  sample.bytes = sample.ranges * page_bytes;
  sample.ns = figures.total;
  sample.more = {{"min_ns", figures.min},
                 {"median_ns", figures.median},
                 {"p999_ns", figures.p999},
                 {"max_ns", figures.max},
                 {"first_pass_ns", std::accumulate(takes.ns.begin(), first_pass_end, 0.0)},
                 {"hits", static_cast<double>(takes.hits)},
                 {"misses", static_cast<double>(takes.misses)},
                 {"waits", static_cast<double>(takes.waits)}};
  return sample;
}

std::vector<double> all_ns(const TakeRow &row, size_t skipped) {
  std::vector<double> all;
  for (const Takes &takes : row.samples) {
    const size_t from = std::min(skipped, takes.ns.size());
    all.insert(all.end(), takes.ns.begin() + static_cast<std::ptrdiff_t>(from), takes.ns.end());
  }
  return all;
}

double mean_ns(const TakeRow &row, size_t skipped) {
  std::vector<double> means;
  for (const Takes &takes : row.samples) means.push_back(mean_of(takes, skipped));
  return median(std::move(means));
}

double median_ns(const TakeRow &row) {
  std::vector<double> medians;
  for (const Takes &takes : row.samples) medians.push_back(median(takes.ns));
  return median(std::move(medians));
}

double mean_ratio(const TakeRow &a, const TakeRow &b, size_t skipped) {
  return ratio_within_rounds(a.samples, b.samples,
                             [=](const Takes &takes) { return mean_of(takes, skipped); });
}

std::string render_takes(const std::vector<const TakeRow *> &rows,
                         const std::vector<PublishedTakes> &published) {
  TextTable table;
  table.add_row(
      {"", "total", "average", "min", "median", "99.9 %", "max", "hits", "misses", "waits"});
  for (const TakeRow *const row : rows) {
    if (row->samples.empty()) continue;
    const Takes &takes = middle_round(*row);
    const TakeFigures figures = figures_of(takes.ns);
    const bool is_told = takes.hits + takes.misses + takes.waits > 0;
    const auto count = [&](uint64_t value) {
      return is_told ? std::to_string(value) : std::string("-");
    };
    table.add_row({row->title, format_time(figures.total), format_time(figures.mean),
                   format_time(figures.min), format_time(figures.median), format_time(figures.p999),
                   format_time(figures.max), count(takes.hits), count(takes.misses),
                   count(takes.waits)});
  }
  for (const PublishedTakes &line : published) {
    table.add_row({line.title, or_dash(line.total), or_dash(line.mean), "-", "-", "-",
                   or_dash(line.max), or_dash(line.hits), or_dash(line.misses),
                   or_dash(line.waits)});
  }
  return table.text();
}

}  // namespace hpz::bench
