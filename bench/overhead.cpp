// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench overhead: what a call costs beyond the clearing: short ranges against the C
// library's memset, the first call of a process, hpz_init.
#include <hpzero/hpzero.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "bench/atomic_file.h"
#include "bench/clock.h"
#include "bench/context.h"
#include "bench/experiment.h"
#include "bench/measure.h"
#include "bench/refusal.h"
#include "bench/rounds.h"
#include "bench/statistics.h"
#include "bench/table.h"

namespace hpz::bench {
namespace {

using Clear = void (*)(void *, size_t);

struct Callee {
  const char *name;
  Clear clear;
};
constexpr Callee kCallees[] = {{"memset", nullptr},
                               {"hpz_zero", hpz_zero},
                               {"hpz_zero_cached", hpz_zero_cached},
                               {"hpz_zero_stream", hpz_zero_stream}};
constexpr size_t kSizes[] = {1, 8, 16, 32, 64, 96, 128, 192, 255};

constexpr size_t kCalls = 2000;

// Nanoseconds per call are compared, so both sides go through the same kind of call: a pointer that
// the compiler cannot see through. memset itself is called, not the library's row of that name,
// whose cost is finding the row.
Sample take(const Callee &callee, size_t size, double clock_cost_ns) {
  alignas(64) static std::array<char, 512> buffer;
  static void *(*volatile library_memset)(void *, int, size_t) = std::memset;
  volatile size_t length = size;
  Sample sample;
  const uint64_t begin = now_ns();
  if (callee.clear == nullptr) {
    auto *const clear = library_memset;
    for (size_t i = 0; i < kCalls; ++i) clear(buffer.data(), 0, length);
  } else {
    Clear volatile opaque = callee.clear;
    const Clear clear = opaque;
    for (size_t i = 0; i < kCalls; ++i) clear(buffer.data(), length);
  }
  const uint64_t end = now_ns_all_stored();
  sample.ranges = kCalls;
  sample.sections = 1;
  sample.bytes = kCalls * size;
  sample.clock_ns = clock_cost_ns;
  sample.ns = std::max(static_cast<double>(end - begin) - clock_cost_ns, 1.0);
  return sample;
}

// The first calls of a process, in its own process: prints two numbers for the parent.
int be_first_caller(const Options &) {
  alignas(64) static std::array<char, 4096> buffer;
  std::memset(buffer.data(), 1, buffer.size());
  now_ns();  // the clock's own first call
  const uint64_t begin = now_ns();
  hpz_zero(buffer.data(), buffer.size());
  const uint64_t first = now_ns();
  hpz_init(nullptr);
  const uint64_t init = now_ns();
  std::printf("%llu %llu\n", static_cast<unsigned long long>(first - begin),
              static_cast<unsigned long long>(init - first));
  return kExitOk;
}

struct FirstCalls {
  double first_us = 0, init_us = 0;
};

FirstCalls measure_first_calls() {
  constexpr int kProcesses = 21;
  std::vector<double> first, init;
  for (int i = 0; i < kProcesses; ++i) {
    std::FILE *const child = popen("exec /proc/$PPID/exe first-call", "r");
    if (child == nullptr) throw std::runtime_error("cannot start a process");
    unsigned long long first_ns = 0, init_ns = 0;
    const int read = std::fscanf(child, "%llu %llu", &first_ns, &init_ns);
    if (pclose(child) != 0 || read != 2) throw std::runtime_error("a child process failed");
    first.push_back(static_cast<double>(first_ns) / 1e3);
    init.push_back(static_cast<double>(init_ns) / 1e3);
  }
  return {median(first), median(init)};
}

std::vector<double> per_call(const std::vector<Sample> &samples) {
  std::vector<double> values;
  for (const Sample &sample : samples) values.push_back(ns_per_range(sample));
  return values;
}

// Median over rounds of the difference within the round.
double extra_ns(const std::vector<Sample> &a, const std::vector<Sample> &b) {
  std::vector<double> differences;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    differences.push_back(ns_per_range(a[i]) - ns_per_range(b[i]));
  }
  return median(differences);
}

int run(const Options &options) {
  std::optional<AtomicFile> json;
  if (options.json) json.emplace(*options.json, "--json");
  const FirstCalls first = measure_first_calls();
  hpz_init(nullptr);
  const int cpu = pin_to_one_cpu();
  const double clock_cost_ns = measure_clock_cost_ns();
  Rounds rounds;
  const int repetitions = options.repetitions.value_or(101);

  TextTable table;
  std::vector<std::string> heading{"ns per call", "memset"};
  for (const Callee &callee : kCallees) {
    if (callee.clear == nullptr) continue;
    heading.emplace_back(callee.name);
    heading.emplace_back("more");
  }
  table.add_row(std::move(heading));
  double most = 0;
  for (const size_t size : kSizes) {
    std::vector<Task> tasks;
    for (const Callee &callee : kCallees) {
      tasks.push_back(
          {std::string(callee.name) + "/" + std::to_string(size) + "B/call/hot",
           [&callee, size, clock_cost_ns] { return take(callee, size, clock_cost_ns); }});
    }
    std::vector<std::vector<Sample>> samples(tasks.size());
    rounds.begin_tasks();
    for (int round = 0; round < repetitions; ++round) {
      const std::vector<Sample> taken = rounds.run_round(tasks);
      for (size_t i = 0; i < taken.size(); ++i) samples[i].push_back(taken[i]);
    }
    std::vector<std::string> line{std::to_string(size) + "B",
                                  decimals(median(per_call(samples[0])), 2)};
    for (size_t i = 1; i < samples.size(); ++i) {
      const double more = extra_ns(samples[i], samples[0]);
      most = std::max(most, more);
      line.push_back(decimals(median(per_call(samples[i])), 2));
      line.push_back(decimals(more, 2));
    }
    table.add_row(std::move(line));
  }
  std::printf("%s\n", table.text().c_str());
  std::printf("most that a call under 256 bytes costs more than memset: %s ns\n",
              decimals(most, 2).c_str());
  std::printf("first hpz_zero of a process: %s us\n", decimals(first.first_us, 1).c_str());
  std::printf("hpz_init: %s us\n", decimals(first.init_us, 1).c_str());
  if (json) {
    for (const auto &[key, value] : describe_machine(cpu)) rounds.add_context(key, value);
    rounds.add_context("most_extra_ns_per_call", decimals(most, 3));
    rounds.add_context("first_call_us", decimals(first.first_us, 3));
    rounds.add_context("init_us", decimals(first.init_us, 3));
    json->commit(rounds.json(options.command));
  }
  return kExitOk;
}

}  // namespace

const Experiment kOverhead = {
    "overhead", "",  "what a call, the first call and hpz_init cost", 0, "--repetitions --json",
    "",         run,
};

const Experiment kFirstCall = {"first-call", "", "", 0, "", "", be_first_caller};

}  // namespace hpz::bench
