// SPDX-License-Identifier: BSD-2-Clause
//
// How workers are shared out where there are fewer than cores: one to each node, then a second one
// to each, and so on up to the node's cores. Not in proportion to the cores: what a job gets out of
// a node is the node's memory path, which a few cores fill, whether the node has 4 of them or 64. A
// node with few allowed cores beside a full one has as much memory to clear, and by proportion
// would get no worker until the other has a dozen. Nodes whose workers would find no memory near
// them come last: theirs is remote whatever they do.
#include "lib/team/placement.h"

#include <errno.h>

#include <algorithm>
#include <utility>

namespace hpz {
namespace {

constexpr uint32_t kNobody = Placement::kNobody;

int count_cores(const PlacementRequest &request, Placement &out) noexcept {
  const Topology &topology = request.topology;
  for (const Topology::Node &node : topology.nodes) {
    if (!out.nodes.push_back({node.id, node.has_memory, 0, 0, kNobody, 0})) return -ENOMEM;
  }
  CpuSet seen;
  for (const Topology::Cpu &cpu : topology.cpus) {
    if (!request.allowed.contains(cpu.cpu) || seen.contains(cpu.core)) continue;
    if (!seen.add(cpu.core)) return -ENOMEM;
    ++out.nodes[cpu.node].cores;
  }
  return 0;
}

// The one of those that pass nearest to the memory of that node; of equally near ones the one that
// serves the fewest so far, that the nodes behind it share out. kNobody: none passes.
template <class Pass>
uint32_t nearest(const Topology &topology, uint32_t to, const Array<Placement::Node> &nodes,
                 const Pass &pass) noexcept {
  uint32_t best = kNobody;
  for (uint32_t from = 0; from < nodes.size(); ++from) {
    if (!pass(nodes[from])) continue;
    if (best != kNobody) {
      const uint64_t before = topology.distance(best, to), now = topology.distance(from, to);
      if (now > before || (now == before && nodes[from].served >= nodes[best].served)) continue;
    }
    best = from;
  }
  return best;
}

// Chooses a server for each node among those that pass, which serve themselves.
template <class Pass>
void choose_servers(const Topology &topology, Array<Placement::Node> &nodes,
                    const Pass &pass) noexcept {
  for (Placement::Node &node : nodes) node.served = pass(node) && node.has_memory ? 1 : 0;
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    const bool serves_itself = pass(nodes[node]);
    const uint32_t server = serves_itself ? node : nearest(topology, node, nodes, pass);
    nodes[node].server = server;
    // A node without memory has an empty queue: it costs its server nothing.
    if (!serves_itself && server != kNobody && nodes[node].has_memory) ++nodes[server].served;
  }
}

// Nodes with cores in the order in which they get a worker each, the `with_memory` first of which
// have memory of their own or are the nearest to memory without cores. Among equals the one with
// the most cores, then the farthest from those before it: few workers sit apart, each near to
// memory that the others are far from (2 workers of a machine with sub-NUMA clusters in 2 sockets).
int rank_nodes(const Topology &topology, Array<Placement::Node> &nodes, Array<uint32_t> &ranks,
               size_t &with_memory) noexcept {
  const auto size = static_cast<uint32_t>(nodes.size());
  Array<uint64_t> apart;  // distance to the nearest that has a rank; 0: has one itself
  if (!apart.resize(size) || !ranks.reserve(size)) return -ENOMEM;
  for (uint64_t &distance : apart) distance = UINT64_MAX;
  const auto has_cores = [](const Placement::Node &node) { return node.cores != 0; };
  choose_servers(topology, nodes, has_cores);
  const auto is_near_memory = [&](uint32_t node) { return nodes[node].served != 0; };
  with_memory = 0;
  for (;;) {
    uint32_t best = kNobody;
    for (uint32_t node = 0; node < size; ++node) {
      if (!has_cores(nodes[node]) || apart[node] == 0) continue;
      if (best != kNobody) {
        const bool is_near = is_near_memory(node), best_is_near = is_near_memory(best);
        if (is_near != best_is_near) {
          if (best_is_near) continue;
        } else if (nodes[node].cores != nodes[best].cores) {
          if (nodes[node].cores < nodes[best].cores) continue;
        } else if (apart[node] <= apart[best]) {
          continue;
        }
      }
      best = node;
    }
    if (best == kNobody) return 0;
    if (!ranks.push_back(best)) return -ENOMEM;
    if (is_near_memory(best)) ++with_memory;
    for (uint32_t node = 0; node < size; ++node) {
      const uint64_t distance =
          std::min(topology.distance(node, best), topology.distance(best, node));
      apart[node] = std::min(apart[node], std::max<uint64_t>(distance, 1));
    }
    apart[best] = 0;
  }
}

// One to each in turn up to its cores. What is left when all cores have one goes round again.
int share_out(uint32_t threads, const Array<uint32_t> &ranks, size_t with_memory,
              Placement &out) noexcept {
  Array<uint32_t> free_cores;
  if (!free_cores.resize(out.nodes.size())) return -ENOMEM;
  uint32_t left = ranks.empty() ? 0 : threads;
  while (left != 0) {
    for (const uint32_t node : ranks) free_cores[node] = out.nodes[node].cores;
    for (size_t begin = 0, end = with_memory; begin < ranks.size() && left != 0;) {
      bool any = false;
      for (size_t rank = begin; rank < end && left != 0; ++rank) {
        const uint32_t node = ranks[rank];
        if (free_cores[node] == 0) continue;
        if (!out.worker_nodes.push_back(node)) return -ENOMEM;
        --free_cores[node];
        ++out.nodes[node].workers;
        --left;
        any = true;
      }
      if (!any) {
        begin = end;
        end = ranks.size();
      }
    }
  }
  return 0;
}

bool has_workers(const Placement::Node &node) noexcept {
  return node.workers != 0;
}

void order_queues(const Topology &topology, Placement &out) noexcept {
  const size_t size = out.nodes.size();
  for (size_t row = 0; row < size; ++row) {
    uint32_t *const order = out.orders.data() + row * size;
    for (size_t i = 0; i < size; ++i) order[i] = static_cast<uint32_t>(i);
    const auto rank = [&](uint32_t node) {
      return node == row ? 0 : out.nodes[node].server == row ? 1 : 2;
    };
    std::sort(order, order + size, [&](uint32_t a, uint32_t b) {
      if (rank(a) != rank(b)) return rank(a) < rank(b);
      const auto from = static_cast<uint32_t>(row);
      const uint64_t to_a = topology.distance(from, a), to_b = topology.distance(from, b);
      if (to_a != to_b) return to_a < to_b;
      // Each begins with its neighbour, that not all of them steal from the first.
      return (a + size - row) % size < (b + size - row) % size;
    });
  }
}

}  // namespace

