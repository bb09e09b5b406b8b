// SPDX-License-Identifier: BSD-2-Clause
//
// Rank sums, Holm, Tarone: against R 4.2.2 (wilcox.test, p.adjust) and scipy 1.10.1 (mannwhitneyu,
// permutation_test over all permutations), against all arrangements, and by what must be so.
#include "bench/significance.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/support/settings.h"

namespace hpz::bench {
namespace {

using ::testing::ElementsAre;

using Figures = std::vector<double>;

Figures steps(int count, double step, double from) {
  Figures figures;
  for (int i = 1; i <= count; ++i) figures.push_back(i * step + from);
  return figures;
}

struct Known {
  Figures a, b;
  double u, p;
  bool is_exact;
  const char *source;
};

// Drawn in R by set.seed(1), round(rnorm(60, 100, 5)) and round(rnorm(55, 103, 5)).
const Figures kDrawnA = {97,  101, 96,  108, 102, 96,  102, 104, 103, 98,  108, 102, 97,  89,  106,
                         100, 100, 105, 104, 103, 105, 104, 100, 90,  103, 100, 99,  93,  98,  102,
                         107, 99,  102, 100, 93,  98,  98,  100, 106, 104, 99,  99,  103, 103, 97,
                         96,  102, 104, 99,  104, 102, 97,  102, 94,  107, 110, 98,  95,  103, 99};
const Figures kDrawnB = {115, 103, 106, 103, 99,  104, 94,  110, 104, 114, 105, 99,  106, 98,
                         97,  104, 101, 103, 103, 100, 100, 102, 109, 95,  106, 105, 108, 101,
                         105, 104, 100, 109, 109, 107, 111, 106, 97,  100, 97,  101, 100, 103,
                         98,  104, 100, 112, 107, 108, 105, 111, 100, 101, 110, 100, 102};

const Known kKnown[] = {
    {{1, 2, 3}, {4, 5, 6}, 0, 0.1, true, "R, scipy exact"},
    {steps(9, 1, 0), steps(9, 1, 9), 0, 4.11353352529823e-05, true, "R, scipy exact"},
    // Hollander and Wolfe (1973), the example of R's own page of wilcox.test.
    {{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46},
     {1.15, 0.88, 0.90, 0.74, 1.21},
     35,
     0.254412254412254,
     true,
     "R exact"},
    {{1, 3, 5, 7, 9, 11, 13, 15, 17, 19},
     {2, 4, 6, 8, 10, 12, 14, 16, 18, 20},
     45,
     0.739364350819459,
     true,
     "R exact"},
    {{10, 11, 12, 13, 14, 15, 16},
     {12.5, 13.5, 14.5, 15.5, 16.5, 17.5, 18.5, 19.5},
     10,
     0.0400932400932401,
     true,
     "R exact"},
    {steps(25, 2, 0), steps(25, 2, 7), 231, 0.116638811264326, true, "R, scipy exact"},
    // Ties.
    {{1, 2, 2, 3, 3, 3, 4}, {2, 3, 4, 4, 5, 5, 6, 6}, 8.5, 0.02672882672882673, true, "scipy"},
    {{1, 2, 2, 3}, {3, 4, 4, 4, 5}, 0.5, 0.031746031746031744, true, "scipy"},
    {{1, 1, 1}, {1, 1, 2, 2}, 3, 0.5714285714285714, true, "scipy"},
    {{7, 7, 8, 9}, {1, 2, 7, 8, 8}, 14, 0.4444444444444444, true, "scipy"},
    // Too many to count.
    {kDrawnA, kDrawnB, 1078, 0.00133408425062478, false, "R, normal, ties"},
    {steps(60, 2, 0), steps(60, 2, 7.5), 1596, 0.285476308851882, false, "R, normal"},
};

TEST(Significance, MannWhitneyIsThatOfOthers) {
  for (const Known &known : kKnown) {
    const RankTest test = mann_whitney(known.a, known.b);
    EXPECT_DOUBLE_EQ(test.u, known.u) << known.source;
    EXPECT_NEAR(test.p, known.p, known.p * 1e-9) << known.source << known.u;
    EXPECT_EQ(test.is_exact, known.is_exact) << known.source;
    // The other way round it is the same question.
    const RankTest turned = mann_whitney(known.b, known.a);
    EXPECT_NEAR(turned.p, known.p, known.p * 1e-9);
    EXPECT_DOUBLE_EQ(test.u + turned.u,
                     static_cast<double>(known.a.size()) * static_cast<double>(known.b.size()));
  }
}

TEST(Significance, NothingIsKnownOfNothing) {
  EXPECT_EQ(mann_whitney({}, {}).p, 1);
  EXPECT_EQ(mann_whitney({1, 2, 3}, {}).p, 1);
  EXPECT_EQ(mann_whitney({5, 5, 5, 5}, {5, 5, 5, 5}).p, 1);
  EXPECT_EQ(mann_whitney(Figures(100, 5), Figures(100, 5)).p, 1);
  EXPECT_EQ(mann_whitney({1}, {2}).p, 1);
}

// The definition: of all ways to deal the pooled figures, those that are as extreme.
double p_by_all_arrangements(const Figures &a, const Figures &b) {
  Figures pooled = a;
  pooled.insert(pooled.end(), b.begin(), b.end());
  const auto u_of = [&](const std::vector<bool> &is_a) {
    double u = 0;
    for (size_t i = 0; i < pooled.size(); ++i) {
      for (size_t j = 0; j < pooled.size(); ++j) {
        if (!is_a[i] || is_a[j]) continue;
        u += pooled[i] > pooled[j] ? 1 : pooled[i] == pooled[j] ? 0.5 : 0;
      }
    }
    return u;
  };
  std::vector<bool> is_a(pooled.size());
  std::fill_n(is_a.begin(), a.size(), true);
  const double seen = u_of(is_a);
  double below = 0, above = 0, all = 0;
  std::sort(is_a.begin(), is_a.end());
  do {
    const double u = u_of(is_a);
    ++all;
    below += u <= seen ? 1 : 0;
    above += u >= seen ? 1 : 0;
  } while (std::next_permutation(is_a.begin(), is_a.end()));
  return std::min(1.0, 2 * std::min(below, above) / all);
}

TEST(Significance, MannWhitneyIsItsDefinition) {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    const auto draw = [&](size_t count) {
      Figures figures;
      // Few different ones: ties.
      for (size_t k = 0; k < count; ++k) figures.push_back(static_cast<double>(random() % 7));
      return figures;
    };
    const Figures a = draw(1 + random() % 6), b = draw(1 + random() % 6);
    EXPECT_NEAR(mann_whitney(a, b).p, p_by_all_arrangements(a, b), 1e-12);
  }
}

TEST(Significance, CountedAndNormalMeet) {
  // As many as can be counted, and one pair more, at the same distance from each other.
  for (const double apart : {0.5, 4.5, 10.5}) {
    const RankTest counted = mann_whitney(steps(28, 1, 0), steps(28, 1, apart));
    const RankTest normal = mann_whitney(steps(29, 1, 0), steps(29, 1, apart));
    ASSERT_TRUE(counted.is_exact);
    ASSERT_FALSE(normal.is_exact);
    EXPECT_NEAR(normal.p, counted.p, 0.3 * counted.p + 0.01) << apart;
  }
}

TEST(Significance, LeastIsThatOfNothingInCommon) {
  EXPECT_DOUBLE_EQ(least_p(0, 9), 1);
  EXPECT_DOUBLE_EQ(least_p(1, 1), 1);
  EXPECT_DOUBLE_EQ(least_p(3, 3), 0.1);
  for (const auto &[a, b] :
       {std::pair<int, int>{1, 40}, {2, 200}, {5, 9}, {27, 27}, {60, 55}, {3, 5000}, {200, 200}}) {
    EXPECT_NEAR(least_p(static_cast<size_t>(a), static_cast<size_t>(b)),
                mann_whitney(steps(a, 1, 0), steps(b, 1, 10'000)).p, 1e-15)
        << a << " " << b;
  }
}

TEST(Significance, HolmIsThatOfR) {
  const auto near = [](double value) { return ::testing::DoubleNear(value, 1e-12); };
  EXPECT_THAT(holm({0.01, 0.02, 0.03, 0.04, 0.05}),
              ElementsAre(near(0.05), near(0.08), near(0.09), near(0.09), near(0.09)));
  EXPECT_THAT(holm({0.0001, 0.9, 0.012, 0.012, 0.5, 0.0499, 0.03}),
              ElementsAre(near(0.0007), near(1), near(0.072), near(0.072), near(1), near(0.1497),
                          near(0.12)));
  EXPECT_THAT(holm({0.04}), ElementsAre(near(0.04)));
  EXPECT_THAT(holm({1, 1, 0.2}), ElementsAre(near(1), near(1), near(0.6)));
  EXPECT_THAT(holm({0.001, 0.0011, 0.0012, 0.0013}),
              ElementsAre(near(0.004), near(0.004), near(0.004), near(0.004)));
  EXPECT_THAT(holm({}), ElementsAre());
}

TEST(Significance, WhatCannotBeAnsweredIsNotAsked) {
  const auto counted = [](const std::vector<bool> &asked) {
    return std::count(asked.begin(), asked.end(), true);
  };
  EXPECT_THAT(answerable({}, 0.05), ElementsAre());
  EXPECT_THAT(answerable({0.1, 0.04, 1}, 0.05), ElementsAre(false, true, false));
  // 2 / C(18, 9) is enough for 500 questions, 2 / C(16, 8) is not.
  EXPECT_EQ(counted(answerable(Figures(500, least_p(9, 9)), 0.05)), 500);
  EXPECT_EQ(counted(answerable(Figures(500, least_p(8, 8)), 0.05)), 0);
  // Those with too few do not make it harder for the others.
  Figures mixed(500, least_p(3, 3));
  mixed.insert(mixed.end(), 20, least_p(7, 7));
  EXPECT_EQ(counted(answerable(mixed, 0.05)), 20);
  EXPECT_EQ(figures_needed(1, 0.05), 4u);
  EXPECT_EQ(figures_needed(20, 0.05), 6u);
  EXPECT_EQ(figures_needed(500, 0.05), 9u);
}

// By R: ranks of all, aov(rank ~ set + set:group), (MSB - MSW) / (MSB + (n0 - 1) * MSW).
TEST(Significance, StrataOfOneAreItsRankTest) {
  const Figures a = steps(7, 3, 0), b = steps(9, 2, 5);
  EXPECT_NEAR(stratified_test({{a, b}}).p, mann_whitney(a, b).p, 1e-9);
  EXPECT_NEAR(stratified_test({{a, b}, {{}, b}, {a, {}}}).p, mann_whitney(a, b).p, 1e-9);
  EXPECT_EQ(stratified_test({}).p, 1);
  EXPECT_EQ(least_stratified_p({{a, {}}}), 1);
  EXPECT_NEAR(least_stratified_p({{a, b}}), least_p(a.size(), b.size()), 1e-9);
}

TEST(Significance, StrataThatAgreeAddUpAndOthersCancel) {
  const Figures low = steps(4, 1, 0), high = steps(4, 1, 10);
  // scipy.stats.combine_pvalues([1 / 70] * 4, 'stouffer'), of one-sided p, twice.
  EXPECT_NEAR(stratified_test({{low, high}, {low, high}, {low, high}, {low, high}}).p,
              1.193896134132391e-05, 1e-9);
  EXPECT_NEAR(least_stratified_p({{low, high}, {high, low}, {low, high}, {low, high}}),
              1.193896134132391e-05, 1e-9);
  EXPECT_NEAR(stratified_test({{low, high}, {high, low}}).p, 1, 1e-9);
  EXPECT_GT(stratified_test({{low, high}, {low, high}, {high, low}}).p, mann_whitney(low, high).p);
  EXPECT_FALSE(stratified_test({{low, high}, {low, high}, {high, low}}).is_a_larger);
  EXPECT_TRUE(stratified_test({{high, low}, {high, low}, {low, high}}).is_a_larger);
  // What differs between strata is no difference: every a is above every b of the other one.
  EXPECT_NEAR(stratified_test({{low, low}, {high, high}}).p, 1, 1e-9);
}

TEST(Significance, BelievedIsWhatHolmLeavesOfWhatIsAnswerable) {
  EXPECT_THAT(believed({0.02, 0.03, 0.2}, {0.001, 0.001, 0.001}, 0.05),
              ElementsAre(false, false, false));
  EXPECT_THAT(believed({0.01, 0.02, 0.2}, {0.001, 0.001, 0.001}, 0.05),
              ElementsAre(true, true, false));
  // One that cannot be answered costs the others nothing, and is not believed.
  EXPECT_THAT(believed({0.02, 0.04, 0.1}, {0.001, 0.001, 0.1}, 0.05),
              ElementsAre(true, true, false));
  EXPECT_THAT(believed({}, {}, 0.05), ElementsAre());
}

TEST(Significance, LikenessIsThatOfAnalysisOfVariance) {
  const std::vector<Figures> a = {{1, 2, 3}, {7, 8, 9.5}}, b = {{4, 5, 6.5}, {10, 11, 13, 12}};
  ASSERT_TRUE(likeness(a, b));
  EXPECT_NEAR(*likeness(a, b), 0.940404526848062, 1e-9);
  const std::vector<Figures> c = {{1, 6, 3, 8}, {2, 7, 4}}, d = {{5, 1.5, 9}, {2.5, 8.5, 4.5, 6}};
  EXPECT_EQ(likeness(c, d), 0);
  // Groups that have nothing in common are one figure each.
  EXPECT_NEAR(*likeness({{1, 1, 1}, {2, 2, 2}}, {{3, 3}, {9, 9}}), 1, 1e-12);
  EXPECT_EQ(likeness({{1, 2, 3}}, {{4, 5, 6}}), std::nullopt);
  EXPECT_EQ(likeness({{1}, {2}, {3}}, {{4}, {5}, {6}}), std::nullopt);
  EXPECT_EQ(likeness({}, {}), std::nullopt);
  EXPECT_EQ(likeness({{5, 5}, {5, 5}}, {{5, 5}, {5, 5}}), 0);
}

TEST(Significance, DesignEffectIsThatOfKish) {
  EXPECT_DOUBLE_EQ(design_effect(0.5, {{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}}), 2);
  EXPECT_DOUBLE_EQ(design_effect(1, {{1}, {2}, {3}}, {{4}}), 1);
  EXPECT_DOUBLE_EQ(design_effect(1, {{1, 2, 3, 4}}, {{5, 6, 7, 8}}), 4);
  EXPECT_DOUBLE_EQ(design_effect(0, {{1, 2, 3, 4}}, {{5, 6, 7, 8}}), 1);
  EXPECT_DOUBLE_EQ(design_effect(1, {}, {}), 1);
}

TEST(Significance, WiderIsLessSure) {
  EXPECT_NEAR(widened_p(0.0026997960632601965, 9), 0.31731050786291415,
              1e-9);  // 3 and 1 deviations
  EXPECT_NEAR(widened_p(2 * 9.865876450376946e-10, 4), 2 * 0.0013498980316300933, 1e-9);  // 6 and 3
  EXPECT_EQ(widened_p(0.01, 1), 0.01);
  EXPECT_EQ(widened_p(1, 4), 1);
  EXPECT_EQ(widened_p(0.01, 0.5), 0.01);
  EXPECT_GT(widened_p(0, 4), 0);
  EXPECT_LT(widened_p(1e-300, 4), 1e-70);
}

// What all of it is for: of 20 pairs of sets from one place, each of 300 questions, hardly any pair
// has an answer; and what does differ is found.
TEST(Significance, TheSameIsFoundToBeTheSame) {
  std::mt19937 random(11);
  const auto draw = [&](double middle) {
    Figures figures;
    for (int i = 0; i < 18; ++i) {
      // Skewed, with slow ones now and then, as rates are.
      const double part = static_cast<double>(random() % 1000) / 1000;
      figures.push_back(middle * (1 - 0.1 * part * part) * (random() % 20 == 0 ? 0.5 : 1));
    }
    return figures;
  };
  int pairs_with_answers = 0;
  const int pairs = hpz::test::quick() ? 5 : 20;
  for (int pair = 0; pair < pairs; ++pair) {
    Figures p;
    // One after the other: compilers differ in which argument they draw first.
    const auto p_of = [&](double middle, double other) {
      const Figures first = draw(middle);
      return mann_whitney(first, draw(other)).p;
    };
    for (int i = 0; i < 150; ++i) p.push_back(p_of(10, 10));
    const Figures adjusted = holm(p);
    pairs_with_answers += *std::min_element(adjusted.begin(), adjusted.end()) < 0.05 ? 1 : 0;
    p.push_back(p_of(10, 30));  // also a slow one is faster than all of the others
    EXPECT_LT(holm(p).back(), 0.05);
  }
  EXPECT_LE(pairs_with_answers, 4);  // of 20, each with 0.05: more with 0.0026
}

}  // namespace
}  // namespace hpz::bench
