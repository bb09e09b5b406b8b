// SPDX-License-Identifier: BSD-2-Clause
//
// The backing that is a file.
#ifndef HPZERO_LIB_SPACE_FILE_H
#define HPZERO_LIB_SPACE_FILE_H

#include <hpzero/space.h>
#include <stdint.h>

#include "lib/space/backing.h"

namespace hpz {

// Of a range of the file, as space.h has it for hpz_space_file; the options are checked. Position
// Backing::skew is its first byte. root: where /sys is ("" but in tests). The caller destroys it.
int open_file_backing(int fd, uint64_t offset, uint64_t len, const hpz_space_options &options,
                      const char *root, Backing &out) noexcept;

}  // namespace hpz

#endif
