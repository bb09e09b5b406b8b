// SPDX-License-Identifier: BSD-2-Clause
//
// Measures cells (size, memory state, kind of pages): brings rows, memory, clock and rounds
// together. What the figures mean is for others to say.
#ifndef HPZERO_BENCH_MEASURE_H
#define HPZERO_BENCH_MEASURE_H

#include <cstdint>
#include <string>
#include <vector>

#include "bench/memory.h"
#include "bench/plan.h"
#include "bench/rounds.h"
#include "bench/statistics.h"
#include "bench/walk.h"
#include "bench/workloads.h"

namespace hpz::bench {

// When to stop measuring one cell: after max_rounds, or when the next round would end after the
// deadline, but not before min_rounds, unless the last moment has come; and in no case before
// least_rounds.
struct Patience {
  int least_rounds = 0;
  int min_rounds = 1;
  int max_rounds = 1;
  uint64_t deadline_ns = 0;       // of now_ns
  uint64_t last_ns = UINT64_MAX;  // only least_rounds go beyond this
};

struct RowResult {
  std::string id, title;
  RowKind kind;
  std::vector<Sample> samples;  // one per round
};

struct CellResult {
  Cell cell;
  std::vector<RowResult> rows;  // those that suit the cell
  uint64_t slots = 0;           // cold: ranges in the set
};

// One sample of every task per round, as long as patience lasts: by task, then by round.
std::vector<std::vector<Sample>> run_rounds(Rounds &rounds, const std::vector<Task> &tasks,
                                            const Patience &patience);

class Meter {
 public:
  explicit Meter(Rounds &rounds);

  double clock_cost_ns() const { return clock_cost_ns_; }
  const Caches &caches() const { return caches_; }

  // part: where in the arena to begin (walk.h), for visits that are not to be the first over again.
  CellResult measure(const Arena &arena, const Cell &cell, const Rows &rows,
                     const Patience &patience, double part = 0);
  // One sample of one row, the walk being of that cell.
  Sample take(Row &row, const Cell &cell, Walk &walk, const SampleShape &shape) const;

 private:
  Rounds &rounds_;
  double clock_cost_ns_;
  Caches caches_;
};

// Pins the calling thread to the CPU it runs on; the result is that CPU, or -1 where that is
// refused.
int pin_to_one_cpu();

const RowResult *find_row(const CellResult &result, const std::string &id);

// Rates of the rows of the library's table, to compare them by.
struct KernelRate {
  const RowResult *row;
  double gb_per_s;
};
std::vector<KernelRate> kernel_rates(const CellResult &result);

// The fastest of them; nullptr if none was measured.
const RowResult *best_kernel(const CellResult &result);

}  // namespace hpz::bench

#endif
