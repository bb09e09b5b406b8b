// SPDX-License-Identifier: BSD-2-Clause
//
// Where workers go on machines that need not exist: tables for what was decided, properties for all
// machines and all numbers of threads.
#include "lib/team/placement.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/support/settings.h"
#include "tests/support/shortage.h"
#include "tests/team/invented_machine.h"

namespace hpz::test {
namespace {

using Counts = std::vector<uint32_t>;

struct Machine {
  const char *name;
  std::string description;
};

std::vector<Machine> machines() {
  return {
      {"laptop", "core:4 pu:2"},
      {"one CPU", "core:1 pu:1"},
      {"two sockets", "pack:2 [numa(memory=64GiB)] l3:1 l2:8 core:1 pu:2"},
      {"eight nodes", "pack:8 [numa(memory=256GiB)] core:64 pu:2"},
      {"sub-NUMA clusters", "pack:2 group:4 [numa(memory=32GiB)] core:14 pu:2"},
      {"2048 CPUs", "pack:16 [numa] core:64 pu:2"},
      {"HBM beside DRAM", "pack:2 [numa(memory=64GiB)] [numa(memory=16GiB)] core:8 pu:2"},
      {"odd", odd_machine()},
      {"memory and CPUs apart", invented_machine({{1, 8, 0, 0}, {3, 0, 0, 8}, {4, 8, 0, 0}},
                                                 {10, 20, 30, 20, 10, 20, 30, 20, 10})},
      {"cores apart from most memory",
       invented_machine({{0, 8, 0, 2}, {1, 0, 2, 30}, {7, 0, 32, 30}})},
  };
}

Placement placed(const Topology &topology, const CpuSet &allowed, uint32_t threads = 0,
                 uint32_t quota = 0) {
  Placement placement;
  EXPECT_EQ(place_workers({topology, allowed, quota, threads}, placement), 0);
  return placement;
}

Counts workers(const Placement &placement) {
  Counts counts;
  for (const Placement::Node &node : placement.nodes) counts.push_back(node.workers);
  return counts;
}

Counts servers(const Placement &placement) {
  Counts counts;
  for (const Placement::Node &node : placement.nodes) counts.push_back(node.server);
  return counts;
}

Counts order(const Placement &placement, uint32_t node) {
  return {placement.order(node), placement.order(node) + placement.nodes.size()};
}

TEST(Placements, one_worker_per_core) {
  const Topology topology = described("pack:2 [numa] core:4 pu:2");
  EXPECT_EQ(workers(placed(topology, all_cpus(topology))), (Counts{4, 4}));
  // Both CPUs of core 0, one of core 1, the second of core 5.
  EXPECT_EQ(workers(placed(topology, cpus("0-2,11"))), (Counts{2, 1}));
  EXPECT_EQ(workers(placed(topology, cpus("9"))), (Counts{0, 1}));
  // CPUs that the machine does not have.
  EXPECT_EQ(workers(placed(topology, cpus("9,16-99"))), (Counts{0, 1}));
}

TEST(Placements, field_F2_at_most_the_quota) {
  const Topology topology = described("pack:2 [numa] core:4 pu:2");
  const CpuSet all = all_cpus(topology);
  EXPECT_EQ(workers(placed(topology, all, 0, 1)), (Counts{1, 0}));
  EXPECT_EQ(workers(placed(topology, all, 0, 3)), (Counts{2, 1}));
  EXPECT_EQ(workers(placed(topology, all, 0, 8)), (Counts{4, 4}));
  EXPECT_EQ(workers(placed(topology, all, 0, 100)), (Counts{4, 4}));
  EXPECT_EQ(workers(placed(topology, cpus("3"), 0, 100)), (Counts{1, 0}));
  // A number that was asked for wins.
  EXPECT_EQ(workers(placed(topology, all, 7, 2)), (Counts{4, 3}));
}

TEST(Placements, few_threads_go_level_by_level) {
  const Topology topology = described(
      invented_machine({{0, 8, 0, 4}, {1, 8, 4, 32}, {2, 8, 36, 12}}));  // 2, 16 and 6 cores
  const CpuSet all = all_cpus(topology);
  const std::pair<uint32_t, Counts> rows[] = {
      {1, {0, 1, 0}}, {2, {0, 1, 1}},  {3, {1, 1, 1}},   {4, {1, 2, 1}},   {6, {2, 2, 2}},
      {8, {2, 3, 3}}, {14, {2, 6, 6}}, {20, {2, 12, 6}}, {24, {2, 16, 6}},
  };
  for (const auto &[threads, expected] : rows) {
    EXPECT_EQ(workers(placed(topology, all, threads)), expected) << threads;
  }
  EXPECT_EQ(workers(placed(topology, all)), (Counts{2, 16, 6}));
}

TEST(Placements, more_threads_than_cores_go_round_again) {
  const Topology topology =
      described(invented_machine({{0, 8, 0, 4}, {1, 8, 4, 12}}));  // 2 and 6 cores
  const CpuSet all = all_cpus(topology);
  EXPECT_EQ(workers(placed(topology, all, 8)), (Counts{2, 6}));
  EXPECT_EQ(workers(placed(topology, all, 9)), (Counts{2, 7}));
  EXPECT_EQ(workers(placed(topology, all, 10)), (Counts{3, 7}));
  EXPECT_EQ(workers(placed(topology, all, 16)), (Counts{4, 12}));
  EXPECT_EQ(workers(placed(topology, all, 16384)), (Counts{4096, 12288}));
  EXPECT_EQ(workers(placed(topology, cpus("1"), 5)), (Counts{5, 0}));
}

// Two sockets of two clusters each: the second worker goes to the other socket.
TEST(Placements, few_threads_sit_apart) {
  const Topology topology =
      described(invented_machine({{0, 8, 0, 4}, {1, 8, 4, 4}, {2, 8, 8, 4}, {3, 8, 12, 4}},
                                 {10, 12, 21, 21, 12, 10, 21, 21, 21, 21, 10, 12, 21, 21, 12, 10}));
  const Placement placement = placed(topology, all_cpus(topology), 2);
  EXPECT_EQ(workers(placement), (Counts{1, 0, 1, 0}));
  EXPECT_EQ(servers(placement), (Counts{0, 0, 2, 2}));
  EXPECT_EQ(order(placement, 0), (Counts{0, 1, 2, 3}));
  EXPECT_EQ(order(placement, 2), (Counts{2, 3, 0, 1}));
}

TEST(Placements, field_F7_nodes_without_cpus_or_memory) {
  const Topology topology = described(odd_machine());
  const CpuSet all = all_cpus(topology);
  // Node 2's cores count although it has no memory: that of node 6 is theirs.
  const Placement placement = placed(topology, all);
  EXPECT_EQ(workers(placement), (Counts{4, 4, 0, 0}));
  EXPECT_EQ(servers(placement), (Counts{0, 1, 0, 1}));
  EXPECT_EQ(order(placement, 0), (Counts{0, 2, 1, 3}));
  EXPECT_EQ(order(placement, 1), (Counts{1, 3, 0, 2}));
  EXPECT_EQ(placement.nodes[0].served, 2u);
  EXPECT_EQ(placement.nodes[1].served, 1u);

  const Placement elsewhere = placed(topology, cpus("8-15"));
  EXPECT_EQ(workers(elsewhere), (Counts{0, 4, 0, 0}));
  EXPECT_EQ(servers(elsewhere), (Counts{1, 1, 1, 1}));
  EXPECT_EQ(order(elsewhere, 1), (Counts{1, 3, 0, 2}));
}

// Workers whose memory is all remote come last.
TEST(Placements, cores_far_from_all_memory_come_last) {
  const Topology topology =
      described(invented_machine({{0, 8, 0, 8}, {1, 0, 8, 32}}));  // 4 and 16 cores
  const CpuSet all = all_cpus(topology);
  EXPECT_EQ(workers(placed(topology, all, 3)), (Counts{3, 0}));
  EXPECT_EQ(workers(placed(topology, all, 4)), (Counts{4, 0}));
  EXPECT_EQ(workers(placed(topology, all, 6)), (Counts{4, 2}));
  EXPECT_EQ(workers(placed(topology, all)), (Counts{4, 16}));
  EXPECT_EQ(workers(placed(topology, cpus("8-39"), 3)), (Counts{0, 3}));
}

// Memory that is equally far from all is shared out among them.
TEST(Placements, servers_of_far_memory_take_turns) {
  const Topology topology = described(invented_machine(
      {{0, 8, 0, 4}, {1, 8, 4, 4}, {2, 8, 0, 0}, {3, 8, 0, 0}, {4, 8, 0, 0}, {5, 8, 0, 0}}));
  EXPECT_EQ(servers(placed(topology, all_cpus(topology))), (Counts{0, 1, 0, 1, 0, 1}));
}

TEST(Placements, nobody) {
  const Topology topology = described("pack:2 [numa] core:4 pu:2");
  const uint32_t nobody = Placement::kNobody;
  for (const char *const allowed : {"", "400"}) {
    for (const uint32_t threads : {0u, 1u, 7u}) {
      const Placement placement = placed(topology, cpus(allowed), threads);
      EXPECT_EQ(workers(placement), (Counts{0, 0}));
      EXPECT_EQ(servers(placement), (Counts{nobody, nobody}));
      EXPECT_TRUE(placement.worker_nodes.empty());
      EXPECT_EQ(order(placement, 1), (Counts{1, 0}));
    }
  }
}

// Threads that cannot be created are missing everywhere alike.
TEST(Placements, field_F21_the_first_workers_alone) {
  const Topology topology = described("pack:4 [numa] core:4 pu:1");
  Placement placement = placed(topology, all_cpus(topology));
  placement.keep_workers(topology, 6);
  EXPECT_EQ(workers(placement), (Counts{2, 2, 1, 1}));
  EXPECT_EQ(placement.worker_nodes.size(), 6u);
  placement.keep_workers(topology, 2);
  EXPECT_EQ(workers(placement), (Counts{1, 1, 0, 0}));
  EXPECT_EQ(servers(placement), (Counts{0, 1, 0, 1}));
  EXPECT_EQ(order(placement, 0), (Counts{0, 2, 1, 3}));
  EXPECT_EQ(order(placement, 1), (Counts{1, 3, 2, 0}));
  placement.keep_workers(topology, 2);
  EXPECT_EQ(workers(placement), (Counts{1, 1, 0, 0}));
  placement.keep_workers(topology, 0);
  EXPECT_EQ(servers(placement), Counts(4, Placement::kNobody));
}

void expect_sound(const Topology &topology, const CpuSet &allowed, const Placement &placement) {
  const size_t size = topology.nodes.size();
  ASSERT_EQ(placement.nodes.size(), size);
  ASSERT_EQ(placement.orders.size(), size * size);
  std::map<uint32_t, uint32_t> started;
  for (const uint32_t node : placement.worker_nodes) {
    ASSERT_LT(node, size);
    ++started[node];
  }
  uint32_t sum = 0, served = 0, with_memory = 0;
  for (uint32_t i = 0; i < size; ++i) {
    const Placement::Node &node = placement.nodes[i];
    EXPECT_EQ(node.id, topology.nodes[i].id);
    EXPECT_EQ(node.has_memory, topology.nodes[i].has_memory);
    EXPECT_EQ(started[i], node.workers);
    sum += node.workers;
    served += node.served;
    with_memory += node.has_memory ? 1 : 0;

    // Where its workers are pinned: not empty, allowed, this node's.
    CpuSet pinned;
    ASSERT_TRUE(cpus_of_node(topology, i, allowed, pinned));
    if (node.workers != 0) {
      EXPECT_FALSE(pinned.empty());
    }
    EXPECT_EQ(node.cores != 0, !pinned.empty());
    EXPECT_LE(node.cores, pinned.count());
    for (const uint32_t cpu : members(pinned)) {
      EXPECT_TRUE(allowed.contains(cpu));
      const auto *const at =
          std::find_if(topology.cpus.begin(), topology.cpus.end(),
                       [cpu](const Topology::Cpu &other) { return other.cpu == cpu; });
      ASSERT_NE(at, topology.cpus.end());
      EXPECT_EQ(at->node, i);
    }
  }
  EXPECT_EQ(sum, placement.worker_nodes.size());
  EXPECT_EQ(served, sum != 0 ? with_memory : 0);

  for (uint32_t i = 0; i < size; ++i) {
    const uint32_t server = placement.nodes[i].server;
    if (sum == 0) {
      EXPECT_EQ(server, Placement::kNobody);
    } else {
      ASSERT_LT(server, size);
      EXPECT_NE(placement.nodes[server].workers, 0u);
      if (placement.nodes[i].workers != 0) {
        EXPECT_EQ(server, i);
      }
      for (uint32_t other = 0; other < size && server != i; ++other) {
        if (placement.nodes[other].workers == 0) continue;
        EXPECT_LE(topology.distance(server, i), topology.distance(other, i));
      }
    }

    const Counts queues = order(placement, i);
    Counts sorted = queues;
    std::sort(sorted.begin(), sorted.end());
    for (uint32_t j = 0; j < size; ++j) EXPECT_EQ(sorted[j], j) << "no permutation";
    EXPECT_EQ(queues[0], i);
    const auto serves = [&](uint32_t queue) { return placement.nodes[queue].server == i; };
    for (size_t j = 2; j < size; ++j) {
      EXPECT_GE(serves(queues[j - 1]), serves(queues[j]));
      if (serves(queues[j - 1]) != serves(queues[j])) continue;
      EXPECT_LE(topology.distance(i, queues[j - 1]), topology.distance(i, queues[j]));
    }
  }
}

TEST(Placements, are_sound_on_all_machines) {
  std::mt19937_64 random(seed());
  for (const Machine &machine : machines()) {
    SCOPED_TRACE(machine.name);
    const Topology topology = described(machine.description);
    const CpuSet all = all_cpus(topology);
    const unsigned repeats = quick() || topology.cpus.size() > 512 ? 10 : 60;
    for (unsigned repeat = 0; repeat < repeats; ++repeat) {
      CpuSet allowed;
      const uint64_t share = repeat == 0 ? 100 : random() % 100;
      for (const uint32_t cpu : members(all)) {
        if (random() % 100 < share) {
          ASSERT_TRUE(allowed.add(cpu));
        }
      }
      const auto threads = static_cast<uint32_t>(repeat % 3 == 0 ? 0 : random() % 300);
      const auto quota = static_cast<uint32_t>(repeat % 2 == 0 ? 0 : random() % 40);
      SCOPED_TRACE("seed " + std::to_string(seed()) + ", repeat " + std::to_string(repeat) + ": " +
                   std::to_string(threads) + " threads, quota " + std::to_string(quota));
      Placement placement = placed(topology, allowed, threads, quota);
      expect_sound(topology, allowed, placement);
      uint32_t cores = 0;
      for (const Placement::Node &node : placement.nodes) cores += node.cores;
      uint32_t expected = threads != 0 ? threads : quota != 0 ? std::min(cores, quota) : cores;
      if (cores == 0) expected = 0;
      EXPECT_EQ(placement.worker_nodes.size(), expected);
      // No node has two more than another that still has a core to offer.
      for (const Placement::Node &a : placement.nodes) {
        for (const Placement::Node &b : placement.nodes) {
          if (b.workers < b.cores && b.has_memory) {
            EXPECT_LE(std::min(a.workers, a.cores), b.workers + 1);
          }
          if (b.workers < b.cores) {
            EXPECT_LE(a.workers, a.cores);
          }
        }
      }
      placement.keep_workers(topology, static_cast<uint32_t>(random() % (expected + 1)));
      expect_sound(topology, allowed, placement);
    }
  }
}

TEST(Placements, without_memory_change_nothing) {
  const Topology topology = described(odd_machine());
  const CpuSet all = all_cpus(topology);
  for (int64_t n = 0;; ++n) {
    ASSERT_LT(n, 1000);
    Placement placement = placed(topology, cpus("8"));
    CpuSet pinned = cpus("900");
    fail_allocation_after(n);
    const int error = place_workers({topology, all, 0, 0}, placement);
    fail_allocation_after(-1);
    if (error == 0) {
      EXPECT_GE(n, 5);
      break;
    }
    EXPECT_EQ(error, -ENOMEM);
    EXPECT_EQ(workers(placement), (Counts{0, 1, 0, 0}));
    fail_allocation_after(0);
    EXPECT_FALSE(cpus_of_node(topology, 0, all, pinned));
    EXPECT_EQ(members(pinned), Counts{900});
  }
}

}  // namespace
}  // namespace hpz::test
