// SPDX-License-Identifier: BSD-2-Clause
//
// The few figures at the top of the page.
#include <algorithm>
#include <cmath>

#include "bench/figure_words.h"
#include "bench/report_figures.h"
#include "bench/row_titles.h"
#include "bench/table.h"
#include "bench/times.h"

namespace hpz::bench {
namespace {

std::string at_words(const RecordedCell &cell) {
  return spaced_size(cell.size) + " " + cell.state + " on " + pages_title(cell.pages);
}

// Of memory, at a size that is neither a cache's nor a pool's: 2 MiB, or what is closest.
const RecordedCell *typical_cell(const std::vector<RecordedCell> &cells) {
  constexpr double kTypical = 2 << 20;
  const auto distance = [&](const RecordedCell &cell) {
    return std::abs(std::log(static_cast<double>(cell.size_bytes) / kTypical));
  };
  const RecordedCell *best = nullptr;
  for (const RecordedCell &cell : cells) {
    if (cell.state != "cold" || cell.find("hpz_zero") == nullptr) continue;
    if (best == nullptr || distance(cell) < distance(*best)) best = &cell;
  }
  return best;
}

void add_size_headlines(const std::vector<RecordedCell> &cells, std::vector<Headline> &found) {
  const RecordedCell *const cell = typical_cell(cells);
  if (cell == nullptr) return;
  const RecordedTask &zero = *cell->find("hpz_zero");
  found.push_back({rate_words(rate_of(zero).median), "hpz_zero, " + at_words(*cell)});
  const RecordedTask *const usual = cell->find("memset");
  const double ratio = usual == nullptr ? 0 : rate_ratio(zero, *usual);
  if (ratio > 0) {
    found.push_back({"\u00d7 " + format_ratio(ratio), "hpz_zero by memset, " + at_words(*cell)});
  }
}

void add_thread_headline(const std::vector<RecordedCell> &cells, std::vector<Headline> &found) {
  const RecordedTask *best = nullptr;
  const RecordedCell *where = nullptr;
  double rate = 0;
  for (const RecordedCell &cell : cells) {
    if (cell.state != "touched") continue;
    for (const RecordedTask *const task : cell.rows) {
      const bool is_team = family_of(task->row).name == "team" || task->row == "team_auto";
      if (const double here = is_team ? rate_of(*task).median : 0; here > rate) {
        rate = here;
        best = task;
        where = &cell;
      }
    }
  }
  if (best != nullptr) {
    found.push_back({rate_words(rate), row_title(best->row) + ": " + spaced_size(where->size) +
                                           " on " + pages_title(where->pages)});
  }
}

void add_part_headline(const std::vector<RecordedCell> &cells, const char *state, const char *row,
                       const char *reference, const std::string &meaning,
                       std::vector<Headline> &found) {
  for (const RecordedCell &cell : cells) {
    if (cell.state != state) continue;
    const RecordedTask *const a = cell.find(row), *const b = cell.find(reference);
    const double part = a == nullptr || b == nullptr ? 0 : time_ratio(*a, *b);
    if (part <= 0) continue;
    found.push_back({percent_words(part), meaning + " (" + spaced_size(cell.size) + ")"});
    return;
  }
}

}  // namespace

std::vector<Headline> headlines(const std::vector<ResultsFile> &files) {
  std::vector<Headline> found;
  for (const ResultsFile &file : files) {
    add_size_headlines(cells_about(file, CellSubject::kSizes), found);
    add_thread_headline(cells_about(file, CellSubject::kThreads), found);
    const std::vector<RecordedCell> parts = cells_about(file, CellSubject::kParts);
    add_part_headline(parts, "cold", "direct", "mapped_pieces",
                      "of the time of clearing through a mapping for each 4 KiB, where memory is "
                      "cleared at its address",
                      found);
    add_part_headline(parts, "acquired", "map_zero_known", "map_zero_dirty",
                      "of the time of clearing, where memory is known to be zero", found);
  }
  constexpr size_t kMost = 6;
  if (found.size() > kMost) found.resize(kMost);
  return found;
}

}  // namespace hpz::bench
