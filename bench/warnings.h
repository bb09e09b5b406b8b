// SPDX-License-Identifier: BSD-2-Clause
//
// What a reader of the table must know not to be misled by it. Every warning ends with what to do.
// Pure, but for what it is given.
#ifndef HPZERO_BENCH_WARNINGS_H
#define HPZERO_BENCH_WARNINGS_H

#include <cstdint>
#include <string>
#include <vector>

#include "bench/context.h"
#include "bench/measure.h"

namespace hpz::bench {

struct Circumstances {
  // Rows are jobs on buffers of --size; some have another option for theirs, so that only --seconds
  // is more rounds for all.
  bool are_jobs = false;
  Caches caches;
  uint64_t smallest_cold_set_bytes = 0;  // or buffer of jobs; 0: nothing cold was measured
  std::string governor;
  int cpus = 0;
  bool is_pinned = true;
  double stolen_part = 0;  // of the CPUs' time while measuring, by the hypervisor
};

std::vector<std::string> find_warnings(const std::vector<CellResult> &results,
                                       const Circumstances &circumstances);

}  // namespace hpz::bench

#endif
