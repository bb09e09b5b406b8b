// SPDX-License-Identifier: BSD-2-Clause
//
// Times by that of one row, beside what others have published of the same.
#include <algorithm>

#include "bench/figure_words.h"
#include "bench/published.h"
#include "bench/report_figures.h"
#include "bench/row_titles.h"
#include "bench/table.h"
#include "bench/times.h"
#include "bench/ways_table.h"

namespace hpz::bench {
namespace {

struct PartWords {
  const char *state, *title, *sentence;
  std::vector<std::string> references;  // the first that is there is what others are measured by
  const char *subject;                  // the row that it is about
  const Published *published;
};

std::vector<PartWords> all_words() {
  return {
      {"cold",
       "What mapping memory costs in order to clear it",
       "The memory of a file, as that of a virtual machine is, cleared in several ways.",
       {kMappedPieces, kSpaceDirect},
       kDirect,
       &kPublishedClear},
      {"allocated",
       "Memory allocated and touched",
       "What populates between saves page faults.",
       {"touch_4k", "touch_thp"},
       "populate_4k",
       &kPublishedAllocate},
      {"acquired",
       "Memory cleared twice, once, and not again where it is known to be zero",
       "What the kernel has cleared need not be cleared again.",
       {"cleared_twice"},
       "map_zero_known",
       &kPublishedTwice},
      {"opened",
       "A map of known zeroes is opened",
       "Detail of a page's subpages is there once it is needed.",
       {"open_eager"},
       "open_lazy",
       &kPublishedOpen},
  };
}

std::string part_label(double ns, double part) {
  return format_time(ns) + ", " + percent_words(part);
}

void add_published(Figure &figure, const Published &published) {
  for (const bool is_after : {false, true}) {
    const double ns = is_after ? published.after_ns : published.before_ns;
    const double part = ns / published.before_ns;
    const std::string what = is_after ? published.after : published.before;
    ChartBar bar;
    bar.name = "published: " + what;
    bar.label = part_label(ns, part);
    bar.value = part * 100;
    bar.is_published = true;
    figure.chart.bars.push_back(std::move(bar));
    HtmlTable::Row line{"published, " + std::string(published.source) + ": " + what, "", {}};
    line.cells = {{format_time(ns), "published"}, none()};
    line.cells.push_back({percent_words(part), "published"});
    figure.table.rows.push_back(std::move(line));
  }
}

// The row that others are measured by, of the same kind: REP STOSB by REP STOSB, pages by pages.
const RecordedTask *reference_of(const RecordedCell &cell, const PartWords &words,
                                 const std::string &row) {
  if (row.ends_with(kStosbSuffix)) {
    if (const RecordedTask *const own = cell.find(std::string(kMappedPieces) + kStosbSuffix)) {
      return own;
    }
  }
  if (cell.state == "allocated") {
    if (const RecordedTask *const own = cell.find("touch" + row.substr(row.rfind('_')))) return own;
  }
  for (const std::string &reference : words.references) {
    if (const RecordedTask *const task = cell.find(reference)) return task;
  }
  return nullptr;
}

Figure figure_of(const RecordedCell &cell, const PartWords &words) {
  Figure figure;
  figure.group = place_words(cell.pages);
  figure.title = std::string(words.title) + ", " + spaced_size(cell.size);
  figure.sentence = words.sentence;
  figure.chart.title = figure.title;
  figure.chart.x_label = "percent of the time of the grey bar";
  figure.table.caption = "Mean and standard deviation of " + rounds_words(cell.rows) +
                         "; parts are medians within a round.";
  figure.table.heading = {"row", "mean", "\u00b1", "part"};
  for (const RecordedTask *const task : cell.rows) {
    const RecordedTask *const reference = reference_of(cell, words, task->row);
    const MeanDeviation time = time_of(*task);
    const double part = reference == nullptr ? 0 : time_ratio(*task, *reference);
    ChartBar bar;
    bar.name = row_title(task->row);
    bar.label = part_label(time.mean, part);
    bar.value = part * 100;
    bar.deviation = time.mean > 0 ? part * 100 * time.deviation / time.mean : 0;
    bar.is_reference = task == reference;
    figure.chart.bars.push_back(std::move(bar));
    figure.table.rows.push_back({row_title(task->row),
                                 task->row,
                                 {{format_time(time.mean), ""},
                                  {format_time(time.deviation), ""},
                                  {percent_words(part), ""}}});
  }
  const RecordedTask *const subject = cell.find(words.subject);
  const RecordedTask *const reference = reference_of(cell, words, words.subject);
  if (reference != nullptr) {
    figure.sentence +=
        " Bars are times by that of '" + row_title(reference->row) + "', which is 100 %.";
  }
  if (subject != nullptr && reference != nullptr && subject != reference) {
    figure.sentence += " '" + row_title(subject->row) + "' takes " +
                       percent_words(time_ratio(*subject, *reference)) + " of it.";
  }
  // That of 2 MiB is of 2 MiB, and of no pages that could not be mapped in pieces.
  const bool is_comparable = words.published != &kPublishedClear ||
                             (cell.size == "2MiB" && cell.find(kMappedPieces) != nullptr);
  if (is_comparable) {
    figure.sentence += std::string(" Hatched: published, ") + words.published->source + ".";
    add_published(figure, *words.published);
  }
  return figure;
}

}  // namespace

std::vector<Figure> part_figures(const ResultsFile &file) {
  const std::vector<PartWords> all = all_words();
  std::vector<Figure> figures;
  for (const RecordedCell &cell : cells_about(file, CellSubject::kParts)) {
    const auto words = std::find_if(all.begin(), all.end(),
                                    [&](const PartWords &one) { return one.state == cell.state; });
    const PartWords plain = {"", "Times", "", {}, "", &kPublishedClear};
    figures.push_back(figure_of(cell, words == all.end() ? plain : *words));
  }
  return figures;
}

}  // namespace hpz::bench
