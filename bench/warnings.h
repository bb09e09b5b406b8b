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
  bool are_jobs = false;      // on buffers of --size, instead of through the cold set of --set
  bool has_size_list = true;  // --size measures some of the cells, and these for longer
  Caches caches;
  uint64_t smallest_cold_set_bytes = 0;  // or buffer of jobs; 0: nothing cold was measured
  std::string governor;
  int cpus = 0;
  bool is_pinned = true;
  double stolen_part = 0;  // of the CPUs' time while measuring, by the hypervisor
};

std::vector<std::string> find_warnings(const std::vector<CellResult> &results,
                                       const Circumstances &circumstances);

// As they are kept in the context.
std::string joined_warnings(const std::vector<std::string> &warnings);

}  // namespace hpz::bench

#endif
