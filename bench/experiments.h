// SPDX-License-Identifier: BSD-2-Clause
//
// The subcommands there are, and what may be written behind them.
#ifndef HPZERO_BENCH_EXPERIMENTS_H
#define HPZERO_BENCH_EXPERIMENTS_H

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/experiment.h"

namespace hpz::bench {

// The first is the default.
std::span<const Experiment *const> all_experiments();

// Those for people.
std::vector<const Experiment *> listed_experiments();

// Throws Refusal.
const Experiment &find_experiment(std::string_view name);

// "OUT.html [FILE...]"; empty: none.
std::string operands_of(const Experiment &experiment);

// Throws Refusal for what the experiment has no use for, or lacks.
void check_options(const Experiment &experiment, const Options &options);

}  // namespace hpz::bench

#endif
