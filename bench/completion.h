// SPDX-License-Identifier: BSD-2-Clause
//
// Completion scripts for shells, written from the tables of subcommands and options. What a script
// cannot know, the kernels that this CPU runs, it asks of the program (the subcommand "ids").
#ifndef HPZERO_BENCH_COMPLETION_H
#define HPZERO_BENCH_COMPLETION_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/experiment.h"

namespace hpz::bench {

inline constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

// What can stand where the help has a placeholder, FILE for example.
struct ValueWords {
  enum class Source { kNothing, kFiles, kWords, kAsked };
  Source source = Source::kNothing;  // kNothing: a number, which nobody can guess
  bool is_list = false;              // several, with commas
  std::vector<std::string> words;    // kAsked: the argument of "ids"
};

// nullopt: no such placeholder is known. experiment: whose option or operand it is.
std::optional<ValueWords> value_words(std::string_view placeholder, const Experiment &experiment);

// The placeholders of an experiment's operands, in order, without brackets.
std::vector<std::string> operand_words(const Experiment &experiment);

// Its options as the table has them, and those that all have.
std::vector<OptionWords> completed_options(const Experiment &experiment);

// Names of the options that are followed by a value.
std::vector<std::string> options_with_values();

// One line of it: help texts have several.
std::string one_line(std::string_view text);

// "a b c", each between these.
std::string joined(const std::vector<std::string> &words, std::string_view separator);

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

// Throws Refusal for a shell that there is no script for.
std::string completion_for(std::string_view shell);

}  // namespace hpz::bench

#endif
