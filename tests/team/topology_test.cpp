// SPDX-License-Identifier: BSD-2-Clause
//
// What becomes of hwloc's machines, and of this one: whole, masked, in a child that watches what
// the library leaves behind.
#include "lib/team/topology.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <set>

#include "tests/support/sandbox.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/shortage.h"
#include "tests/team/invented_machine.h"

namespace hpz::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int> ids(const Topology &topology) {
  std::vector<int> ids;
  for (const Topology::Node &node : topology.nodes) ids.push_back(node.id);
  return ids;
}

std::vector<uint32_t> nodes_of_cpus(const Topology &topology) {
  std::vector<uint32_t> nodes;
  for (const Topology::Cpu &cpu : topology.cpus) nodes.push_back(cpu.node);
  return nodes;
}

size_t cores(const Topology &topology) {
  std::set<uint32_t> cores;
  for (const Topology::Cpu &cpu : topology.cpus) cores.insert(cpu.core);
  return cores.size();
}

void expect_sound(const Topology &topology) {
  ASSERT_FALSE(topology.nodes.empty());
  bool has_memory = false;
  for (size_t i = 0; i < topology.nodes.size(); ++i) {
    if (i > 0) {
      EXPECT_LT(topology.nodes[i - 1].id, topology.nodes[i].id);
    }
    EXPECT_EQ(topology.index_of(topology.nodes[i].id), i);
    has_memory |= topology.nodes[i].has_memory;
  }
  EXPECT_TRUE(has_memory);
  EXPECT_EQ(topology.index_of(-1), topology.nodes.size());
  EXPECT_EQ(topology.index_of(INT32_MAX), topology.nodes.size());
  std::vector<std::set<uint32_t>> nodes_of_core(2 * topology.cpus.size());
  for (size_t i = 0; i < topology.cpus.size(); ++i) {
    const Topology::Cpu &cpu = topology.cpus[i];
    if (i > 0) {
      EXPECT_LT(topology.cpus[i - 1].cpu, cpu.cpu);
    }
    ASSERT_LT(cpu.node, topology.nodes.size());
    ASSERT_LT(cpu.core, nodes_of_core.size());
    nodes_of_core[cpu.core].insert(cpu.node);
    EXPECT_EQ(nodes_of_core[cpu.core].size(), 1u);
  }
  const size_t size = topology.nodes.size();
  EXPECT_TRUE(topology.distances.empty() || topology.distances.size() == size * size);
  for (uint32_t from = 0; from < size; ++from) {
    for (uint32_t to = 0; to < size; ++to) {
      EXPECT_LE(topology.distance(from, from), topology.distance(from, to));
    }
  }
}

TEST(DescribedTopologies, synthetic) {
  const struct {
    const char *description;
    size_t nodes, cpus, cores;
  } rows[] = {
      {"pu:1", 1, 1, 1},
      {"core:4 pu:2", 1, 8, 4},
      {"pack:2 [numa(memory=64GiB)] l3:1 l2:8 core:1 pu:2", 2, 32, 16},
      {"pack:8 [numa] core:64 pu:2", 8, 1024, 512},
      {"pack:2 group:4 [numa] core:14 pu:2", 8, 224, 112},
      {"pack:2 l3:4 [numa] core:7 pu:2", 8, 112, 56},
      {"pack:16 [numa] core:64 pu:2", 16, 2048, 1024},
      {"numa:2 pu:4", 2, 8, 8},
  };
  for (const auto &row : rows) {
    SCOPED_TRACE(row.description);
    const Topology topology = described(row.description);
    EXPECT_EQ(topology.nodes.size(), row.nodes);
    EXPECT_EQ(topology.cpus.size(), row.cpus);
    EXPECT_EQ(cores(topology), row.cores);
    expect_sound(topology);
    // hwloc numbers synthetic CPUs one after the other.
    for (size_t i = 0; i < row.cpus; ++i) {
      EXPECT_EQ(topology.cpus[i].cpu, i);
      EXPECT_EQ(topology.cpus[i].node, i / (row.cpus / row.nodes));
    }
    EXPECT_THAT(topology.distances, IsEmpty());
    if (row.nodes > 1) {
      EXPECT_LT(topology.distance(1, 1), topology.distance(1, 0));
    }
  }
}

