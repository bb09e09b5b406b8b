// SPDX-License-Identifier: BSD-2-Clause
//
// By-standers of several rows, in rounds: for the experiment of that name and for tune.
#ifndef HPZERO_BENCH_BYSTANDER_ROUNDS_H
#define HPZERO_BENCH_BYSTANDER_ROUNDS_H

#include <cstdint>
#include <vector>

#include "bench/bystanders.h"
#include "bench/jobs.h"
#include "bench/memory.h"
#include "bench/progress.h"
#include "bench/workloads.h"

namespace hpz::bench {

// The row during which nothing is cleared, for as long as the clearing before it took: what caches
// lose by themselves, to whoever else is there.
inline constexpr const char *kBystanderControl = "nothing";

struct BystanderResults {
  std::vector<BystanderRow> rows;  // the control is the last
  std::vector<JobResult> cells;    // the same by cell
};

// rows: each of them clears size bytes at the arena's base. Time is shared by what there is to
// measure.
BystanderResults measure_bystanders(Rounds &rounds, JobTime &time, const Arena &arena,
                                    uint64_t size, const std::vector<Row *> &rows,
                                    Bystanders &bystanders, const Progress &progress);

}  // namespace hpz::bench

#endif
