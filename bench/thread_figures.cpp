// SPDX-License-Identifier: BSD-2-Clause
//
// Rates by threads, on the memory of each node.
#include <algorithm>
#include <set>

#include "bench/figure_words.h"
#include "bench/recorded_limit.h"
#include "bench/report_figures.h"
#include "bench/row_titles.h"
#include "bench/table.h"

namespace hpz::bench {
namespace {

struct ThreadWords {
  const char *state, *title, *sentence, *reference;
  bool writes_all = false;  // its rates are of memory written, so that the limit is theirs
};
constexpr ThreadWords kWords[] = {
    {"touched", "Memory touched before is cleared by several threads",
     "Teams of the library against plain threads with a slice each.", "hpz_zero_stream", true},
    {"scattered", "Every second 4 KiB is cleared by several threads",
     "All of them in one job of a team.", "hpz_zero_pages", true},
    {"fresh", "Fresh mappings are made resident: the kernel clears",
     "Teams against the calls that programs make without one; every sample has a new mapping.",
     "madv_populate"},
    {"resident", "Resident pages are given back", "Teams against one call of MADV_DONTNEED.",
     "madv_dontneed"},
    {"sparse", "Sparse memory is reset",
     "One page in a hundred was touched: reset clears these, zero would clear all.",
     "zero_whole_t1"},
    {"limit", "The limit: how fast memory can be written here",
     "The most that any kernel, or two of them mixed, reaches.", "", true},
    {"pairs", "Clean pages of a pool taken and given back",
     "How taking scales with those who take.", ""},
};

ThreadWords words_of(const RecordedCell &cell) {
  for (const ThreadWords &words : kWords) {
    if (cell.state == words.state) return words;
  }
  return {"", "By several threads", "", ""};
}

// Bytes a second; or how often a second where it is of no bytes.
bool has_bytes(const RecordedCell &cell) {
  return std::all_of(cell.rows.begin(), cell.rows.end(), [](const RecordedTask *task) {
    return task->samples.front().sample.bytes > 0;
  });
}

double per_microsecond(const RecordedTask &task) {
  const double ns = median_time_of(task);
  return ns > 0 ? 1e3 / ns : 0;
}

// Those that worked; where nobody counted, those of the name, or one.
double threads_of(const RecordedTask &task) {
  if (const uint32_t named = family_of(task.row).threads; named > 0) return named;
  std::vector<double> worked;
  for (const RecordedSample &sample : task.samples) {
    worked.push_back(static_cast<double>(std::max<uint64_t>(sample.sample.threads, 1)));
  }
  return median(std::move(worked));
}

Chart chart_of(const RecordedCell &cell, RowStyles &styles) {
  Chart chart;
  chart.x_label = "threads";
  const bool are_rates = has_bytes(cell);
  chart.y_label = are_rates ? "GB/s" : "per us";
  std::vector<std::string> order;
  std::set<double> counts;
  for (const RecordedTask *const task : cell.rows) {
    const RowFamily family = family_of(task->row);
    const std::string name = family.threads > 0 ? family_title(family.name) : row_title(task->row);
    auto found = std::find(order.begin(), order.end(), name);
    if (found == order.end()) {
      order.push_back(name);
      found = order.end() - 1;
      chart.lines.push_back({name, styles.of(family.name), {}});
    }
    const double threads = threads_of(*task);
    counts.insert(threads);
    chart.lines[static_cast<size_t>(found - order.begin())].points.push_back(
        {threads, are_rates ? rate_of(*task).median : per_microsecond(*task)});
  }
  for (ChartLine &line : chart.lines) {
    std::sort(line.points.begin(), line.points.end(),
              [](const ChartPoint &a, const ChartPoint &b) { return a.x < b.x; });
  }
  for (const double count : counts) chart.x_ticks.push_back({count, decimals(count, 0)});
  if (!counts.empty() && *counts.rbegin() > 8) chart.is_x_logarithmic = true;
  choose_scale(chart, "");
  if (chart.is_y_logarithmic) chart.y_label += ", logarithmic";
  return chart;
}

HtmlTable table_of(const RecordedCell &cell, const RecordedTask *reference) {
  const bool are_rates = has_bytes(cell);
  HtmlTable table;
  table.caption = "Medians of " + rounds_words(cell.rows) +
                  " \u00b1 half the distance of the quartiles; ratios within a round.";
  table.heading = {"row", "threads", are_rates ? "GB/s" : "per \u00b5s", "\u00b1"};
  if (reference != nullptr) table.heading.push_back("by " + reference->row);
  table.heading.insert(table.heading.end(), {"CPU s/GiB", "local", "remote"});
  for (const RecordedTask *const task : cell.rows) {
    const std::vector<Sample> samples = task->plain_samples();
    const Summary rate = rate_of(*task);
    HtmlTable::Row line{row_title(task->row), task->row, {}};
    line.cells.push_back({decimals(threads_of(*task), 0), ""});
    line.cells.push_back(
        {are_rates ? format_rate(rate.median) : decimals(per_microsecond(*task), 2), ""});
    line.cells.push_back({are_rates ? spread_words(rate.spread) : "-", ""});
    if (reference != nullptr) {
      const double ratio = rate_ratio(*task, *reference);
      line.cells.push_back(ratio > 0 ? HtmlCell{format_ratio(ratio), ""} : none());
    }
    std::vector<double> cost, local, remote;
    for (const Sample &sample : samples) {
      cost.push_back(cpu_seconds_per_gib(sample));
      local.push_back(static_cast<double>(sample.local_bytes));
      remote.push_back(static_cast<double>(sample.remote_bytes));
    }
    const bool is_costed = samples.front().threads > 0 && samples.front().cpu_ns > 0;
    line.cells.push_back(is_costed ? HtmlCell{decimals(median(std::move(cost)), 3), ""} : none());
    const double near = median(std::move(local)), far = median(std::move(remote));
    const bool is_told = near + far > 0;
    line.cells.push_back(is_told ? HtmlCell{percent_words(near / (near + far)), ""} : none());
    line.cells.push_back(is_told ? HtmlCell{far > 0 ? percent_words(far / (near + far)) : "0 %", ""}
                                 : none());
    table.rows.push_back(std::move(line));
  }
  return table;
}

std::string sentence_of(const RecordedCell &cell, const RecordedTask *reference) {
  std::string text = words_of(cell).sentence;
  if (!has_bytes(cell)) return text;
  const RecordedTask *best = nullptr;
  for (const RecordedTask *const task : cell.rows) {
    if (best == nullptr || rate_of(*task).median > rate_of(*best).median) best = task;
  }
  if (best == nullptr) return text;
  text +=
      " The fastest row is '" + row_title(best->row) + "': " + rate_words(rate_of(*best).median);
  const double ratio =
      reference == nullptr || reference == best ? 0 : rate_ratio(*best, *reference);
  if (ratio > 0) text += ", " + times_words(ratio) + " the rate of " + row_title(reference->row);
  return text + ".";
}

}  // namespace

std::vector<Figure> thread_figures(const ResultsFile &file, RowStyles &styles) {
  std::vector<Figure> figures;
  const std::vector<RecordedCell> all = cells_of(file);
  for (const RecordedCell &cell : cells_about(file, CellSubject::kThreads)) {
    const ThreadWords words = words_of(cell);
    const RecordedTask *const reference = cell.find(words.reference);
    Figure figure;
    figure.group = place_words(cell.pages);
    figure.title = std::string(words.title) + ", " + spaced_size(cell.size);
    figure.sentence = sentence_of(cell, reference) + limit_sentence(cell);
    figure.chart = chart_of(cell, styles);
    const auto limit = limit_line(all, cell.pages, LimitOf::kAnyThreads);
    if (words.writes_all && limit) figure.chart.levels.push_back(*limit);
    figure.chart.title = figure.title + ", on " + pages_title(cell.pages);
    figure.table = table_of(cell, reference);
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace hpz::bench
