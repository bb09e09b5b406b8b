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
inline constexpr std::string_view kBuildKey = "hpzero_build";        // how this was compiled
inline constexpr std::string_view kClockKey = "clock";               // what all ns were read from
inline constexpr std::string_view kClockSourceKey = "clock_source";  // what the kernel has for it
inline constexpr std::string_view kClockCostKey = "clock_cost_ns";

inline constexpr std::string_view kClock = "clock_gettime(CLOCK_MONOTONIC)";

// Of a sample, beside Google Benchmark's own. Either a count or nanoseconds.
struct SampleField {
  std::string_view name;
  uint64_t Sample::*count = nullptr;
  double Sample::*ns = nullptr;
  bool is_of_jobs = false;  // only where threads were looked at
};
inline constexpr SampleField kSampleFields[] = {
    {"bytes", &Sample::bytes},
    {"ns", nullptr, &Sample::ns},
    {"ranges", &Sample::ranges},
    {"sections", &Sample::sections},
    {"subtracted_clock_ns", nullptr, &Sample::clock_ns},
    {"page_faults", &Sample::faults},
    {"preempted", &Sample::preempted},
    // Not "threads": that is Google Benchmark's, and a second key of that name is nobody's.
    {"threads_worked", &Sample::threads, nullptr, true},
    {"cpu_ns", &Sample::cpu_ns, nullptr, true},
    {"local_bytes", &Sample::local_bytes, nullptr, true},
    {"remote_bytes", &Sample::remote_bytes, nullptr, true},
};

}  // namespace hpz::bench

#endif
