// SPDX-License-Identifier: BSD-2-Clause
//
// How long pages of a pool are waited for, as a distribution.
#include <algorithm>
#include <charconv>
#include <map>

#include "bench/figure_words.h"
#include "bench/report_figures.h"
#include "bench/row_titles.h"
#include "bench/table.h"
#include "bench/takes.h"
#include "bench/times.h"

namespace hpz::bench {
namespace {

// Part of the takes, in thousandths: "median_ns" 500, "p99_ns" 990, "p999_ns" 999. -1: none.
int thousandths_of(const std::string &counter) {
  if (counter == "min_ns") return 0;
  if (counter == "median_ns") return 500;
  if (counter == "max_ns") return 1000;
  if (counter.size() < 5 || counter.size() > 7 || counter[0] != 'p' || !counter.ends_with("_ns")) {
    return -1;
  }
  int digits = 0;
  const char *const end = counter.data() + counter.size() - 3;
  const auto [rest, error] = std::from_chars(counter.data() + 1, end, digits);
  if (error != std::errc() || rest != end || digits <= 0) return -1;
  const auto count = counter.size() - 4;
  return count == 1 ? digits * 100 : count == 2 ? digits * 10 : digits;
}

std::string name_of(int thousandths) {
  if (thousandths == 0) return "fastest";
  if (thousandths == 500) return "median";
  if (thousandths == 1000) return "slowest";
  return decimals(thousandths / 10.0, thousandths % 10 == 0 ? 0 : 1) + " %";
}

constexpr double kMostNs = 1e18;

using Quantiles = std::map<int, double>;  // thousandths, ns

Quantiles quantiles_of(const RecordedTask &task) {
  Quantiles quantiles;
  for (const auto &[counter, value] : task.samples.front().sample.more) {
    const int at = thousandths_of(counter);
    if (at < 0) continue;
    const double ns = counted(task, counter);
    // A logarithmic axis has no place for other times.
    if (ns > 0 && ns < kMostNs) quantiles[at] = ns;
  }
  return quantiles;
}

std::vector<ChartTick> time_ticks(double least, double most) {
  std::vector<ChartTick> ticks;
  int power = 0;
  for (double ns = 1; ns <= most * 1.15 && power < 12; ns *= 10, ++power) {
    constexpr const char *kUnits[] = {" ns", " us", " ms", " s"};
    constexpr const char *kDigits[] = {"1", "10", "100"};
    if (ns >= least / 1.15) {
      ticks.push_back({ns, std::string(kDigits[power % 3]) + kUnits[power / 3]});
    }
  }
  return ticks;
}

HtmlCell published_cell(const std::string &text) {
  return text.empty() ? none() : HtmlCell{text, "published"};
}

void add_published(const std::vector<PublishedTakes> &published,
                   const std::map<int, size_t> &places, HtmlTable &table) {
  for (const PublishedTakes &line : published) {
    HtmlTable::Row row{line.title, "", {published_cell(line.mean)}};
    for (const auto &[at, where] : places) {
      row.cells.push_back(at == 1000 ? published_cell(line.max) : none());
    }
    for (const std::string &count : {line.hits, line.misses, line.waits}) {
      row.cells.push_back(published_cell(count));
    }
    table.rows.push_back(std::move(row));
  }
}

Figure figure_of(const RecordedCell &cell, RowStyles &styles) {
  Figure figure;
  figure.group = place_words(cell.pages);
  const std::string what = cell.state == "once"             ? "every page is taken once"
                           : cell.state == "sixteen_rounds" ? "sixteen rounds back to back"
                                                            : cell.state;
  figure.title = "How long a page is waited for: " + what + ", " + spaced_size(cell.size);
  figure.chart.title = figure.title + ", on " + pages_title(cell.pages);
  figure.chart.x_label = "of all takes, so many waited no longer";
  figure.chart.y_label = "time of one page, logarithmic";
  std::map<int, size_t> places;
  for (const RecordedTask *const task : cell.rows) {
    for (const auto &[at, ns] : quantiles_of(*task)) places[at] = 0;
  }
  size_t place = 0;
  for (auto &[at, where] : places) {
    where = ++place;
    figure.chart.x_ticks.push_back({static_cast<double>(where), name_of(at)});
    figure.table.heading.push_back(name_of(at));
  }
  figure.table.heading.insert(figure.table.heading.begin(), {"row", "average"});
  figure.table.heading.insert(figure.table.heading.end(), {"clean", "cleared", "waited"});
  figure.table.caption = "Time of one page, the take and the first store into it: medians of " +
                         rounds_words(cell.rows) + ".";
  double least = 0, most = 0;
  for (const RecordedTask *const task : cell.rows) {
    const Quantiles quantiles = quantiles_of(*task);
    ChartLine line{row_title(task->row), styles.of(task->row), {}};
    HtmlTable::Row row{row_title(task->row), task->row, {{format_time(median_time_of(*task)), ""}}};
    for (const auto &[at, where] : places) {
      const auto found = quantiles.find(at);
      if (found == quantiles.end()) {
        row.cells.push_back(none());
        continue;
      }
      line.points.push_back({static_cast<double>(where), found->second});
      row.cells.push_back({format_time(found->second), ""});
      least = least == 0 ? found->second : std::min(least, found->second);
      most = std::max(most, found->second);
    }
    const double hits = counted(*task, "hits"), misses = counted(*task, "misses"),
                 waits = counted(*task, "waits");
    for (const double count : {hits, misses, waits}) {
      row.cells.push_back(hits + misses + waits > 0 ? HtmlCell{decimals(count, 0), ""} : none());
    }
    figure.chart.lines.push_back(std::move(line));
    figure.table.rows.push_back(std::move(row));
  }
  figure.chart.is_y_logarithmic = most > 0;
  figure.chart.y_ticks = time_ticks(least, most);
  if (cell.state == "once") add_published(published_once(), places, figure.table);
  if (cell.state == "sixteen_rounds") add_published(published_rounds(), places, figure.table);
  const RecordedTask *const filled = cell.find("pool_on"), *const kernel = cell.find("kernel");
  if (filled != nullptr && kernel != nullptr) {
    figure.sentence = "From a pool that is filled in the background a page takes " +
                      format_time(median_time_of(*filled)) + " on average, from the kernel " +
                      format_time(median_time_of(*kernel)) + ": " +
                      format_part(time_ratio(*kernel, *filled)) + " times as long.";
  }
  return figure;
}

}  // namespace

std::vector<Figure> wait_figures(const ResultsFile &file, RowStyles &styles) {
  std::vector<Figure> figures;
  for (const RecordedCell &cell : cells_about(file, CellSubject::kWaits)) {
    figures.push_back(figure_of(cell, styles));
  }
  return figures;
}

}  // namespace hpz::bench
