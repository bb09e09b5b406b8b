// SPDX-License-Identifier: BSD-2-Clause
//
// The completion script for fish.
#include "bench/completion.h"

#include "bench/experiments.h"

namespace hpz::bench {
namespace {

std::string quoted(std::string_view text) {
  std::string inside = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') inside += '\\';
    inside += letter;
  }
  return inside + "'";
}

// The arguments of 'complete' for a value.
std::string completes(const ValueWords &value) {
  switch (value.source) {
    case ValueWords::Source::kNothing:
      return "";
    case ValueWords::Source::kFiles:
      return value.is_list ? " -F -a '(__hpzero_bench_more_files)'" : " -F";
    case ValueWords::Source::kWords:
      if (!value.is_list) return " -a " + quoted(joined(value.words, " "));
      return " -a \"(__fish_append , " + joined(value.words, " ") + ")\"";
    case ValueWords::Source::kAsked: {
      const std::string ids = "(__hpzero_bench_ids " + joined(value.words, " ") + ")";
      return " -a \"" + (value.is_list ? "(__fish_append , " + ids + ")" : ids) + "\"";
    }
  }
  return "";
}

// Those that may stand behind the command, which is the default if none does.
std::string lines_of(const Experiment &experiment, const std::vector<std::string> &names) {
  const std::string name(experiment.name);
  std::vector<std::string> others;
  for (const std::string &other : names) {
    if (other != name) others.push_back(other);
  }
  const std::string condition = experiment.name == kRun.name
                                    ? "not __fish_seen_subcommand_from " + joined(others, " ")
                                    : "__fish_seen_subcommand_from " + name;
  const std::string begin = "complete -c hpzero-bench -n " + quoted(condition);
  std::string text;
  for (const OptionWords &option : option_words(experiment.options)) {
    text += begin + " -l " + std::string(option.name.substr(2));
    const auto value = value_words(option.argument, experiment);
    if (!option.argument.empty()) {
      text += value && value->source == ValueWords::Source::kFiles ? " -r" : " -x";
      if (value) text += completes(*value);
    }
    text += " -d " + quoted(one_line(option.help)) + "\n";
  }
  const std::vector<std::string> operands = operand_words(experiment);
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto value = value_words(operands[i], experiment);
    if (!value) continue;
    const bool is_rest = i + 1 == operands.size() && !experiment.more_operands.empty();
    const std::string here =
        condition + "; and __hpzero_bench_operands " + (is_rest ? "-ge " : "-eq ");
    text += "complete -c hpzero-bench -n " + quoted(here + std::to_string(i)) + completes(*value) +
            " -d " + quoted(operands[i]) + "\n";
  }
  return text;
}

}  // namespace

std::string fish_completion() {
  std::vector<std::string> names;
  for (const Experiment *experiment : listed_experiments()) {
    names.emplace_back(experiment->name);
  }
  std::string text =
      R"(# Completion of hpzero-bench for fish, written by 'hpzero-bench completion fish'.
function __hpzero_bench_ids -d 'Ids of what this CPU can run'
    set -l words (commandline -opc)
    command $words[1] ids $argv 2>/dev/null
end

function __hpzero_bench_more_files -d 'Files behind the last comma'
    set -l word (commandline -ct)
    string match -q -- '*,*' $word || return
    set -l before (string replace -r '[^,]*$' '' -- $word)
    string join \n -- $before(__fish_complete_path (string replace -r '.*,' '' -- $word))
end

# As 'test' compares: how many operands stand behind the command, options and their values apart.
function __hpzero_bench_operands
    set -l count -1
    set -l is_value no
    for word in (commandline -opc)[2..]
        if test $is_value = yes
            set is_value no
        else if contains -- $word )" +
      joined(options_with_values(), " ") + R"(
            set is_value yes
        else if not string match -q -- '-*' $word
            set count (math $count + 1)
        end
    end
    test $count $argv
end

complete -c hpzero-bench -f
)";
  for (const OptionWords &option : option_words("--help --version")) {
    text += "complete -c hpzero-bench -l " + std::string(option.name.substr(2)) +
            (option.name == "--help" ? " -s h" : "") + " -d " + quoted(option.help) + "\n";
  }
  const std::string none = "not __fish_seen_subcommand_from " + joined(names, " ");
  for (const Experiment *experiment : listed_experiments()) {
    text += "complete -c hpzero-bench -n " + quoted(none) + " -a " + std::string(experiment->name) +
            " -d " + quoted(experiment->summary) + "\n";
  }
  for (const Experiment *experiment : listed_experiments()) {
    text += lines_of(*experiment, names);
  }
  return text;
}

}  // namespace hpz::bench
