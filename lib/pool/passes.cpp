// SPDX-License-Identifier: BSD-2-Clause
#include "lib/pool/passes.h"

#include <hpzero/pool.h>

namespace hpz {
namespace {

void add(Passes &passes, uint32_t begin, uint32_t end, unsigned kinds) noexcept {
  if (kinds != 0 && begin < end) passes.pass[passes.count++] = {begin, end, kinds};
}

}  // namespace

Passes plan_passes(uint32_t flags, bool is_preferred, uint32_t nodes) noexcept {
  const auto has = [flags](uint32_t flag) { return (flags & flag) != 0; };
  const unsigned had = has(HPZ_TAKE_ANY_CONTENT) ? Pass::kAny : Pass::kClean;
  const unsigned dirty = has(HPZ_TAKE_CLEAN_ONLY) ? 0 : Pass::kDirty;
  const unsigned busy = has(HPZ_TAKE_CLEAN_ONLY) ? 0 : Pass::kBusy;
  Passes passes;
  if (nodes == 1 || has(HPZ_TAKE_STRICT)) {
    add(passes, 0, 1, had | dirty | busy);
    return passes;
  }
  // Near memory that must be cleared first is near for as long as it is used.
  if (is_preferred) {
    add(passes, 0, 1, had | dirty);
    add(passes, 1, nodes, had);
    add(passes, 1, nodes, dirty);
  } else {
    add(passes, 0, nodes, had);
    add(passes, 0, nodes, dirty);
  }
  add(passes, 0, nodes, busy);
  return passes;
}

}  // namespace hpz
