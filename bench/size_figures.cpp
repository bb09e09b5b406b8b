// SPDX-License-Identifier: BSD-2-Clause
//
// Rates by size: which rows are in colour, which kernel was chosen, what it comes to.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "bench/figure_words.h"
#include "bench/pages.h"
#include "bench/recorded_limit.h"
#include "bench/report_figures.h"
#include "bench/row_titles.h"
#include "bench/states.h"
#include "bench/table.h"

namespace hpz::bench {
namespace {

// More lines in colour, and nobody tells them apart.
constexpr size_t kMostKernels = 4;

const std::vector<std::string> kPolicies = {"hpz_zero", "hpz_zero_cached", "hpz_zero_stream"};

bool is_policy(const std::string &row) {
  return std::find(kPolicies.begin(), kPolicies.end(), row) != kPolicies.end();
}

struct StateWords {
  std::string title, sentence;
};
StateWords words_of(const std::string &state) {
  if (state == "hot") {
    return {"Hot: the same memory again and again",
            "Each row clears what it has just cleared itself. This flatters kernels that pass the "
            "caches: nobody brings the memory back."};
  }
  if (state == "recycled") {
    return {"Recycled: memory that was just written to",
            "Ordinary stores have dirtied every line a moment ago, as in a program that reuses its "
            "buffers."};
  }
  if (state == "cold") {
    return {"Cold: memory that nobody has touched for long",
            "The ranges come from a set far larger than the caches: this is the rate of memory."};
  }
  return {"Fresh: memory that was never touched",
          "The page fault and the kernel's own clearing are included."};
}

// All sizes of one state on one kind of pages.
struct Group {
  std::string state, pages;
  std::vector<const RecordedCell *> cells;  // ascending
};

size_t place_of(const std::string &id, bool is_state) {
  size_t place = 0;
  if (is_state) {
    for (const MemoryState state : kAllStates) {
      if (state_id(state) == id) return place;
      ++place;
    }
    return place;
  }
  for (const PageKind kind : {PageKind::k2m, PageKind::k1g, PageKind::kThp, PageKind::k4k}) {
    if (page_kind_id(kind) == id) return place;
    ++place;
  }
  return place;
}

std::vector<Group> groups_of(const std::vector<RecordedCell> &cells) {
  std::vector<Group> groups;
  for (const RecordedCell &cell : cells) {
    auto found = std::find_if(groups.begin(), groups.end(), [&](const Group &group) {
      return group.state == cell.state && group.pages == cell.pages;
    });
    if (found == groups.end()) {
      groups.push_back({cell.state, cell.pages, {}});
      found = groups.end() - 1;
    }
    found->cells.push_back(&cell);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group &a, const Group &b) {
    const auto key = [](const Group &group) {
      return std::pair(place_of(group.pages, false), place_of(group.state, true));
    };
    return key(a) < key(b);
  });
  for (Group &group : groups) {
    std::sort(
        group.cells.begin(), group.cells.end(),
        [](const RecordedCell *a, const RecordedCell *b) { return a->size_bytes < b->size_bytes; });
  }
  return groups;
}

std::vector<std::string> rows_of(const Group &group) {
  std::vector<std::string> rows;
  for (const RecordedCell *const cell : group.cells) {
    for (const RecordedTask *const task : cell->rows) {
      if (std::find(rows.begin(), rows.end(), task->row) == rows.end()) rows.push_back(task->row);
    }
  }
  std::sort(rows.begin(), rows.end(), is_row_before);
  return rows;
}

std::set<std::string> kernels_of(const ResultsFile &file) {
  std::istringstream words(file.context_value("hpzero_kernels"));
  std::set<std::string> kernels;
  for (std::string kernel; words >> kernel;) kernels.insert(kernel);
  return kernels;
}

const RecordedTask *best_kernel(const RecordedCell &cell, const std::set<std::string> &kernels) {
  const RecordedTask *best = nullptr;
  double most = 0;
  for (const RecordedTask *const task : cell.rows) {
    if (kernels.count(task->row) == 0) continue;
    const double rate = rate_of(*task).median;
    if (rate > most) {
      most = rate;
      best = task;
    }
  }
  return best;
}

// What is drawn in colour: policies, memset, what was chosen, what was best, and how operating
// systems clear.
std::set<std::string> highlights_of(const Group &group, const RecordedPlan &plan,
                                    const std::set<std::string> &kernels) {
  std::map<std::string, size_t> merits;
  for (const RecordedCell *const cell : group.cells) {
    const std::string chosen = plan.kernel(group.state, cell->size_bytes);
    if (cell->find(chosen) != nullptr) merits[chosen] += 2;
    if (const RecordedTask *const best = best_kernel(*cell, kernels)) merits[best->row] += 1;
  }
  std::vector<std::pair<size_t, std::string>> order;
  for (const auto &[kernel, merit] : merits) {
    if (kernel != "memset") order.emplace_back(merit, kernel);
  }
  std::sort(order.begin(), order.end(), std::greater<>());
  std::set<std::string> rows = {"hpz_zero", "memset", "rep_stosb_per_4KiB", "release_populate"};
  rows.insert(group.state == "cold" || group.state == "fresh" ? "hpz_zero_stream"
                                                              : "hpz_zero_cached");
  for (size_t i = 0; i < std::min(order.size(), kMostKernels); ++i) rows.insert(order[i].second);
  return rows;
}

HtmlTable table_of(const Group &group, const std::vector<std::string> &rows,
                   const RecordedPlan &plan, const std::set<std::string> &kernels) {
  HtmlTable table;
  table.caption =
      "GB/s: median of the rounds \u00b1 half the distance of the quartiles. * chosen by hpz_zero; "
      "bold: the best kernel.";
  table.heading = {"row"};
  std::vector<const RecordedTask *> best;
  for (const RecordedCell *const cell : group.cells) {
    table.heading.push_back(spaced_size(cell->size));
    best.push_back(best_kernel(*cell, kernels));
  }
  for (const std::string &row : rows) {
    HtmlTable::Row line{row_title(row), row, {}};
    for (size_t i = 0; i < group.cells.size(); ++i) {
      const RecordedCell &cell = *group.cells[i];
      const RecordedTask *const task = cell.find(row);
      if (task == nullptr) {
        line.cells.push_back(none());
        continue;
      }
      const Summary rate = rate_of(*task);
      const bool is_chosen = row == plan.kernel(group.state, cell.size_bytes);
      line.cells.push_back(
          {(is_chosen ? "* " : "") + format_rate(rate.median) + " " + spread_words(rate.spread),
           task == best[i] ? "best" : ""});
    }
    table.rows.push_back(std::move(line));
  }
  return table;
}

std::string sentence_of(const Group &group, const std::set<std::string> &kernels) {
  std::string text = words_of(group.state).sentence;
  const RecordedTask *const first = group.cells.front()->find("hpz_zero");
  const RecordedTask *const last = group.cells.back()->find("hpz_zero");
  if (first != nullptr) {
    text += " hpz_zero clears " + spaced_size(group.cells.front()->size) + " at " +
            rate_words(rate_of(*first).median);
    if (last != nullptr && last != first) {
      text += " and " + spaced_size(group.cells.back()->size) + " at " +
              rate_words(rate_of(*last).median);
    }
    text += ".";
  }
  const RecordedCell *worst = nullptr, *furthest = nullptr;
  double least = 0, most = 0;
  for (const RecordedCell *const cell : group.cells) {
    const RecordedTask *const zero = cell->find("hpz_zero");
    const RecordedTask *const best = best_kernel(*cell, kernels);
    if (zero == nullptr) continue;
    if (best != nullptr) {
      const double ratio = rate_ratio(*zero, *best);
      if (ratio > 0 && (worst == nullptr || ratio < least)) {
        least = ratio;
        worst = cell;
      }
    }
    if (const RecordedTask *const usual = cell->find("memset")) {
      const double ratio = rate_ratio(*zero, *usual);
      if (ratio > most) {
        most = ratio;
        furthest = cell;
      }
    }
  }
  if (worst != nullptr) {
    text += " Where it does worst, at " + spaced_size(worst->size) + ", it reaches " +
            format_ratio(least) + " of the best kernel, " + best_kernel(*worst, kernels)->row + ".";
  }
  if (furthest != nullptr && most > 1.02) {
    text += " memset is furthest behind at " + spaced_size(furthest->size) + ": hpz_zero is " +
            format_ratio(most) + " times as fast.";
  }
  return text;
}

Chart chart_of(const Group &group, const std::vector<std::string> &rows, const RecordedPlan &plan,
               const std::set<std::string> &highlights, RowStyles &styles) {
  Chart chart;
  chart.title = words_of(group.state).title;
  chart.x_label = "size of the range";
  chart.y_label = "GB/s";
  chart.is_x_logarithmic = true;
  for (const RecordedCell *const cell : group.cells) {
    chart.x_ticks.push_back({static_cast<double>(cell->size_bytes), spaced_size(cell->size)});
  }
  bool has_muted = false;
  for (const std::string &row : rows) {
    ChartLine line;
    const bool is_muted = highlights.count(row) == 0;
    if (is_muted) {
      line.style.kind = ChartStyle::Kind::kMuted;
      line.name = has_muted ? "" : "other rows";
      has_muted = true;
    } else {
      line.style = styles.of(row);
      line.name = row_title(row);
    }
    for (const RecordedCell *const cell : group.cells) {
      if (const RecordedTask *const task = cell->find(row)) {
        line.points.push_back({static_cast<double>(cell->size_bytes), rate_of(*task).median});
      }
    }
    chart.lines.push_back(std::move(line));
  }
  for (const RecordedCell *const cell : group.cells) {
    const RecordedTask *const chosen = cell->find(plan.kernel(group.state, cell->size_bytes));
    if (chosen == nullptr) continue;
    chart.marks.push_back({static_cast<double>(cell->size_bytes), rate_of(*chosen).median});
  }
  chart.marks_name = "chosen by the plan";
  choose_scale(chart, "");
  if (chart.is_y_logarithmic) chart.y_label = "GB/s, logarithmic";
  return chart;
}

// One size has no line.
void turn_into_bars(Chart &chart, const RecordedCell &cell) {
  chart = Chart();
  chart.x_label = "GB/s";
  for (const RecordedTask *const task : cell.rows) {
    const Summary rate = rate_of(*task);
    ChartBar bar;
    bar.name = row_title(task->row);
    bar.label = rate_words(rate.median);
    bar.value = rate.median;
    bar.deviation = rate.median * rate.spread;
    bar.is_reference = !is_policy(task->row);
    chart.bars.push_back(std::move(bar));
  }
}

}  // namespace

std::vector<Figure> size_figures(const ResultsFile &file, RowStyles &styles) {
  const std::vector<RecordedCell> cells = cells_about(file, CellSubject::kSizes);
  const std::vector<RecordedCell> all = cells_of(file);
  const RecordedPlan plan(file);
  const std::set<std::string> kernels = kernels_of(file);
  std::vector<Figure> figures;
  for (const Group &group : groups_of(cells)) {
    const std::vector<std::string> rows = rows_of(group);
    Figure figure;
    figure.group = "On " + pages_title(group.pages);
    figure.title = words_of(group.state).title;
    figure.sentence = sentence_of(group, kernels);
    figure.chart = chart_of(group, rows, plan, highlights_of(group, plan, kernels), styles);
    if (group.cells.size() == 1) {
      turn_into_bars(figure.chart, *group.cells.front());
      figure.title += ", " + spaced_size(group.cells.front()->size);
    } else {
      if (const auto limit = limit_line(all, group.pages, LimitOf::kOneThread)) {
        figure.chart.levels.push_back(*limit);
      }
    }
    figure.chart.title = figure.title + ", on " + pages_title(group.pages);
    figure.table = table_of(group, rows, plan, kernels);
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace hpz::bench
