// SPDX-License-Identifier: BSD-2-Clause
#include "bench/experiments.h"

#include "bench/refusal.h"

namespace hpz::bench {
namespace {

const Experiment *const kExperiments[] = {
    &kRun,        &kList,   &kExplain,   &kTune,          &kOverhead,  &kParallel, &kPopulate,
    &kMapping,    &kTwice,  &kMetadata,  &kPool,          &kBystander, &kCompare,  &kReport,
    &kCompletion, &kManual, &kFirstCall, &kMemsetSamples, &kIds};

}  // namespace

std::span<const Experiment *const> all_experiments() {
  return kExperiments;
}

std::vector<const Experiment *> listed_experiments() {
  std::vector<const Experiment *> listed;
  for (const Experiment *experiment : kExperiments) {
    if (!experiment->summary.empty()) listed.push_back(experiment);
  }
  return listed;
}

const Experiment &find_experiment(std::string_view name) {
  for (const Experiment *experiment : kExperiments) {
    if (experiment->name == name) return *experiment;
  }
  std::string names;
  for (const Experiment *experiment : listed_experiments()) {
    names += (names.empty() ? "" : ", ") + std::string(experiment->name);
  }
  throw Refusal("unknown command '" + std::string(name) + "': use one of " + names);
}

std::string operands_of(const Experiment &experiment) {
  std::string words(experiment.operands);
  if (!experiment.more_operands.empty()) words += " " + std::string(experiment.more_operands);
  return words;
}

void check_options(const Experiment &experiment, const Options &options) {
  const std::string name(experiment.name);
  for (const std::string &option : options.given) {
    if (!is_listed(option, experiment.options)) {
      throw Refusal(
          "option " + option + " means nothing to '" + name + "': leave it out" +
          (experiment.options.empty() ? "" : ", or use " + std::string(experiment.options)));
    }
  }
  if (options.operands.size() > experiment.operand_count && experiment.more_operands.empty()) {
    throw Refusal("'" + options.operands[experiment.operand_count] +
                  "' is one word too many for '" + name + "': leave it out");
  }
  if (options.operands.size() < experiment.operand_count) {
    throw Refusal("'" + name + "' needs " + std::string(experiment.operands) +
                  ": write 'hpzero-bench " + name + " " + std::string(experiment.operands) + "'");
  }
}

}  // namespace hpz::bench
