// SPDX-License-Identifier: BSD-2-Clause
//
// Where pages lie and where they will: the kernel's NUMA calls, by number, for libnuma would be a
// dependency for four of them.
#ifndef HPZERO_LIB_TEAM_MEMPOLICY_H
#define HPZERO_LIB_TEAM_MEMPOLICY_H

#include <stddef.h>
#include <stdint.h>

namespace hpz {

inline constexpr int32_t kNoNode = -1;

// The node on which the calling thread is now, by its number; kNoNode: the kernel does not tell.
int32_t current_node() noexcept;

// The node of each page, by its number, or a negative errno value (-ENOENT: not there yet). Moves
// nothing, faults nothing in. 0 or a negative errno value.
int query_page_nodes(void *const *pages, size_t count, int *nodes) noexcept;

// Whether all of this works here; changes nothing.
bool can_place_memory() noexcept;

// A thread's or a mapping's policy: which nodes its first touches take memory from.
struct MemoryPolicy {
  static constexpr unsigned kMaxNodes = 1024;  // the kernel's largest MAX_NUMNODES
  int mode = 0;                                // MPOL_DEFAULT
  unsigned long nodes[kMaxNodes / (8 * sizeof(unsigned long))] = {};

  bool is_default() const noexcept { return mode == 0; }
  bool has(int32_t node) const noexcept;
  uint32_t count() const noexcept;
  // Whether pages are dealt out to the nodes whoever touches them. All other policies ask where the
  // toucher is, or prefer a node of the set.
  bool is_interleaved() const noexcept;
  // The lowest node of the set; kNoNode: none, the toucher's (MPOL_LOCAL, an empty preference).
  int32_t first_node() const noexcept;
  static MemoryPolicy bind_to(int32_t node) noexcept;  // its memory or none
  static MemoryPolicy prefer(int32_t node) noexcept;   // its memory if it has any
};
// The nodes whose memory the calling thread may use, as a set; one on a machine without NUMA. 0 or
// a negative errno value: the kernel does not tell (seccomp, containers).
int read_allowed_nodes(MemoryPolicy &out) noexcept;
// 0 or a negative errno value.
int read_thread_policy(MemoryPolicy &out) noexcept;
int read_mapping_policy(const void *at, MemoryPolicy &out) noexcept;  // faults nothing in
int set_thread_policy(const MemoryPolicy &policy) noexcept;

}  // namespace hpz

#endif
