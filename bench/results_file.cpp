// SPDX-License-Identifier: BSD-2-Clause
//
// The only door to nlohmann-json.
#include "bench/results_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "bench/descriptor.h"
#include "bench/json_schema.h"
#include "bench/printable.h"
#include "bench/refusal.h"
#include "bench/sizes.h"

namespace hpz::bench {
namespace {

// The schema needs four levels, and Google Benchmark's caches are no deeper.
constexpr size_t kMostDepth = 32;
constexpr size_t kMostNameBytes = 200;
// Counts are written as doubles: beyond this they are not whole.
constexpr double kMostCount = 9'007'199'254'740'992.0;  // 2^53
constexpr double kMostNs = 1e18;                        // 30 years
// A time that work is divided by. With those above: rates, their ratios and what is computed from
// these are finite, and can be put in order.
constexpr double kLeastNs = 1e-6;
// Google Benchmark has seconds in between.
constexpr double kRoundingOfTime = 1e-6;

constexpr const char *kRemedy = "write one by --json of this hpzero-bench";

std::string damaged_at(size_t position) {
  return "is cut off or damaged at byte " + std::to_string(position) + ": copy it again, or " +
         kRemedy;
}

// Of a file that may have been made to fill the terminal.
std::string in_quotes(std::string_view text) {
  constexpr size_t kMostBytes = 60;
  return "'" + printable(text.substr(0, kMostBytes)) + (text.size() > kMostBytes ? "..." : "") +
         "'";
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMostNameBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

bool is_count(double value) {
  return value >= 0 && value <= kMostCount && value == std::floor(value);
}

// Splits the name; false if it is none.
bool name_task(std::string_view name, RecordedTask &task) {
  if (!is_name(name)) return false;
  std::vector<std::string> parts;
  for (std::string_view rest = name;;) {
    const size_t slash = rest.find('/');
    parts.emplace_back(rest.substr(0, slash));
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (std::any_of(parts.begin(), parts.end(), [](const auto &part) { return part.empty(); })) {
    return false;
  }
  if (parts.size() != 2 && parts.size() != 4) return false;
  task.name = name;
  task.row = parts[0];
  if (parts.size() == 2) {
    task.state = parts[1];
    return true;
  }
  task.size = parts[1];
  task.state = parts[2];
  task.pages = parts[3];
  try {
    task.size_bytes = parse_size(task.size);
  } catch (const Refusal &) {
    return false;
  }
  return true;
}

struct Value {
  enum class Type { kNothing, kTruth, kNumber, kText, kNested };
  Type type = Type::kNothing;
  bool truth = false;
  double number = 0;
  std::string text;  // of a number: as it is to be shown
};

// One entry of "benchmarks" as it comes in.
struct Entry {
  std::optional<std::string> name;
  std::optional<double> round, visit, real_time;
  std::optional<double> fields[std::size(kSampleFields)];
  std::optional<std::string> run_type, time_unit;
  bool has_failed = false;
  std::vector<std::pair<std::string, double>> more;
};

// What Google Benchmark writes beside the counters, and nobody reads here.
constexpr std::string_view kForeignKeys[] = {
    "family_index", "per_family_instance_index",
    "run_name",     "repetitions",
    "threads",      "iterations",
    "cpu_time",     "bytes_per_second",
    "label",        "error_message",
};

// Takes what the parser says, one thing at a time, and keeps only what the schema knows: a file of
// nothing but brackets costs nothing. The first thing wrong with the content is kept and the rest
// read all the same, for the schema's version, which explains it, may come later.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Reader(ResultsFile &file) : file_(file) {}

  bool null() override { return take({}); }
  bool boolean(bool truth) override {
    Value value{Value::Type::kTruth, truth, 0, truth ? "true" : "false"};
    return take(std::move(value));
  }
  bool number_integer(number_integer_t number) override {
    return take_number(static_cast<double>(number), std::to_string(number));
  }
  bool number_unsigned(number_unsigned_t number) override {
    return take_number(static_cast<double>(number), std::to_string(number));
  }
  bool number_float(number_float_t number, const string_t &text) override {
    return take_number(number, text);
  }
  bool string(string_t &text) override {
    return take({Value::Type::kText, false, 0, std::move(text)});
  }
  bool binary(binary_t &) override { return false; }  // not in text
  bool key(string_t &text) override {
    key_ = std::move(text);
    return true;
  }

  bool start_object(size_t) override { return open(true); }
  bool start_array(size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(size_t position, const std::string &,
                   const nlohmann::detail::exception &error) override {
    const bool is_out_of_range =
        dynamic_cast<const nlohmann::detail::out_of_range *>(&error) != nullptr;
    syntax_ = is_out_of_range ? "has a number that is out of range at byte " +
                                    std::to_string(position) + ": " + kRemedy
                              : damaged_at(position);
    return false;
  }

  // Why not, or nothing. Only then is the file complete.
  std::optional<std::string> finish() {
    if (syntax_) return *syntax_;
    if (has_runs_ && !has_benchmarks_) {
      return std::string("is a collection by tools/measure and not the file of one run: ") +
             kRemedy;
    }
    if (!has_context_ || !has_benchmarks_)
      return std::string("is none of hpzero-bench: ") + kRemedy;
    if (auto trouble = schema_trouble()) return trouble;
    if (trouble_) return "is damaged, " + *trouble_ + ": " + kRemedy;
    if (file_.tasks.empty()) {
      return std::string("has no samples: measure again with other options, and ") + kRemedy;
    }
    return order_samples();
  }

 private:
  enum class Place { kRoot, kContext, kBenchmarks, kEntry, kElsewhere };

  bool take_number(double number, std::string text) {
    return take({Value::Type::kNumber, false, number, std::move(text)});
  }

  void complain(std::string what) {
    if (!trouble_) trouble_ = std::move(what);
  }

  bool open(bool is_object) {
    if (places_.size() >= kMostDepth) {
      syntax_ = std::string("is nested deeper than any of hpzero-bench: ") + kRemedy;
      return false;
    }
    places_.push_back(place_inside(is_object));
    return true;
  }

  Place place_inside(bool is_object) {
    if (places_.empty()) return is_object ? Place::kRoot : Place::kElsewhere;
    switch (places_.back()) {
      case Place::kRoot:
        if (key_ == "runs") has_runs_ = true;
        if (key_ == "context" && is_object) {
          if (has_context_) complain("with a second context");
          has_context_ = true;
          return Place::kContext;
        }
        if (key_ == "benchmarks" && !is_object) {
          if (has_benchmarks_) complain("with a second list of benchmarks");
          has_benchmarks_ = true;
          return Place::kBenchmarks;
        }
        return Place::kElsewhere;
      case Place::kBenchmarks:
        if (!is_object) {
          complain("with a list among its benchmarks");
          return Place::kElsewhere;
        }
        entry_ = Entry();
        return Place::kEntry;
      case Place::kEntry:
        take_field({Value::Type::kNested, false, 0, ""});
        return Place::kElsewhere;
      default:
        return Place::kElsewhere;
    }
  }

  bool close() {
    if (places_.back() == Place::kEntry && !trouble_) keep_entry();
    places_.pop_back();
    return true;
  }

  bool take(Value value) {
    const Place place = places_.empty() ? Place::kElsewhere : places_.back();
    if (place == Place::kBenchmarks) complain("with something else among its benchmarks");
    if (place == Place::kContext) take_context(value);
    if (place == Place::kEntry) take_field(std::move(value));
    return true;
  }

  void take_context(const Value &value) {
    if (value.type == Value::Type::kNothing) return;
    if (!file_.context.emplace(printable(key_), printable(value.text)).second) {
      complain("with context " + in_quotes(key_) + " twice");
    }
  }

  void take_text(std::optional<std::string> &into, Value &value) {
    if (into) complain("with " + in_quotes(key_) + " twice in a sample");
    if (value.type != Value::Type::kText) complain("with no text as " + in_quotes(key_));
    into = std::move(value.text);
  }

  void take_number(std::optional<double> &into, const Value &value) {
    if (into) complain("with " + in_quotes(key_) + " twice in a sample");
    if (value.type != Value::Type::kNumber) complain("with no number as " + in_quotes(key_));
    into = value.number;
  }

  void take_field(Value value) {
    for (size_t i = 0; i < std::size(kSampleFields); ++i) {
      if (key_ == kSampleFields[i].name) return take_number(entry_.fields[i], value);
    }
    if (key_ == "name") return take_text(entry_.name, value);
    if (key_ == "run_type") return take_text(entry_.run_type, value);
    if (key_ == "time_unit") return take_text(entry_.time_unit, value);
    if (key_ == "repetition_index") return take_number(entry_.round, value);
    if (key_ == kVisitKey) return take_number(entry_.visit, value);
    if (key_ == "real_time") return take_number(entry_.real_time, value);
    if (key_ == "error_occurred") {
      entry_.has_failed = value.type != Value::Type::kTruth || value.truth;
      return;
    }
    if (value.type != Value::Type::kNumber) return;
    if (std::find(std::begin(kForeignKeys), std::end(kForeignKeys), key_) !=
        std::end(kForeignKeys)) {
      return;
    }
    if (!is_name(key_)) return complain("with a number that has no name");
    const auto same = std::find_if(entry_.more.begin(), entry_.more.end(),
                                   [&](const auto &other) { return other.first == key_; });
    if (same != entry_.more.end())
      return complain("with " + in_quotes(key_) + " twice in a sample");
    // A sample of hpzero-bench has a few of them; thousands would be looked through one by one.
    if (entry_.more.size() == kMostMore) return complain("with too many numbers in a sample");
    entry_.more.emplace_back(key_, value.number);
  }

  // A sample's nanoseconds, where they may also be nothing.
  static bool is_time(double ns) { return ns >= 0 && ns <= kMostNs; }
  static bool is_too_short(double ns) { return ns > 0 && ns < kLeastNs; }

  void keep_entry() {
    if (!entry_.name) return complain("with a sample that has no name");
    const std::string what = " of " + in_quotes(*entry_.name);
    RecordedTask named;
    if (!name_task(*entry_.name, named)) {
      return complain("with a sample named " + in_quotes(*entry_.name));
    }
    if (entry_.run_type.value_or("iteration") != "iteration") {
      return complain("with a sample" + what + " that is computed from others");
    }
    if (entry_.has_failed) return complain("with a sample" + what + " that failed");
    if (entry_.time_unit.value_or("ns") != "ns") {
      return complain("with times" + what + " in " + in_quotes(*entry_.time_unit) +
                      " and not in ns");
    }
    RecordedSample recorded;
    if (!entry_.round || !is_count(*entry_.round)) {
      return complain("with a sample" + what + " whose repetition_index is no count");
    }
    recorded.round = static_cast<uint64_t>(*entry_.round);
    // Files from before there were visits are of one.
    const double visit = entry_.visit.value_or(0);
    if (!is_count(visit)) return complain("with a sample" + what + " whose visit is no count");
    recorded.visit = static_cast<uint64_t>(visit);
    for (size_t i = 0; i < std::size(kSampleFields); ++i) {
      const SampleField &field = kSampleFields[i];
      const std::string name(field.name);
      if (!entry_.fields[i]) {
        if (!field.is_always_there()) continue;
        return complain("with a sample" + what + " without " + name);
      }
      const double value = *entry_.fields[i];
      if (field.count != nullptr) {
        if (!is_count(value)) return complain("with " + name + what + " that is no count");
      } else if (!is_time(value) || (field.set != nullptr && is_too_short(value))) {
        return complain("with " + name + what + " that is no time");
      }
      field.set_value(recorded.sample, value);
    }
    const double ns = recorded.sample.ns;
    if (ns < kLeastNs) return complain("with a sample" + what + " that took no time");
    if (entry_.real_time && !(std::abs(*entry_.real_time - ns) <= kRoundingOfTime * (1 + ns))) {
      return complain("with a sample" + what + " whose ns and real_time differ");
    }
    recorded.sample.more = std::move(entry_.more);

    const auto [place, is_new] = file_.index_by_name.emplace(named.name, file_.tasks.size());
    if (is_new) file_.tasks.push_back(std::move(named));
    file_.tasks[place->second].samples.push_back(std::move(recorded));
  }

  std::optional<std::string> schema_trouble() const {
    const std::string text = file_.context_value(kSchemaKey);
    if (text.empty()) {
      if (file_.context_value("hpzero_version").empty()) {
        return std::string("is of another program than hpzero-bench: ") + kRemedy;
      }
      return std::string("is of an hpzero-bench from before the schema had a number: measure ") +
             "again, and " + kRemedy;
    }
    uint64_t schema = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), schema);
    if (error != std::errc() || rest != text.data() + text.size()) {
      return "has " + in_quotes(text) + " as its schema, which is no number: " + kRemedy;
    }
    if (schema == kJsonSchema) return std::nullopt;
    const std::string both = "is of schema " + std::to_string(schema) +
                             ", and this hpzero-bench reads " + std::to_string(kJsonSchema) + ": ";
    if (schema > kJsonSchema) {
      return both + "use the hpzero-bench that wrote it, or a newer one";
    }
    return both + "measure again, and " + kRemedy;
  }

  std::optional<std::string> order_samples() {
    for (RecordedTask &task : file_.tasks) {
      std::sort(task.samples.begin(), task.samples.end(),
                [](const auto &a, const auto &b) { return a.round < b.round; });
      const auto twice =
          std::adjacent_find(task.samples.begin(), task.samples.end(),
                             [](const auto &a, const auto &b) { return a.round == b.round; });
      if (twice != task.samples.end()) {
        return "is damaged, with two samples of " + in_quotes(task.name) + " in round " +
               std::to_string(twice->round) + ": " + kRemedy;
      }
    }
    return std::nullopt;
  }

  static constexpr size_t kMostMore = 256;

  ResultsFile &file_;
  std::vector<Place> places_;
  std::string key_;
  Entry entry_;
  bool has_context_ = false, has_benchmarks_ = false, has_runs_ = false;
  std::optional<std::string> syntax_, trouble_;
};

Refusal cannot_read(const std::string &path, const std::string &why, const std::string &remedy) {
  return Refusal("cannot read '" + path + "' (" + why + "): " + remedy);
}

}  // namespace

std::vector<Sample> RecordedTask::plain_samples() const {
  std::vector<Sample> plain;
  plain.reserve(samples.size());
  for (const RecordedSample &recorded : samples) plain.push_back(recorded.sample);
  return plain;
}

const RecordedTask *ResultsFile::find(const std::string &name) const {
  const auto found = index_by_name.find(name);
  return found == index_by_name.end() ? nullptr : &tasks[found->second];
}

std::string ResultsFile::context_value(std::string_view key) const {
  const auto found = context.find(std::string(key));
  return found == context.end() ? std::string() : found->second;
}

ResultsFile parse_results(std::string_view text, const std::string &path) {
  const auto refuse = [&](const std::string &what) { throw Refusal("'" + path + "' " + what); };
  if (text.empty()) refuse(std::string("is empty: ") + kRemedy);
  // To the parser a zero byte is the end of the text, whatever comes behind it.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    refuse(damaged_at(zero + 1));
  }
  ResultsFile file;
  file.path = path;
  Reader reader(file);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  if (const auto trouble = reader.finish()) refuse(*trouble);
  return file;
}

ResultsFile read_results(const std::string &path) {
  // O_NONBLOCK: nobody may be at the other end of a FIFO.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  const std::string give = "give a file that --json wrote";
  if (file.get() < 0) throw cannot_read(path, std::strerror(errno), give);
  struct stat status;
  if (fstat(file.get(), &status) != 0) throw cannot_read(path, std::strerror(errno), give);
  if (!S_ISREG(status.st_mode)) throw cannot_read(path, "it is no regular file", give);
  const auto too_large = [&] {
    return cannot_read(path, "it is larger than " + format_size(kMostResultsBytes),
                       "measure with fewer --repetitions or --seconds");
  };
  if (status.st_size > static_cast<off_t>(kMostResultsBytes)) throw too_large();
  std::string text;
  std::vector<char> chunk(256 * kKiB);
  for (;;) {
    const ssize_t got = read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw cannot_read(path, std::strerror(errno), give);
    if (got == 0) break;
    text.append(chunk.data(), static_cast<size_t>(got));
    // It may grow while it is read.
    if (text.size() > kMostResultsBytes) throw too_large();
  }
  return parse_results(text, path);
}

}  // namespace hpz::bench
