// SPDX-License-Identifier: BSD-2-Clause
#include "bench/visits.h"

#include <algorithm>

namespace hpz::bench {

Visits::Visits(JobTime &time, std::vector<double> weights, int exact_rounds)
    : time_(time), exact_rounds_(exact_rounds) {
  for (const double weight : weights) {
    cells_.emplace_back();
    cells_.back().weight = weight / kVisits;
  }
}

std::optional<Patience> Visits::begin(size_t cell, int visit, uint64_t now_ns) {
  State &state = cells_[cell];
  Patience patience = time_.next(state.weight);
  patience.min_rounds = part_of_visit(patience.min_rounds, visit);
  patience.max_rounds = part_of_visit(patience.max_rounds, visit);
  if (exact_rounds_ > 0) {
    if (patience.max_rounds > 0) return patience;
    spend(cell, 0);
    return std::nullopt;
  }
  patience.min_rounds = std::max(patience.min_rounds, 1);
  if (!state.was_visited) {
    state.share_s = static_cast<double>(patience.deadline_ns - now_ns) / 1e9;
  } else if (state.used_s + state.longest_s > kMostOverdraft * kVisits * state.share_s) {
    spend(cell, 0);
    return std::nullopt;
  }
  return patience;
}

void Visits::end(size_t cell, size_t rounds, double seconds) {
  State &state = cells_[cell];
  state.was_visited = true;
  state.used_s += seconds;
  if (rounds > 0) {
    state.longest_s = std::max(state.longest_s, seconds / static_cast<double>(rounds));
  }
  spend(cell, seconds);
}

void Visits::give_up(size_t cell) {
  spend(cell, 0);
}

void Visits::spend(size_t cell, double seconds) {
  time_.spent(cells_[cell].weight, seconds);
}

}  // namespace hpz::bench
