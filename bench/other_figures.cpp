// SPDX-License-Identifier: BSD-2-Clause
//
// Short calls, and whatever no other figure takes.
#include <algorithm>
#include <set>

#include "bench/figure_words.h"
#include "bench/report_figures.h"
#include "bench/row_titles.h"
#include "bench/table.h"
#include "bench/times.h"

namespace hpz::bench {

std::vector<Figure> call_figures(const ResultsFile &file, RowStyles &styles) {
  std::vector<RecordedCell> cells = cells_about(file, CellSubject::kCalls);
  if (cells.empty()) return {};
  std::sort(cells.begin(), cells.end(), [](const RecordedCell &a, const RecordedCell &b) {
    return a.size_bytes < b.size_bytes;
  });
  Figure figure;
  figure.title = "What a call costs that clears a few bytes";
  figure.chart.title = figure.title;
  figure.chart.x_label = "bytes cleared";
  figure.chart.y_label = "ns per call";
  figure.table.caption =
      "Nanoseconds per call, medians of " + rounds_words(cells.front().rows) + ".";
  figure.table.heading = {"row"};
  std::vector<std::string> rows;
  for (const RecordedCell &cell : cells) {
    figure.table.heading.push_back(spaced_size(cell.size));
    figure.chart.x_ticks.push_back(
        {static_cast<double>(cell.size_bytes), std::to_string(cell.size_bytes)});
    for (const RecordedTask *const task : cell.rows) {
      if (std::find(rows.begin(), rows.end(), task->row) == rows.end()) rows.push_back(task->row);
    }
  }
  double most = 0;
  std::string where;
  for (const std::string &row : rows) {
    ChartLine line{row_title(row), styles.of(row), {}};
    HtmlTable::Row cells_of_row{row_title(row), row, {}};
    for (const RecordedCell &cell : cells) {
      const RecordedTask *const task = cell.find(row);
      if (task == nullptr) {
        cells_of_row.cells.push_back(none());
        continue;
      }
      const double ns = median_time_of(*task);
      line.points.push_back({static_cast<double>(cell.size_bytes), ns});
      cells_of_row.cells.push_back({decimals(ns, 2), ""});
      const RecordedTask *const usual = cell.find("memset");
      if (row == "hpz_zero" && usual != nullptr && ns - median_time_of(*usual) > most) {
        most = ns - median_time_of(*usual);
        where = spaced_size(cell.size);
      }
    }
    figure.chart.lines.push_back(std::move(line));
    figure.table.rows.push_back(std::move(cells_of_row));
  }
  figure.sentence = where.empty() ? "hpz_zero costs no more than memset at any of these sizes."
                                  : "hpz_zero costs at most " + decimals(most, 1) +
                                        " ns more than memset, at " + where + ".";
  return {figure};
}

std::vector<Figure> other_figures(const ResultsFile &file) {
  std::vector<Figure> figures;
  for (const RecordedCell &cell : cells_about(file, CellSubject::kOther)) {
    const bool are_rates = cell.state == "marked";
    Figure figure;
    const std::string size = cell.size.empty() ? "" : ", " + spaced_size(cell.size);
    figure.title = (cell.state == "marked"      ? "A dirty bitmap is taken over"
                    : cell.state == "one_dirty" ? "One dirty subpage is cleared"
                    : cell.state == "call"      ? "What calls of a team cost"
                    : cell.state == "beside_filler"
                        ? "A step of a program, alone and beside a filler of a pool"
                        : "Times of '" + cell.state + "'") +
                   size;
    figure.sentence = are_rates ? "Rates are of the bitmap, a bit for each 4 KiB." : "";
    figure.chart.title = figure.title;
    figure.table.heading = {"row", "mean", "\u00b1", "median"};
    if (are_rates) figure.table.heading.push_back("GB/s");
    figure.table.caption = "Mean and standard deviation of " + rounds_words(cell.rows) + ".";
    double longest = 0;
    for (const RecordedTask *const task : cell.rows) {
      longest = std::max(longest, median_time_of(*task));
    }
    const double unit = longest >= 1e9 ? 1e9 : longest >= 1e6 ? 1e6 : longest >= 1e3 ? 1e3 : 1;
    figure.chart.x_label = are_rates     ? "GB/s"
                           : unit == 1e9 ? "seconds, median"
                           : unit == 1e6 ? "milliseconds, median"
                           : unit == 1e3 ? "microseconds, median"
                                         : "nanoseconds, median";
    for (const RecordedTask *const task : cell.rows) {
      const MeanDeviation time = time_of(*task);
      const double ns = median_time_of(*task);
      const Summary rate = rate_of(*task);
      ChartBar bar;
      bar.name = row_title(task->row);
      bar.value = are_rates ? rate.median : ns / unit;
      bar.label = are_rates ? rate_words(rate.median) : format_time(ns);
      figure.chart.bars.push_back(std::move(bar));
      HtmlTable::Row row{
          row_title(task->row),
          task->row,
          {{format_time(time.mean), ""}, {format_time(time.deviation), ""}, {format_time(ns), ""}}};
      if (are_rates) row.cells.push_back({format_rate(rate.median), ""});
      figure.table.rows.push_back(std::move(row));
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace hpz::bench
