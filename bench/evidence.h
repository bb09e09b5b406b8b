// SPDX-License-Identifier: BSD-2-Clause
//
// From samples of several places (a kind of pages on a node) to the one profile that holds at all
// of them, and rests on nothing that may be chance. Pure.
//
// One, because a library that is called with an address and a length knows neither: asking for the
// node or the kind of pages is a system call, which takes longer than clearing a few pages.
#ifndef HPZERO_BENCH_EVIDENCE_H
#define HPZERO_BENCH_EVIDENCE_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/bands.h"
#include "bench/bystanders.h"
#include "bench/statistics.h"

namespace hpz::bench {

using KernelSamples = std::map<std::string, std::vector<Sample>>;

struct SizeSamples {
  uint64_t size = 0;
  std::vector<KernelSamples> places;  // in the order of the places; empty: not measured there
};

// What the library does by itself.
struct BuiltIn {
  std::vector<Band> cached, stream;
  ProbeRange probe;  // both 0: none
};

struct TuneSamples {
  std::vector<std::string> places;                    // titles
  std::vector<SizeSamples> recycled, cold;            // ascending
  std::vector<std::vector<BystanderRow>> bystanders;  // by place; the control among them
  BuiltIn built_in;
};

// Answers to one kind of question (who is faster, who is dearer, where to ask the cache) are
// believed if all of these together are wrong anywhere with no more than this probability.
inline constexpr double kMostDoubt = 0.05;

struct Choice {
  std::vector<Band> cached, stream;
  ProbeRange probe;
  std::vector<SizeRates> recycled, cold;  // of all places together, all kernels
  // Where another kernel than the library's own seemed faster, and may not be.
  std::vector<std::string> doubts;
};
Choice choose(const TuneSamples &samples);

// Samples of one place alone.
TuneSamples at_place(const TuneSamples &samples, size_t place);

// What a profile reaches of the best kernel's rate in one place, over all sizes and both states.
struct Reached {
  double median = 0, least = 0;
};
Reached reached_by(const TuneSamples &samples, size_t place, const std::vector<Band> &cached,
                   const std::vector<Band> &stream);

// Where a place alone would have chosen another kernel, by 3 % or more: a sentence for each run of
// sizes.
std::vector<std::string> find_dissent(const TuneSamples &samples, size_t place,
                                      const Choice &choice);

// Why a profile of these samples would be one of noise, and at which place; empty if it would not.
std::string find_noisy_place(const TuneSamples &samples);

}  // namespace hpz::bench

#endif
