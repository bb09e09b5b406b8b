// SPDX-License-Identifier: BSD-2-Clause
//
// The names in the files of --json, and which version of them this is: rounds.cpp writes by these,
// results_file.cpp reads by these. What they mean to others is in README.md, "The JSON file".
#ifndef HPZERO_BENCH_JSON_SCHEMA_H
#define HPZERO_BENCH_JSON_SCHEMA_H

#include <cstdint>
#include <string_view>

#include "bench/statistics.h"

namespace hpz::bench {

// Raised when a file means something else to a program that knows the version before: a name gone,
// a unit or a meaning changed. More names are not that.
inline constexpr uint64_t kJsonSchema = 1;

// Of the context.
inline constexpr std::string_view kSchemaKey = "hpzero_schema";
inline constexpr std::string_view kCommandKey = "hpzero_command";    // the subcommand
inline constexpr std::string_view kLibraryKey = "hpzero_library";    // fingerprint of its file
inline constexpr std::string_view kBuildKey = "hpzero_build";        // how this was compiled
inline constexpr std::string_view kClockKey = "clock";               // what all ns were read from
inline constexpr std::string_view kClockSourceKey = "clock_source";  // what the kernel has for it
inline constexpr std::string_view kClockCostKey = "clock_cost_ns";
inline constexpr std::string_view kWarningsKey = "warnings";
inline constexpr std::string_view kWarningSeparator = "; ";

inline constexpr std::string_view kClock = "clock_gettime(CLOCK_MONOTONIC)";

// Of every sample: which visit to its task it is of, from 0. Its round is Google Benchmark's
// repetition_index.
inline constexpr std::string_view kVisitKey = "visit";

// Of a sample, beside Google Benchmark's own: a count, nanoseconds, or nanoseconds of a by-stander.
struct SampleField {
  std::string_view name;
  uint64_t Sample::*count = nullptr;
  double Sample::*ns = nullptr;
  Reread Sample::*set = nullptr;
  double Reread::*set_ns = nullptr;
  bool is_of_jobs = false;

  // Of some samples only: where threads, or by-standers, were looked at.
  bool is_always_there() const { return !is_of_jobs && set == nullptr; }
  bool is_in(const Sample &sample) const {
    if (is_of_jobs) return sample.threads > 0;
    return set == nullptr || (sample.*set).warm_ns > 0;
  }
  double value(const Sample &sample) const {
    if (count != nullptr) return static_cast<double>(sample.*count);
    return set != nullptr ? sample.*set.*set_ns : sample.*ns;
  }
  void set_value(Sample &sample, double value) const {
    if (count != nullptr) {
      sample.*count = static_cast<uint64_t>(value);
    } else {
      (set != nullptr ? sample.*set.*set_ns : sample.*ns) = value;
    }
  }
};

constexpr SampleField count_of_jobs(std::string_view name, uint64_t Sample::*count) {
  return {name, count, nullptr, nullptr, nullptr, true};
}
constexpr SampleField pass_ns(std::string_view name, Reread Sample::*set, double Reread::*ns) {
  return {name, nullptr, nullptr, set, ns, false};
}

inline constexpr SampleField kSampleFields[] = {
    {"bytes", &Sample::bytes},
    {"ns", nullptr, &Sample::ns},
    {"ranges", &Sample::ranges},
    {"sections", &Sample::sections},
    {"subtracted_clock_ns", nullptr, &Sample::clock_ns},
    {"page_faults", &Sample::faults},
    {"preempted", &Sample::preempted},
    // Not "threads": that is Google Benchmark's, and a second key of that name is nobody's.
    count_of_jobs("threads_worked", &Sample::threads),
    count_of_jobs("cpu_ns", &Sample::cpu_ns),
    count_of_jobs("local_bytes", &Sample::local_bytes),
    count_of_jobs("remote_bytes", &Sample::remote_bytes),
    pass_ns("l2_warm_pass_ns", &Sample::l2, &Reread::warm_ns),
    pass_ns("l2_pass_ns", &Sample::l2, &Reread::ns),
    pass_ns("llc_warm_pass_ns", &Sample::llc, &Reread::warm_ns),
    pass_ns("llc_pass_ns", &Sample::llc, &Reread::ns),
};

}  // namespace hpz::bench

#endif
