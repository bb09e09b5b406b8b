// SPDX-License-Identifier: BSD-2-Clause
#include "bench/options.h"

#include <algorithm>
#include <charconv>

#include "bench/refusal.h"
#include "bench/sizes.h"

namespace hpz::bench {
namespace {

std::vector<std::string_view> split(std::string_view list, std::string_view option) {
  std::vector<std::string_view> items;
  for (;;) {
    const size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    if (item.empty()) {
      throw Refusal("empty item in the list of " + std::string(option) +
                    ": separate items by single commas");
    }
    items.push_back(item);
    if (comma == std::string_view::npos) return items;
    list.remove_prefix(comma + 1);
  }
}

template <class T> void append_unique(std::vector<T> &list, T item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(std::move(item));
}

template <class T> T parse_number(std::string_view text, T least, T most, std::string_view option) {
  T value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || !(value >= least) ||
      !(value <= most)) {
    throw Refusal("'" + std::string(text) + "' is no value for " + std::string(option) +
                  ": write a number from " + std::to_string(static_cast<int>(least)) + " to " +
                  std::to_string(static_cast<int>(most)));
  }
  return value;
}

struct OptionRow {
  std::string_view name, argument, help;
  void (*take)(Options &, std::string_view);
};

// One row per option: parsed, listed, completed and described in the manual from here.
constexpr OptionRow kOptions[] = {
    {"--kernel", "ID[,ID...]", "only these rows, by the ids of 'list'",
     [](Options &o, std::string_view value) {
       for (const auto id : split(value, "--kernel")) append_unique(o.kernels, std::string(id));
     }},
    {"--size", "SIZES", "4KiB..1GiB (by a factor of 4), or 64B,1KiB,2MiB",
     [](Options &o, std::string_view value) {
       for (const uint64_t size : parse_size_list(value)) append_unique(o.sizes, size);
       std::sort(o.sizes.begin(), o.sizes.end());
     }},
    {"--pages", "KINDS", "4k, thp, 2m, 1g, or several with commas",
     [](Options &o, std::string_view value) {
       for (const auto id : split(value, "--pages")) append_unique(o.pages, parse_page_kind(id));
     }},
    {"--memory", "STATES", "hot, recycled, cold, fresh, or several with commas",
     [](Options &o, std::string_view value) {
       for (const auto id : split(value, "--memory")) append_unique(o.states, parse_state(id));
     }},
    {"--threads", "N[,N...]", "parallel, populate: so many threads (default 1, 2, 4 ... and all)",
     [](Options &o, std::string_view value) {
       for (const auto count : split(value, "--threads")) {
         append_unique(o.threads, parse_number<uint32_t>(count, 1, 16'384, "--threads"));
       }
       std::sort(o.threads.begin(), o.threads.end());
     }},
    {"--reference", "ID", "print every row's ratio to this one, round by round",
     [](Options &o, std::string_view value) { o.reference = std::string(value); }},
    {"--peers", "", "also what others clear with, as far as it is installed",
     [](Options &o, std::string_view) { o.has_peers = true; }},
    {"--repetitions", "N", "exactly so many rounds, instead of as many as fit the time",
     [](Options &o, std::string_view value) {
       o.repetitions = parse_number<int>(value, 1, 100'000, "--repetitions");
     }},
    {"--seconds", "N",
     "time for all measuring, reserving and warming memory apart;\n"
     "report: for all of it (default 105)",
     [](Options &o, std::string_view value) {
       o.seconds = parse_number<double>(value, 1, 86'400, "--seconds");
     }},
    {"--set", "SIZE",
     "run, tune, mapping: memory that cold ranges are walked through\n"
     "(default 4GiB, mapping 2GiB, if it fits);\n"
     "populate: sparse memory for reset (default 8GiB, if it fits);\n"
     "bystander: its last-level working set (default half of that cache)",
     [](Options &o, std::string_view value) { o.set_bytes = parse_size(value); }},
    {"--json", "FILE", "write every sample, in Google Benchmark's format",
     [](Options &o, std::string_view value) { o.json = std::string(value); }},
    {"--output", "FILE", "tune, completion, man: write there instead of to standard output",
     [](Options &o, std::string_view value) { o.output = std::string(value); }},
    {"--force", "", "tune: write the profile even of a run that was too noisy for one",
     [](Options &o, std::string_view) { o.is_forced = true; }},
    {"--least-effect", "PERCENT", "compare: what differs by less is the same (default 5)",
     [](Options &o, std::string_view value) {
       if (value.ends_with('%')) value.remove_suffix(1);
       o.least_effect = parse_number<double>(value, 0, 100, "--least-effect") / 100;
     }},
    {"--absolute", "", "compare: of one machine, too, what all rows did alike is a difference",
     [](Options &o, std::string_view) { o.is_absolute = true; }},
    {"--fail-below", "RATIO",
     "compare: exit code 1 if B is slower than that, 0.95 of A for example",
     [](Options &o, std::string_view value) {
       o.fail_below = parse_number<double>(value, 0, 1, "--fail-below");
     }},
    {"--png", "FILE", "report: write its first charts there, too, as one picture",
     [](Options &o, std::string_view value) { o.png = std::string(value); }},
    {"--help", "", "print this", [](Options &o, std::string_view) { o.wants_help = true; }},
    {"--version", "", "print the version",
     [](Options &o, std::string_view) { o.wants_version = true; }},
};

const OptionRow &find_option(std::string_view name) {
  for (const OptionRow &row : kOptions) {
    if (row.name == name) return row;
  }
  throw Refusal("unknown option '" + std::string(name) +
                "': 'hpzero-bench --help' lists those there are");
}

}  // namespace

Options parse_options(const std::vector<std::string_view> &arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "-h") {
      options.wants_help = true;
      continue;
    }
    if (!argument.starts_with("-") || argument == "-") {
      if (options.has_command) {
        options.operands.emplace_back(argument);
      } else {
        options.command = argument;
        options.has_command = true;
      }
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const OptionRow &row = find_option(name);
    std::string_view value;
    if (equals != std::string_view::npos) {
      if (row.argument.empty()) {
        throw Refusal("option " + std::string(name) + " takes no value: write it alone");
      }
      value = argument.substr(equals + 1);
    } else if (!row.argument.empty()) {
      if (i + 1 < arguments.size()) value = arguments[++i];
    }
    if (!row.argument.empty() && value.empty()) {
      throw Refusal("option " + std::string(name) + " needs a value: write " + std::string(name) +
                    " " + std::string(row.argument));
    }
    row.take(options, value);
    append_unique(options.given, std::string(name));
  }
  return options;
}

bool is_listed(std::string_view option, std::string_view names) {
  const std::string list = " " + std::string(names) + " ";
  return list.find(" " + std::string(option) + " ") != std::string::npos;
}

std::vector<OptionWords> option_words(std::optional<std::string_view> names) {
  std::vector<OptionWords> words;
  for (const OptionRow &row : kOptions) {
    if (!names || is_listed(row.name, *names)) words.push_back({row.name, row.argument, row.help});
  }
  return words;
}

std::string options_help(std::optional<std::string_view> names) {
  constexpr size_t kColumn = 26;
  std::string text;
  for (const OptionWords &row : option_words(names)) {
    std::string left = "  " + std::string(row.name);
    if (!row.argument.empty()) left += " " + std::string(row.argument);
    left.resize(std::max(kColumn, left.size() + 1), ' ');
    text += left;
    for (const char letter : row.help) {
      text += letter;
      if (letter == '\n') text.append(kColumn, ' ');
    }
    text += "\n";
  }
  return text;
}

}  // namespace hpz::bench
