// SPDX-License-Identifier: BSD-2-Clause
//
// Page sizes that hold whatever the mapping.
#ifndef HPZERO_LIB_SPACE_PAGES_H
#define HPZERO_LIB_SPACE_PAGES_H

#include <stdint.h>
#include <unistd.h>

namespace hpz {

// The system's, which divides every other one.
inline uintptr_t base_page_bytes() noexcept {
  const long bytes = sysconf(_SC_PAGESIZE);
  return bytes > 0 ? static_cast<uintptr_t>(bytes) : 4096;
}

// What transparent huge pages have on most machines. On others chunk boundaries are worse placed.
inline constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

// Between which the sizes of pages lie that are believed.
inline constexpr uint64_t kSmallestPageBytes = 4096, kLargestPageBytes = uint64_t{1} << 40;

inline bool is_page_size(uint64_t bytes) noexcept {
  return bytes >= kSmallestPageBytes && bytes <= kLargestPageBytes && (bytes & (bytes - 1)) == 0;
}

}  // namespace hpz

#endif