// Each of them as firmware may number it.
TEST(DescribedTopologies, ids_as_the_kernel_has_them) {
  const Topology topology = described("pack:2 [numa(indexes=8,3)] core:1 pu:2(indexes=6,4,2,0)");
  EXPECT_THAT(ids(topology), ElementsAre(3, 8));
  EXPECT_EQ(topology.index_of(8), 1u);
  EXPECT_EQ(topology.index_of(4), 2u);
  EXPECT_EQ(members(all_cpus(topology)), (std::vector<uint32_t>{0, 2, 4, 6}));
  EXPECT_THAT(nodes_of_cpus(topology), ElementsAre(0, 0, 1, 1));
}

TEST(DescribedTopologies, field_F7_gaps_and_nodes_without_cpus_or_memory) {
  const Topology topology = described(odd_machine());
  expect_sound(topology);
  EXPECT_THAT(ids(topology), ElementsAre(0, 2, 5, 6));
  EXPECT_TRUE(topology.nodes[0].has_memory);
  EXPECT_FALSE(topology.nodes[1].has_memory);
  EXPECT_TRUE(topology.nodes[2].has_memory);
  EXPECT_EQ(cores(topology), 8u);
  EXPECT_EQ(nodes_of_cpus(topology),
            (std::vector<uint32_t>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(topology.distance(0, 2), 17u);
  EXPECT_EQ(topology.distance(1, 2), 28u);
  EXPECT_EQ(topology.distance(3, 3), 10u);
}

// High-bandwidth memory beside the ordinary one: the smaller set of CPUs, then the lower id.
TEST(DescribedTopologies, cpus_near_to_several_nodes) {
  const Topology topology = described("pack:2 [numa] [numa] core:2 pu:1");
  expect_sound(topology);
  EXPECT_EQ(topology.nodes.size(), 4u);
  EXPECT_THAT(nodes_of_cpus(topology), ElementsAre(0, 0, 2, 2));

  const Topology around =
      described(invented_machine({{0, 64, 0, 0, true}, {1, 8, 0, 2}, {2, 8, 2, 2}}));
  expect_sound(around);
  EXPECT_THAT(nodes_of_cpus(around), ElementsAre(1, 1, 2, 2));
}

TEST(DescribedTopologies, memory_of_unknown_sizes_is_there) {
  const Topology topology = described(invented_machine({{0, 0, 0, 2}, {1, 0, 2, 2}}));
  EXPECT_TRUE(topology.nodes[0].has_memory);
  EXPECT_TRUE(topology.nodes[1].has_memory);
}

TEST(DescribedTopologies, what_is_not_understood_changes_nothing) {
  Topology topology = described("core:3 pu:1");
  for (const char *const description : {"", "gibberish", "core:0", "<", "<xml/>", "<topology/>"}) {
    EXPECT_EQ(describe_topology(description, topology), -EINVAL) << description;
    EXPECT_EQ(topology.cpus.size(), 3u);
  }
}

TEST(DescribedTopologies, without_memory_change_nothing) {
  // hwloc's own allocations are not among these.
  const std::string description = odd_machine();
  for (int64_t n = 0;; ++n) {
    ASSERT_LT(n, 1000);
    Topology topology = described("core:3 pu:1");
    fail_allocation_after(n);
    const int error = describe_topology(description.c_str(), topology);
    fail_allocation_after(-1);
    if (error == 0) {
      EXPECT_GE(n, 4);
      break;
    }
    EXPECT_EQ(error, -ENOMEM);
    EXPECT_EQ(topology.cpus.size(), 3u);
  }
}

CpuSet affinity() {
  CpuSet allowed;
  EXPECT_EQ(read_affinity(allowed), 0);
  return allowed;
}

TEST(ThisMachine, is_understood) {
  const CpuSet allowed = affinity();
  Topology topology;
  ASSERT_EQ(load_topology(allowed, topology), 0);
  expect_sound(topology);
  const CpuSet known = all_cpus(topology);
  for (const uint32_t cpu : members(allowed)) EXPECT_TRUE(known.contains(cpu)) << cpu;

  // By another source: the kernel's own lists.
  size_t listed = 0;
  for (uint32_t node = 0; node < topology.nodes.size(); ++node) {
    std::string list;
    try {
      list = read_file("/sys/devices/system/node/node" + std::to_string(topology.nodes[node].id) +
                       "/cpulist");
    } catch (const std::exception &) {
      continue;
    }
    ++listed;
    for (const uint32_t cpu : members(cpus(list))) {
      if (!known.contains(cpu)) continue;
      for (const Topology::Cpu &other : topology.cpus) {
        if (other.cpu == cpu) {
          EXPECT_EQ(other.node, node) << cpu;
        }
      }
    }
  }
  if (access("/sys/devices/system/node/online", R_OK) == 0) {
    EXPECT_EQ(listed, topology.nodes.size());
  }
  RecordProperty("nodes_compared", static_cast<int>(listed));

  // Two CPUs are of one core if each lists the other.
  listed = 0;
  for (const Topology::Cpu &cpu : topology.cpus) {
    std::string list;
    try {
      list = read_file("/sys/devices/system/cpu/cpu" + std::to_string(cpu.cpu) +
                       "/topology/thread_siblings_list");
    } catch (const std::exception &) {
      continue;
    }
    ++listed;
    const CpuSet siblings = cpus(list);
    for (const Topology::Cpu &other : topology.cpus) {
      EXPECT_EQ(other.core == cpu.core, siblings.contains(other.cpu)) << cpu.cpu << other.cpu;
    }
  }
  const std::string first =
      "/sys/devices/system/cpu/cpu" + std::to_string(topology.cpus[0].cpu) + "/topology";
  if (access(first.c_str(), X_OK) == 0) {
    EXPECT_EQ(listed, topology.cpus.size());
  }
  RecordProperty("cpus_compared", static_cast<int>(listed));
}

TEST(ThisMachine, has_cpus_that_hwloc_does_not_know) {
  CpuSet allowed = affinity();
  ASSERT_TRUE(allowed.add(7001));
  ASSERT_TRUE(allowed.add(7000));
  Topology topology;
  ASSERT_EQ(load_topology(allowed, topology), 0);
  expect_sound(topology);
  ASSERT_GE(topology.cpus.size(), 3u);
  const Topology::Cpu *const last = topology.cpus.end() - 2;
  EXPECT_EQ(last[0].cpu, 7000u);
  EXPECT_EQ(last[1].cpu, 7001u);
  EXPECT_NE(last[0].core, last[1].core);
  EXPECT_EQ(last[0].node, 0u);
}

// What a child does, with what it leaves on stderr; exit status 125 is something thrown.
struct Child {
  int status;
  std::string err;
};

template <class Do> Child in_child(const Do &act) {
  const ScratchFolder folder;
  const std::string err = folder.write("err", "");
  const pid_t child = fork();
  if (child == 0) {
    int status = 125;
    const int fd = open(err.c_str(), O_WRONLY | O_CLOEXEC);
    try {
      if (fd >= 0 && dup2(fd, 2) == 2) status = act();
    } catch (const std::exception &e) {
      dprintf(2, "%s\n", e.what());
    }
    _exit(status);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(err)};
}

long memory_policy(int &mode, unsigned long (&nodes)[16]) {
  memset(nodes, 0, sizeof nodes);
  return syscall(SYS_get_mempolicy, &mode, nodes, 8 * sizeof nodes, nullptr, 0);
}

TEST(ThisMachine, field_F19_leaves_the_caller_as_it_was) {
  const Child child = in_child([] {
    // One CPU, as hwloc's x86 component would change it and not put it back right.
    const std::vector<uint32_t> before_cpus = members(affinity());
    if (before_cpus.empty()) return 1;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(before_cpus.back(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) return 2;
    int mode = -1, mode_after = -1;
    unsigned long nodes[16], nodes_after[16];
    const long has_policy = memory_policy(mode, nodes);
    sigset_t mask, mask_after;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);

    const CpuSet allowed = affinity();
    Topology topology;
    if (load_topology(allowed, topology) != 0) return 3;

    if (members(affinity()) != std::vector<uint32_t>{before_cpus.back()}) return 4;
    if (memory_policy(mode_after, nodes_after) != has_policy || mode_after != mode) return 5;
    if (memcmp(nodes, nodes_after, sizeof nodes) != 0) return 6;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
    for (int signal = 1; signal < 32; ++signal) {
      if (sigismember(&mask, signal) != sigismember(&mask_after, signal)) return 7;
    }
    // The machine is whole all the same.
    return topology.cpus.size() >= before_cpus.size() ? 0 : 8;
  });
  EXPECT_EQ(child.status, 0);
  EXPECT_EQ(child.err, "");
}

// 0, or the number of what failed.
int load_quietly(bool is_one_node) {
  const CpuSet allowed = affinity();
  Topology topology;
  if (load_topology(allowed, topology) != 0) return 10;
  CpuSet known;
  for (const Topology::Cpu &cpu : topology.cpus) {
    if (!known.add(cpu.cpu)) return 11;
  }
  for (const uint32_t cpu : members(allowed)) {
    if (!known.contains(cpu)) return 12;
  }
  if (!is_one_node) return 0;
  if (topology.nodes.size() != 1 || topology.nodes[0].id != 0) return 13;
  return topology.nodes[0].has_memory ? 0 : 14;
}

TEST(ThisMachine, is_loaded_silently) {
  const Child child = in_child([] { return load_quietly(false); });
  EXPECT_EQ(child.status, 0);
  EXPECT_EQ(child.err, "");
}

// Recipe R-MSK.
TEST(ThisMachine, field_F9_masked) {
  HPZERO_NEEDS_NAMESPACES();
  const struct {
    std::vector<const char *> hidden;
    bool is_one_node;
  } rows[] = {
      {{"/sys"}, true},
      {{"/sys", "/proc"}, true},
      {{"/proc"}, false},
      {{"/sys/devices/system/node"}, true},
      {{"/sys/devices/system/cpu"}, false},
      {{"/sys/devices/system/cpu", "/sys/devices/system/node"}, true},
      {{"/sys/fs/cgroup"}, false},
  };
  for (const auto &row : rows) {
    const Child child = in_child([&row] {
      enter_own_mounts();
      for (const char *const path : row.hidden) {
        if (access(path, F_OK) == 0) hide_folder(path);
      }
      return load_quietly(row.is_one_node);
    });
    EXPECT_EQ(child.status, 0) << row.hidden.back();
    EXPECT_EQ(child.err, "") << row.hidden.back();
  }
}

// A user who tells hwloc of another machine gets this one's memory placed all the same.
TEST(ThisMachine, is_not_another_by_the_environment) {
  const Child child = in_child([] {
    setenv("HWLOC_SYNTHETIC", "pack:2 [numa(indexes=40,41)] core:2 pu:4", 1);
    const CpuSet allowed = affinity();
    Topology topology;
    if (load_topology(allowed, topology) != 0) return 1;
    return topology.index_of(40) == topology.nodes.size() ? 0 : 2;
  });
  EXPECT_EQ(child.status, 0);
  EXPECT_EQ(child.err, "");
}

}  // namespace
}  // namespace hpz::test
