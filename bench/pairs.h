// SPDX-License-Identifier: BSD-2-Clause
//
// Clean pages taken and given back untouched, by several threads at once: what the pool itself
// costs, when nothing is to be cleared.
#ifndef HPZERO_BENCH_PAIRS_H
#define HPZERO_BENCH_PAIRS_H

#include <string>
#include <vector>

#include "bench/clean_pool.h"
#include "bench/jobs.h"

namespace hpz::bench {

// 1, 2, 4 in any case, and then doubling up to the CPUs; never more than there are pages. Pure.
std::vector<uint32_t> taker_counts(uint32_t cpus, size_t pages);

// A row for each number of takers. The pool is clean when a row begins, and stays so; filling is
// off.
std::vector<JobRow> pair_rows(const CleanPool &pool, const std::vector<uint32_t> &counts);

std::string render_pairs(const JobResult &result);

}  // namespace hpz::bench

#endif
