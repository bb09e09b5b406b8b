// SPDX-License-Identifier: BSD-2-Clause
//
// Machines that need not exist, as descriptions for describe_topology: by hwloc's synthetic syntax,
// or as XML where that has no words (gaps between node ids, nodes without CPUs or without memory).
// And their plain values back in types that tests can compare.
#ifndef HPZERO_TESTS_TEAM_INVENTED_MACHINE_H
#define HPZERO_TESTS_TEAM_INVENTED_MACHINE_H

#include <stdint.h>

#include <string>
#include <vector>

#include "lib/team/cpu_set.h"
#include "lib/team/topology.h"

namespace hpz::test {

struct InventedNode {
  uint32_t id;
  uint64_t memory_gib;
  uint32_t first_cpu, cpus;  // 64 CPUs in all at most; two of each core
  bool covers_all = false;   // hwloc attaches it to the whole machine, beside the others
};

// The distances row by row, in the order of the nodes; none: not known.
std::string invented_machine(const std::vector<InventedNode> &nodes,
                             const std::vector<unsigned> &distances = {});

// One that has it all: node 0 with memory and 8 CPUs, node 2 with 8 CPUs alone, node 5 with memory
// alone, nearest to node 0, node 6 with memory alone, nearest to node 2.
std::string odd_machine();

Topology described(const std::string &description);  // throws where it is not understood

CpuSet cpus(const std::string &list);  // throws likewise
CpuSet all_cpus(const Topology &topology);
std::vector<uint32_t> members(const CpuSet &set);

template <class T> std::vector<T> values(const Array<T> &array) {
  return {array.begin(), array.end()};
}

}  // namespace hpz::test

#endif