int place_workers(const PlacementRequest &request, Placement &out) noexcept {
  Placement placement;
  int error = count_cores(request, placement);
  if (error != 0) return error;
  uint32_t threads = request.threads;
  if (threads == 0) {
    for (const Placement::Node &node : placement.nodes) threads += node.cores;
    if (request.quota != 0) threads = std::min(threads, request.quota);
  }
  Array<uint32_t> ranks;
  size_t with_memory = 0;
  error = rank_nodes(request.topology, placement.nodes, ranks, with_memory);
  if (error == 0) error = share_out(threads, ranks, with_memory, placement);
  if (error != 0) return error;
  const size_t size = placement.nodes.size();
  size_t cells;
  if (__builtin_mul_overflow(size, size, &cells) || !placement.orders.resize(cells)) return -ENOMEM;
  choose_servers(request.topology, placement.nodes, has_workers);
  order_queues(request.topology, placement);
  out = std::move(placement);
  return 0;
}

void Placement::keep_workers(const Topology &topology, uint32_t count) noexcept {
  while (worker_nodes.size() > count) {
    --nodes[worker_nodes.back()].workers;
    (void)worker_nodes.resize(worker_nodes.size() - 1);
  }
  choose_servers(topology, nodes, has_workers);
  order_queues(topology, *this);
}

bool cpus_of_node(const Topology &topology, uint32_t node, const CpuSet &allowed,
                  CpuSet &out) noexcept {
  CpuSet cpus;
  for (const Topology::Cpu &cpu : topology.cpus) {
    if (cpu.node == node && allowed.contains(cpu.cpu) && !cpus.add(cpu.cpu)) return false;
  }
  out = std::move(cpus);
  return true;
}

}  // namespace hpz
