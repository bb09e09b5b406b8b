// SPDX-License-Identifier: BSD-2-Clause
//
// The cache probe of hpz_zero: is this range in cache now?
#ifndef HPZERO_LIB_ZERO_PROBE_H
#define HPZERO_LIB_ZERO_PROBE_H

#include <stddef.h>
#include <stdint.h>

namespace hpz::probe {

inline constexpr uint64_t kUncalibrated = 0;
inline constexpr uint64_t kUnusable = UINT64_MAX;

// Ticks above which an access missed the caches, from what an access takes that hits the first
// level and one that misses them all; kUnusable where the two cannot be told apart.
constexpr uint64_t threshold(uint64_t hit_ticks, uint64_t miss_ticks) noexcept {
  // A counter that traps, or an emulator without caches: the figures are near each other or absurd.
  constexpr uint64_t kMaxHitTicks = 2000;
  if (hit_ticks == 0 || hit_ticks > kMaxHitTicks || miss_ticks < 3 * hit_ticks) return kUnusable;
  // Half-way: on Granite Rapids hits end at 180 ticks (last level) and misses begin at 400, around
  // a threshold of 254; on Zen 5 at 104 and 700.
  return hit_ticks + (miss_ticks - hit_ticks) / 2;
}

// The threshold in force; measures it on a line of its own (some 20 us) where that has not been
// done.
uint64_t calibrated_threshold(bool has_counter) noexcept;
uint64_t known_threshold(bool has_counter) noexcept;  // measures nothing; may be kUncalibrated

// True: the middle of the range missed all caches. The range must hold 16 KiB; up to 16 bytes of it
// are cleared by the way.
bool misses_cache(void *dst, size_t len, uint64_t threshold_ticks) noexcept;

}  // namespace hpz::probe

#endif
