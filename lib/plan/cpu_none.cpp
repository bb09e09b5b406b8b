// SPDX-License-Identifier: BSD-2-Clause
//
// The core library does without libcpuinfo: what the CPU's own instructions say stands alone.
#include "lib/plan/cpu.h"

namespace hpz {

void refine_by_cpuinfo(Cpu &) noexcept {}

}  // namespace hpz
