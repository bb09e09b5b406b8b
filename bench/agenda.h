// SPDX-License-Identifier: BSD-2-Clause
//
// What to measure: from the options and what memory there is to cells, sets of memory and time.
// Pure, but for asking how much memory is free.
#ifndef HPZERO_BENCH_AGENDA_H
#define HPZERO_BENCH_AGENDA_H

#include <cstdint>
#include <string>
#include <vector>

#include "bench/memory.h"
#include "bench/options.h"
#include "bench/plan.h"
#include "bench/workloads.h"

namespace hpz::bench {

struct PageAgenda {  // one kind of pages
  ArenaRequest memory;
  std::vector<Cell> cells;  // by state, then by size
};

struct Agenda {
  std::vector<PageAgenda> kinds;
  std::vector<std::string> left_out;  // defaults that do not fit, and why
  double seconds = 0;                 // for all cells; 0: rounds decide
  int rounds = 0;                     // per cell; 0: time decides
};

// Throws Refusal for what was asked for by name and cannot be had.
Agenda make_agenda(const Options &options, const Caches &caches);

// A cell's share of the time, relative to others.
double time_weight(const Cell &cell);

}  // namespace hpz::bench

#endif
