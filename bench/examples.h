// SPDX-License-Identifier: BSD-2-Clause
//
// Worked examples, for --help and the manual. Tests parse all of them, and run what takes seconds.
#ifndef HPZERO_BENCH_EXAMPLES_H
#define HPZERO_BENCH_EXAMPLES_H

#include <span>
#include <string>
#include <string_view>

namespace hpz::bench {

struct Example {
  std::string_view command;  // whose help has it
  std::string_view line;     // as typed into a shell
  std::string_view meaning;
  bool is_first_step = false;  // the program's help has it, too
};

// In an order in which each finds the files that it reads.
std::span<const Example> all_examples();

// As in a help: a line, and what it does below it.
std::string example_help(const Example &example);

}  // namespace hpz::bench

#endif
