// SPDX-License-Identifier: BSD-2-Clause
#include "bench/nodes.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>

#include "bench/refusal.h"
#include "bench/text_file.h"

namespace hpz::bench {
namespace {

// linux/mempolicy.h; the C library has neither the calls nor the numbers.
constexpr int kPolicyBind = 2;
// More than any kernel has nodes.
constexpr size_t kMostNodes = 1024;
constexpr size_t kBits = sizeof(unsigned long) * CHAR_BIT;

bool parse_number(std::string_view &text, int &value) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return false;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  return true;
}

}  // namespace

std::vector<int> parse_node_list(std::string_view list) {
  // As many nodes as a kernel can be built for: a wrong file is no reason to take all memory.
  constexpr int kMostNodes = 1 << 16;
  std::vector<int> nodes;
  while (!list.empty()) {
    int first = 0;
    if (!parse_number(list, first)) return {};
    int last = first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      if (!parse_number(list, last)) return {};
    }
    if (last >= kMostNodes) return {};
    for (int node = first; node <= last; ++node) nodes.push_back(node);
    if (list.empty()) break;
    if (!list.starts_with(',') || list.size() == 1) return {};
    list.remove_prefix(1);
  }
  return nodes;
}

std::vector<int> nodes_with_memory(const std::string &root) {
  const auto list = read_text_file(root + "/sys/devices/system/node/has_memory");
  std::vector<int> nodes = list ? parse_node_list(*list) : std::vector<int>();
  if (nodes.size() <= 1) nodes = {kAnyNode};
  return nodes;
}

std::string node_title(int node) {
  return node == kAnyNode ? "" : ", node " + std::to_string(node);
}
std::string node_suffix(int node) {
  return node == kAnyNode ? "" : ".node" + std::to_string(node);
}

// Masks end with a bit that the kernel does not take.
NodeBinding::NodeBinding(int node) {
  if (node == kAnyNode) return;
  nodes_before_.resize(kMostNodes / kBits);
  const auto bit = static_cast<size_t>(node);
  std::vector<unsigned long> mask(kMostNodes / kBits);
  if (bit < kMostNodes) mask[bit / kBits] = 1UL << (bit % kBits);
  if (syscall(SYS_get_mempolicy, &policy_before_, nodes_before_.data(), kMostNodes + 1, nullptr,
              0) != 0 ||
      syscall(SYS_set_mempolicy, kPolicyBind, mask.data(), kMostNodes + 1) != 0) {
    throw Refusal("memory of node " + std::to_string(node) + " may not be used (" +
                  std::strerror(errno) + "): allow it by cpuset.mems");
  }
  is_bound_ = true;
}

NodeBinding::~NodeBinding() {
  if (is_bound_) {
    syscall(SYS_set_mempolicy, policy_before_, nodes_before_.data(), kMostNodes + 1);
  }
}

}  // namespace hpz::bench
