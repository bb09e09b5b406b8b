// SPDX-License-Identifier: BSD-2-Clause
//
// Where a pool's memory comes from: mapping it, populating it, giving it back.
#ifndef HPZERO_LIB_POOL_BACKING_H
#define HPZERO_LIB_POOL_BACKING_H

#include <hpzero/pool.h>
#include <hpzero/space.h>
#include <stddef.h>
#include <stdint.h>

namespace hpz {

struct Source {
  hpz_pool_backing backing = HPZ_BACKING_HUGETLB;
  uint64_t page_bytes = 0;      // of the mapping; not above that of a page of the pool
  const char *mount = nullptr;  // HPZ_BACKING_HUGETLB: a folder of it; null: by memfd
  bool is_exported = false;     // the files stay open
};

struct MappedMemory {
  char *base = nullptr;
  int fd = -1;  // stays open where the source is exported
};

// Whether the kernel has huge pages of this size, free ones or not: by itself, for /sys may not be
// there.
bool has_huge_pages(uint64_t page_bytes) noexcept;

// The page size of a folder's hugetlbfs; -EINVAL: it is another file system; -errno.
int64_t mounted_page_bytes(const char *mount) noexcept;

// Maps that much, a multiple of page_bytes, at a multiple of it; not populated. Files have no name,
// so that nothing is left of them when the process is gone. 0 or a negative errno value.
int map_memory(const Source &source, uint64_t bytes, MappedMemory &out) noexcept;
void unmap_memory(const MappedMemory &memory, uint64_t bytes) noexcept;

// Gives pages back to the kernel; the addresses stay. True: what is there reads zero now, by what
// the kernel says.
bool drop_memory(const Source &source, char *base, uint64_t bytes) noexcept;

struct Population {
  int32_t node;  // to place on; -1: does not matter
  struct hpz_team *team;
  const uint32_t *cancel;
};
// 0 or a negative errno value. report_flags: HPZ_JOB_*.
int populate_memory(const Source &source, const hpz_range *ranges, size_t count,
                    const Population &how, uint32_t &report_flags) noexcept;

// The page size that the kernel is known to map resident memory by, at least.
uint64_t obtained_page_bytes(const Source &source, const char *base, uint64_t bytes) noexcept;

}  // namespace hpz

#endif
