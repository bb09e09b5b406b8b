// SPDX-License-Identifier: BSD-2-Clause
//
// This machine's topology, looked up once.
#ifndef HPZERO_LIB_TEAM_MACHINE_H
#define HPZERO_LIB_TEAM_MACHINE_H

#include "lib/team/cpu_set.h"
#include "lib/team/topology.h"

namespace hpz {

// Lives as long as the process. Looked up again when a CPU is allowed that was not there. Null: no
// memory.
const Topology *machine_topology(const CpuSet &allowed) noexcept;

}  // namespace hpz

#endif
