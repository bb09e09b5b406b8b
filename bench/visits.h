// SPDX-License-Identifier: BSD-2-Clause
//
// When a run comes to each of its cells. Not once and for good: what disturbs a machine for a
// second would be in all samples of one cell and in none of another's, and look like a difference.
// So all cells are visited several times, a few rounds each time, and how far visits of one cell
// lie apart tells what such things cost (comparison.cpp).
#ifndef HPZERO_BENCH_VISITS_H
#define HPZERO_BENCH_VISITS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bench/jobs.h"
#include "bench/measure.h"

namespace hpz::bench {

// More of them tell more of the machine, and cost more rounds: a visit begins with a new walk.
inline constexpr int kVisits = 4;

// Of so many things, those that are this visit's; all visits together have all.
constexpr int part_of_visit(int things, int visit) {
  return things * (visit + 1) / kVisits - things * visit / kVisits;
}

class Visits {
 public:
  // Of cells of these weights, expected by time. exact_rounds: in all visits; 0: as time permits.
  Visits(JobTime &time, std::vector<double> weights, int exact_rounds);

  // Nothing: this cell is not visited now, because a round of it takes too long, or it has no round
  // left.
  std::optional<Patience> begin(size_t cell, int visit, uint64_t now_ns);
  void end(size_t cell, size_t rounds, double seconds);
  // Not now, and not later.
  void give_up(size_t cell);

 private:
  struct State {
    double weight = 0;
    double share_s = 0;  // of the first visit
    double used_s = 0;
    double longest_s = 0;  // mean round of the slowest visit
    bool was_visited = false;
  };

  void spend(size_t cell, double seconds);

  JobTime &time_;
  std::vector<State> cells_;
  int exact_rounds_;
};

}  // namespace hpz::bench

#endif
