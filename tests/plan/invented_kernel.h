// SPDX-License-Identifier: BSD-2-Clause
//
// Rows of a table that need not exist or cannot be executed here, and bands of them as one readable
// word.
#ifndef HPZERO_TESTS_PLAN_INVENTED_KERNEL_H
#define HPZERO_TESTS_PLAN_INVENTED_KERNEL_H

#include <string>

#include "lib/plan/plan.h"

namespace hpz::test {

constexpr Kernel invented_kernel(const char *id, uint32_t roles = kNoRole, FeatureSet needs = 0,
                                 FeatureSet avoid = 0) {
  return {id, "invented", nullptr, needs, avoid, roles, kOrdered, 1, 0};
}
constexpr Kernel with_lanes(Kernel kernel, uint32_t lanes, uint64_t from_bytes) {
  kernel.lanes = lanes;
  kernel.lanes_from_bytes = from_bytes;
  return kernel;
}

// "36864:avx512_st,max:avx512_nt"
inline std::string text_of(const Bands &bands) {
  std::string text;
  for (uint32_t i = 0; i < bands.count; ++i) {
    const Band &band = bands.band[i];
    if (i != 0) text += ',';
    text += band.upto == kNoLimit ? "max" : std::to_string(band.upto);
    text += ':';
    text += band.kernel->id;
  }
  return text;
}

}  // namespace hpz::test

// A row of kernels.def without what it executes, which is not there on every machine.
#define HPZERO_KERNEL_ROW(id, needs, avoid, roles, flags, lanes, lanes_from_bytes, summary) \
  hpz::Kernel{#id,   summary, nullptr,         needs, avoid, static_cast<uint32_t>(roles),  \
              flags, lanes,   lanes_from_bytes},

#endif
