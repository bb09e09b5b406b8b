// SPDX-License-Identifier: BSD-2-Clause
//
// The plan: which kernel clears a range of a given length under each policy. Pure data and pure
// functions; publishing it is the work of lib/zero/dispatch.
#ifndef HPZERO_LIB_PLAN_PLAN_H
#define HPZERO_LIB_PLAN_PLAN_H

#include <span>

#include "arch/arch.h"
#include "lib/plan/text.h"

namespace hpz {

inline constexpr uint32_t kMaxBands = 8;
inline constexpr uint64_t kNoLimit = UINT64_MAX;
// The probe touches two neighbouring pages in the middle of the range: shorter ones are never
// probed.
inline constexpr uint64_t kSmallestProbe = 16 * 1024;

struct Band {
  uint64_t upto = 0;  // lengths up to this, inclusive
  const Kernel *kernel = nullptr;
  friend bool operator==(const Band &, const Band &) = default;
};

// Ascending; the last one in use has upto == kNoLimit.
struct Bands {
  uint32_t count = 0;
  Band band[kMaxBands];

  const Kernel &find(uint64_t len) const noexcept {
    const Band *at = band;
    while (at->upto < len) ++at;  // ends: nothing is above kNoLimit
    return *at->kernel;
  }
  // Bands that would be empty are dropped, neighbours with the same kernel are merged.
  void append(uint64_t upto, const Kernel &kernel) noexcept;
  friend bool operator==(const Bands &, const Bands &) = default;
};

struct Selection {
  Bands cached;
  Bands stream;
  // hpz_zero: by the memory's present place from probe_from to probe_upto, both inclusive; cached
  // below, stream above. Equal: no probe.
  uint64_t probe_from = kNoLimit;
  uint64_t probe_upto = kNoLimit;

  bool probes() const noexcept { return probe_from < probe_upto; }
  friend bool operator==(const Selection &, const Selection &) = default;
};

// Why a row may not or should not be used on a CPU with these features.
constexpr FeatureSet missing_features(const Kernel &row, FeatureSet features) noexcept {
  return row.needs & ~features;
}
constexpr FeatureSet avoided_for(const Kernel &row, FeatureSet features) noexcept {
  return row.avoid & features;
}

// First row of the role that may and should run; if every one is avoided, the first that may; null
// if none.
const Kernel *best_of_role(std::span<const Kernel> table, FeatureSet features, Role role) noexcept;
const Kernel *find_kernel(std::span<const Kernel> table, const char *id) noexcept;

// The built-in policy by cache sizes and tuning: lib/plan/bands.cpp.
Selection built_in_bands(std::span<const Kernel> table, FeatureSet features,
                         const CacheSizes &caches, const Tuning &tuning) noexcept;

// What decides, in this order: a forced kernel, a profile, the built-in policy.
struct SelectInput {
  std::span<const Kernel> table;
  FeatureSet features = 0;
  CacheSizes caches;
  Tuning tuning;
  const Selection *profile = nullptr;
  const Kernel *forced = nullptr;
};
Selection select(const SelectInput &input) noexcept;

}  // namespace hpz

#endif
