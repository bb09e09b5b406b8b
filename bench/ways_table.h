// SPDX-License-Identifier: BSD-2-Clause
//
// The table of ways to clear a file's memory (ways.h): times, what each saves against a temporary
// mapping for every 4 KiB. Pure.
#ifndef HPZERO_BENCH_WAYS_TABLE_H
#define HPZERO_BENCH_WAYS_TABLE_H

#include <string>
#include <vector>

#include "bench/jobs.h"

namespace hpz::bench {

inline constexpr const char *kMappedPieces = "mapped_pieces";
inline constexpr const char *kFencedPieces = "fenced_pieces";
inline constexpr const char *kBarrierPieces = "barrier_pieces";
inline constexpr const char *kPieces = "pieces";
inline constexpr const char *kDirect = "direct";
inline constexpr const char *kSpaceDirect = "space_direct";
inline constexpr const char *kLasting = "file_lasting";
inline constexpr const char *kWindow = "window_";  // and its size
inline constexpr const char *kPunch = "punch";
inline constexpr const char *kPunchPopulate = "punch_populate";
inline constexpr const char *kStosbSuffix = "_rep_stosb";

// Windows that a piece of that size is cleared through: no larger than it, whole pages, and not so
// many that the row takes longer than all the others.
std::vector<uint64_t> windows_for(uint64_t page, uint64_t size);

// Two columns of figures: by kernel, and by REP STOSB where a way clears 4 KiB at a time.
std::string render_ways(const JobResult &result, const std::string &kernel);

// What it comes to, in a few lines.
std::string conclude_ways(const JobResult &result);

}  // namespace hpz::bench

#endif
