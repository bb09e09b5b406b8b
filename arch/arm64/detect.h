// SPDX-License-Identifier: BSD-2-Clause
//
// Detection as a function of what the registers and the auxiliary vector say, so that tests can
// invent CPUs.
#ifndef HPZERO_ARCH_ARM64_DETECT_H
#define HPZERO_ARCH_ARM64_DETECT_H

#include "arch/arch.h"

namespace hpz::arm64 {

struct Registers {
  uint64_t hwcap = 0, hwcap2 = 0;  // AT_HWCAP, AT_HWCAP2
  uint64_t dczid = 0;              // DCZID_EL0
  uint64_t cntfrq = 0;             // CNTFRQ_EL0, Hz
  uint64_t midr = 0;               // MIDR_EL1, 0 where the kernel does not show it
};

// HWCAP_CPUID: reading MIDR_EL1 from EL0 is emulated. HWCAP2_MOPS. (Linux's asm/hwcap.h, whose copy
// here may be older than the kernel.)
inline constexpr uint64_t kHwcapCpuid = uint64_t{1} << 11;
inline constexpr uint64_t kHwcap2Mops = uint64_t{1} << 43;

// Bytes that DC ZVA clears, 0 where it must not be used: DZP set, or a size that the architecture
// does not have.
uint32_t zva_block_of(uint64_t dczid) noexcept;

Cpu detect(const Registers &registers) noexcept;

}  // namespace hpz::arm64

#endif
