// SPDX-License-Identifier: BSD-2-Clause
//
// The rows of features.def as named bits.
#ifndef HPZERO_ARCH_X86_FEATURES_H
#define HPZERO_ARCH_X86_FEATURES_H

#include "arch/kernel.h"

namespace hpz::feature {

enum class Index : uint8_t {
#define HPZ_FEATURE(id, summary) id,
#include "arch/x86/features.def"
#undef HPZ_FEATURE
};

#define HPZ_FEATURE(id, summary) \
  inline constexpr FeatureSet id = FeatureSet{1} << static_cast<uint8_t>(Index::id);
#include "arch/x86/features.def"
#undef HPZ_FEATURE

// What arch/generic's Highway kernel is compiled for here.
inline constexpr FeatureSet hwy_baseline = ssse3;

}  // namespace hpz::feature

#endif
