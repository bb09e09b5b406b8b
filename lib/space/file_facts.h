// SPDX-License-Identifier: BSD-2-Clause
//
// What a descriptor is, as far as a space of it must know: looked up once, when the space is made.
#ifndef HPZERO_LIB_SPACE_FILE_FACTS_H
#define HPZERO_LIB_SPACE_FILE_FACTS_H

#include <stdint.h>

namespace hpz {

struct FileFacts {
  uint64_t bytes = 0;       // of the file, now
  uint64_t page_bytes = 0;  // of its mappings, as far as somebody tells
  bool can_shrink = false;  // an ordinary file
  bool takes_writes = false;
  // By the name of the file system, for others (FUSE, network and stacked ones) answer as they
  // please.
  bool is_memory = false;        // what has data has the memory to store to it
  bool has_true_holes = false;   // SEEK_HOLE calls nothing a hole that is not
  bool punches_exactly = false;  // these, and hugetlbfs, whose SEEK_HOLE knows no holes
  bool zeroes_in_place =
      false;  // FALLOC_FL_ZERO_RANGE keeps the blocks, and does not write to them
};

// root: where /sys is ("" but in tests). -EBADF, -EACCES, -EPERM, -EISDIR, -ESPIPE, -ENODEV as
// space.h has them for hpz_space_file.
int inspect_file(int fd, const char *root, FileFacts &out) noexcept;

// Whether seals of the file forbid to write to it.
bool is_sealed(int fd) noexcept;

// Whether mincore tells this process, as it is now, of the file's pages: to one that could not open
// the file for writing it calls all of them present, and has since Linux 5.2 (can_do_mincore).
bool is_told_what_is_in_memory(int fd) noexcept;

}  // namespace hpz

#endif
