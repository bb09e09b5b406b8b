// SPDX-License-Identifier: BSD-2-Clause
//
// From measured rates to bands, and to the text of a profile. Pure.
#ifndef HPZERO_BENCH_BANDS_H
#define HPZERO_BENCH_BANDS_H

#include <cstdint>
#include <functional>
#include <map>
#include <set>
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
  // Of several places: what a kernel reaches of the best rate of a place, where that is least.
  // Empty: of one place.
  KernelRates least_share = {};
};

// What a kernel costs by-standers, 1 being nothing: by kernel. Empty: not measured.
using KernelCosts = std::map<std::string, double>;

// Costs that differ by less are the same: they are ratios of short times.
inline constexpr double kDearer = 1.10;
// Whether it is certain that the first costs that much more than the second.
using CertainlyDearer = std::function<bool(const std::string &, const std::string &)>;

// Without the kernels that cost by-standers notably and certainly more than the cheapest of those
// within 5 % of the best rate, at all places: who streams does so for the sake of others. Where
// that is the usual kernel, the cheapest takes its place. A kernel whose cost is not known is no
// reason to leave another out, and stays.
std::vector<SizeRates> spare_bystanders(const std::vector<SizeRates> &sizes,
                                        const KernelCosts &costs,
                                        const CertainlyDearer &is_certain);

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
// kTakeOver times as fast as its own; by more where the rates are noisy or there would be more than
// most bands. The next band has the usual kernel, unless another is that much faster than it too.
PolicyBands build_bands(const std::vector<SizeRates> &recycled, const std::vector<SizeRates> &cold,
                        size_t most = kMaxBands);

// Measured sizes are powers of two, and the library's own bounds are not: where a band ends between
// the same two kernels and the same two sizes as there, it ends where that does. Beyond largest,
// which is the last size that was measured, the library's own bands go on.
std::vector<Band> keep_built_in_bounds(std::vector<Band> bands, const std::vector<Band> &built_in,
                                       uint64_t largest);

// What bands are decided by is 3 %: of a run with more noise than this, noise decides. A quiet
// machine has less than 1 %.
inline constexpr double kMostNoise = 0.03;

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

// What differs by less does not matter to it.
inline constexpr double kMatters = 1.10;

// Sizes at which the rates say too little, where the library's own range has the say; and that.
struct ProbeDoubt {
  std::set<uint64_t> sizes;
  ProbeRange built_in;  // both 0: nothing is asked, and what is cached is not known
};

ProbeRange build_probe_range(const std::vector<SizeRates> &recycled,
                             const std::vector<SizeRates> &cold, const std::vector<Band> &cached,
                             const std::vector<Band> &stream, const ProbeDoubt &doubt);

struct Profile {
  std::string cpu;
  std::vector<Band> cached, stream;
  ProbeRange probe;
  std::vector<std::string> comments;
};
std::string format_profile(const Profile &profile);

}  // namespace hpz::bench

#endif
