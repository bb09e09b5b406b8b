// SPDX-License-Identifier: BSD-2-Clause
//
// Faulting pages in with errors for results where a store would get a signal.
#ifndef HPZERO_LIB_SPACE_TOUCH_H
#define HPZERO_LIB_SPACE_TOUCH_H

#include <stddef.h>
#include <stdint.h>

namespace hpz {

struct TouchResult {
  uint64_t done_bytes = 0;  // from the beginning: resident and writable
  int error = 0;            // 0, or why the page behind them is not, as space.h has it
};

// Makes the pages of [at, at + bytes) resident and writable, in order.
TouchResult touch_pages(const char *at, uint64_t bytes) noexcept;

// Whether MADV_POPULATE_WRITE works here; asked on a page of its own.
bool has_populate() noexcept;

}  // namespace hpz

#endif
