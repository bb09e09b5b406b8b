// SPDX-License-Identifier: BSD-2-Clause
//
// Where a file can be mapped, and how.
#ifndef HPZERO_LIB_SPACE_FILE_MAPPING_H
#define HPZERO_LIB_SPACE_FILE_MAPPING_H

#include <stdint.h>

namespace hpz {

// Maps bytes of the file for reading and writing, without a reservation of memory or huge pages. 0
// or a negative errno value.
int map_file(int fd, uint64_t at, uint64_t bytes, char **out) noexcept;
void unmap_file(char *at, uint64_t bytes) noexcept;

struct FileMapping {
  bool is_possible = false;  // false: the file has no mappings, or nobody may make any
  uint64_t page_bytes = 0;   // of which mappings begin and end at multiples
  char *lasting = nullptr;   // of the pages of the range, all of them; null: by windows
};

// Tries it out: [at, at + bytes), which is not empty, once for all, if that is wanted and there is
// room, or a page of it. page_bytes: as far as the file tells, else the smallest that works of that
// and the sizes of huge pages. -ENOMEM: there is no room for a page.
int try_mapping(int fd, uint64_t at, uint64_t bytes, uint64_t page_bytes, bool wants_lasting,
                FileMapping &out) noexcept;

}  // namespace hpz

#endif
