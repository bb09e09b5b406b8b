// SPDX-License-Identifier: BSD-2-Clause
//
// The rows of features.def as named bits.
#ifndef HPZERO_ARCH_PORTABLE_FEATURES_H
#define HPZERO_ARCH_PORTABLE_FEATURES_H

#define HPZ_FEATURES_DEF "arch/portable/features.def"
#include "arch/features.inc"

namespace hpz::feature {

// Highway 1.0.3 has vectors for x86, arm64 and WebAssembly only. Raise its version, look again.
inline constexpr FeatureSet hwy_baseline = highway_vectors;

}  // namespace hpz::feature

#endif
