// SPDX-License-Identifier: BSD-2-Clause
//
// A file that --json wrote, read back: every sample, and the context. The file may be anything:
// what is not of this schema is refused in one sentence, and nothing in it can trouble a terminal.
// What the figures mean is for others to say.
#ifndef HPZERO_BENCH_RESULTS_FILE_H
#define HPZERO_BENCH_RESULTS_FILE_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/statistics.h"

namespace hpz::bench {

// More than any run has written; what is larger was not meant.
inline constexpr uint64_t kMostResultsBytes = uint64_t{256} << 20;

struct RecordedSample {
  uint64_t round = 0;  // repetition_index; a sample may be missing from a round
  uint64_t visit = 0;  // samples of one visit follow each other at once
  Sample sample;       // is_void is never set: void samples are not recorded
};

// "row/size/state/pages", or "row/state" of calls that have no size.
struct RecordedTask {
  std::string name;
  std::string row, size, state, pages;  // parts of the name; size and pages may be empty
  uint64_t size_bytes = 0;              // 0: none
  std::vector<RecordedSample> samples;  // at least one, by ascending round, each round once

  std::vector<Sample> plain_samples() const;
};

struct ResultsFile {
  std::string path;                            // as given
  std::map<std::string, std::string> context;  // text, numbers and truths; printable ASCII
  std::vector<RecordedTask> tasks;             // at least one, in the order of the file

  const RecordedTask *find(const std::string &name) const;  // nullptr: none
  // Of the context; empty: it is not there.
  std::string context_value(std::string_view key) const;

  std::unordered_map<std::string, size_t> index_by_name;
};

// Both throw Refusal. Reading never blocks, and stops at kMostResultsBytes.
ResultsFile read_results(const std::string &path);
ResultsFile parse_results(std::string_view text, const std::string &path);

}  // namespace hpz::bench

#endif
