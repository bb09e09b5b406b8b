// SPDX-License-Identifier: BSD-2-Clause
//
// The block size that detection tells the kernel.
#ifndef HPZERO_ARCH_ARM64_DC_ZVA_H
#define HPZERO_ARCH_ARM64_DC_ZVA_H

#include <stdint.h>

namespace hpz::arm64 {

// The block size of DC ZVA, 0 where it is prohibited or not yet known. Set by detection, before the
// kernel can be reached; see dc_zva.cpp.
void set_zva_block(uint32_t bytes) noexcept;
uint32_t zva_block() noexcept;

}  // namespace hpz::arm64

#endif
