// SPDX-License-Identifier: BSD-2-Clause
//
// Files of samples made to order, compared: verdicts, what is in one file alone, what differs
// around the samples, and what cannot be compared.
#include "bench/comparison.h"

#include <gmock/gmock.h>

#include <cmath>

#include "bench/refusal.h"
#include "tests/bench/recorded.h"

namespace hpz::bench {
namespace {

using test::Keys;
using test::results_text;
using test::timed_entry;
using test::usual_context;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char *kName = "memset/4KiB/cold/2m";
constexpr double kEffect = 0.05;

// Samples of a row that takes about ns, none like another.
void add_row(std::vector<Keys> &entries, const std::string &name, int samples, double ns,
             const Keys &changes = {}) {
  for (int round = 0; round < samples; ++round) {
    const double part = 0.98 + 0.04 * round / samples;
    entries.push_back(test::changed(timed_entry(name, round, ns * part), changes));
  }
}

std::vector<Keys> row(int samples, double ns, const Keys &changes = {}) {
  std::vector<Keys> entries;
  add_row(entries, kName, samples, ns, changes);
  return entries;
}

ResultsFile file(const std::vector<Keys> &entries, const Keys &context = {}) {
  return parse_results(results_text(entries, usual_context(context)), "x.json");
}

ComparedTask compared(const std::vector<Keys> &a, const std::vector<Keys> &b,
                      double least_effect = kEffect) {
  const ResultsFile file_a = file(a), file_b = file(b);
  const Comparison comparison = compare_results(file_a, file_b, {least_effect, true});
  EXPECT_THAT(comparison.tasks, SizeIs(1));
  ComparedTask task = comparison.tasks[0];
  task.a = task.b = nullptr;  // the files are gone
  return task;
}

Verdict verdict(const std::vector<Keys> &a, const std::vector<Keys> &b,
                double least_effect = kEffect) {
  return compared(a, b, least_effect).verdict;
}

TEST(Comparison, ARatioIsThatOfRates) {
  const ComparedTask task = compared(row(10, 1000), row(10, 500));
  EXPECT_NEAR(task.ratio, 2, 1e-9);
  EXPECT_NEAR(task.rate_a, 16384 / 998.0, 1e-3);
  EXPECT_EQ(task.verdict, Verdict::kFaster);
  EXPECT_LT(task.p, 1e-4);
  EXPECT_EQ(verdict(row(10, 500), row(10, 1000)), Verdict::kSlower);
}

// Of files that somebody made up: whatever may stand in one can be put in order.
TEST(Comparison, ExtremesAreNumbers) {
  const Keys short_one = {{"ns", "1e-6"}, {"real_time", "1e-6"}, {"bytes", "9007199254740992"}};
  const Keys long_one = {{"ns", "1e18"}, {"real_time", "1e18"}, {"bytes", "1"}};
  for (const char *subtracted : {"0", "1e18"}) {
    const auto of = [&](const Keys &changes) {
      return row(10, 1, test::changed(changes, {{"subtracted_clock_ns", subtracted}}));
    };
    for (const Keys &a : {short_one, long_one}) {
      for (const Keys &b : {short_one, long_one}) {
        const ComparedTask task = compared(of(a), of(b));
        for (const double figure :
             {task.rate_a, task.rate_b, task.ratio, task.ratio_one_clock, task.p}) {
          EXPECT_TRUE(std::isfinite(figure));
        }
      }
    }
  }
}

TEST(Comparison, TheSameIsTheSame) {
  EXPECT_EQ(verdict(row(10, 1000), row(10, 1000)), Verdict::kSame);
  const ComparedTask task = compared(row(1, 1000), row(1, 1000));
  EXPECT_EQ(task.verdict, Verdict::kTooFew);
  EXPECT_EQ(task.p, 1);
  EXPECT_EQ(verdict(row(3, 1000), row(3, 2000)), Verdict::kTooFew);
  EXPECT_EQ(verdict(row(4, 1000), row(4, 2000)), Verdict::kSlower);
}

// As sure as can be, and yet no more than the effect that was to be left alone.
TEST(Comparison, TheLeastEffectIsTheSameBothWays) {
  for (const double by : {1.04, 1.0499, 1 / 1.04, 1 / 1.0499}) {
    const ComparedTask task = compared(row(200, 1000), row(200, 1000 * by));
    EXPECT_EQ(task.verdict, Verdict::kSame) << by;
    EXPECT_LT(task.p, 1e-4) << by;
  }
  EXPECT_EQ(verdict(row(200, 1000), row(200, 1051)), Verdict::kSlower);
  EXPECT_EQ(verdict(row(200, 1051), row(200, 1000)), Verdict::kFaster);
  EXPECT_EQ(verdict(row(200, 1000), row(200, 1020), 0.01), Verdict::kSlower);
  EXPECT_EQ(verdict(row(200, 1000), row(200, 1020), 0), Verdict::kSlower);
  EXPECT_EQ(verdict(row(200, 1000), row(200, 1000), 0), Verdict::kSame);
  EXPECT_EQ(verdict(row(200, 1000), row(200, 1990), 1), Verdict::kSame);
  EXPECT_EQ(verdict(row(200, 1000), row(200, 2010), 1), Verdict::kSlower);
}

// Far apart, as medians; but each has samples on the other's side.
TEST(Comparison, WhatMayBeChanceIsUnclear) {
  std::vector<Keys> a, b;
  for (int round = 0; round < 12; ++round) {
    a.push_back(timed_entry(kName, round, round % 2 == 0 ? 1000 + round : 2000 + round));
    b.push_back(timed_entry(kName, round, round % 3 != 0 ? 2000.5 + round : 1000.5 + round));
  }
  const ComparedTask task = compared(a, b);
  EXPECT_LT(task.ratio, 0.8);
  EXPECT_GE(task.p, kAlpha);
  EXPECT_EQ(task.verdict, Verdict::kUnclear);
  EXPECT_EQ(task.doubt, Doubt::kChance);
}

// 240 ns were read in both; the one has 20 of them subtracted, the other 60.
TEST(Comparison, ADifferenceOfTheClockIsNone) {
  const std::vector<Keys> a = row(20, 220, {{"subtracted_clock_ns", "20"}});
  const std::vector<Keys> b = row(20, 180, {{"subtracted_clock_ns", "60"}});
  const ComparedTask task = compared(a, b);
  EXPECT_GT(task.ratio, 1.2);
  EXPECT_NEAR(task.ratio_one_clock, 1, 0.01);
  EXPECT_LT(task.p, kAlpha);
  EXPECT_EQ(task.verdict, Verdict::kUnclear);
  EXPECT_EQ(task.doubt, Doubt::kClock);
  // A clock that is slow to read is no difference either, once it is subtracted.
  EXPECT_EQ(verdict(a, row(20, 220, {{"subtracted_clock_ns", "300"}})), Verdict::kSame);
}

// Of one machine: all rows are slower by a quarter, one by a half more.
TEST(Comparison, WhatTheMachineDidIsNotTheRows) {
  std::vector<Keys> a, b;
  for (const char *row : {"memset", "one", "two", "three", "four", "five"}) {
    const std::string name = std::string(row) + "/4KiB/cold/2m";
    add_row(a, name, 12, 1000);
    add_row(b, name, 12, name.starts_with("two/") ? 2000 : 1250);
  }
  const Keys library = {{"hpzero_library", "\"0123456789abcdef\""}};
  const ResultsFile file_a = file(a, library), file_b = file(b, library);
  const Comparison comparison = compare_results(file_a, file_b, {kEffect, false});
  ASSERT_THAT(comparison.levels, SizeIs(1));
  EXPECT_NEAR(comparison.levels.begin()->second.ratio, 0.8, 1e-9);
  EXPECT_EQ(comparison.levels.begin()->second.rows, 6u);
  EXPECT_EQ(comparison.count(Doubt::kLevel), 5u);
  EXPECT_EQ(comparison.count(Verdict::kUnclear), 5u);
  EXPECT_EQ(comparison.tasks[2].verdict, Verdict::kSlower);
  EXPECT_NEAR(comparison.tasks[2].ratio, 0.5, 1e-9);
  EXPECT_EQ(compare_results(file_a, file_b, {kEffect, true}).count(Verdict::kSlower), 6u);
  // Another machine is what is compared.
  const ResultsFile other = file(b, test::changed(library, {{"linux", "\"5.10\""}}));
  EXPECT_EQ(compare_results(file_a, other, {kEffect, false}).count(Verdict::kSlower), 6u);
  // Of another library memset alone is the measure of the machine.
  std::vector<Keys> faster;
  for (const char *row : {"memset", "one", "two", "three", "four", "five"}) {
    add_row(faster, std::string(row) + "/4KiB/cold/2m", 12, row[0] == 'm' ? 1250 : 500);
  }
  const ResultsFile newer = file(faster, {{"hpzero_library", "\"1123456789abcdef\""}});
  const Comparison improved = compare_results(file_a, newer, {kEffect, false});
  EXPECT_EQ(improved.count(Verdict::kFaster), 5u);
  EXPECT_EQ(improved.tasks[0].doubt, Doubt::kLevel);
}

// Below what the machine would have it, and yet no slower than before.
TEST(Comparison, TheSameIsTheSameWhateverTheMachineDid) {
  std::vector<Keys> a, b;
  add_row(a, "memset/4KiB/cold/2m", 12, 1000);
  add_row(a, "one/4KiB/cold/2m", 12, 1000);
  add_row(b, "memset/4KiB/cold/2m", 12, 500);
  add_row(b, "one/4KiB/cold/2m", 12, 1000);
  const ResultsFile file_a = file(a), file_b = file(b);
  const Comparison comparison = compare_results(file_a, file_b, {kEffect, false});
  EXPECT_EQ(comparison.tasks[0].verdict, Verdict::kUnclear);
  EXPECT_EQ(comparison.tasks[1].verdict, Verdict::kSame);
}

// 24 samples that are four visits of six, each visit's alike: four figures, not 24.
TEST(Comparison, SamplesOfOneVisitAreFewerThanTheySeem) {
  const auto visits = [](const std::vector<double> &middles) {
    std::vector<Keys> entries;
    int round = 0;
    for (size_t visit = 0; visit < middles.size(); ++visit) {
      for (int i = 0; i < 6; ++i, ++round) {
        entries.push_back(test::changed(timed_entry(kName, round, middles[visit] + i),
                                        {{"visit", std::to_string(visit)}}));
      }
    }
    return entries;
  };
  const std::vector<Keys> a = visits({1000, 1100, 1200, 1300});
  const std::vector<Keys> b = visits({1250, 1350, 1150, 1450});
  const ResultsFile file_a = file(a), file_b = file(b);
  const Comparison comparison = compare_results(file_a, file_b, {kEffect, true});
  ASSERT_TRUE(comparison.likeness);
  EXPECT_GT(*comparison.likeness, 0.8);
  EXPECT_EQ(comparison.tasks[0].doubt, Doubt::kChance);
  // As if they had nothing to do with each other.
  std::vector<Keys> alone_a = a, alone_b = b;
  for (auto *entries : {&alone_a, &alone_b}) {
    for (Keys &keys : *entries) keys = test::changed(keys, {{"visit", "0"}});
  }
  EXPECT_EQ(verdict(alone_a, alone_b), Verdict::kSlower);
}

TEST(Comparison, SeveralRunsAreOne) {
  std::vector<Keys> more = row(3, 1000);
  add_row(more, "new/4KiB/cold/2m", 2, 1000);
  std::vector<ResultsFile> files;
  files.push_back(file(row(4, 1000)));
  files.push_back(file(more));
  files.push_back(file(row(2, 1000)));
  const ResultsFile joined = joined_results(std::move(files));
  EXPECT_EQ(joined.path, "x.json,x.json,x.json");
  ASSERT_THAT(joined.tasks, SizeIs(2));
  ASSERT_THAT(joined.tasks[0].samples, SizeIs(9));
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(joined.tasks[0].samples[i].round, i);
    EXPECT_EQ(joined.tasks[0].samples[i].visit, i < 4 ? 0u : i < 7 ? 1u : 2u);
  }
  EXPECT_EQ(joined.find("new/4KiB/cold/2m"), &joined.tasks[1]);

