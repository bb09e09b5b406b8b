// SPDX-License-Identifier: BSD-2-Clause
//
// Results as text. Prints what was measured and says nothing about it: opinions are warnings.h's.
#ifndef HPZERO_BENCH_TABLE_H
#define HPZERO_BENCH_TABLE_H

#include <cstdint>
#include <string>
#include <vector>

#include "bench/context.h"
#include "bench/measure.h"

namespace hpz::bench {

// Plain columns: the first one left-aligned, the others right-aligned. Used by all subcommands.
class TextTable {
 public:
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string render_context(const ContextEntries &entries);

std::string decimals(double value, int digits);
std::string format_rate(double gb_per_s);                // three digits: "9.87", "24.5", "255"
std::string format_ratio(double ratio);                  // "1.95"
std::string count_of(uint64_t count, const char *what);  // "1 page", "2 pages"
// "7 %"; of a digit behind the point only what is no zero.
std::string format_percent(double part, int digits = 0);

// The regret of a policy: its rate by that of the best kernel, paired. Which policies a state
// judges is decided here: cached ones on recycled memory, streaming ones on cold memory, hpz_zero
// on both.
struct Regret {
  std::string policy;
  double ratio = 0;  // 0: not measured
};
std::vector<Regret> regrets(const CellResult &result);

// Cells of one kind of pages and one state, ascending by size: rates, then ratios to the reference
// if there is one, then the column of regrets.
std::string render_results(const std::vector<const CellResult *> &cells,
                           const std::string &reference);

}  // namespace hpz::bench

#endif
