// SPDX-License-Identifier: BSD-2-Clause
//
// Where pages are taken and cleared, on invented machines.
#include "bench/cpu_choice.h"

#include <gmock/gmock.h>

#include "bench/pages.h"
#include "tests/bench/root.h"

namespace hpz::bench {
namespace {

using ::testing::HasSubstr;

// Two nodes of four CPUs: on each two cores of two threads, a last-level cache for each core.
class Machine {
 public:
  Machine() {
    for (int cpu = 0; cpu < 8; ++cpu) {
      const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/";
      const int core = cpu / 2 * 2;
      const std::string pair = std::to_string(core) + "-" + std::to_string(core + 1) + "\n";
      root_.write(folder + "topology/thread_siblings_list", pair);
      root_.write(folder + "cache/index0/level", "1\n");
      root_.write(folder + "cache/index0/shared_cpu_list", pair);
      root_.write(folder + "cache/index1/level", "3\n");
      root_.write(folder + "cache/index1/shared_cpu_list", pair);
    }
    root_.write("sys/devices/system/node/node0/cpulist", "0-3\n");
    root_.write("sys/devices/system/node/node1/cpulist", "4-7\n");
  }
  // All of a node share its last-level cache.
  void share_caches() {
    for (int cpu = 0; cpu < 8; ++cpu) {
      root_.write(
          "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index1/shared_cpu_list",
          cpu < 4 ? "0-3\n" : "4-7\n");
    }
  }
  CpuChoice choose(const std::vector<int> &usable, int here, int node) const {
    return choose_cpus(usable, here, node, root_.path());
  }

 private:
  test::Root root_;
};

std::vector<int> all_cpus() {
  return {0, 1, 2, 3, 4, 5, 6, 7};
}

void expect_choice(const CpuChoice &choice, int taker, int filler, Nearness nearness) {
  EXPECT_EQ(choice.taker, taker);
  EXPECT_EQ(choice.filler, filler);
  EXPECT_EQ(choice.nearness, nearness);
}

TEST(CpuChoice, AsFarApartAsTheNodeAllows) {
  Machine machine;
  expect_choice(machine.choose(all_cpus(), 0, 0), 0, 2, Nearness::kApart);
  expect_choice(machine.choose(all_cpus(), 3, 0), 3, 0, Nearness::kApart);
  expect_choice(machine.choose({0, 1, 4}, 0, 0), 0, 1, Nearness::kOneCore);
  expect_choice(machine.choose({0, 4}, 0, 0), 0, 0, Nearness::kSame);
  machine.share_caches();
  expect_choice(machine.choose(all_cpus(), 0, 0), 0, 2, Nearness::kOneCache);
  expect_choice(machine.choose(all_cpus(), 0, kAnyNode), 0, 4, Nearness::kApart);
}

TEST(CpuChoice, TheTakerGoesToTheMemory) {
  const Machine machine;
  expect_choice(machine.choose(all_cpus(), 0, 1), 4, 6, Nearness::kApart);
  // Memory that has no CPU which may be used: from wherever.
  expect_choice(machine.choose({0, 1}, 1, 1), 1, 0, Nearness::kOneCore);
}

TEST(CpuChoice, WhereNobodyTells) {
  expect_choice(choose_cpus({}, 0, kAnyNode, "/nonexistent"), -1, -1, Nearness::kSame);
  expect_choice(choose_cpus({0, 1}, -1, kAnyNode, "/nonexistent"), -1, -1, Nearness::kSame);
  // Not known to be apart: no promise is made of it.
  expect_choice(choose_cpus({0, 1}, 0, kAnyNode, "/nonexistent"), 0, 1, Nearness::kOneCache);
}

TEST(CpuChoice, IsSaid) {
  EXPECT_EQ(describe({0, 2, Nearness::kApart}),
            "pages taken on CPU 0, cleared meanwhile on CPU 2 (another last-level cache)");
  EXPECT_THAT(describe({5, 5, Nearness::kSame}), HasSubstr("on the same"));
  EXPECT_THAT(describe({}), HasSubstr("whatever CPUs"));
}

}  // namespace
}  // namespace hpz::bench
