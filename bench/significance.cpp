// SPDX-License-Identifier: BSD-2-Clause
#include "bench/significance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

namespace hpz::bench {
namespace {

// Doubles count arrangements one by one as far as this: C(56, 28), or C(100, 13).
constexpr double kMostArrangements = 9'007'199'254'740'992.0;  // 2^53
// Additions for one exact p: a few milliseconds. What has more has so many figures on one side that
// the normal distribution is no worse.
constexpr double kMostAdditions = 1e7;

double choose(size_t n, size_t k) {
  double result = 1;
  for (size_t i = 1; i <= std::min(k, n - k); ++i) {
    result = result * static_cast<double>(n - std::min(k, n - k) + i) / static_cast<double>(i);
  }
  return std::round(result);
}

bool is_countable(size_t a, size_t b) {
  const double all = static_cast<double>(a + b), few = static_cast<double>(std::min(a, b));
  return choose(a + b, a) <= kMostArrangements && 2 * all * all * few * few <= kMostAdditions;
}

double two_sided(double below, double above) {
  return std::min(1.0, 2 * std::min(below, above));
}

double normal_p(double u, double a, double b, double ties) {
  const double all = a + b;
  const double variance = a * b / 12 * (all + 1 - ties / (all * (all - 1)));
  const double distance = std::abs(u - a * b / 2) - 0.5;
  return distance <= 0 || variance <= 0 ? 1 : std::erfc(distance / std::sqrt(2 * variance));
}

// Counts the choices of `few` of the ranks by their sum: whichever of them is as likely as another
// if both sets come from the same place. Ranks are doubled, for those of ties lie between two.
double exact_p(const std::vector<uint32_t> &doubled_ranks, size_t few, uint64_t sum) {
  std::vector<uint32_t> largest = doubled_ranks;
  std::sort(largest.rbegin(), largest.rend());
  const uint64_t most =
      std::accumulate(largest.begin(), largest.begin() + static_cast<ptrdiff_t>(few), uint64_t{0});
  const size_t width = most + 1;
  std::vector<double> choices((few + 1) * width);  // [how many chosen][sum]
  choices[0] = 1;
  size_t seen = 0;
  for (const uint32_t rank : doubled_ranks) {
    ++seen;
    for (size_t chosen = std::min(few, seen); chosen > 0; --chosen) {
      const double *const from = &choices[(chosen - 1) * width];
      double *const to = &choices[chosen * width];
      for (size_t at = most; at >= rank; --at) to[at] += from[at - rank];
    }
  }
  const double *const all = &choices[few * width];
  const double total = std::accumulate(all, all + width, 0.0);
  const double below = std::accumulate(all, all + sum + 1, 0.0);
  return two_sided(below / total, (total - below + all[sum]) / total);
}

// The distance from the middle, in standard deviations by the root of 2, that has this two-sided p.
double distance_of(double p) {
  double near = 0, far = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (near + far) / 2;
    (std::erfc(middle) > p ? near : far) = middle;
  }
  return near;
}

StratifiedTest together(const std::vector<double> &distances) {
  if (distances.empty()) return {};
  const double sum = std::accumulate(distances.begin(), distances.end(), 0.0);
  return {std::erfc(std::abs(sum) / std::sqrt(static_cast<double>(distances.size()))), sum > 0};
}

}  // namespace

RankTest mann_whitney(const std::vector<double> &a, const std::vector<double> &b) {
  RankTest result;
  if (a.empty() || b.empty()) return result;
  std::vector<std::pair<double, bool>> pooled;  // figure, is it one of a's
  for (const double value : a) pooled.emplace_back(value, true);
  for (const double value : b) pooled.emplace_back(value, false);
  std::sort(pooled.begin(), pooled.end());

  std::vector<uint32_t> doubled_ranks;
  uint64_t sum_a = 0, sum_b = 0;
  double ties = 0;  // sum of t^3 - t over groups of t equal ones
  for (size_t begin = 0; begin < pooled.size();) {
    size_t end = begin;
    while (end < pooled.size() && pooled[end].first == pooled[begin].first) ++end;
    const auto doubled = static_cast<uint32_t>(begin + 1 + end);
    for (size_t i = begin; i < end; ++i) {
      doubled_ranks.push_back(doubled);
      (pooled[i].second ? sum_a : sum_b) += doubled;
    }
    const auto count = static_cast<double>(end - begin);
    ties += count * count * count - count;
    begin = end;
  }
  const auto size_a = static_cast<double>(a.size()), size_b = static_cast<double>(b.size());
  result.u = static_cast<double>(sum_a) / 2 - size_a * (size_a + 1) / 2;
  result.is_exact = is_countable(a.size(), b.size());
  if (result.is_exact) {
    result.p = a.size() < b.size() ? exact_p(doubled_ranks, a.size(), sum_a)
                                   : exact_p(doubled_ranks, b.size(), sum_b);
  } else {
    result.p = normal_p(result.u, size_a, size_b, ties);
  }
  return result;
}

