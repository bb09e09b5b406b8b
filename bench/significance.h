// SPDX-License-Identifier: BSD-2-Clause
//
// Whether two sets of figures differ by more than chance, and how far to trust that when many such
// questions are asked at once. Pure; knows nothing of what the figures are.
#ifndef HPZERO_BENCH_SIGNIFICANCE_H
#define HPZERO_BENCH_SIGNIFICANCE_H

#include <cstddef>
#include <optional>
#include <vector>

namespace hpz::bench {

// The rank sum test of Mann and Whitney (1947), two-sided: no shape of the distributions is taken
// for granted, and one slow sample is one rank. 1 if either has none, or all are equal.
struct RankTest {
  double u = 0;  // pairs in which a's is the larger one, equal ones half
  double p = 1;
  bool is_exact = false;  // all arrangements counted, ties and all; else the normal distribution,
                          // its variance corrected for ties, its steps by a half
};
RankTest mann_whitney(const std::vector<double> &a, const std::vector<double> &b);

// The same question asked under several circumstances, in each of which the two sets are ranked by
// themselves: what the circumstances do to both of them is no difference. Their signed distances
// are put together (Stouffer 1949), those that contradict each other against each other. A set that
// is empty leaves its circumstances out; 1 if nothing is left.
struct Stratum {
  std::vector<double> a, b;
};
struct StratifiedTest {
  double p = 1;
  bool is_a_larger = false;
};
StratifiedTest stratified_test(const std::vector<Stratum> &strata);
// The p of as many figures that have nothing in common, and agree.
double least_stratified_p(const std::vector<Stratum> &strata);

// Figures that were taken at one time are like each other: a machine that is slow for a second is
// so for all of them, and they are fewer than they seem. groups: of a and of b, those of one time.
//
// Which part of the variance of the ranks lies between groups of the same set, by analysis of
// variance (the intraclass correlation); from 0 to 1, nothing if there are not enough of them.
std::optional<double> likeness(const std::vector<std::vector<double>> &groups_a,
                               const std::vector<std::vector<double>> &groups_b);

// By how much that raises the variance of their sum (Kish 1965, the design effect).
double design_effect(double likeness, const std::vector<std::vector<double>> &groups_a,
                     const std::vector<std::vector<double>> &groups_b);

// What becomes of a two-sided p if the variance was underestimated by that factor.
double widened_p(double p, double variance_factor);

// The p of two sets of so many figures that have nothing in common: there is no smaller one.
double least_p(size_t a, size_t b);

// Holm (1979): each p times the number of questions that are still open when its turn comes, the
// smallest first; at most 1. Whoever believes all answers below alpha is wrong in any of them with
// a probability of at most alpha. In the order of the argument.
std::vector<double> holm(const std::vector<double> &p);

// Tarone (1990): a question that could not be answered at alpha even by figures that have nothing
// in common need not be asked, nor paid for by the others. True: to be asked.
std::vector<bool> answerable(const std::vector<double> &least, double alpha);

// Which of many answers are to be believed at alpha: Holm's, of those that are answerable. In the
// order of the arguments.
std::vector<bool> believed(const std::vector<double> &p, const std::vector<double> &least,
                           double alpha);

// How many figures on either side make one of that many questions answerable.
size_t figures_needed(size_t questions, double alpha);

}  // namespace hpz::bench

#endif
