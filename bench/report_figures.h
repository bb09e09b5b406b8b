// SPDX-License-Identifier: BSD-2-Clause
//
// What a file of samples shows, as figures: a chart, what it says in a sentence or two, and the
// table of its numbers. Pure.
#ifndef HPZERO_BENCH_REPORT_FIGURES_H
#define HPZERO_BENCH_REPORT_FIGURES_H

#include <string>
#include <vector>

#include "bench/charts.h"
#include "bench/html.h"
#include "bench/recorded_cells.h"
#include "bench/results_file.h"

namespace hpz::bench {

struct Figure {
  std::string group;     // figures of the same group stand under it as a heading
  std::string title;     // what is seen
  std::string sentence;  // what it says
  Chart chart;
  HtmlTable table;
};

// Looks of rows, the same in all figures of a page.
class RowStyles {
 public:
  ChartStyle of(const std::string &row);

 private:
  std::vector<std::string> known_;
};

// Rates by size: of cells that 'run' measures.
std::vector<Figure> size_figures(const ResultsFile &file, RowStyles &styles);
// Rates by threads: of those of 'parallel' and 'populate', and of the limit.
std::vector<Figure> thread_figures(const ResultsFile &file, RowStyles &styles);
// Parts of a time beside those that others published: 'mapping', 'twice', 'metadata'.
std::vector<Figure> part_figures(const ResultsFile &file);
// Nanoseconds of short calls: 'overhead'.
std::vector<Figure> call_figures(const ResultsFile &file, RowStyles &styles);
// How long pages of a pool are waited for, by how many waited less: 'pool'.
std::vector<Figure> wait_figures(const ResultsFile &file, RowStyles &styles);
// How many times as long working sets take to read: 'bystander', and others that read some.
std::vector<Figure> bystander_figures(const ResultsFile &file);
// Whatever is left: times or rates as bars.
std::vector<Figure> other_figures(const ResultsFile &file);

// The best and the worst of it, in a few words each.
struct Headline {
  std::string figure, meaning;
};
std::vector<Headline> headlines(const std::vector<ResultsFile> &files);

std::string pages_title(const std::string &pages);  // "2 MiB pages (hugetlb), node 1"
std::string place_words(const std::string &pages);  // "On 2 MiB pages", or what it is instead

}  // namespace hpz::bench

#endif
