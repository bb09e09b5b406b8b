// SPDX-License-Identifier: BSD-2-Clause
//
// What --help prints, of the program and of a subcommand: text from the tables of both.
#ifndef HPZERO_BENCH_HELP_H
#define HPZERO_BENCH_HELP_H

#include <string>

#include "bench/experiment.h"

namespace hpz::bench {

std::string program_help();

// What it takes, and what it does without.
std::string help_of(const Experiment &experiment);

}  // namespace hpz::bench

#endif
