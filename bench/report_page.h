// SPDX-License-Identifier: BSD-2-Clause
//
// The page of 'report': what files of samples hold, as charts, sentences and tables. Pure but for
// the drawing, which is the caller's.
#ifndef HPZERO_BENCH_REPORT_PAGE_H
#define HPZERO_BENCH_REPORT_PAGE_H

#include <functional>
#include <string>
#include <vector>

#include "bench/charts.h"
#include "bench/results_file.h"

namespace hpz::bench {

// A chart as HTML; id: of the page, each once.
using DrawChart = std::function<std::string(const Chart &chart, const std::string &id)>;

struct ReportNotes {
  std::vector<std::string> lines;  // what was not measured, and why
  std::string how;                 // where the samples come from, one sentence
};

std::string render_report(const std::vector<ResultsFile> &files, const ReportNotes &notes,
                          const DrawChart &draw);

// What stands for all of it in a single picture, and over it.
struct ReportPicture {
  std::vector<Chart> charts;  // at least one
  std::string title;
};
ReportPicture picture_of(const std::vector<ResultsFile> &files);

}  // namespace hpz::bench

#endif
