// SPDX-License-Identifier: BSD-2-Clause
//
// What completion knows of every option and operand. words_test.py has the shells use it.
#include "bench/completion.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "bench/experiments.h"
#include "bench/refusal.h"

namespace hpz::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Completion, EveryPlaceholderIsKnown) {
  for (const Experiment *experiment : listed_experiments()) {
    for (const OptionWords &option : completed_options(*experiment)) {
      if (option.argument.empty()) continue;
      EXPECT_TRUE(value_words(option.argument, *experiment).has_value()) << option.argument;
    }
    for (const std::string &operand : operand_words(*experiment)) {
      EXPECT_TRUE(value_words(operand, *experiment).has_value()) << operand;
    }
  }
}

TEST(Completion, EveryOptionOfACommandIsInTheTable) {
  for (const Experiment *experiment : all_experiments()) {
    const std::string names(experiment->options);
    const auto blanks = static_cast<size_t>(std::count(names.begin(), names.end(), ' '));
    EXPECT_EQ(option_words(names).size(), names.empty() ? 0 : blanks + 1) << names;
  }
}

// What is offered must be taken.
TEST(Completion, WordsAreValues) {
  for (const Experiment *experiment : listed_experiments()) {
    for (const OptionWords &option : option_words(experiment->options)) {
      const auto value = value_words(option.argument, *experiment);
      if (!value || value->source != ValueWords::Source::kWords) continue;
      EXPECT_FALSE(value->words.empty()) << option.name;
      for (const std::string &word : value->words) {
        EXPECT_NO_THROW(parse_options({option.name, word})) << option.name << ' ' << word;
      }
      if (value->is_list) {
        EXPECT_NO_THROW(parse_options({option.name, joined(value->words, ",")})) << option.name;
      }
    }
  }
}

TEST(Completion, OperandsAreThoseOfTheHelp) {
  EXPECT_THAT(operand_words(kCompare), ElementsAre("A.json", "B.json"));
  EXPECT_THAT(operand_words(kReport), ElementsAre("OUT.html", "FILE"));
  EXPECT_THAT(operand_words(kRun), IsEmpty());
}

TEST(Completion, IsForTheShellsThatAreOffered) {
  for (const std::string_view shell : kShells) {
    EXPECT_NE(completion_for(shell).find("hpzero-bench completion " + std::string(shell)),
              std::string::npos);
  }
  EXPECT_THROW(completion_for("tcsh"), Refusal);
}

}  // namespace
}  // namespace hpz::bench
