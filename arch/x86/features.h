// SPDX-License-Identifier: BSD-2-Clause
//
// The rows of features.def as named bits.
#ifndef HPZERO_ARCH_X86_FEATURES_H
#define HPZERO_ARCH_X86_FEATURES_H

#define HPZ_FEATURES_DEF "arch/x86/features.def"
#include "arch/features.inc"

namespace hpz::feature {

// What arch/generic's Highway kernel is compiled for here.
inline constexpr FeatureSet hwy_baseline = ssse3;

}  // namespace hpz::feature

#endif
