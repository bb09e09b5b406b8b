// SPDX-License-Identifier: BSD-2-Clause
//
// The completion script for bash. It needs nothing of the package bash-completion, which only finds
// it.
#include "bench/completion.h"

#include "bench/experiments.h"

namespace hpz::bench {
namespace {

// What a value's words are in the script, and that they are what is completed.
std::string completes(const ValueWords &value) {
  const std::string list = value.is_list ? " list=yes" : "";
  switch (value.source) {
    case ValueWords::Source::kNothing:
      return ":";
    case ValueWords::Source::kFiles:
      return "files=yes" + list;
    case ValueWords::Source::kWords:
      return "words=\"" + joined(value.words, " ") + "\"" + list;
    case ValueWords::Source::kAsked:
      return "words=$(\"${COMP_WORDS[0]}\" ids " + joined(value.words, " ") + " 2>/dev/null)" +
             list;
  }
  return ":";
}

// A line for each value of an option, or operand, of a command.
std::string cases_of(const Experiment &experiment) {
  const std::string name(experiment.name);
  std::string text, options;
  for (const OptionWords &option : completed_options(experiment)) {
    options += (options.empty() ? "" : " ") + std::string(option.name);
    if (option.argument.empty()) continue;
    const auto value = value_words(option.argument, experiment);
    if (!value || value->source == ValueWords::Source::kNothing) continue;
    text += "    " + name + ":" + std::string(option.name) + ") " + completes(*value) + " ;;\n";
  }
  text += "    " + name + ":options) words=\"" + options + "\" ;;\n";
  const std::vector<std::string> operands = operand_words(experiment);
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto value = value_words(operands[i], experiment);
    if (!value) continue;
    const bool is_rest = i + 1 == operands.size() && !experiment.more_operands.empty();
    text += "    " + name + ":" + (is_rest ? "[0-9]*" : std::to_string(i)) + ") " +
            completes(*value) + " ;;\n";
  }
  return text;
}

}  // namespace

std::string bash_completion() {
  std::string commands, cases;
  for (const Experiment *experiment : listed_experiments()) {
    commands += (commands.empty() ? "" : " ") + std::string(experiment->name);
    cases += cases_of(*experiment);
  }
  return R"(# Completion of hpzero-bench for bash, written by 'hpzero-bench completion bash'.
_hpzero_bench() {
  local word=${COMP_WORDS[COMP_CWORD]} before="" command="" option="" operands=0
  local words="" files="" list="" i
  COMPREPLY=()
  # What stands before the cursor: a command, operands, an option that waits for its value. bash
  # makes three words of --option=value.
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      =) continue ;;
      *)
        if [[ -n $option ]]; then
          option=""
          continue
        fi
        ;;
    esac
    case ${COMP_WORDS[i]} in
      )" +
         joined(options_with_values(), " | ") +
         R"()
        option=${COMP_WORDS[i]}
        ;;
      -*) ;;
      *)
        if [[ -z $command ]]; then
          command=${COMP_WORDS[i]}
        else
          operands=$((operands + 1))
        fi
        ;;
    esac
  done
  if [[ $word == = ]]; then
    word=""
  elif [[ -z $option && $word == --*=* ]]; then
    option=${word%%=*}
    before=$option=
    word=${word#*=}
  fi

  if [[ -z $option && $word == -* ]]; then
    option=options
  elif [[ -z $option && -z $command ]]; then
    option=commands
  fi
  case ${command:-run}:${option:-$operands} in
    *:commands) words=")" +
         commands + "\" ;;\n" + cases + R"(  esac

  if [[ -n $list && $word == *,* ]]; then
    before+=${word%,*},
    word=${word##*,}
  fi
  if [[ -n $files ]]; then
    mapfile -t COMPREPLY < <(compgen -P "$before" -f -- "$word")
    compopt -o filenames 2>/dev/null
  elif [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "$word")
    # A comma may follow.
    [[ -z $list ]] || compopt -o nospace 2>/dev/null
  fi
  return 0
}
complete -F _hpzero_bench hpzero-bench
)";
}

}  // namespace hpz::bench
