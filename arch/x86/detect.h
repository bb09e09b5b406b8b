// SPDX-License-Identifier: BSD-2-Clause
//
// Detection as a function of what CPUID and XGETBV answer, so that tests can invent CPUs, on any
// machine.
#ifndef HPZERO_ARCH_X86_DETECT_H
#define HPZERO_ARCH_X86_DETECT_H

#include "arch/arch.h"

namespace hpz::x86 {

struct CpuidRegisters {
  uint32_t eax, ebx, ecx, edx;
};

// Where the answers come from: the CPU itself, or a test.
struct CpuidSource {
  CpuidRegisters (*cpuid)(const void *context, uint32_t leaf, uint32_t subleaf) noexcept;
  uint64_t (*xgetbv)(const void *context) noexcept;  // called only where OSXSAVE is set
  const void *context;
};

Cpu detect(const CpuidSource &source) noexcept;
Tuning tuning(FeatureSet features) noexcept;

}  // namespace hpz::x86

#endif
