// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench compare: two files of results, line by line.
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "bench/comparison.h"
#include "bench/experiment.h"
#include "bench/json_schema.h"
#include "bench/printable.h"
#include "bench/refusal.h"
#include "bench/significance.h"
#include "bench/table.h"
#include "bench/times.h"

namespace hpz::bench {
namespace {

constexpr double kUsualLeastEffect = 0.05;

std::string format_p(double p) {
  return p < 0.0001 ? "<0.0001" : decimals(p, 4);
}

std::string format_figure(const ComparedTask &task, double rate) {
  return task.is_of_calls ? format_time(1 / rate) : format_rate(rate);
}

std::string render_tasks(const Comparison &comparison) {
  TextTable table;
  table.add_row({"row/size/state/pages", "A", "B", "B by A", "p", "B is"});
  for (const ComparedTask &task : comparison.tasks) {
    table.add_row({task.a->name, format_figure(task, task.rate_a), format_figure(task, task.rate_b),
                   format_ratio(task.ratio),
                   task.verdict == Verdict::kTooFew ? "-" : format_p(task.p),
                   std::string(verdict_text(task.verdict))});
  }
  return table.text();
}

void print_file(const char *letter, const ResultsFile &file) {
  std::printf("%s is %s: %s, %s, hpzero %s\n", letter, without_controls(file.path).c_str(),
              file.context_value("date").c_str(), file.context_value("host_name").c_str(),
              file.context_value("hpzero_version").c_str());
}

void print_differences(const ResultsFile &a, const ResultsFile &b) {
  const std::vector<Difference> found = differences(a, b);
  std::printf("%s\n", found.empty() ? "\nmachine and library are the same"
                                    : "\nmachine or library differ:");
  for (const Difference &difference : found) {
    std::printf("  %-24sA  %s\n  %-24sB  %s\n", difference.key.c_str(), difference.a.c_str(), "",
                difference.b.c_str());
  }
}

// Counts of verdicts that there are, and where the ratios lie.
std::string summary(const Comparison &comparison) {
  std::string text = std::to_string(comparison.tasks.size()) + " compared:";
  const char *separator = " ";
  for (const Verdict verdict :
       {Verdict::kFaster, Verdict::kSlower, Verdict::kSame, Verdict::kUnclear, Verdict::kTooFew}) {
    text += separator + std::to_string(comparison.count(verdict)) + " " +
            std::string(verdict_text(verdict));
    separator = ", ";
  }
  std::vector<double> ratios;
  for (const ComparedTask &task : comparison.tasks) ratios.push_back(task.ratio);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return text + "; ratios " + format_ratio(*least) + " to " + format_ratio(*most) + ", middle " +
         format_ratio(median(ratios));
}

void print_only(const char *letter, const std::vector<std::string> &names) {
  for (const std::string &name : names) std::printf("only in %s: %s\n", letter, name.c_str());
}

// What each was warned of when it was measured.
void print_own_warnings(const char *letter, const ResultsFile &file) {
  const std::string warnings = file.context_value(kWarningsKey);
  if (!warnings.empty()) std::printf("note: of %s alone: %s\n", letter, warnings.c_str());
}

std::string remedy_for_few(const Comparison &comparison) {
  return "measure both again with --repetitions " +
         std::to_string(figures_needed(comparison.tasks.size(), kAlpha)) + " or more";
}

// Cells in which the machine itself was faster or slower by the least effect.
void print_levels(const Comparison &comparison, double least_effect) {
  TextTable table;
  table.add_row({"the machine at size/state/pages", "B by A", "by rows"});
  bool has_any = false;
  for (const auto &[cell, level] : comparison.levels) {
    if (level.ratio * (1 + least_effect) > 1 && level.ratio < 1 + least_effect) continue;
    table.add_row({cell, format_ratio(level.ratio), std::to_string(level.rows)});
    has_any = true;
  }
  if (has_any) std::printf("%s\n", table.text().c_str());
}

void print_warnings(const Comparison &comparison, double least_effect) {
  const auto warn = [&](size_t lines, const std::string &text) {
    if (lines == 0) return;
    std::printf("warning: %zu of %zu lines %s\n", lines, comparison.tasks.size(), text.c_str());
  };
  warn(comparison.count(Doubt::kLevel),
       "differ by what all rows beside them did, too, so that the machine did it: run both again, "
       "in turn, or compare with --absolute if it is the machine that was changed");
  warn(comparison.count(Doubt::kClock),
       "differ only by what was subtracted for reading the clock: run both again");
  warn(comparison.count(Doubt::kChance),
       "are more than " + format_percent(least_effect, 1) +
           " apart, but that may be chance: run both again with more --repetitions and less beside "
           "them");
  warn(comparison.count(Verdict::kTooFew),
       "have too few samples for any verdict: " + remedy_for_few(comparison));
}

// "a.json", or "a1.json,a2.json" of several runs, unless there is a file of that name.
ResultsFile read_side(const std::string &operand) {
  if (operand.find(',') == std::string::npos || access(operand.c_str(), F_OK) == 0) {
    return read_results(operand);
  }
  std::vector<ResultsFile> files;
  for (size_t begin = 0; begin <= operand.size();) {
    const size_t end = std::min(operand.find(',', begin), operand.size());
    files.push_back(read_results(operand.substr(begin, end - begin)));
    begin = end + 1;
  }
  return joined_results(std::move(files));
}

int judge(const Comparison &comparison, double fail_below) {
  size_t below = 0, with_machine = 0;
  for (const ComparedTask &task : comparison.tasks) {
    if (task.ratio >= fail_below) continue;
    if (task.verdict == Verdict::kSlower) ++below;
    if (task.doubt == Doubt::kLevel) ++with_machine;
  }
  // Neither passed nor failed.
  if (below == 0 && with_machine > 0) {
    throw Refusal(std::to_string(with_machine) + " lines are below " + format_part(fail_below) +
                  " as all rows beside them are, so that nothing is known of them: measure both "
                  "again, in turn, or use --absolute");
  }
  std::printf("%s: %zu below %s\n", below == 0 ? "passed" : "failed", below,
              format_part(fail_below).c_str());
  return below == 0 ? kExitOk : kExitFailed;
}

int run(const Options &options) {
  const double least_effect = options.least_effect.value_or(kUsualLeastEffect);
  // Otherwise some would be below and yet the same.
  if (options.fail_below && *options.fail_below * (1 + least_effect) > 1) {
    throw Refusal("--fail-below " + format_part(*options.fail_below) +
                  " is less than the least effect of " + format_percent(least_effect, 1) +
                  " away from 1: give a smaller --least-effect with it");
  }
  const ResultsFile a = read_side(options.operands[0]);
  const ResultsFile b = read_side(options.operands[1]);
  const Comparison comparison = compare_results(a, b, {least_effect, options.is_absolute});
  // Nothing passes by not having been tested.
  if (options.fail_below && comparison.count(Verdict::kTooFew) == comparison.tasks.size()) {
    throw Refusal("there are too few samples to fail by: " + remedy_for_few(comparison));
  }

  print_file("A", a);
  print_file("B", b);
  print_differences(a, b);
  std::printf(
      "\nGB/s, decimal, or time of a call: medians. B by A: ratio of the rates, above 1 B is "
      "faster.\nSame: less than %s apart. Unclear: more, but that may be chance (p not below %s, "
      "Mann-Whitney,\nHolm over all lines), or comes of the clock, or of the whole "
      "machine.\n\n%s\n",
      format_percent(least_effect, 1).c_str(), decimals(kAlpha, 2).c_str(),
      render_tasks(comparison).c_str());
  print_levels(comparison, least_effect);
  print_only("A", comparison.only_a);
  print_only("B", comparison.only_b);
  std::printf("%s\n", summary(comparison).c_str());
  print_own_warnings("A", a);
  print_own_warnings("B", b);
  for (const std::string &line : comparison_warnings(a, b)) {
    std::printf("warning: %s\n", line.c_str());
  }
  print_warnings(comparison, least_effect);
  return options.fail_below ? judge(comparison, *options.fail_below) : kExitOk;
}

}  // namespace

const Experiment kCompare = {
    "compare",
    "A.json B.json",
    "B against A: two runs, machines, kernels or versions",
    2,
    "--least-effect --absolute --fail-below",
    "",
    run,
};

}  // namespace hpz::bench
