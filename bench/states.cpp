// SPDX-License-Identifier: BSD-2-Clause
#include "bench/states.h"

#include <string>

#include "bench/refusal.h"

namespace hpz::bench {

std::string_view state_id(MemoryState state) {
  switch (state) {
    case MemoryState::kHot:
      return "hot";
    case MemoryState::kRecycled:
      return "recycled";
    case MemoryState::kCold:
      return "cold";
    case MemoryState::kFresh:
      return "fresh";
  }
  return "";
}

std::string_view state_meaning(MemoryState state) {
  switch (state) {
    case MemoryState::kHot:
      return "the same buffer again";
    case MemoryState::kRecycled:
      return "the same buffers, dirtied by ordinary stores in between (untimed)";
    case MemoryState::kCold:
      return "walked, permuted, through a set larger than the caches";
    case MemoryState::kFresh:
      return "new mappings, PAGE FAULT AND THE KERNEL'S CLEARING INCLUDED";
  }
  return "";
}

MemoryState parse_state(std::string_view id) {
  for (const MemoryState state : kAllStates) {
    if (state_id(state) == id) return state;
  }
  throw Refusal("unknown memory state '" + std::string(id) +
                "': write hot, recycled, cold or fresh");
}

}  // namespace hpz::bench