StratifiedTest stratified_test(const std::vector<Stratum> &strata) {
  std::vector<double> distances;
  for (const auto &[a, b] : strata) {
    if (a.empty() || b.empty()) continue;
    const RankTest test = mann_whitney(a, b);
    const double middle = static_cast<double>(a.size()) * static_cast<double>(b.size()) / 2;
    distances.push_back(distance_of(test.p) * (test.u < middle ? -1 : 1));
  }
  return together(distances);
}

double least_stratified_p(const std::vector<Stratum> &strata) {
  std::vector<double> distances;
  for (const auto &[a, b] : strata) {
    if (a.empty() || b.empty()) continue;
    distances.push_back(distance_of(least_p(a.size(), b.size())));
  }
  return together(distances).p;
}

std::optional<double> likeness(const std::vector<std::vector<double>> &groups_a,
                               const std::vector<std::vector<double>> &groups_b) {
  std::vector<double> pooled;
  for (const auto *groups : {&groups_a, &groups_b}) {
    for (const auto &group : *groups) pooled.insert(pooled.end(), group.begin(), group.end());
  }
  std::sort(pooled.begin(), pooled.end());
  // Twice the mean rank: the scale does not matter.
  const auto rank = [&](double value) {
    const auto [begin, end] = std::equal_range(pooled.begin(), pooled.end(), value);
    return static_cast<double>((begin - pooled.begin()) + (end - pooled.begin()));
  };
  double between = 0, within = 0, group_count = 0, sets = 0, all = 0, squares_by_set = 0;
  for (const auto *groups : {&groups_a, &groups_b}) {
    double sum = 0, count = 0, squares = 0, of_means = 0;
    for (const auto &group : *groups) {
      if (group.empty()) continue;
      const auto size = static_cast<double>(group.size());
      double group_sum = 0;
      for (const double value : group) group_sum += rank(value);
      for (const double value : group) within += std::pow(rank(value) - group_sum / size, 2);
      of_means += group_sum * group_sum / size;
      sum += group_sum;
      count += size;
      squares += size * size;
      ++group_count;
    }
    if (count == 0) continue;
    between += of_means - sum * sum / count;
    squares_by_set += squares / count;
    all += count;
    ++sets;
  }
  if (group_count <= sets || all <= group_count) return std::nullopt;
  between /= group_count - sets;
  within /= all - group_count;
  if (between <= within) return 0;
  const double size = (all - squares_by_set) / (group_count - sets);  // of a group, on average
  return (between - within) / (between + (size - 1) * within);
}

double design_effect(double likeness, const std::vector<std::vector<double>> &groups_a,
                     const std::vector<std::vector<double>> &groups_b) {
  double all = 0, squares = 0;
  for (const auto *groups : {&groups_a, &groups_b}) {
    for (const auto &group : *groups) {
      const auto size = static_cast<double>(group.size());
      all += size;
      squares += size * size;
    }
  }
  return all == 0 ? 1 : 1 + (squares / all - 1) * likeness;
}

double widened_p(double p, double variance_factor) {
  if (variance_factor <= 1 || p >= 1) return p;
  return std::max(p, std::erfc(distance_of(p) / std::sqrt(variance_factor)));
}

double least_p(size_t a, size_t b) {
  if (a == 0 || b == 0) return 1;
  if (is_countable(a, b)) return two_sided(1 / choose(a + b, a), 1);
  return normal_p(0, static_cast<double>(a), static_cast<double>(b), 0);
}

std::vector<double> holm(const std::vector<double> &p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return p[i] < p[j]; });
  std::vector<double> adjusted(p.size());
  double at_least = 0;
  for (size_t turn = 0; turn < order.size(); ++turn) {
    const double times = static_cast<double>(p.size() - turn);
    at_least = std::max(at_least, std::min(1.0, times * p[order[turn]]));
    adjusted[order[turn]] = at_least;
  }
  return adjusted;
}

std::vector<bool> answerable(const std::vector<double> &least, double alpha) {
  std::vector<double> sorted = least;
  std::sort(sorted.begin(), sorted.end());
  // The smallest number of questions that is no smaller than the number of those that could be
  // answered if so many were asked.
  size_t asked = 1;
  const auto can_be = [&](size_t questions) {
    const double limit = alpha / static_cast<double>(questions);
    return static_cast<size_t>(std::upper_bound(sorted.begin(), sorted.end(), limit) -
                               sorted.begin());
  };
  while (can_be(asked) > asked) ++asked;
  std::vector<bool> result;
  result.reserve(least.size());
  for (const double p : least) result.push_back(p <= alpha / static_cast<double>(asked));
  return result;
}

std::vector<bool> believed(const std::vector<double> &p, const std::vector<double> &least,
                           double alpha) {
  const std::vector<bool> asked = answerable(least, alpha);
  std::vector<double> open;
  for (size_t i = 0; i < p.size(); ++i) {
    if (asked[i]) open.push_back(p[i]);
  }
  open = holm(open);
  std::vector<bool> result(p.size());
  size_t next = 0;
  for (size_t i = 0; i < p.size(); ++i) result[i] = asked[i] && open[next++] <= alpha;
  return result;
}

size_t figures_needed(size_t questions, double alpha) {
  size_t figures = 1;
  while (least_p(figures, figures) * static_cast<double>(questions) > alpha) ++figures;
  return figures;
}

}  // namespace hpz::bench
