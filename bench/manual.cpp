// SPDX-License-Identifier: BSD-2-Clause
#include "bench/manual.h"

#include <hpzero/hpzero.h>

#include <cctype>
#include <span>
#include <vector>

#include "bench/about.h"
#include "bench/examples.h"
#include "bench/experiments.h"
#include "bench/text_output.h"

namespace hpz::bench {
namespace {

// Text of which nothing is a request or a typographer's sign: a minus can be copied into a shell.
std::string plain(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    const bool begins_line = safe.empty() || safe.back() == '\n';
    if (begins_line && (letter == '.' || letter == '\'')) safe += "\\&";
    switch (letter) {
      case '\\':
        safe += "\\e";
        break;
      case '-':
        safe += "\\-";
        break;
      case '\'':
        safe += "\\(aq";
        break;
      case '~':
        safe += "\\(ti";
        break;
      case '^':
        safe += "\\(ha";
        break;
      case '`':
        safe += "\\(ga";
        break;
      case '"':
        safe += "\\(dq";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

std::string bold(std::string_view text) {
  return "\\fB" + plain(text) + "\\fR";
}
std::string italic(std::string_view text) {
  return "\\fI" + plain(text) + "\\fR";
}

std::string section(std::string_view title) {
  return ".SH " + std::string(title) + "\n";
}

// A term, and indented what it means.
std::string item(const std::string &term, const std::string &meaning) {
  return ".TP\n" + term + "\n" + meaning + "\n";
}

// Lines of a help, of which some begin with blanks.
std::string flowing(std::string_view lines) {
  std::string text;
  for (const char letter : lines) {
    const bool is_blank = letter == ' ' || letter == '\n';
    if (is_blank && (text.empty() || text.back() == ' ')) continue;
    text += is_blank ? ' ' : letter;
  }
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

// A help has small letters and no full stop.
std::string sentence(std::string_view words) {
  std::string text = flowing(words);
  // But for names.
  const bool is_word = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == text.find(' ');
  if (is_word && !text.empty()) {
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  }
  return text.ends_with('.') ? text : text + ".";
}

std::string option_term(const OptionWords &option) {
  std::string term = bold(option.name);
  if (option.name == "--help") term += ", " + bold("-h");
  if (!option.argument.empty()) term += " " + italic(option.argument);
  return term;
}

// Names of those that understand the option; nothing where it is not for a command.
std::string users_of(std::string_view option) {
  std::string names;
  for (const Experiment *experiment : listed_experiments()) {
    if (!is_listed(option, experiment->options)) continue;
    names += (names.empty() ? "" : ", ") + bold(experiment->name);
  }
  return names;
}

std::string command_item(const Experiment &experiment) {
  std::string term = bold(experiment.name);
  if (!experiment.operands.empty()) term += " " + italic(operands_of(experiment));
  std::string meaning = plain(sentence(experiment.summary));
  if (!experiment.usual.empty()) {
    meaning +=
        "\n.br\nWithout options, as far as it fits: " + plain(flowing(experiment.usual)) + ".";
  }
  std::string options;
  for (const OptionWords &option : option_words(experiment.options)) {
    options += (options.empty() ? "" : ", ") + bold(option.name);
  }
  if (!options.empty()) meaning += "\n.br\nOptions: " + options + ".";
  return item(term, meaning);
}

std::string named_items(std::span<const NamedWords> rows) {
  std::string text;
  for (const NamedWords &row : rows) text += item(bold(row.name), plain(sentence(row.meaning)));
  return text;
}

std::string see_also() {
  std::string text;
  for (const std::string_view page : kSeeAlso) {
    const size_t parenthesis = page.find('(');
    if (!text.empty()) text += ",\n";
    text +=
        ".BR " + plain(page.substr(0, parenthesis)) + " " + std::string(page.substr(parenthesis));
  }
  return text;
}

// In lines of at most 80 columns, as readers of the source expect. Requests stay as they are, and
// no line begins like one.
std::string wrapped(std::string_view source) {
  constexpr size_t kColumns = 80;
  std::string text;
  size_t begin = 0, blank = std::string::npos;
  for (const char letter : source) {
    text += letter;
    if (letter == '\n') {
      begin = text.size();
      blank = std::string::npos;
      continue;
    }
    if (text[begin] == '.' || text.size() - begin <= kColumns || blank == std::string::npos) {
      if (letter == ' ') blank = text.size() - 1;
      continue;
    }
    text[blank] = '\n';
    begin = blank + 1;
    blank = std::string::npos;
    if (text[begin] == '.') text.insert(begin, "\\&");
  }
  return text;
}

int print_manual(const Options &options) {
  return write_text(options, manual());
}

}  // namespace

std::string manual() {
  const std::string program(kProgram);
  // No date: the same source gives the same page.
  std::string text =
      ".\\\" Written by 'hpzero-bench man'.\n.TH HPZERO\\-BENCH 1 \"\" \"libhpzero " +
      std::string(hpz_version()) + "\" \"User Commands\"\n";
  // Neither hyphenated nor justified: names of options are searched for, and copied.
  text += ".nh\n.ad l\n";
  text += section("NAME") + plain(program) + " \\- " + plain(kTagline) + "\n";
  text += section("SYNOPSIS") + bold(program) + " [" + italic("command") + "] [" +
          italic("options") + "]\n.br\n" + bold(program) + " " + italic("command") + " " +
          bold("--help") + "\n";
  text += section("DESCRIPTION");
  for (const std::string_view &words : kDescription) {
    text += (&words == kDescription ? "" : ".PP\n") + plain(words) + "\n";
  }
  text += ".PP\n" + plain(kUnits) + "\n";
  text += section("COMMANDS");
  for (const Experiment *experiment : listed_experiments()) text += command_item(*experiment);
  text += section("OPTIONS");
  for (const OptionWords &option : option_words()) {
    const std::string users = users_of(option.name);
    text += item(option_term(option), plain(sentence(option.help)) +
                                          (users.empty() ? "" : "\n.br\nCommands: " + users + "."));
  }
  text += section("EXIT STATUS") + named_items(kExitCodes);
  text += section("ENVIRONMENT") + named_items(kEnvironment);
  text += section("FILES") + named_items(kFiles);
  text += section("EXAMPLES");
  for (const Example &example : all_examples()) {
    text += item(bold(example.line), plain(sentence(example.meaning)));
  }
  return wrapped(text + section("SEE ALSO") + see_also() + "\n");
}

const Experiment kManual = {
    "man", "", "prints the manual of this program, for man(1)", 0, "--output", "", print_manual,
};

}  // namespace hpz::bench
