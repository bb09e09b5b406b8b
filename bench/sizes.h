// SPDX-License-Identifier: BSD-2-Clause
//
// Sizes as people write and read them. Binary units are KiB, MiB, GiB, decimal ones kB, MB, GB;
// what could mean either (4K, 4k, 1G) is refused. Nothing here knows memory.
#ifndef HPZERO_BENCH_SIZES_H
#define HPZERO_BENCH_SIZES_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hpz::bench {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;

// Memory that cold ranges are walked through where nobody says how much: several times the caches.
inline constexpr uint64_t kUsualSetBytes = 4 * kGiB;

constexpr uint64_t round_down(uint64_t value, uint64_t unit) {
  return value / unit * unit;
}
constexpr uint64_t round_up(uint64_t value, uint64_t unit) {
  return round_down(value + unit - 1, unit);
}

// "64B", "4KiB", "4kB". Throws Refusal.
uint64_t parse_size(std::string_view text);

// "4KiB", "64B,256B,1KiB" or "4KiB..1GiB" (by a factor of four, both ends included), and lists of
// these. Ascending, each size once. Throws Refusal.
std::vector<uint64_t> parse_size_list(std::string_view text);

// The largest unit that leaves a whole number ("1536KiB", "100B"): parse_size reads it back.
std::string format_size(uint64_t bytes);

// For prose, where three digits are enough: "3.9 GiB".
std::string format_size_rounded(uint64_t bytes);

}  // namespace hpz::bench

#endif
