// SPDX-License-Identifier: BSD-2-Clause
//
// The limit, read from samples: the most that any row writes of those that looked for it. A line in
// charts, and what others reach of it. Pure.
#ifndef HPZERO_BENCH_RECORDED_LIMIT_H
#define HPZERO_BENCH_RECORDED_LIMIT_H

#include <optional>
#include <string>
#include <vector>

#include "bench/charts.h"
#include "bench/recorded_cells.h"

namespace hpz::bench {

enum class LimitOf { kOneThread, kAnyThreads };

// On those pages or, where the limit was not looked for there, on those where it was: memory is the
// same. Nothing, where it was looked for nowhere.
std::optional<ChartLevel> limit_line(const std::vector<RecordedCell> &cells,
                                     const std::string &pages, LimitOf threads);

// " The team reaches 96 % of the limit, 45.5 GB/s." or "": of a cell that looked for it.
std::string limit_sentence(const RecordedCell &cell);

}  // namespace hpz::bench

#endif
