// SPDX-License-Identifier: BSD-2-Clause
//
// The kernel's huge pages, as /sys tells of them. Its pools are told by size (row G8 of the field
// reports: each has its own numbers).
#ifndef HPZERO_LIB_POOL_HUGE_PAGES_H
#define HPZERO_LIB_POOL_HUGE_PAGES_H

#include <stdint.h>

namespace hpz {

// The size of transparent ones; 0: nobody tells. root: a folder in front of /sys, for tests; "" is
// the real one.
uint64_t transparent_page_bytes(const char *root) noexcept;

// Free ones of a node that nobody has reserved, as far as that is told: reservations are not of a
// node, so the smaller of what the node and what the machine has. -errno: not told.
int64_t free_huge_pages(const char *root, uint64_t page_bytes, int32_t node) noexcept;

}  // namespace hpz

#endif
