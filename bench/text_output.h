// SPDX-License-Identifier: BSD-2-Clause
//
// Where the text of a subcommand goes that prints nothing else.
#ifndef HPZERO_BENCH_TEXT_OUTPUT_H
#define HPZERO_BENCH_TEXT_OUTPUT_H

#include <string_view>

#include "bench/options.h"

namespace hpz::bench {

// To --output, else to standard output. The exit code; throws Refusal.
int write_text(const Options &options, std::string_view text);

}  // namespace hpz::bench

#endif
