// SPDX-License-Identifier: BSD-2-Clause
//
// What the machine did between two runs, as against what its rows did. One machine is not always
// as fast: its clock rises, a neighbour on the host comes and goes, for minutes. Rows whose code is
// the same in both runs show that, for they cannot have become faster: they are what the two runs
// are calibrated by, cell by cell (size, state, pages). Pure.
#ifndef HPZERO_BENCH_LEVELS_H
#define HPZERO_BENCH_LEVELS_H

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "bench/results_file.h"

namespace hpz::bench {

// By what is said of it. Of two machines, or of two kernels of the system, everything may differ,
// and that is what the comparison is for.
bool is_one_machine(const ResultsFile &a, const ResultsFile &b);
// By its bytes, not by its version; and told the same by options, variables and profile.
bool is_one_library(const ResultsFile &a, const ResultsFile &b);

// "4KiB/cold/2m" of "memset/4KiB/cold/2m".
std::string cell_of(const std::string &task_name);

// Rates of one row, B by A.
struct RowRatio {
  std::string task_name;
  double ratio = 0;
};

struct Level {
  double ratio = 0;   // median of the rows that calibrate the cell, B by A
  double spread = 0;  // of their ratios about it, as a deviation of logarithms; 0: of too few rows
  size_t rows = 0;

  // How far, as a ratio above 1, a row must be from the level to stand out from the others. What
  // the machine does is not the same to rows that wait for memory and to those that do not.
  double stands_out() const;
};
// By cell, where there are such rows: all, if the library is the same and they are enough for one
// of them not to matter; else those that the library has no part in.
std::map<std::string, Level> levels_of(const std::vector<RowRatio> &rows, bool is_one_library);

}  // namespace hpz::bench

#endif
