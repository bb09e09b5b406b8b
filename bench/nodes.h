// SPDX-License-Identifier: BSD-2-Clause
//
// Memory nodes: which there are, and taking memory from one of them.
#ifndef HPZERO_BENCH_NODES_H
#define HPZERO_BENCH_NODES_H

#include <string>
#include <string_view>
#include <vector>

#include "bench/pages.h"

namespace hpz::bench {

// "0,2-4" as the kernel writes it; empty for what is no such list. Pure.
std::vector<int> parse_node_list(std::string_view list);

// Ascending. One node, kAnyNode, where there is nothing to choose. root: "" but in tests.
std::vector<int> nodes_with_memory(const std::string &root = "");

// "" for kAnyNode, otherwise ", node 1" and ".node1".
std::string node_title(int node);
std::string node_suffix(int node);

// While it lives, pages that the calling thread touches first, and threads that it starts, come
// from this node and from no other. kAnyNode: nothing changes. Throws Refusal where the kernel does
// not let us.
class NodeBinding {
 public:
  explicit NodeBinding(int node);
  ~NodeBinding();
  NodeBinding(const NodeBinding &) = delete;
  NodeBinding &operator=(const NodeBinding &) = delete;

 private:
  bool is_bound_ = false;
  // What numactl may have said, which is back afterwards.
  int policy_before_ = 0;
  std::vector<unsigned long> nodes_before_;
};

}  // namespace hpz::bench

#endif
