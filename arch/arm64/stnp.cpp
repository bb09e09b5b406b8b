// SPDX-License-Identifier: BSD-2-Clause
//
// STNP of Q registers: STP with the hint that the lines will not be read soon (Arm ARM B2.7.3.4
// "Load/Store Non-temporal"). What a core makes of the hint is its own affair, many ignore it. The
// streaming kernel where DC ZVA is prohibited. Not measured on hardware yet.
#include "arch/arm64/pairs.h"

namespace hpz::kernel {

void stnp(void *const *lanes, size_t count, size_t len) noexcept {
  for (size_t i = 0; i < count; ++i) {
    uintptr_t at = reinterpret_cast<uintptr_t>(lanes[i]);
    HPZ_CLEAR_BY_PAIRS("stnp", at, at + len);
  }
}

}  // namespace hpz::kernel
