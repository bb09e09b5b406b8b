// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench completion, and what the scripts for all shells have in common.
#include "bench/completion.h"

#include <algorithm>
#include <cstdio>

#include "bench/experiments.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/text_output.h"
#include "bench/workloads.h"

namespace hpz::bench {
namespace {

constexpr std::string_view kKernels = "kernels", kRows = "rows";

std::vector<std::string> size_words(std::string_view list) {
  std::vector<std::string> words;
  for (const uint64_t size : parse_size_list(list)) words.push_back(format_size(size));
  return words;
}

std::vector<std::string> page_words() {
  std::vector<std::string> words;
  for (const PageKind kind : kAllPageKinds) words.emplace_back(page_kind_id(kind));
  return words;
}

std::vector<std::string> state_words() {
  std::vector<std::string> words;
  for (const MemoryState state : kAllStates) words.emplace_back(state_id(state));
  return words;
}

// Policies and the like are rows of these two; the others want kernels.
std::vector<std::string> id_words(const Experiment &experiment) {
  const bool has_all_rows = experiment.name == kRun.name || experiment.name == kBystander.name;
  return {std::string(has_all_rows ? kRows : kKernels)};
}

int print_completion(const Options &options) {
  return write_text(options, completion_for(options.operands.front()));
}

int print_ids(const Options &options) {
  const std::string &what = options.operands.front();
  if (what != kKernels && what != kRows) {
    throw Refusal("no ids of '" + what + "': write kernels or rows");
  }
  for (const auto &row : make_rows()) {
    if (what == kRows || row->kind() == RowKind::kKernel) std::printf("%s\n", row->id().c_str());
  }
  return kExitOk;
}

}  // namespace

std::optional<ValueWords> value_words(std::string_view placeholder, const Experiment &experiment) {
  using Source = ValueWords::Source;
  if (placeholder == "N" || placeholder == "N[,N...]" || placeholder == "PERCENT" ||
      placeholder == "RATIO") {
    return ValueWords{};
  }
  if (placeholder == "FILE" || placeholder.ends_with(".json") || placeholder.ends_with(".html")) {
    // Several runs may be one side of a comparison.
    return ValueWords{Source::kFiles, experiment.name == kCompare.name, {}};
  }
  if (placeholder == "KINDS") return ValueWords{Source::kWords, true, page_words()};
  if (placeholder == "STATES") return ValueWords{Source::kWords, true, state_words()};
  // Maps have pages of 1 GiB.
  const std::string_view sizes = experiment.name == kMetadata.name ? "1GiB..1024GiB" : "4KiB..1GiB";
  if (placeholder == "SIZES") return ValueWords{Source::kWords, true, size_words(sizes)};
  if (placeholder == "SIZE") return ValueWords{Source::kWords, false, size_words(sizes)};
  if (placeholder == "SHELL") {
    return ValueWords{Source::kWords, false, {std::begin(kShells), std::end(kShells)}};
  }
  if (placeholder == "ID[,ID...]") return ValueWords{Source::kAsked, true, id_words(experiment)};
  if (placeholder == "ID") return ValueWords{Source::kAsked, false, id_words(experiment)};
  return std::nullopt;
}

std::vector<std::string> operand_words(const Experiment &experiment) {
  std::vector<std::string> words;
  std::string word;
  for (const char letter : operands_of(experiment) + " ") {
    if (letter != ' ') {
      if (letter != '[' && letter != ']') word += letter;
      continue;
    }
    if (word.ends_with("...")) word.resize(word.size() - 3);
    if (!word.empty()) words.push_back(word);
    word.clear();
  }
  return words;
}

std::vector<OptionWords> completed_options(const Experiment &experiment) {
  return option_words(std::string(experiment.options) + " --help --version");
}

std::vector<std::string> options_with_values() {
  std::vector<std::string> names;
  for (const OptionWords &option : option_words()) {
    if (!option.argument.empty()) names.emplace_back(option.name);
  }
  return names;
}

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::string joined(const std::vector<std::string> &words, std::string_view separator) {
  std::string text;
  for (const std::string &word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

std::string completion_for(std::string_view shell) {
  if (shell == "bash") return bash_completion();
  if (shell == "zsh") return zsh_completion();
  if (shell == "fish") return fish_completion();
  throw Refusal("no completion for '" + std::string(shell) + "': write bash, zsh or fish");
}

const Experiment kCompletion = {
    "completion",     "SHELL", "prints what completes this in bash, zsh or fish", 1, "--output", "",
    print_completion,
};

// For the scripts.
const Experiment kIds = {"ids", "WHICH", "", 1, "", "", print_ids};

}  // namespace hpz::bench
