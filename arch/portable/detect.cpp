// SPDX-License-Identifier: BSD-2-Clause
//
// An instruction set without a directory of its own: nothing is asked, nothing is known.
#include "arch/arch.h"

namespace hpz {

Cpu detect_cpu() noexcept {
  return {.features = 0, .caches = {}, .identity = "portable"};
}

Tuning tuning(FeatureSet) noexcept {
  return {};
}

}  // namespace hpz
