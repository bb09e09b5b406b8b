// SPDX-License-Identifier: BSD-2-Clause
//
// The command line. Says what was asked for; whether it can be had is found out elsewhere.
#ifndef HPZERO_BENCH_OPTIONS_H
#define HPZERO_BENCH_OPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/pages.h"
#include "bench/states.h"

namespace hpz::bench {

// Empty and nullopt: not asked for, so the default is "what is there".
struct Options {
  std::string command = "run";
  bool has_command = false;  // it was written
  std::vector<std::string> operands;
  std::vector<std::string> kernels;
  std::vector<uint64_t> sizes;
  std::vector<PageKind> pages;
  std::vector<MemoryState> states;
  std::vector<uint32_t> threads;
  std::optional<std::string> reference;
  bool has_peers = false;
  bool is_forced = false;
  std::optional<int> repetitions;
  std::optional<double> seconds;
  std::optional<uint64_t> set_bytes;
  std::optional<std::string> json;
  std::optional<std::string> output;
  std::optional<double> least_effect;  // a part: 0.05
  std::optional<double> fail_below;
  bool is_absolute = false;
  std::optional<std::string> png;
  bool wants_help = false, wants_version = false;
  std::vector<std::string> given;  // names of the options that were written
};

// arguments: without the program's name. Throws Refusal.
Options parse_options(const std::vector<std::string_view> &arguments);

// Whether names, separated by blanks, have that option.
bool is_listed(std::string_view option, std::string_view names);

// One row of the table that everything else about options comes from. help may have several lines;
// no argument: it takes no value.
struct OptionWords {
  std::string_view name, argument, help;
};

// All of them, or those of names.
std::vector<OptionWords> option_words(std::optional<std::string_view> names = std::nullopt);

// The part of --help that describes options: all of them, or those of names.
std::string options_help(std::optional<std::string_view> names = std::nullopt);

}  // namespace hpz::bench

#endif
