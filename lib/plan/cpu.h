// SPDX-License-Identifier: BSD-2-Clause
//
// A second opinion on the CPU, for hpz_init: opens files and allocates, so never on the first call.
#ifndef HPZERO_LIB_PLAN_CPU_H
#define HPZERO_LIB_PLAN_CPU_H

#include "arch/arch.h"

namespace hpz {

// Takes features away that libcpuinfo denies (a kernel needs both yes where both know), adds quirks
// by microarchitecture, fills in cache sizes that the CPU's own instructions do not tell. Leaves
// cpu as it is where there is nothing to learn. Prints nothing.
void refine_by_cpuinfo(Cpu &cpu) noexcept;

}  // namespace hpz

#endif
