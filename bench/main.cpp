// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench: finds the subcommand, and turns what it throws into a sentence and an exit code.
#include <hpzero/hpzero.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "bench/cleanup.h"
#include "bench/experiment.h"
#include "bench/refusal.h"

namespace hpz::bench {
namespace {

// One row per subcommand; the first is the default.
const Experiment *const kExperiments[] = {&kRun,      &kList,     &kExplain,   &kTune,
                                          &kOverhead, &kParallel, &kPopulate,  &kMapping,
                                          &kTwice,    &kMetadata, &kPool,      &kBystander,
                                          &kCompare,  &kReport,   &kFirstCall, &kMemsetSamples};

const Experiment &find_experiment(const std::string &name) {
  for (const Experiment *experiment : kExperiments) {
    if (experiment->name == name) return *experiment;
  }
  std::string names;
  for (const Experiment *experiment : kExperiments) {
    if (experiment->summary.empty()) continue;
    names += (names.empty() ? "" : ", ") + std::string(experiment->name);
  }
  throw Refusal("unknown command '" + name + "': use one of " + names);
}

std::string operands_of(const Experiment &experiment) {
  std::string words(experiment.operands);
  if (!experiment.more_operands.empty()) words += " " + std::string(experiment.more_operands);
  return words;
}

void print_help() {
  std::printf("hpzero-bench %s: how fast this machine clears memory, and by what\n\n",
              hpz_version());
  std::printf("usage: hpzero-bench [command] [options]\n\ncommands:\n");
  for (const Experiment *experiment : kExperiments) {
    if (experiment->summary.empty()) continue;
    std::string left(experiment->name);
    if (!experiment->operands.empty()) left += " " + operands_of(*experiment);
    std::printf("  %-24s%s\n", left.c_str(), std::string(experiment->summary).c_str());
  }
  std::printf("\noptions:\n%s", options_help().c_str());
  std::printf(
      "\nSizes have units: B, KiB, MiB, GiB, kB, MB, GB. Rates are decimal: 1 GB/s is 10^9 "
      "bytes a second.\nExit code: 0 done, 1 failed (compare: slower than --fail-below), 2 refused "
      "(standard error\nsays what to do instead).\n");
}

// Of one command: what it takes, and what it does without.
void print_help_of(const Experiment &experiment) {
  std::string words(experiment.name);
  if (!experiment.operands.empty()) words += " " + operands_of(experiment);
  std::printf("hpzero-bench %s: %s\n\nusage: hpzero-bench %s%s\n", words.c_str(),
              std::string(experiment.summary).c_str(), words.c_str(),
              experiment.options.empty() ? "" : " [options]");
  if (!experiment.usual.empty()) {
    std::printf("\nwithout options, as far as it fits:\n%s", std::string(experiment.usual).c_str());
  }
  if (!experiment.options.empty()) {
    std::printf("\noptions:\n%s", options_help(experiment.options).c_str());
  }
  std::printf("\n'hpzero-bench --help' lists all commands and options.\n");
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

int run(const std::vector<std::string_view> &arguments) {
  const Options options = parse_options(arguments);
  if (options.wants_help) {
    if (options.has_command) {
      print_help_of(find_experiment(options.command));
    } else {
      print_help();
    }
    return kExitOk;
  }
  if (options.wants_version) {
    std::printf("hpzero-bench %s\n", hpz_version());
    return kExitOk;
  }
  const Experiment &experiment = find_experiment(options.command);
  check_options(experiment, options);
  install_cleanup_handler();
  return experiment.run(options);
}

// Google Benchmark takes each of its flags from a variable, too, before main; some of them end the
// program, others break the rounds. Starts again without them.
void drop_foreign_settings(char **argv) {
  std::vector<std::string> names;
  for (char **variable = environ; *variable != nullptr; ++variable) {
    const std::string entry(*variable);
    if (entry.starts_with("BENCHMARK_")) names.push_back(entry.substr(0, entry.find('=')));
  }
  if (names.empty()) return;
  for (const std::string &name : names) unsetenv(name.c_str());
  execv("/proc/self/exe", argv);
}

}  // namespace
}  // namespace hpz::bench

int main(int argc, char **argv) {
  hpz::bench::drop_foreign_settings(argv);
  int code = hpz::bench::kExitFailed;
  try {
    code = hpz::bench::run({argv + std::min(argc, 1), argv + argc});
  } catch (const hpz::bench::Refusal &refusal) {
    std::fflush(stdout);
    std::fprintf(stderr, "hpzero-bench: %s\n", refusal.what());
    return hpz::bench::kExitRefused;
  } catch (const std::exception &trouble) {
    std::fflush(stdout);
    std::fprintf(stderr, "hpzero-bench: %s\n", trouble.what());
    return hpz::bench::kExitFailed;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "hpzero-bench: cannot write to standard output\n");
    return hpz::bench::kExitFailed;
  }
  return code;
}
