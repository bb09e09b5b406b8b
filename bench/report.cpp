// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench report: a page that shows what was measured.
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "bench/atomic_file.h"
#include "bench/charts.h"
#include "bench/experiment.h"
#include "bench/fresh_runs.h"
#include "bench/gnuplot.h"
#include "bench/progress.h"
#include "bench/refusal.h"
#include "bench/report_page.h"
#include "bench/results_file.h"

namespace hpz::bench {
namespace {

// Both widths: letters keep their size on a phone. The page shows one of them.
std::string draw(const Chart &chart, const std::string &id) {
  const auto svg = [&](ChartFormat format, const std::string &name) {
    std::string text =
        inline_svg(run_gnuplot(chart_program(chart, format)), id + name + "_", chart.title);
    return text.insert(4, " class=\"" + name + "\"");
  };
  return svg(ChartFormat::kWide, "wide") + svg(ChartFormat::kNarrow, "narrow");
}

// What is written replaces what is there: not what it is to be made of, where its name was
// forgotten.
void require_other_name(const std::string &page, const std::vector<std::string> &paths) {
  const std::string remedy = ": the page's name comes first, 'report OUT.html FILE...'";
  if (page.ends_with(".json")) throw Refusal("'" + page + "' is no name of a page" + remedy);
  struct stat of_page;
  if (stat(page.c_str(), &of_page) != 0 || !S_ISREG(of_page.st_mode)) return;
  for (const std::string &path : paths) {
    struct stat of_file;
    if (stat(path.c_str(), &of_file) == 0 && of_file.st_dev == of_page.st_dev &&
        of_file.st_ino == of_page.st_ino) {
      throw Refusal("'" + page + "' would be replaced by the page that is made of it" + remedy);
    }
  }
}

int run(const Options &options) {
  const std::string page_path = options.operands.front();
  const std::vector<std::string> paths(options.operands.begin() + 1, options.operands.end());
  if (!paths.empty() && options.seconds) {
    throw Refusal("--seconds is for measuring, and the files are measured already: leave it out");
  }
  require_other_name(page_path, paths);
  if (options.png) require_other_name(*options.png, paths);
  require_gnuplot(options.png.has_value());
  // Read first: a bad file leaves nothing behind, not even for a moment.
  FreshRuns fresh;
  for (const std::string &path : paths) fresh.files.push_back(read_results(path));
  AtomicFile page(page_path, "'report'");
  std::optional<AtomicFile> picture;
  if (options.png) picture.emplace(*options.png, "--png");
  const Progress progress;
  if (paths.empty()) fresh = measure_afresh(options, progress);
  ReportNotes notes;
  notes.lines = fresh.notes;
  notes.how = paths.empty() ? "Measured by 'hpzero-bench report', for this page."
                            : "From " + std::to_string(paths.size()) + " file" +
                                  (paths.size() == 1 ? "" : "s") + " of hpzero-bench --json.";
  progress.show("drawing");
  const std::string text = render_report(fresh.files, notes, draw);
  std::string png;
  if (picture) {
    const ReportPicture all = picture_of(fresh.files);
    png = run_gnuplot(picture_program(all.charts, all.title));
  }
  progress.show("");
  page.put(text);
  if (picture) picture->put(png);
  page.replace();
  if (picture) picture->replace();
  std::printf("wrote %s\n", page_path.c_str());
  if (options.png) std::printf("wrote %s\n", options.png->c_str());
  return kExitOk;
}

}  // namespace

const Experiment kReport = {
    "report",
    "OUT.html",
    "a page of charts and tables, of FILEs of --json or measured now",
    1,
    "--png --seconds",
    "  all experiments that fit the machine, in less than two minutes\n",
    run,
    "[FILE...]",
};

}  // namespace hpz::bench
