// SPDX-License-Identifier: BSD-2-Clause
//
// What happened to memory before it is cleared: the word that goes with every figure.
#ifndef HPZERO_BENCH_STATES_H
#define HPZERO_BENCH_STATES_H

#include <string_view>

namespace hpz::bench {

enum class MemoryState {
  kHot,       // cleared a moment ago by the same row
  kRecycled,  // dirtied a moment ago by ordinary stores
  kCold,      // not touched since the rest of a set well beyond the last-level cache was
  kFresh,     // never touched: the page fault, and with it the kernel's own clearing, is included
};

inline constexpr MemoryState kAllStates[] = {MemoryState::kHot, MemoryState::kRecycled,
                                             MemoryState::kCold, MemoryState::kFresh};

std::string_view state_id(MemoryState state);       // as in --memory
std::string_view state_meaning(MemoryState state);  // as in a heading
MemoryState parse_state(std::string_view id);       // throws Refusal

}  // namespace hpz::bench

#endif
