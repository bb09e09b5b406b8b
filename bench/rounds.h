// SPDX-License-Identifier: BSD-2-Clause
//
// The only door to Google Benchmark: takes samples as its benchmarks, in rounds in which every task
// has one turn, and writes them in its JSON schema. Knows nothing of memory or kernels.
//
// Google Benchmark repeats one benchmark until it is done with it, or shuffles all repetitions of
// all; neither gives A B A B. So each round is a run of its own, of one iteration each, in a new
// random order (whoever comes after a row that fills the caches is not always the same), and the
// round is the repetition_index.
#ifndef HPZERO_BENCH_ROUNDS_H
#define HPZERO_BENCH_ROUNDS_H

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/statistics.h"

namespace hpz::bench {

struct Task {
  std::string name;  // in JSON: row/size/state/pages
  std::function<Sample()> take;
};

class Rounds {
 public:
  Rounds();
  ~Rounds();
  Rounds(const Rounds &) = delete;
  Rounds &operator=(const Rounds &) = delete;

  // One sample per task, in the tasks' order whatever order they were taken in. Rounds of the same
  // tasks follow each other; begin_tasks starts new ones, or the next visit to tasks that there
  // were before, whose rounds go on. A void sample is not kept for json().
  void begin_tasks();
  std::vector<Sample> run_round(const std::vector<Task> &tasks);

  // key and value for the context block, each key once.
  void add_context(const std::string &key, const std::string &value);

  // Everything run so far, by that subcommand. Once in a process, whose context Google Benchmark's
  // is: it is completed by this.
  std::string json(std::string_view command) const;

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;
  std::mt19937 random_{1};
  struct Seen {
    int64_t family = 0, rounds = 0;
    uint64_t visit = 0;  // from 0
    uint64_t begun = 0;  // begun_ of that visit
  };
  std::unordered_map<std::string, Seen> seen_;  // tasks by name
  uint64_t begun_ = 0;
};

}  // namespace hpz::bench

#endif
