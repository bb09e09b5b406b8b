// SPDX-License-Identifier: BSD-2-Clause
//
// What a file of samples holds, as experiments measured it: cells, whose rows had the same rounds,
// and the plan that the library had there. Pure.
#ifndef HPZERO_BENCH_RECORDED_CELLS_H
#define HPZERO_BENCH_RECORDED_CELLS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/results_file.h"

namespace hpz::bench {

struct RecordedCell {
  std::string size, state, pages;  // size and pages may be empty
  uint64_t size_bytes = 0;
  std::vector<const RecordedTask *>
      rows;  // in the order of tables; of the file, which outlives them

  const RecordedTask *find(std::string_view row) const;  // nullptr: none
};

// In the order of the file.
std::vector<RecordedCell> cells_of(const ResultsFile &file);

// Median over rounds of a's rate by b's in the same round; 0 if there are none.
double rate_ratio(const RecordedTask &a, const RecordedTask &b);
// The same of times: 0.5 is half the time.
double time_ratio(const RecordedTask &a, const RecordedTask &b);

// Median over rounds of what the experiment counted by that name; 0 if it did not.
double counted(const RecordedTask &task, std::string_view name);

// The kernels that hpz_zero had for memory in those states, read from the context. "": not told.
class RecordedPlan {
 public:
  explicit RecordedPlan(const ResultsFile &file);
  std::string kernel(std::string_view state, uint64_t size) const;

 private:
  struct Band {
    uint64_t upto = 0;
    std::string kernel;
  };
  using Bands = std::vector<Band>;
  static Bands read_bands(const std::string &text);
  static std::string find(const Bands &bands, uint64_t size);

  Bands automatic_, stream_;
  uint64_t probe_from_ = 0, probe_upto_ = 0;  // upto 0: nothing is probed
};

}  // namespace hpz::bench

#endif
