// SPDX-License-Identifier: BSD-2-Clause
#include "lib/team/mempolicy.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hpz {
namespace {

constexpr size_t kWordBits = 8 * sizeof(unsigned long);
// What the calls take as the number of bits is one more than they look at.
constexpr unsigned long kMaskBits = MemoryPolicy::kMaxNodes + 1;

int get_mempolicy(MemoryPolicy &out, const void *at, unsigned long flags) noexcept {
  out = MemoryPolicy();
  if (syscall(SYS_get_mempolicy, &out.mode, out.nodes, kMaskBits, at, flags) != 0) return -errno;
  return 0;
}

MemoryPolicy of_one_node(int mode, int32_t node) noexcept {
  MemoryPolicy policy;
  const auto bit = static_cast<uint32_t>(node);
  if (bit >= MemoryPolicy::kMaxNodes) return policy;
  policy.mode = mode;
  policy.nodes[bit / kWordBits] = 1ul << bit % kWordBits;
  return policy;
}

}  // namespace

int32_t current_node() noexcept {
  unsigned cpu, node;
  return getcpu(&cpu, &node) == 0 ? static_cast<int32_t>(node) : kNoNode;
}

int query_page_nodes(void *const *pages, size_t count, int *nodes) noexcept {
  if (syscall(SYS_move_pages, 0, count, pages, nullptr, nodes, 0) != 0) return -errno;
  return 0;
}

bool can_place_memory() noexcept {
  MemoryPolicy allowed, own;
  int here = 0, node;
  void *const page = &here;
  return read_allowed_nodes(allowed) == 0 && query_page_nodes(&page, 1, &node) == 0 &&
         read_thread_policy(own) == 0 && set_thread_policy(own) == 0;
}

bool MemoryPolicy::has(int32_t node) const noexcept {
  const auto bit = static_cast<uint32_t>(node);
  return bit < kMaxNodes && (nodes[bit / kWordBits] >> bit % kWordBits & 1) != 0;
}

uint32_t MemoryPolicy::count() const noexcept {
  uint32_t count = 0;
  for (const unsigned long word : nodes) {
    count += static_cast<uint32_t>(__builtin_popcountl(word));
  }
  return count;
}

bool MemoryPolicy::is_interleaved() const noexcept {
  constexpr int kWeightedInterleave = 6;  // Linux 6.9
  const int plain_mode = mode & ~MPOL_MODE_FLAGS;
  return plain_mode == MPOL_INTERLEAVE || plain_mode == kWeightedInterleave;
}

int32_t MemoryPolicy::first_node() const noexcept {
  int32_t node = 0;
  for (const unsigned long word : nodes) {
    if (word != 0) return node + __builtin_ctzl(word);
    node += static_cast<int32_t>(kWordBits);
  }
  return kNoNode;
}

MemoryPolicy MemoryPolicy::bind_to(int32_t node) noexcept {
  return of_one_node(MPOL_BIND, node);
}

MemoryPolicy MemoryPolicy::prefer(int32_t node) noexcept {
  return of_one_node(MPOL_PREFERRED, node);
}

int read_allowed_nodes(MemoryPolicy &out) noexcept {
  return get_mempolicy(out, nullptr, MPOL_F_MEMS_ALLOWED);
}

int read_thread_policy(MemoryPolicy &out) noexcept {
  return get_mempolicy(out, nullptr, 0);
}

int read_mapping_policy(const void *at, MemoryPolicy &out) noexcept {
  return get_mempolicy(out, at, MPOL_F_ADDR);
}

int set_thread_policy(const MemoryPolicy &policy) noexcept {
  if (syscall(SYS_set_mempolicy, policy.mode, policy.nodes, kMaskBits) != 0) return -errno;
  return 0;
}

}  // namespace hpz
