// SPDX-License-Identifier: BSD-2-Clause
//
// From measured rates to bands, and to the text of a profile. Pure.
#ifndef HPZERO_BENCH_BANDS_H
#define HPZERO_BENCH_BANDS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hpz::bench {

using KernelRates = std::map<std::string, double>;  // id, GB/s

struct SizeRates {
  uint64_t size = 0;
  KernelRates rates;
  std::string usual;  // what the plan has here without a profile
  double noise = 0;   // standard error of the rates, as a part of them
  size_t rounds = 0;  // that they are medians of
};

// Medians of fewer rounds decide nothing.
inline constexpr size_t kRoundsToTrust = 3;

// What a kernel costs by-standers, 1 being nothing: by kernel. Empty: not measured.
using KernelCosts = std::map<std::string, double>;

// Without the kernels that cost by-standers notably more than the cheapest of those within 5 % of
// the best rate: who streams does so for the sake of others. A kernel whose cost is not known is
// no reason to leave another out, and stays.
std::vector<SizeRates> spare_bystanders(const std::vector<SizeRates> &sizes,
                                        const KernelCosts &costs);

struct Band {
  uint64_t upto_bytes = 0;  // UINT64_MAX: no limit
  std::string kernel;
  friend bool operator==(const Band &, const Band &) = default;
};

struct PolicyBands {
  std::vector<Band> cached, stream;
};

// The library reads at most so many bands, those of both policies counted together.
inline constexpr size_t kMaxBands = 8;
inline constexpr double kTakeOver = 1.03;

// Both lists ascending by size. A band ends at the last measured size before another kernel is
// kTakeOver times as fast as its own; by more where the rates are noisy or there would be too many
// bands. The next band has the usual kernel, unless another is that much faster than it too.
PolicyBands build_bands(const std::vector<SizeRates> &recycled, const std::vector<SizeRates> &cold);

// Why a profile made of these rates would be one of noise; empty if it would not. Both lists
// together.
std::string find_too_noisy(const std::vector<SizeRates> &recycled,
                           const std::vector<SizeRates> &cold);

const std::string &band_kernel(const std::vector<Band> &bands, uint64_t size);

// Where hpz_zero asks the cache: [from, upto]. Below it follows the cached bands, above the
// stream bands.
struct ProbeRange {
  uint64_t from_bytes = 0, upto_bytes = 0;
  friend bool operator==(const ProbeRange &, const ProbeRange &) = default;
};
ProbeRange build_probe_range(const std::vector<SizeRates> &recycled,
                             const std::vector<SizeRates> &cold, const std::vector<Band> &cached,
                             const std::vector<Band> &stream);

struct Profile {
  std::string cpu;
  std::vector<Band> cached, stream;
  ProbeRange probe;
  std::vector<std::string> comments;
};
std::string format_profile(const Profile &profile);

}  // namespace hpz::bench

#endif
