// SPDX-License-Identifier: BSD-2-Clause
//
// What clearing does to working sets of the same thread and of another.
#include <algorithm>

#include "bench/figure_words.h"
#include "bench/report_figures.h"
#include "bench/row_titles.h"
#include "bench/table.h"

namespace hpz::bench {
namespace {

struct SetWords {
  Reread Sample::*set;
  const char *title;
};
constexpr SetWords kSets[] = {{&Sample::l2, "half the second-level cache"},
                              {&Sample::llc, "half the last-level cache"}};

// Median of a pass by the warm one before it; 0: there was none.
double slow_down(const RecordedTask &task, Reread Sample::*set) {
  std::vector<double> ratios;
  for (const RecordedSample &recorded : task.samples) {
    const Reread &pass = recorded.sample.*set;
    if (pass.warm_ns > 0 && pass.ns > 0) ratios.push_back(pass.ns / pass.warm_ns);
  }
  return median(std::move(ratios));
}

std::string whose(const RecordedCell &cell) {
  if (cell.state == "same_thread") return "the thread that clears, afterwards";
  return cell.state.starts_with("other_thread") ? "another thread, meanwhile" : cell.state;
}

}  // namespace

std::vector<Figure> bystander_figures(const ResultsFile &file) {
  std::vector<Figure> figures;
  for (const RecordedCell &cell : cells_about(file, CellSubject::kBystanders)) {
    for (const SetWords &set : kSets) {
      Figure figure;
      figure.group = spaced_size(cell.size) + " cleared, on " + pages_title(cell.pages);
      figure.title = std::string("What clearing does to ") + set.title + " of " + whose(cell);
      figure.chart.title = figure.title;
      figure.chart.x_label = "times as long to read as when warm";
      figure.table.caption = "Times as long to read as when warm, medians of " +
                             rounds_words(cell.rows) + "; 1.00 costs nothing.";
      figure.table.heading = {"row", "times as long", "GB/s of clearing"};
      std::vector<std::pair<double, const RecordedTask *>> order;
      for (const RecordedTask *const task : cell.rows) {
        const double times = slow_down(*task, set.set);
        if (times > 0) order.emplace_back(times, task);
      }
      if (order.empty()) continue;
      std::stable_sort(order.begin(), order.end(),
                       [](const auto &a, const auto &b) { return a.first < b.first; });
      for (const auto &[times, task] : order) {
        ChartBar bar;
        bar.name = row_title(task->row);
        bar.label = format_ratio(times);
        bar.value = times;
        bar.is_reference = task->row == "nothing";
        figure.chart.bars.push_back(std::move(bar));
        const double rate = rate_of(*task).median;
        figure.table.rows.push_back(
            {row_title(task->row),
             task->row,
             {{format_ratio(times), ""}, rate > 0 ? HtmlCell{format_rate(rate), ""} : none()}});
      }
      figure.sentence = "The gentlest row is '" + row_title(order.front().second->row) + "' (" +
                        format_ratio(order.front().first) + "), the roughest '" +
                        row_title(order.back().second->row) + "' (" +
                        format_ratio(order.back().first) + "). Grey: nothing was cleared.";
      figures.push_back(std::move(figure));
    }
  }
  return figures;
}

}  // namespace hpz::bench
