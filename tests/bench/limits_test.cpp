// SPDX-License-Identifier: BSD-2-Clause
//
// Memory limits from invented /proc and control groups of both versions.
#include "bench/limits.h"

#include <gtest/gtest.h>

#include "bench/sizes.h"
#include "tests/bench/root.h"

namespace hpz::bench {
namespace {

class Root : public test::Root {
 public:
  Root() {
    write("proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 1 kB\nMemAvailable: 8388608 kB\n");
  }
};

TEST(MemoryLimit, WithoutGroupsIsThreeQuartersOfWhatIsFree) {
  const Root root;
  const MemoryLimit limit = memory_limit(root.path());
  EXPECT_EQ(limit.bytes, 6 * kGiB);
  EXPECT_EQ(limit.reason, "free memory");
}

TEST(MemoryLimit, WithoutProcIsLittle) {
  Root root;
  root.remove("proc/meminfo");
  EXPECT_LE(memory_limit(root.path()).bytes, 256 * kMiB);
}

TEST(MemoryLimit, Version2TakesTheTightestGroupOnTheWayUp) {
  Root root;
  root.write("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n");
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("sys/fs/cgroup/a/b/memory.max", "max\n");
  root.write("sys/fs/cgroup/a/b/memory.current", "1048576\n");
  root.write("sys/fs/cgroup/a/memory.max", "268435456\n");
  root.write("sys/fs/cgroup/a/memory.current", "134217728\n");
  // Half of what is used is page cache nobody needs.
  root.write("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 67108864\nfile 9\n");
  const MemoryLimit limit = memory_limit(root.path());
  EXPECT_EQ(limit.bytes, 192 * kMiB / 4 * 3);
  EXPECT_EQ(limit.reason, "the memory cgroup limit");
}

TEST(MemoryLimit, Version1BesideVersion2) {
  Root root;
  root.write("proc/self/mounts",
             "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
             "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
             "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
             "cgroup /sys/fs/cgroup/memory cgroup rw,nosuid,memory 0 0\n");
  root.write("proc/self/cgroup", "4:memory:/x\n1:cpu:/\n0::/\n");
  root.write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "268435456\n");
  root.write("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "0\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
  EXPECT_EQ(memory_limit(root.path()).bytes, 192 * kMiB);
}

TEST(MemoryLimit, AGroupThatIsFullLeavesNothing) {
  Root root;
  root.write("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
  root.write("proc/self/cgroup", "0::/a\n");
  root.write("sys/fs/cgroup/a/memory.max", "4096\n");
  root.write("sys/fs/cgroup/a/memory.current", "8192\n");
  EXPECT_EQ(memory_limit(root.path()).bytes, 0u);
}

TEST(MemoryLimit, ANodeGivesNoMoreThanIsFreeThere) {
  Root root;
  root.write("sys/devices/system/node/node0/meminfo",
             "Node 0 MemTotal:       8388608 kB\nNode 0 MemFree:        1048576 kB\n");
  root.write("sys/devices/system/node/node1/meminfo",
             "Node 1 MemTotal:      16777216 kB\nNode 1 MemFree:        9437184 kB\n");
  const MemoryLimit whole = memory_limit(root.path());
  const auto on_node = [&](int node) {
    return limit_on_pages(PageKind::k4k, whole, node, root.path());
  };
  EXPECT_EQ(on_node(0).bytes, 768 * kMiB);
  EXPECT_EQ(on_node(0).reason, "free memory of node 0");
  // More than the whole machine has to give is no more.
  EXPECT_EQ(on_node(1).bytes, whole.bytes);
  EXPECT_EQ(on_node(1).reason, "free memory");
  EXPECT_EQ(on_node(2).bytes, whole.bytes);
  EXPECT_EQ(on_node(kAnyNode).bytes, whole.bytes);
}

TEST(MemoryLimit, NonsenseIsIgnored) {
  Root root;
  root.write("proc/self/mounts", "short line\n\ncgroup2\n");
  root.write("proc/self/cgroup", "nonsense\n::\n");
  EXPECT_EQ(memory_limit(root.path()).bytes, 6 * kGiB);
}

}  // namespace
}  // namespace hpz::bench
