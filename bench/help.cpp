// SPDX-License-Identifier: BSD-2-Clause
#include "bench/help.h"

#include <hpzero/hpzero.h>

#include <algorithm>

#include "bench/about.h"
#include "bench/examples.h"
#include "bench/experiments.h"

namespace hpz::bench {

std::string program_help() {
  constexpr size_t kColumn = 26;
  const std::string program(kProgram);
  std::string text = program + " " + hpz_version() + ": " + std::string(kTagline) +
                     "\n\nusage: " + program + " [command] [options]\n\ncommands:\n";
  for (const Experiment *experiment : listed_experiments()) {
    std::string left = "  " + std::string(experiment->name);
    if (!experiment->operands.empty()) left += " " + operands_of(*experiment);
    // A long one has a line of its own.
    if (left.size() >= kColumn) left += "\n" + std::string(kColumn, ' ');
    left.resize(std::max(kColumn, left.size()), ' ');
    text += left + std::string(experiment->summary) + "\n";
  }
  text += "\noptions:\n" + options_help() + "\nexamples:\n";
  for (const Example &example : all_examples()) {
    if (example.is_first_step) text += example_help(example);
  }
  text += "\n'" + program + " command --help' has more examples.\n" + std::string(kUnits) +
          "\n\nexit code:\n";
  for (const NamedWords &code : kExitCodes) {
    text += "  " + std::string(code.name) + "  " + std::string(code.meaning) + "\n";
  }
  return text;
}

std::string help_of(const Experiment &experiment) {
  const std::string program(kProgram);
  std::string words(experiment.name);
  if (!experiment.operands.empty()) words += " " + operands_of(experiment);
  std::string text = program + " " + std::string(experiment.name) + ": " +
                     std::string(experiment.summary) + "\n\nusage: " + program + " " + words +
                     (experiment.options.empty() ? "" : " [options]") + "\n";
  if (!experiment.usual.empty()) {
    text += "\nwithout options, as far as it fits:\n" + std::string(experiment.usual);
  }
  if (!experiment.options.empty()) text += "\noptions:\n" + options_help(experiment.options);
  std::string examples;
  for (const Example &example : all_examples()) {
    if (example.command == experiment.name) examples += example_help(example);
  }
  if (!examples.empty()) text += "\nexamples:\n" + examples;
  return text + "\n'" + program + " --help' lists all commands and options.\n";
}

}  // namespace hpz::bench
