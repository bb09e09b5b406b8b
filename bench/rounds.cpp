// SPDX-License-Identifier: BSD-2-Clause
#include "bench/rounds.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "bench/json_schema.h"

namespace hpz::bench {
namespace {

// Keeps runs instead of printing them. The library reports a context per run, of which one is kept
// for the file.
class Collector : public benchmark::BenchmarkReporter {
 public:
  explicit Collector(std::vector<Run> &runs) : runs_(runs) {}
  bool ReportContext(const Context &) override { return true; }
  void ReportRuns(const std::vector<Run> &report) override {
    runs_.insert(runs_.end(), report.begin(), report.end());
  }

 private:
  std::vector<Run> &runs_;
};

void set_counters(benchmark::State &state, const Sample &sample) {
  for (const SampleField &field : kSampleFields) {
    if (field.is_in(sample)) state.counters[std::string(field.name)] = field.value(sample);
  }
  for (const auto &[name, value] : sample.more) state.counters[name] = value;
  state.SetBytesProcessed(static_cast<int64_t>(sample.bytes));
}

}  // namespace

struct Rounds::Kept {
  std::vector<benchmark::BenchmarkReporter::Run> runs;
};

Rounds::Rounds() : kept_(std::make_unique<Kept>()) {
  static char name[] = "hpzero-bench";
  char *arguments[] = {name, nullptr};
  int count = 1;
  benchmark::Initialize(&count, arguments);
}

// No benchmark::Shutdown: it frees the context, and whoever adds to it afterwards writes into freed
// memory (1.7.1).
Rounds::~Rounds() = default;

void Rounds::add_context(const std::string &key, const std::string &value) {
  benchmark::AddCustomContext(key, value);
}

void Rounds::begin_tasks() {
  ++begun_;
}

std::vector<Sample> Rounds::run_round(const std::vector<Task> &tasks) {
  std::vector<size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), random_);

  std::vector<Sample> samples(tasks.size());
  // Not through Google Benchmark's own frames.
  std::exception_ptr trouble;
  benchmark::ClearRegisteredBenchmarks();
  for (const size_t i : order) {
    benchmark::RegisterBenchmark(tasks[i].name.c_str(),
                                 [&, i](benchmark::State &state) {
                                   for ([[maybe_unused]] auto _ : state) {
                                     if (trouble) {
                                       state.SkipWithError("not run");
                                       break;
                                     }
                                     try {
                                       samples[i] = tasks[i].take();
                                     } catch (...) {
                                       trouble = std::current_exception();
                                       state.SkipWithError("failed");
                                       break;
                                     }
                                     state.SetIterationTime(samples[i].ns / 1e9);
                                   }
                                   set_counters(state, samples[i]);
                                 })
        ->Iterations(1)
        ->UseManualTime();
  }
  std::vector<benchmark::BenchmarkReporter::Run> runs;
  Collector collector(runs);
  const size_t ran = benchmark::RunSpecifiedBenchmarks(&collector, nullptr, "all");
  benchmark::ClearRegisteredBenchmarks();
  if (trouble) std::rethrow_exception(trouble);
  if (ran != tasks.size() || runs.size() != tasks.size()) {
    throw std::runtime_error("Google Benchmark did not run every benchmark");
  }

  for (size_t k = 0; k < runs.size(); ++k) {
    auto &run = runs[k];
    Seen &task = seen_[tasks[order[k]].name];
    if (task.rounds == 0) {
      task.family = static_cast<int64_t>(seen_.size()) - 1;
    } else if (task.begun != begun_) {
      ++task.visit;
    }
    task.begun = begun_;
    run.family_index = task.family;
    run.per_family_instance_index = 0;
    run.repetition_index = task.rounds++;
    run.counters[std::string(kVisitKey)] = static_cast<double>(task.visit);
    run.run_name.iterations.clear();
    run.run_name.time_type.clear();
    run.statistics = nullptr;  // belongs to the benchmark, which is gone
    if (!samples[order[k]].is_void) kept_->runs.push_back(run);
  }
  return samples;
}

std::string Rounds::json(std::string_view command) const {
  const auto add = [](std::string_view key, std::string_view value) {
    benchmark::AddCustomContext(std::string(key), std::string(value));
  };
  add(kSchemaKey, std::to_string(kJsonSchema));
  add(kCommandKey, command);
  add(kBuildKey, HPZERO_BENCH_BUILD);
  add(kClockKey, kClock);
  std::ostringstream text;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&text);
  reporter.SetErrorStream(&text);
  reporter.ReportContext(benchmark::BenchmarkReporter::Context());
  std::vector<benchmark::BenchmarkReporter::Run> runs = kept_->runs;
  for (auto &run : runs) run.repetitions = seen_.at(run.run_name.function_name).rounds;
  reporter.ReportRuns(runs);
  reporter.Finalize();
  return text.str();
}

}  // namespace hpz::bench
