// SPDX-License-Identifier: BSD-2-Clause
//
// The rows of features.def as named bits.
#ifndef HPZERO_ARCH_ARM64_FEATURES_H
#define HPZERO_ARCH_ARM64_FEATURES_H

#define HPZ_FEATURES_DEF "arch/arm64/features.def"
#include "arch/features.inc"

namespace hpz::feature {

// What arch/generic's Highway kernel is compiled for here: NEON, which is the baseline.
inline constexpr FeatureSet hwy_baseline = 0;

}  // namespace hpz::feature

#endif
