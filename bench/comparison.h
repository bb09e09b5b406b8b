// SPDX-License-Identifier: BSD-2-Clause
//
// Two files of results against each other: what differs between them, by how much, and whether that
// is more than chance. Pure.
#ifndef HPZERO_BENCH_COMPARISON_H
#define HPZERO_BENCH_COMPARISON_H

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/levels.h"
#include "bench/results_file.h"

namespace hpz::bench {

// The probability with which a comparison of two files may call anything different that is not.
inline constexpr double kAlpha = 0.05;

enum class Verdict {
  kSame,    // differs by less than the least effect
  kFaster,  // B is
  kSlower,
  kUnclear,  // differs by more, but there is a doubt
  kTooFew,   // no outcome could have been more than chance
};
std::string_view verdict_text(Verdict verdict);

enum class Doubt {
  kNone,
  kChance,  // p is not below kAlpha
  kClock,   // only because of what was subtracted for reading the clock
  kLevel,   // only as much as the machine itself did
};

struct ComparedTask {
  const RecordedTask *a = nullptr, *b = nullptr;
  double rate_a = 0, rate_b = 0;  // medians: bytes per nanosecond, or calls
  bool is_of_calls = false;       // there are no bytes
  double ratio = 0;               // of the medians, B by A
  double ratio_one_clock = 0;  // as if reading the clock had cost as little in both as in the one
  // Mann-Whitney, widened for the likeness of samples, corrected by Holm over all that were asked.
  double p = 1;
  Level level = {1, 0, 0};  // of the machine, in this cell
  Verdict verdict = Verdict::kSame;
  Doubt doubt = Doubt::kNone;  // of what is unclear
};

struct Comparison {
  std::vector<ComparedTask> tasks;  // those of both files, in A's order
  std::vector<std::string> only_a, only_b;
  // Of samples of one visit, on average over lines; nothing: no row was visited twice.
  std::optional<double> likeness;
  // By cell, where the machine is the same and a level is known.
  std::map<std::string, Level> levels;

  size_t count(Verdict verdict) const;
  size_t count(Doubt doubt) const;
};

// Several runs as one: each of its visits is one of theirs. Throws Refusal if they are not of one
// machine, library, memory and subcommand, or only one was pinned.
ResultsFile joined_results(std::vector<ResultsFile> files);

struct ComparisonOptions {
  double least_effect = 0.05;
  bool is_absolute = false;  // of one machine, too: no levels
};

// Throws Refusal for files of which the one cannot be compared with the other: of different
// subcommands, clocks or units, or with nothing in common.
Comparison compare_results(const ResultsFile &a, const ResultsFile &b,
                           const ComparisonOptions &options);

// What is said of machine and library in one file and otherwise in the other.
struct Difference {
  std::string key, a, b;  // "none" where it is not said
};
std::vector<Difference> differences(const ResultsFile &a, const ResultsFile &b);

// Of how the two were measured, beyond what each was warned of itself. Each ends with what to do.
std::vector<std::string> comparison_warnings(const ResultsFile &a, const ResultsFile &b);

}  // namespace hpz::bench

#endif
