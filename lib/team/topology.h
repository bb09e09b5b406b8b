// SPDX-License-Identifier: BSD-2-Clause
//
// The machine's CPUs, cores and NUMA nodes in plain values. The .cpp file is the only door to
// hwloc.
#ifndef HPZERO_LIB_TEAM_TOPOLOGY_H
#define HPZERO_LIB_TEAM_TOPOLOGY_H

#include <stdint.h>

#include "lib/team/array.h"
#include "lib/team/cpu_set.h"

namespace hpz {

struct Topology {
  struct Node {
    int32_t id;       // as the kernel numbers them; gaps are ordinary
    bool has_memory;  // false: CPUs alone
  };
  struct Cpu {
    uint32_t cpu;   // as the kernel numbers them
    uint32_t core;  // CPUs of one core have the same number here
    uint32_t node;  // index into nodes: whose CPU it is, memory or not
  };
  Array<Node> nodes;  // by id, at least one
  Array<Cpu> cpus;    // by cpu
  // nodes x nodes, row by row; how far the column's memory is from the row's CPUs, in any unit in
  // which nearer is less (the kernel's: 10 is local). Empty: not known.
  Array<uint64_t> distances;

  uint64_t distance(uint32_t from, uint32_t to) const noexcept;
  uint32_t index_of(int32_t node_id) const noexcept;  // nodes.size(): no such node
};

// Asks hwloc, with its x86 component left out, which would move the calling thread from CPU to CPU.
// The nodes are the machine's, also those that this process's cpuset leaves out. CPUs of `allowed`
// that hwloc does not name (came online later) are each a core of its own, of the node that lists
// it in /sys, else the first. Where hwloc cannot be asked (see topology.cpp) the same holds for all
// CPUs, and without /sys the machine is one node 0. 0 or -ENOMEM with out as it was.
int load_topology(const CpuSet &allowed, Topology &out) noexcept;

// The same from a description: hwloc's synthetic syntax ("pack:2 [numa] core:4 pu:2"), or,
// beginning with '<', its XML. For tests of what is planned for other machines. -EINVAL: hwloc does
// not understand it.
int describe_topology(const char *description, Topology &out) noexcept;

}  // namespace hpz

#endif
