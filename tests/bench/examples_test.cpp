// SPDX-License-Identifier: BSD-2-Clause
//
// Examples are what the parser takes; each command has some.
#include "bench/examples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "bench/about.h"
#include "bench/experiments.h"
#include "bench/help.h"
#include "bench/refusal.h"

namespace hpz::bench {
namespace {

// The words behind hpzero-bench, without what a shell does with its output.
std::vector<std::string_view> arguments_of(std::string_view line) {
  for (const std::string_view end : {" > ", " | "}) line = line.substr(0, line.find(end));
  std::vector<std::string_view> words;
  bool is_behind = false;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    if (is_behind) words.push_back(word);
    if (word == kProgram) {
      is_behind = true;
    } else if (!is_behind) {
      EXPECT_EQ(word.find("HPZ_"), 0U) << word << " is no variable of the library";
    }
  }
  EXPECT_TRUE(is_behind) << "an example without hpzero-bench";
  return words;
}

TEST(Examples, AreUnderstood) {
  for (const Example &example : all_examples()) {
    SCOPED_TRACE(example.line);
    try {
      const Options options = parse_options(arguments_of(example.line));
      check_options(find_experiment(options.command), options);
    } catch (const Refusal &refusal) {
      ADD_FAILURE() << refusal.what();
    }
  }
}

TEST(Examples, AreTwoToFourOfEachCommandAndMostlyUseIt) {
  std::map<std::string_view, int> all, own;
  for (const Example &example : all_examples()) {
    ++all[example.command];
    if (parse_options(arguments_of(example.line)).command == example.command) {
      ++own[example.command];
    }
  }
  for (const Experiment *experiment : listed_experiments()) {
    EXPECT_GE(all[experiment->name], 2) << experiment->name;
    EXPECT_LE(all[experiment->name], 4) << experiment->name;
    EXPECT_GE(own[experiment->name], 1) << experiment->name;
    all.erase(experiment->name);
  }
  EXPECT_TRUE(all.empty()) << "examples of " << all.begin()->first << ", which is no command";
}

TEST(Examples, AreInTheHelpAndFitIt) {
  const auto fits = [](const std::string &text) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      EXPECT_LE(end - begin, 100U) << text.substr(begin, end - begin);
      begin = end + 1;
    }
  };
  const std::string whole = program_help();
  fits(whole);
  for (const Example &example : all_examples()) {
    const std::string help = help_of(find_experiment(example.command));
    fits(help);
    EXPECT_NE(help.find(example_help(example)), std::string::npos) << example.line;
    EXPECT_EQ(whole.find(example_help(example)) != std::string::npos, example.is_first_step)
        << example.line;
  }
}

}  // namespace
}  // namespace hpz::bench
