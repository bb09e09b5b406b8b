// SPDX-License-Identifier: BSD-2-Clause
//
// Which memory nodes there are, from the kernel's lists.
#include "bench/nodes.h"

#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/bench/root.h"

namespace hpz::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Nodes, ListsAreParsed) {
  EXPECT_THAT(parse_node_list("0"), ElementsAre(0));
  EXPECT_THAT(parse_node_list("0-2"), ElementsAre(0, 1, 2));
  EXPECT_THAT(parse_node_list("1,3-4,8"), ElementsAre(1, 3, 4, 8));
  for (const char *wrong : {"", "x", "-1", "0-", "0,", "0;1", "0-99999999"}) {
    EXPECT_THAT(parse_node_list(wrong), IsEmpty()) << wrong;
  }
}

TEST(Nodes, OnlySeveralLeaveAChoice) {
  EXPECT_THAT(nodes_with_memory("/nonexistent"), ElementsAre(kAnyNode));
  test::Root root;
  root.write("sys/devices/system/node/has_memory", "0\n");
  EXPECT_THAT(nodes_with_memory(root.path()), ElementsAre(kAnyNode));
  root.write("sys/devices/system/node/has_memory", "0,2-3\n");
  EXPECT_THAT(nodes_with_memory(root.path()), ElementsAre(0, 2, 3));
  EXPECT_EQ(node_title(kAnyNode), "");
  EXPECT_EQ(node_suffix(kAnyNode), "");
  EXPECT_EQ(node_suffix(3), ".node3");
  const NodeBinding binding(kAnyNode);
}

TEST(NodeBinding, LeavesThePolicyThatTheThreadHad) {
  constexpr int kDefault = 0, kBind = 2, kInterleave = 3;  // linux/mempolicy.h
  const auto policy = [] {
    int mode = -1;
    syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0);
    return mode;
  };
  const unsigned long first = 1;
  if (syscall(SYS_set_mempolicy, kInterleave, &first, 8 * sizeof first) != 0) {
    GTEST_SKIP() << "NOT TESTED HERE: no memory policies (" << std::strerror(errno) << ")";
  }
  {
    const NodeBinding binding(0);
    EXPECT_EQ(policy(), kBind);
  }
  EXPECT_EQ(policy(), kInterleave);
  syscall(SYS_set_mempolicy, kDefault, nullptr, 0);
}

}  // namespace
}  // namespace hpz::bench
