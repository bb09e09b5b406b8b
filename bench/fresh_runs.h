// SPDX-License-Identifier: BSD-2-Clause
//
// All experiments that fit the machine, one after the other, each in a process of its own: what one
// of them sets (CPUs, the library's plan, huge pages) is gone before the next begins.
#ifndef HPZERO_BENCH_FRESH_RUNS_H
#define HPZERO_BENCH_FRESH_RUNS_H

#include <string>
#include <vector>

#include "bench/options.h"
#include "bench/progress.h"
#include "bench/results_file.h"

namespace hpz::bench {

struct FreshRuns {
  std::vector<ResultsFile> files;
  std::vector<std::string> notes;  // what was not measured, and why
};

// Throws Refusal where nothing could be measured.
FreshRuns measure_afresh(const Options &options, const Progress &progress);

}  // namespace hpz::bench

#endif
