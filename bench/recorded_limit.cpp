// SPDX-License-Identifier: BSD-2-Clause
#include "bench/recorded_limit.h"

#include "bench/figure_words.h"
#include "bench/report_figures.h"
#include "bench/row_titles.h"

namespace hpz::bench {
namespace {

// Of 'run' and of 'parallel'.
bool looked_for_limit(const RecordedCell &cell) {
  return cell.state == "limit" || cell.state == "touched";
}

bool is_alone(const RecordedTask &task) {
  for (const RecordedSample &recorded : task.samples) {
    if (recorded.sample.threads > 1) return false;
  }
  return family_of(task.row).threads <= 1;
}

const RecordedTask *fastest(const RecordedCell &cell, LimitOf threads,
                            const std::string &beginning = "") {
  const RecordedTask *best = nullptr;
  for (const RecordedTask *const task : cell.rows) {
    if (!task->row.starts_with(beginning)) continue;
    if (threads == LimitOf::kOneThread && !is_alone(*task)) continue;
    if (best == nullptr || rate_of(*task).median > rate_of(*best).median) best = task;
  }
  return best;
}

}  // namespace

std::optional<ChartLevel> limit_line(const std::vector<RecordedCell> &cells,
                                     const std::string &pages, LimitOf threads) {
  const auto most_of = [&](const std::string &there) {
    double most = 0;
    for (const RecordedCell &cell : cells) {
      if (!looked_for_limit(cell) || cell.pages != there) continue;
      const RecordedTask *const row = fastest(cell, threads);
      if (row != nullptr) most = std::max(most, rate_of(*row).median);
    }
    return most;
  };
  std::string name = "the limit of memory, ";
  name += threads == LimitOf::kOneThread ? "one thread" : "any number of threads";
  if (const double most = most_of(pages); most > 0) return ChartLevel{name, most};
  for (const RecordedCell &cell : cells) {
    if (!looked_for_limit(cell)) continue;
    if (const double most = most_of(cell.pages); most > 0) {
      return ChartLevel{name + ", on " + pages_title(cell.pages), most};
    }
  }
  return std::nullopt;
}

std::string limit_sentence(const RecordedCell &cell) {
  if (!looked_for_limit(cell)) return "";
  std::string text;
  const auto add = [&](const std::string &who, const RecordedTask *row, LimitOf threads) {
    const RecordedTask *const limit = fastest(cell, threads);
    if (row == nullptr || limit == nullptr) return;
    const double part = row == limit ? 1 : rate_ratio(*row, *limit);
    if (part <= 0) return;
    text += " " + who + " reaches " + percent_words(part) + " of the limit" +
            (threads == LimitOf::kOneThread ? " of one thread, " : ", ") +
            rate_words(rate_of(*limit).median) + ".";
  };
  add("hpz_zero", cell.find("hpz_zero"), LimitOf::kOneThread);
  add("The team", fastest(cell, LimitOf::kAnyThreads, "team_"), LimitOf::kAnyThreads);
  return text;
}

}  // namespace hpz::bench
