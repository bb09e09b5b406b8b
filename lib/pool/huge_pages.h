// SPDX-License-Identifier: BSD-2-Clause
//
// The kernel's own pools of huge pages, as /sys tells of them: by size (row G8 of the field
// reports: each has its own numbers).
#ifndef HPZERO_LIB_POOL_HUGE_PAGES_H
#define HPZERO_LIB_POOL_HUGE_PAGES_H

#include <stdint.h>

namespace hpz {

// Whether the kernel has pages of this size. root: a folder in front of /sys, for tests; "" is the
// real one.
bool has_huge_page_size(const char *root, uint64_t page_bytes) noexcept;

// Free ones of a node that nobody has reserved, as far as that is told: reservations are not of a
// node, so the smaller of what the node and what the machine has. -errno: not told.
int64_t free_huge_pages(const char *root, uint64_t page_bytes, int32_t node) noexcept;

}  // namespace hpz

#endif
