// SPDX-License-Identifier: BSD-2-Clause
#include "bench/comparison.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "bench/json_schema.h"
#include "bench/memory.h"
#include "bench/refusal.h"
#include "bench/significance.h"
#include "bench/statistics.h"

namespace hpz::bench {
namespace {

// Clock costs of one machine agree much better than this, in quiet.
constexpr double kClockCostPart = 0.25, kClockCostNs = 5;

// Of the context: what makes another machine, or another library. Keys that end in '_' stand for
// all that begin so.
constexpr std::string_view kFacts[] = {
    "host_name",
    "cpu_model",
    "cpu_identity",
    "cpu_microcode",
    "cpu_features",
    "cpu_caches",
    "cpu_governor",
    "num_cpus",
    "virtual_machine",
    "linux",
    "clock_source",
    "transparent_huge_pages",
    "hpzero_version",
    kLibraryKey,
    "hpzero_build",
    "hpzero_kernels",
    "hpzero_plan_source",
    "hpzero_plan_auto",
    "hpzero_plan_cached",
    "hpzero_plan_stream",
    "mapping_kernel",
    "team_threads",
    "memory_",
};

// Bytes, or else calls.
double work(const Sample &sample) {
  if (sample.bytes > 0) return static_cast<double>(sample.bytes);
  return static_cast<double>(std::max<uint64_t>(sample.ranges, 1));
}

std::vector<double> rates_of(const RecordedTask &task) {
  std::vector<double> rates;
  for (const RecordedSample &recorded : task.samples) {
    rates.push_back(work(recorded.sample) / recorded.sample.ns);
  }
  return rates;
}

// Rates of each visit.
std::vector<std::vector<double>> by_visit(const RecordedTask &task) {
  std::map<uint64_t, std::vector<double>> visits;
  for (const RecordedSample &recorded : task.samples) {
    visits[recorded.visit].push_back(work(recorded.sample) / recorded.sample.ns);
  }
  std::vector<std::vector<double>> groups;
  for (auto &[visit, rates] : visits) groups.push_back(std::move(rates));
  return groups;
}

std::optional<double> mean_of(const std::vector<std::optional<double>> &values) {
  double sum = 0, count = 0;
  for (const auto &value : values) {
    if (!value) continue;
    sum += *value;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

// What was subtracted for reading the clock once.
double clock_cost_ns(const RecordedTask &task) {
  std::vector<double> costs;
  for (const RecordedSample &recorded : task.samples) {
    const Sample &sample = recorded.sample;
    costs.push_back(sample.clock_ns / static_cast<double>(std::max<uint64_t>(sample.sections, 1)));
  }
  return median(std::move(costs));
}

// The median rate, had that been subtracted instead.
double rate_at_clock_cost(const RecordedTask &task, double cost_ns) {
  std::vector<double> rates;
  for (const RecordedSample &recorded : task.samples) {
    const Sample &sample = recorded.sample;
    const double subtracted =
        std::min(sample.clock_ns, cost_ns * static_cast<double>(sample.sections));
    // Never less than ns, however much was subtracted.
    rates.push_back(work(sample) / (sample.ns + (sample.clock_ns - subtracted)));
  }
  return median(std::move(rates));
}

bool has_bytes(const RecordedTask &task) {
  return std::any_of(task.samples.begin(), task.samples.end(),
                     [](const RecordedSample &recorded) { return recorded.sample.bytes > 0; });
}

// 1: faster by the least effect, -1: slower by it, 0: neither.
int direction(double ratio, double least_effect) {
  if (ratio >= 1 + least_effect && ratio > 1) return 1;
  if (ratio * (1 + least_effect) <= 1 && ratio < 1) return -1;
  return 0;
}

std::string both_of(const ResultsFile &a, const ResultsFile &b, std::string_view key) {
  return "'" + a.path + "' is of '" + a.context_value(key) + "' and '" + b.path + "' of '" +
         b.context_value(key) + "'";
}

void require_comparable(const ResultsFile &a, const ResultsFile &b) {
  if (a.context_value(kCommandKey) != b.context_value(kCommandKey)) {
    throw Refusal(both_of(a, b, kCommandKey) + ": measure both by the same subcommand");
  }
  if (a.context_value(kClockKey) != b.context_value(kClockKey)) {
    throw Refusal(both_of(a, b, kClockKey) +
                  ", clocks that need not agree: measure both by hpzero-bench of one version");
  }
}

std::optional<double> number_in(const ResultsFile &file, std::string_view key) {
  const std::string text = file.context_value(key);
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string or_none(const std::string &text) {
  return text.empty() ? "none" : text;
}

bool is_pinned(const ResultsFile &file) {
  return file.context_value("pinned_to_cpu") != "none";
}

bool is_for_measuring(const std::string &build) {
  return build.empty() || (build.starts_with("Rel") && build.find("SANITIZE") == std::string::npos);
}

// Of a value of memory_...: whether pages of a pool lay there already is no matter of where was
// measured, and the first of two runs may have left them, or taken them.
std::string_view measured_on(std::string_view summary) {
  if (!summary.ends_with(Arena::kFreeAlready) && !summary.ends_with(Arena::kReserved)) {
    return summary;
  }
  return summary.substr(0, summary.rfind(", "));
}

Doubt doubt_of(const ComparedTask &task, int where, double least_effect) {
  const double beyond_level = std::max(least_effect, task.level.stands_out() - 1);
  if (direction(task.ratio / task.level.ratio, beyond_level) != where) return Doubt::kLevel;
  // What reading the clock costs is measured once in a run. If one of two runs was disturbed just
  // then, short samples differ by that alone.
  if (direction(task.ratio_one_clock, least_effect) != where) return Doubt::kClock;
  return task.p < kAlpha ? Doubt::kNone : Doubt::kChance;
}

bool is_same_sample(const RecordedSample &a, const RecordedSample &b) {
  return a.round == b.round && a.visit == b.visit && a.sample.ns == b.sample.ns;
}

// By what was measured: a copy and a link have other names.
bool is_same_run(const ResultsFile &a, const ResultsFile &b) {
  return std::equal(a.tasks.begin(), a.tasks.end(), b.tasks.begin(), b.tasks.end(),
                    [](const RecordedTask &one, const RecordedTask &other) {
                      return one.name == other.name &&
                             std::equal(one.samples.begin(), one.samples.end(),
                                        other.samples.begin(), other.samples.end(), is_same_sample);
                    });
}

void require_different_runs(const std::vector<ResultsFile> &files) {
  for (auto file = files.begin(); file != files.end(); ++file) {
    const auto same = std::find_if(
        files.begin(), file, [&](const ResultsFile &other) { return is_same_run(*file, other); });
    if (same == file) continue;
    throw Refusal("'" + file->path + "' is the run of '" + same->path +
                  "' once more, which would count its samples twice: give each run once");
  }
}

}  // namespace

std::string_view verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kUnclear:
      return "unclear";
    case Verdict::kTooFew:
      return "too few samples";
  }
  return "";
}

size_t Comparison::count(Verdict verdict) const {
  return static_cast<size_t>(
      std::count_if(tasks.begin(), tasks.end(),
                    [&](const ComparedTask &task) { return task.verdict == verdict; }));
}

size_t Comparison::count(Doubt doubt) const {
  return static_cast<size_t>(std::count_if(
      tasks.begin(), tasks.end(), [&](const ComparedTask &task) { return task.doubt == doubt; }));
}

ResultsFile joined_results(std::vector<ResultsFile> files) {
  require_different_runs(files);
  ResultsFile joined = std::move(files.front());
  for (size_t i = 1; i < files.size(); ++i) {
    ResultsFile &file = files[i];
    require_comparable(joined, file);
    if (is_pinned(joined) != is_pinned(file)) {
      throw Refusal("one of '" + file.path + "' and '" + joined.path +
                    "' was pinned to a CPU: give files that were measured alike");
    }
    for (const Difference &difference : differences(joined, file)) {
      throw Refusal("'" + file.path + "' cannot be one with '" + joined.path + "' (" +
                    difference.key +
                    " differs): give files of one machine and library, or compare "
                    "them");
    }
    for (RecordedTask &task : file.tasks) {
      const auto [place, is_new] = joined.index_by_name.emplace(task.name, joined.tasks.size());
      if (is_new) {
        joined.tasks.push_back(std::move(task));
        continue;
      }
      std::vector<RecordedSample> &samples = joined.tasks[place->second].samples;
      const uint64_t rounds = samples.back().round + 1;
      uint64_t visits = 0;
      for (const RecordedSample &recorded : samples) visits = std::max(visits, recorded.visit + 1);
      for (RecordedSample &recorded : task.samples) {
        recorded.round += rounds;
        recorded.visit += visits;
        samples.push_back(std::move(recorded));
      }
    }
    const std::string warnings = file.context_value(kWarningsKey);
    std::string &all_warnings = joined.context[std::string(kWarningsKey)];
    if (all_warnings.empty()) {
      all_warnings = warnings;
    } else if (!warnings.empty() && warnings != all_warnings) {
      all_warnings += std::string(kWarningSeparator) + warnings;
    }
    joined.path += "," + file.path;
  }
  return joined;
}

Comparison compare_results(const ResultsFile &a, const ResultsFile &b,
                           const ComparisonOptions &options) {
  require_comparable(a, b);
  Comparison comparison;
  std::vector<double> least;
  std::vector<std::vector<double>> rates_a, rates_b;
  for (const RecordedTask &task : a.tasks) {
    const RecordedTask *const other = b.find(task.name);
    if (other == nullptr) {
      comparison.only_a.push_back(task.name);
      continue;
    }
    if (has_bytes(task) != has_bytes(*other)) {
      throw Refusal("'" + task.name + "' counts bytes in one of the files and calls in the other" +
                    ": measure both by hpzero-bench of one version");
    }
    ComparedTask compared;
    compared.a = &task;
    compared.b = other;
    compared.is_of_calls = !has_bytes(task);
    rates_a.push_back(rates_of(task));
    rates_b.push_back(rates_of(*other));
    compared.rate_a = median(rates_a.back());
    compared.rate_b = median(rates_b.back());
    compared.ratio = compared.rate_b / compared.rate_a;
    const double cost_ns = std::min(clock_cost_ns(task), clock_cost_ns(*other));
    compared.ratio_one_clock =
        rate_at_clock_cost(*other, cost_ns) / rate_at_clock_cost(task, cost_ns);
    comparison.tasks.push_back(compared);
    least.push_back(least_p(task.samples.size(), other->samples.size()));
  }
  for (const RecordedTask &task : b.tasks) {
    if (a.find(task.name) == nullptr) comparison.only_b.push_back(task.name);
  }
  if (comparison.tasks.empty()) {
    throw Refusal("'" + a.path + "' and '" + b.path +
                  "' have no row, size, state and pages in common: measure both with the same "
                  "options");
  }

  std::vector<std::optional<double>> alike;
  for (const ComparedTask &task : comparison.tasks) {
    alike.push_back(likeness(by_visit(*task.a), by_visit(*task.b)));
  }
  comparison.likeness = mean_of(alike);

  if (!options.is_absolute && is_one_machine(a, b)) {
    std::vector<RowRatio> ratios;
    for (const ComparedTask &task : comparison.tasks) {
      ratios.push_back({task.a->name, task.ratio});
    }
    comparison.levels = levels_of(ratios, is_one_library(a, b));
  }

  const std::vector<bool> asked = answerable(least, kAlpha);
  std::vector<double> p;
  for (size_t i = 0; i < asked.size(); ++i) {
    ComparedTask &task = comparison.tasks[i];
    const auto level = comparison.levels.find(cell_of(task.a->name));
    if (level != comparison.levels.end()) task.level = level->second;
    if (!asked[i]) continue;
    // Of few visits it may look small by chance; that of all lines does not.
    const double all_alike = comparison.likeness.value_or(0);
    const double effect = design_effect(std::max(alike[i].value_or(0), all_alike),
                                        by_visit(*task.a), by_visit(*task.b));
    std::vector<double> levelled = rates_b[i];
    for (double &rate : levelled) rate /= task.level.ratio;
    p.push_back(widened_p(
        std::max(mann_whitney(rates_a[i], rates_b[i]).p, mann_whitney(rates_a[i], levelled).p),
        effect));
  }
  p = holm(p);
  size_t next = 0;
  for (size_t i = 0; i < asked.size(); ++i) {
    ComparedTask &task = comparison.tasks[i];
    if (!asked[i]) {
      task.verdict = Verdict::kTooFew;
      continue;
    }
    task.p = p[next++];
    const int where = direction(task.ratio, options.least_effect);
    if (where == 0) continue;
    task.doubt = doubt_of(task, where, options.least_effect);
    if (task.doubt != Doubt::kNone) {
      task.verdict = Verdict::kUnclear;
    } else {
      task.verdict = where > 0 ? Verdict::kFaster : Verdict::kSlower;
    }
  }
  return comparison;
}

std::vector<Difference> differences(const ResultsFile &a, const ResultsFile &b) {
  std::vector<std::string> keys;
  for (const std::string_view fact : kFacts) {
    if (!fact.ends_with('_')) {
      keys.emplace_back(fact);
      continue;
    }
    for (const ResultsFile *file : {&a, &b}) {
      for (const auto &[key, value] : file->context) {
        const bool is_new = std::find(keys.begin(), keys.end(), key) == keys.end();
        if (key.starts_with(fact) && is_new) keys.push_back(key);
      }
    }
  }
  std::vector<Difference> found;
  for (const std::string &key : keys) {
    const std::string in_a = a.context_value(key), in_b = b.context_value(key);
    if (measured_on(in_a) != measured_on(in_b))
      found.push_back({key, or_none(in_a), or_none(in_b)});
  }
  return found;
}

std::vector<std::string> comparison_warnings(const ResultsFile &a, const ResultsFile &b) {
  std::vector<std::string> warnings;
  const auto cost_a = number_in(a, kClockCostKey), cost_b = number_in(b, kClockCostKey);
  if (cost_a && cost_b &&
      std::abs(*cost_a - *cost_b) >
          std::max(kClockCostNs, kClockCostPart * std::max(*cost_a, *cost_b))) {
    warnings.push_back("reading the clock cost " + a.context_value(kClockCostKey) +
                       " ns in A and " + b.context_value(kClockCostKey) +
                       " in B: if it was the same machine, one of them was disturbed, so run "
                       "that again; if not, small sizes are told apart less well");
  }
  if (is_pinned(a) != is_pinned(b)) {
    warnings.push_back("only one of the two was pinned to a CPU: run both in the same way");
  }
  for (const Difference &difference : differences(a, b)) {
    if (difference.key.starts_with("memory_")) {
      warnings.push_back("they were not measured on the same memory (" + difference.key +
                         "): give both the same --set");
    }
  }
  for (const ResultsFile *file : {&a, &b}) {
    const std::string build = file->context_value(kBuildKey);
    if (!is_for_measuring(build)) {
      warnings.push_back("'" + file->path + "' is of a build that is not for measuring (" + build +
                         "): build with the preset release");
    }
  }
  return warnings;
}

}  // namespace hpz::bench
