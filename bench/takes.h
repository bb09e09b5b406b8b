// SPDX-License-Identifier: BSD-2-Clause
//
// Times of single pages taken, and the table that they were published in. Pure.
#ifndef HPZERO_BENCH_TAKES_H
#define HPZERO_BENCH_TAKES_H

#include <cstdint>
#include <string>
#include <vector>

#include "bench/statistics.h"

namespace hpz::bench {

// Of one sample. Where nobody tells how a page was had, the three are 0.
struct Takes {
  std::vector<double> ns;  // each: the take, and the first store; in their order
  uint64_t hits = 0, misses = 0, waits = 0;
};

struct TakeFigures {
  double total = 0, mean = 0, min = 0, median = 0, p999 = 0, max = 0;  // ns
};
// 99.9th percentile: the least that is not exceeded by more than one in a thousand.
TakeFigures figures_of(const std::vector<double> &ns);

// As a sample: the figures are in JSON by their names. Of so many pages, once or again and again.
Sample sample_of(const Takes &takes, size_t pages, uint64_t page_bytes);

struct TakeRow {
  std::string id, title;
  std::vector<Takes> samples;  // by round
};

// All of the row, of all rounds; but not the first so many of each.
std::vector<double> all_ns(const TakeRow &row, size_t skipped = 0);

// Median over rounds of the mean; the first so many takes of each left out.
double mean_ns(const TakeRow &row, size_t skipped = 0);
// Median over rounds of the median.
double median_ns(const TakeRow &row);

// Median over rounds of a's mean by b's in the same round; 0 if there are none.
double mean_ratio(const TakeRow &a, const TakeRow &b, size_t skipped = 0);

// What somebody published of the same thing. Empty: not published.
struct PublishedTakes {
  std::string title, total, mean, max, hits, misses, waits;
};
std::vector<PublishedTakes> published_once();    // every page taken and touched once
std::vector<PublishedTakes> published_rounds();  // sixteen rounds back to back

// Of each row the round whose total is the median one, whole, so that a line's figures are of one
// piece.
std::string render_takes(const std::vector<const TakeRow *> &rows,
                         const std::vector<PublishedTakes> &published);

}  // namespace hpz::bench

#endif
