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

// The CPUs of a list ("0-3,8"; null: all) that the calling thread may use, and the machine that
// they are of. Where the mask cannot be read (seccomp), what the list names is taken at its word,
// and all CPUs that there are for all that may be used. -EINVAL: no list, or none of it may be
// used; -ENOMEM.
int usable_cpus(const char *list, CpuSet &out, const Topology *&topology) noexcept;

}  // namespace hpz

#endif
