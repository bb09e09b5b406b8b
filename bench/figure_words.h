// SPDX-License-Identifier: BSD-2-Clause
//
// What figures of the report have in common: which cells are whose, how their numbers are written.
// Pure.
#ifndef HPZERO_BENCH_FIGURE_WORDS_H
#define HPZERO_BENCH_FIGURE_WORDS_H

#include <cstdint>
#include <string>
#include <vector>

#include "bench/html.h"
#include "bench/recorded_cells.h"
#include "bench/report_figures.h"
#include "bench/statistics.h"

namespace hpz::bench {

// Told by what is in a cell, not by which experiment it is of: others may measure the same.
enum class CellSubject { kSizes, kThreads, kParts, kCalls, kWaits, kBystanders, kOther };
CellSubject subject_of(const RecordedCell &cell);

std::vector<RecordedCell> cells_about(const ResultsFile &file, CellSubject subject);

Summary rate_of(const RecordedTask &task);        // GB/s
MeanDeviation time_of(const RecordedTask &task);  // ns, as published figures are
double median_time_of(const RecordedTask &task);  // ns

std::string spaced_size(const std::string &size);  // "4KiB" -> "4 KiB"
std::string rate_words(double gb_per_s);           // "24.5 GB/s"
std::string times_words(double ratio);             // "1.95 times"
std::string percent_words(double part);            // "38 %", "0.86 %"
std::string spread_words(double spread);           // "+-2 %", with the sign for it
std::string rounds_words(const std::vector<const RecordedTask *> &rows);  // "11 rounds"

HtmlCell none();  // "-"

// Logarithmic only where a linear axis would press the small ones flat.
void choose_scale(Chart &chart, const char *unit);

}  // namespace hpz::bench

#endif
