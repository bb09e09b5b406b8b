// SPDX-License-Identifier: BSD-2-Clause
#include "bench/figure_words.h"

#include <algorithm>
#include <iterator>

#include "bench/pages.h"
#include "bench/refusal.h"
#include "bench/row_titles.h"
#include "bench/states.h"
#include "bench/table.h"
#include "bench/times.h"

namespace hpz::bench {
namespace {

bool has_counter(const RecordedCell &cell, std::string_view name) {
  return std::any_of(cell.rows.begin(), cell.rows.end(), [&](const RecordedTask *task) {
    const auto &more = task->samples.front().sample.more;
    return std::any_of(more.begin(), more.end(),
                       [&](const auto &counter) { return counter.first == name; });
  });
}

bool has_working_sets(const RecordedCell &cell) {
  return std::any_of(cell.rows.begin(), cell.rows.end(), [](const RecordedTask *task) {
    const Sample &sample = task->samples.front().sample;
    return sample.l2.ns > 0 || sample.llc.ns > 0;
  });
}

bool has_threads(const RecordedCell &cell) {
  return std::any_of(cell.rows.begin(), cell.rows.end(),
                     [](const RecordedTask *task) { return family_of(task->row).threads > 0; });
}

bool has_any(const RecordedCell &cell, std::initializer_list<const char *> rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const char *row) { return cell.find(row) != nullptr; });
}

}  // namespace

CellSubject subject_of(const RecordedCell &cell) {
  const bool is_state = std::any_of(std::begin(kAllStates), std::end(kAllStates),
                                    [&](MemoryState s) { return state_id(s) == cell.state; });
  if (cell.state == "call" && cell.size_bytes > 0) return CellSubject::kCalls;
  if (has_counter(cell, "median_ns")) return CellSubject::kWaits;
  if (!is_state && has_working_sets(cell)) return CellSubject::kBystanders;
  if (has_any(cell, {"direct", "touch_4k", "touch_thp", "cleared_twice", "open_eager"})) {
    return CellSubject::kParts;
  }
  if (cell.size_bytes > 0 && has_threads(cell)) return CellSubject::kThreads;
  if (is_state && cell.size_bytes > 0) return CellSubject::kSizes;
  return CellSubject::kOther;
}

std::vector<RecordedCell> cells_about(const ResultsFile &file, CellSubject subject) {
  std::vector<RecordedCell> cells = cells_of(file);
  std::erase_if(cells, [&](const RecordedCell &cell) { return subject_of(cell) != subject; });
  return cells;
}

Summary rate_of(const RecordedTask &task) {
  return summarize(rates(task.plain_samples()));
}

MeanDeviation time_of(const RecordedTask &task) {
  return time_ns(task.plain_samples());
}

double median_time_of(const RecordedTask &task) {
  std::vector<double> values;
  for (const RecordedSample &sample : task.samples) values.push_back(ns_per_range(sample.sample));
  return median(std::move(values));
}

std::string spaced_size(const std::string &size) {
  const size_t unit = size.find_first_not_of("0123456789");
  if (unit == std::string::npos || unit == 0) return size;
  return size.substr(0, unit) + " " + size.substr(unit);
}

std::string rate_words(double rate) {
  return format_rate(rate) + " GB/s";
}

std::string times_words(double ratio) {
  return format_ratio(ratio) + " times";
}

std::string percent_words(double part) {
  if (part <= 0) return "-";
  return (part >= 0.995 ? decimals(part * 100, 0) : format_part(part * 100)) + " %";
}

std::string spread_words(double spread) {
  return "\u00b1" + decimals(spread * 100, 0) + " %";
}

std::string rounds_words(const std::vector<const RecordedTask *> &rows) {
  size_t least = SIZE_MAX, most = 0;
  for (const RecordedTask *const task : rows) {
    least = std::min(least, task->samples.size());
    most = std::max(most, task->samples.size());
  }
  const std::string word = most == 1 ? " round" : " rounds";
  if (least >= most) return std::to_string(most) + word;
  return std::to_string(least) + " to " + std::to_string(most) + word;
}

HtmlCell none() {
  return {"-", "none"};
}

void choose_scale(Chart &chart, const char *unit) {
  constexpr double kFlat = 8;
  double least = 0, most = 0;
  for (const ChartLine &line : chart.lines) {
    for (const ChartPoint &point : line.points) {
      if (point.y <= 0) return;
      least = least == 0 ? point.y : std::min(least, point.y);
      most = std::max(most, point.y);
    }
  }
  if (least <= 0 || most < kFlat * least) return;
  chart.is_y_logarithmic = true;
  chart.y_ticks = decimal_ticks(least, most, unit);
}

ChartStyle RowStyles::of(const std::string &row) {
  if (row == "hpz_zero") return {ChartStyle::Kind::kStrong, 0};
  const auto found = std::find(known_.begin(), known_.end(), row);
  const auto index = static_cast<size_t>(found - known_.begin());
  if (found == known_.end()) known_.push_back(row);
  return {ChartStyle::Kind::kPlain, index};
}

std::string pages_title(const std::string &pages) {
  const size_t dot = pages.find('.');
  const std::string kind = pages.substr(0, dot);
  std::string title = pages;
  for (const PageKind known : kAllPageKinds) {
    if (page_kind_id(known) == kind) title = std::string(page_kind_title(known));
  }
  if (title == pages) return title;
  constexpr std::string_view kNode = ".node";
  if (dot != std::string::npos && pages.compare(dot, kNode.size(), kNode) == 0) {
    title += ", node " + pages.substr(dot + kNode.size());
  }
  return title;
}

std::string place_words(const std::string &pages) {
  if (pages.empty()) return "";
  if (pages == "anonymous") return "On anonymous memory";
  if (pages == "address_space") return "Of address space, without memory behind it";
  return "On " + pages_title(pages);
}

}  // namespace hpz::bench
