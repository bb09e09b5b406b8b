// SPDX-License-Identifier: BSD-2-Clause
//
// The completion script for zsh: a file _hpzero-bench for a folder of fpath.
#include "bench/completion.h"

#include "bench/experiments.h"

namespace hpz::bench {
namespace {

// Between single quotes, inside which _arguments and _describe have characters of their own.
std::string quoted(std::string_view text, std::string_view special) {
  std::string inside;
  for (const char letter : text) {
    if (letter == '\'') {
      inside += "'\\''";
      continue;
    }
    if (special.find(letter) != std::string_view::npos) inside += '\\';
    inside += letter;
  }
  return inside;
}

// Of a placeholder and what stands there, as _arguments wants it. A blank before the name of a
// function: it gets no other arguments than these.
std::string action(std::string_view placeholder, const Experiment &experiment) {
  const std::string name = quoted(placeholder, ":[]");
  const auto value = value_words(placeholder, experiment);
  if (!value) return ":" + name + ": ";
  const std::string list = value->is_list ? "_values -s , " : "_values ";
  switch (value->source) {
    case ValueWords::Source::kNothing:
      return ":" + name + ": ";
    case ValueWords::Source::kFiles:
      return ":" + name + (value->is_list ? ":_hpzero_bench_files" : ":_files");
    case ValueWords::Source::kWords:
      return ":" + name + ":" + list + "value " + joined(value->words, " ");
    case ValueWords::Source::kAsked:
      return ":" + name + ": _hpzero_bench_ids " + joined(value->words, " ") +
             (value->is_list ? " -s ," : "");
  }
  return "";
}

std::string case_of(const Experiment &experiment) {
  std::string text = "    " + std::string(experiment.name) + ")\n      _arguments";
  const auto add = [&](const std::string &spec) { text += " \\\n        '" + spec + "'"; };
  add("1:command:_hpzero_bench_commands");
  for (const OptionWords &option : completed_options(experiment)) {
    const std::string help = "[" + quoted(one_line(option.help), "[]") + "]";
    const std::string name(option.name);
    if (option.argument.empty()) {
      add((name == "--help" || name == "--version" ? "(- *)" : "") + name + help);
      continue;
    }
    const auto value = value_words(option.argument, experiment);
    add((value && value->is_list ? "*" : "") + name + "=" + help +
        action(option.argument, experiment));
  }
  const std::vector<std::string> operands = operand_words(experiment);
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_rest = i + 1 == operands.size() && !experiment.more_operands.empty();
    add((is_rest ? "*" : std::to_string(i + 2)) + action(operands[i], experiment));
  }
  return text + "\n      ;;\n";
}

}  // namespace

std::string zsh_completion() {
  std::string described, names, cases;
  for (const Experiment *experiment : listed_experiments()) {
    described +=
        "    '" + std::string(experiment->name) + ":" + quoted(experiment->summary, "") + "'\n";
    names += (names.empty() ? "" : "|") + std::string(experiment->name);
    cases += case_of(*experiment);
  }
  return R"zsh(#compdef hpzero-bench
# Completion of hpzero-bench for zsh, written by 'hpzero-bench completion zsh'.

_hpzero_bench_commands() {
  local -a commands=(
)zsh" + described +
         R"zsh(  )
  _describe -t commands command commands
}

# _hpzero_bench_ids WHICH [OPTIONS OF _values]: of what this CPU can run.
_hpzero_bench_ids() {
  local -a ids=(${(f)"$(_call_program ids ${(q)words[1]} ids $1 2>/dev/null)"})
  (( $#ids )) && _values "${@:2}" id $ids
}

# Behind the last comma.
_hpzero_bench_files() {
  compset -P '*,'
  _files
}

_hpzero-bench() {
  local word command=run
  for word in "${(@)words[2,CURRENT-1]}"; do
    if [[ $word == ()zsh" +
         names + R"zsh() ]]; then
      command=$word
      break
    fi
  done
  case $command in
)zsh" + cases +
         R"zsh(  esac
}

# Found through fpath, this file is the function's body; read by 'source' it is not.
if [[ $funcstack[1] == _hpzero-bench ]]; then
  _hpzero-bench "$@"
else
  compdef _hpzero-bench hpzero-bench
fi
)zsh";
}

}  // namespace hpz::bench
