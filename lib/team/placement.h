// SPDX-License-Identifier: BSD-2-Clause
//
// Which workers a team has, where each is pinned, and whose queue each serves in which order: a
// pure function of the topology, the allowed CPUs, the quota and what was asked for.
#ifndef HPZERO_LIB_TEAM_PLACEMENT_H
#define HPZERO_LIB_TEAM_PLACEMENT_H

#include <stdint.h>

#include "lib/team/array.h"
#include "lib/team/cpu_set.h"
#include "lib/team/topology.h"

namespace hpz {

struct Placement {
  static constexpr uint32_t kNobody = UINT32_MAX;

  struct Node {
    int32_t id;
    bool has_memory;
    uint32_t cores;    // with an allowed CPU
    uint32_t workers;  // pinned to the allowed CPUs of this node
    // Whose workers serve this node's queue, never by stealing: its own, or if it has none (memory
    // without CPUs, no allowed CPU, fewer threads than nodes) those of the nearest node that has.
    // kNobody: there are no workers at all.
    uint32_t server;
    uint32_t served;  // nodes with memory whose server it is, itself among them
  };
  Array<Node> nodes;  // the topology's, same order
  // Index into nodes for each worker, in the order in which to start them: one of each node, then
  // another of each, so that those that cannot be started are missing everywhere alike.
  Array<uint32_t> worker_nodes;
  // nodes x nodes, row by row: the nodes whose queues a worker of the row looks at: its own, then
  // those that it serves, then those that it steals from, nearest first among each.
  Array<uint32_t> orders;

  const uint32_t *order(uint32_t node) const noexcept {
    return orders.data() + node * nodes.size();
  }

  // Where only the first of worker_nodes could be started: servers and orders without the others.
  // The topology is the one that was placed on. Needs no memory.
  void keep_workers(const Topology &topology, uint32_t count) noexcept;
};

struct PlacementRequest {
  const Topology &topology;
  const CpuSet &allowed;
  uint32_t quota;    // CPUs, 0: none
  uint32_t threads;  // 0: one for each core with an allowed CPU, at most the quota
};

// 0 or -ENOMEM.
int place_workers(const PlacementRequest &request, Placement &out) noexcept;

// Where a worker of that node is pinned: the allowed CPUs of the node. (Not one CPU: beside a busy
// thread the scheduler then moves it, and it survives that its CPU goes offline.) False: no memory.
bool cpus_of_node(const Topology &topology, uint32_t node, const CpuSet &allowed,
                  CpuSet &out) noexcept;

}  // namespace hpz

#endif
