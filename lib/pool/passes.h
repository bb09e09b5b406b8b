// SPDX-License-Identifier: BSD-2-Clause
//
// Where a taker looks for a page, and for what kind of pages: a pure function of what it wants.
#ifndef HPZERO_LIB_POOL_PASSES_H
#define HPZERO_LIB_POOL_PASSES_H

#include <stdint.h>

namespace hpz {

// One round over nodes [begin, end) of an order in which the first is the one that is wanted, or
// near. At each the kinds are looked for in the order of these bits.
struct Pass {
  static constexpr unsigned kClean = 1;
  static constexpr unsigned kAny = 2;    // of any content, instead of a clean one
  static constexpr unsigned kDirty = 4;  // to be cleared
  static constexpr unsigned kBusy = 8;   // to be waited for
  uint32_t begin, end;
  unsigned kinds;
};

struct Passes {
  Pass pass[4];
  uint32_t count = 0;
};

// flags: HPZ_TAKE_*. is_preferred: the first node is one that the taker has named.
Passes plan_passes(uint32_t flags, bool is_preferred, uint32_t nodes) noexcept;

}  // namespace hpz

#endif
