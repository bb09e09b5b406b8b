// SPDX-License-Identifier: BSD-2-Clause
//
// Where tune measures: every kind of pages on every node with memory, by a thread on a CPU of that
// node. Takes samples; what they decide is evidence.cpp's.
#ifndef HPZERO_BENCH_TUNE_PLACES_H
#define HPZERO_BENCH_TUNE_PLACES_H

#include <cstdint>
#include <string>
#include <vector>

#include "bench/bystanders.h"
#include "bench/evidence.h"
#include "bench/jobs.h"
#include "bench/measure.h"
#include "bench/options.h"
#include "bench/progress.h"

namespace hpz::bench {

// All kinds of pages if none are asked for; nodes one after another. root: "" but in tests.
std::vector<JobPlace> tune_places(const std::vector<PageKind> &asked_for,
                                  const std::string &root = "");

struct PlaceSamples {
  std::string memory;     // Arena::summary
  std::string shortfall;  // Arena::shortfall
  uint64_t set_bytes = 0;
  int cpu = -1;  // that measured, -1: wherever it ran
  std::vector<CellResult> recycled, cold;
  BystanderSizes sets;
  Neighbour neighbour;
  std::vector<BystanderRow> bystanders;
};

struct TuneTime {
  double seconds = 0;   // of this place
  int repetitions = 0;  // 0: as time permits
};

// cpus: that may be used. Leaves the thread and the machine as they were. Throws Refusal for memory
// that cannot be had.
PlaceSamples measure_tune_place(const JobPlace &place, const Options &options, const TuneTime &time,
                                const std::vector<int> &cpus, Rounds &rounds, Meter &meter,
                                const Progress &progress);

// Samples of all places, in their order, as the choice is made of.
TuneSamples gather(const std::vector<JobPlace> &places, const std::vector<PlaceSamples> &samples);

}  // namespace hpz::bench

#endif