  std::vector<ResultsFile> others;
  others.push_back(file(row(1, 1000)));
  others.push_back(file(row(2, 1000), {{"linux", "\"5.10\""}}));
  EXPECT_THROW(joined_results(std::move(others)), Refusal);
}

TEST(Comparison, OneRunTwiceIsNotMoreSamples) {
  for (const int rounds : {3, 2}) {
    std::vector<ResultsFile> files;
    files.push_back(file(row(3, 1000)));
    files.push_back(file(row(4, 1000)));
    files.push_back(file(row(rounds, 1000)));
    if (rounds == 3) {
      EXPECT_THROW(joined_results(std::move(files)), Refusal);
    } else {
      EXPECT_EQ(joined_results(std::move(files)).tasks[0].samples.size(), 9u);
    }
  }
}

TEST(Comparison, CallsAreComparedByTime) {
  const Keys calls = {{"bytes", "0"}};
  const ComparedTask task = compared(row(10, 4000, calls), row(10, 8000, calls));
  EXPECT_NEAR(1 / task.rate_a, 998, 0.01);  // 4 calls in a sample
  EXPECT_NEAR(task.ratio, 0.5, 1e-9);
  EXPECT_EQ(task.verdict, Verdict::kSlower);
}

// One real difference among many lines; without Holm some of the others would be called so, too.
TEST(Comparison, ManyLinesAreOneQuestion) {
  std::vector<Keys> a, b;
  for (int i = 0; i < 200; ++i) {
    const std::string name = "k" + std::to_string(i) + "/4KiB/cold/2m";
    add_row(a, name, 12, 1000);
    // Apart by 6 %, but not in three samples of twelve: p of one line alone is 0.03.
    for (int round = 0; round < 12; ++round) {
      b.push_back(timed_entry(name, round,
                              i == 77     ? 1500 + round
                              : round < 3 ? 981 + round
                                          : 1060));
    }
  }
  const ResultsFile file_a = file(a), file_b = file(b);
  const Comparison comparison = compare_results(file_a, file_b, {kEffect, true});
  EXPECT_EQ(comparison.count(Verdict::kSlower), 1u);
  EXPECT_EQ(comparison.tasks[77].verdict, Verdict::kSlower);
  EXPECT_EQ(comparison.count(Verdict::kUnclear), 199u);
  // Alone it would be believed.
  EXPECT_EQ(verdict({a.begin(), a.begin() + 12}, {b.begin(), b.begin() + 12}), Verdict::kSlower);
}

TEST(Comparison, WhatIsInOneFileAloneIsNotLost) {
  std::vector<Keys> a, b;
  add_row(a, "old/4KiB/cold/2m", 4, 1000);
  add_row(a, kName, 4, 1000);
  add_row(b, kName, 4, 1000);
  add_row(b, "new/4KiB/cold/2m", 4, 1000);
  add_row(b, "memset/4KiB/cold/1g", 4, 1000);
  const ResultsFile file_a = file(a), file_b = file(b);
  const Comparison comparison = compare_results(file_a, file_b, {kEffect, true});
  ASSERT_THAT(comparison.tasks, SizeIs(1));
  EXPECT_EQ(comparison.tasks[0].a->name, kName);
  EXPECT_EQ(comparison.tasks[0].b, &file_b.tasks[0]);
  EXPECT_THAT(comparison.only_a, ElementsAre("old/4KiB/cold/2m"));
  EXPECT_THAT(comparison.only_b, ElementsAre("new/4KiB/cold/2m", "memset/4KiB/cold/1g"));
}

TEST(Comparison, WhatCannotBeCompared) {
  const auto reason = [](const ResultsFile &a, const ResultsFile &b) -> std::string {
    try {
      (void)compare_results(a, b, {kEffect, true});
    } catch (const Refusal &refusal) {
      EXPECT_THAT(refusal.what(), ::testing::MatchesRegex(".+: measure both .+"));
      return refusal.what();
    }
    return "not refused";
  };
  const ResultsFile usual = file(row(4, 1000), {{"clock", "\"one\""}});
  EXPECT_EQ(reason(usual, usual), "not refused");
  EXPECT_THAT(reason(usual, file(row(4, 1000), {{"clock", "\"other\""}})), HasSubstr("'other'"));
  EXPECT_THAT(
      reason(usual, file(row(4, 1000), {{"clock", "\"one\""}, {"hpzero_command", "\"pool\""}})),
      HasSubstr("of 'run' and 'x.json' of 'pool'"));
  EXPECT_THAT(reason(usual, file(row(4, 1000, {{"bytes", "0"}}), {{"clock", "\"one\""}})),
              HasSubstr("counts bytes"));
  std::vector<Keys> other;
  add_row(other, "memset/4KiB/hot/2m", 4, 1000);
  EXPECT_THAT(reason(usual, file(other, {{"clock", "\"one\""}})), HasSubstr("in common"));
}

TEST(Comparison, DifferencesOfMachineAndLibrary) {
  const ResultsFile a =
      file(row(1, 1000), {{"linux", "\"6.1\""}, {"memory_2m", "\"4GiB\""}, {"date", "\"x\""}});
  const ResultsFile b = file(row(1, 1000), {{"linux", "\"6.18\""}, {"memory_1g", "\"1GiB\""}});
  EXPECT_THAT(differences(a, a), IsEmpty());
  std::vector<std::string> lines;
  for (const Difference &d : differences(a, b)) lines.push_back(d.key + ": " + d.a + ", " + d.b);
  EXPECT_THAT(lines,
              ElementsAre("linux: 6.1, 6.18", "memory_2m: 4GiB, none", "memory_1g: none, 1GiB"));
}

TEST(Comparison, WarningsOfHowItWasMeasured) {
  const auto warnings = [](const Keys &a, const Keys &b) {
    std::vector<std::string> lines =
        comparison_warnings(file(row(1, 1000), a), file(row(1, 1000), b));
    for (const std::string &line : lines) EXPECT_THAT(line, HasSubstr(": "));
    return lines;
  };
  EXPECT_THAT(warnings({{"clock_cost_ns", "\"20\""}}, {{"clock_cost_ns", "\"24\""}}), IsEmpty());
  EXPECT_THAT(warnings({{"clock_cost_ns", "\"20\""}}, {}), IsEmpty());
  EXPECT_THAT(warnings({{"clock_cost_ns", "\"20\""}}, {{"clock_cost_ns", "\"300\""}}),
              ElementsAre(HasSubstr("20 ns in A and 300 in B")));
  EXPECT_THAT(warnings({{"pinned_to_cpu", "\"0\""}}, {{"pinned_to_cpu", "\"1\""}}), IsEmpty());
  EXPECT_THAT(warnings({{"pinned_to_cpu", "\"0\""}}, {{"pinned_to_cpu", "\"none\""}}),
              ElementsAre(HasSubstr("pinned")));
  EXPECT_THAT(warnings({{"memory_2m", "\"4GiB\""}}, {{"memory_2m", "\"64MiB\""}}),
              ElementsAre(HasSubstr("--set")));
  const Keys free = {{"memory_2m", "\"4GiB on 2 MiB pages (hugetlb), all of them free already\""}};
  const auto reserved = [](const std::string &where) {
    return Keys{{"memory_2m", "\"" + where + ", 12 of them reserved for this run\""}};
  };
  EXPECT_THAT(warnings(free, reserved("4GiB on 2 MiB pages (hugetlb)")), IsEmpty());
  EXPECT_THAT(warnings(free, reserved("2GiB on 2 MiB pages (hugetlb)")),
              ElementsAre(HasSubstr("--set")));
  EXPECT_THAT(warnings({{"memory_4k", "\"memfd, 97 % mapped huge\""}},
                       {{"memory_4k", "\"memfd, 0 % mapped huge\""}}),
              ElementsAre(HasSubstr("--set")));
  EXPECT_THAT(warnings({{"hpzero_build", "\"Debug, GNU 12\""}},
                       {{"hpzero_build", "\"RelWithDebInfo, GNU 12, SANITIZE address\""}}),
              ElementsAre(HasSubstr("Debug"), HasSubstr("SANITIZE")));
}

}  // namespace
}  // namespace hpz::bench
