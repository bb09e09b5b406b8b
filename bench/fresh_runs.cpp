// SPDX-License-Identifier: BSD-2-Clause
#include "bench/fresh_runs.h"

#include <algorithm>
#include <sstream>

#include "bench/about.h"
#include "bench/child.h"
#include "bench/clock.h"
#include "bench/refusal.h"
#include "bench/table.h"

namespace hpz::bench {
namespace {

// Of everything but drawing: two minutes are too long to wait already.
constexpr double kUsualSeconds = 105;
// Reserving and warming memory is no part of an experiment's own time, and takes about as long.
constexpr double kMeasuringPart = 0.4;
// What an experiment must have to be worth beginning.
constexpr double kLeastSeconds = 2;

using Words = std::vector<std::string>;

struct Plan {
  const char *command;
  double weight;
  bool has_seconds;            // it takes --seconds
  Words words;                 // less than it does by itself, where that takes longer than there is
  std::vector<Words> choices;  // the first that is not refused
};

// Cells of more than one kind of pages say little more, and each kind has to be warmed.
std::vector<Plan> plans() {
  const std::vector<Words> one_kind = {{"--pages", "2m"}, {"--pages", "thp"}, {"--pages", "4k"}};
  const std::vector<Words> no_pool = {{"--pages", "thp"}, {"--pages", "4k"}};
  return {
      {"run", 5, true, {"--memory", "hot,recycled,cold"}, one_kind},
      {"parallel", 2, true, {}, one_kind},
      {"populate", 2, true, {"--set", "1GiB"}, no_pool},
      {"mapping", 2, true, {"--size", "2MiB"}, no_pool},
      {"twice", 2, true, {"--size", "1GiB"}, one_kind},
      {"metadata", 1, true, {}, {{}}},
      {"pool", 2, true, {"--size", "256MiB"}, one_kind},
      {"bystander", 2, true, {"--size", "256MiB"}, one_kind},
      {"overhead", 0.5, false, {"--repetitions", "51"}, {{}}},
  };
}

// "note: ..." of its tables.
void keep_notes(const std::string &output, const std::string &command, FreshRuns &runs) {
  std::istringstream lines(output);
  constexpr std::string_view kNote = "note: ";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kNote)) runs.notes.push_back(command + ": " + line.substr(kNote.size()));
  }
}

// The last line, without the program's name.
std::string sentence_of(const std::string &errors) {
  std::string text = errors;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t begin = text.rfind('\n');
  if (begin != std::string::npos) text.erase(0, begin + 1);
  const std::string prefix = std::string(kProgram) + ": ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text;
}

// seconds: of its part; it may take some of what comes after it, and is then ended.
std::string run_plan(const Plan &plan, double seconds, double most_seconds, FreshRuns &runs) {
  std::string trouble;
  const uint64_t begin = now_ns();
  for (const Words &choice : plan.choices) {
    ChildRequest request;
    request.arguments = {"/proc/self/exe", plan.command, "--json", kResultsPath};
    for (const Words *const more : {&plan.words, &choice}) {
      request.arguments.insert(request.arguments.end(), more->begin(), more->end());
    }
    if (plan.has_seconds) {
      const double measuring = std::max(1.0, seconds * kMeasuringPart);
      request.arguments.insert(request.arguments.end(), {"--seconds", decimals(measuring, 1)});
    }
    request.has_results = true;
    request.seconds = most_seconds - static_cast<double>(now_ns() - begin) / 1e9;
    const ChildEnd end = run_child(request);
    if (end.is_missing) {
      throw Refusal(
          "cannot start /proc/self/exe to measure: mount /proc, or give files that --json wrote");
    }
    if (end.is_late)
      return "it took too long: run 'hpzero-bench " + std::string(plan.command) + "'";
    if (end.code == kExitOk) {
      try {
        runs.files.push_back(parse_results(end.results, plan.command));
      } catch (const Refusal &refusal) {
        return refusal.what();
      }
      keep_notes(end.output, plan.command, runs);
      return "";
    }
    trouble = sentence_of(end.errors);
    if (end.code != kExitRefused) break;
  }
  return trouble.empty() ? "it failed" : trouble;
}

}  // namespace

FreshRuns measure_afresh(const Options &options, const Progress &progress) {
  FreshRuns runs;
  const double all = options.seconds.value_or(kUsualSeconds);
  const uint64_t begin = now_ns();
  const std::vector<Plan> list = plans();
  double weights = 0;
  for (const Plan &plan : list) weights += plan.weight;
  size_t number = 0;
  for (const Plan &plan : list) {
    const double left = all - static_cast<double>(now_ns() - begin) / 1e9;
    const double share = left * plan.weight / weights;
    weights -= plan.weight;
    const std::string command = plan.command;
    progress.show("measuring " + command + ", " + std::to_string(++number) + " of " +
                  std::to_string(list.size()) + ", " + decimals(std::max(left, 0.0), 0) +
                  " s left");
    if (share < (plan.has_seconds ? kLeastSeconds : 1)) {
      runs.notes.push_back(command +
                           " was not measured, for there was no time left: use more "
                           "--seconds, or run 'hpzero-bench " +
                           command + "'");
      continue;
    }
    constexpr double kMostOverdraft = 1.7;
    const std::string trouble = run_plan(plan, share, std::min(left, share * kMostOverdraft), runs);
    if (!trouble.empty()) runs.notes.push_back(command + " was not measured: " + trouble);
  }
  if (runs.files.empty()) {
    throw Refusal(runs.notes.empty() ? "nothing could be measured: use other options"
                                     : runs.notes.front());
  }
  return runs;
}

}  // namespace hpz::bench
