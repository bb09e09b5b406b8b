// SPDX-License-Identifier: BSD-2-Clause
//
// Reading memory to learn whether it is all zero.
#ifndef HPZERO_LIB_ZERO_SCAN_H
#define HPZERO_LIB_ZERO_SCAN_H

#include <stddef.h>

namespace hpz {

// Every byte of the range is zero. Reads nothing outside it; stops within kScanBlock of the first
// byte that is not.
inline constexpr size_t kScanBlock = 512;
bool scan_is_zero(const void *src, size_t len) noexcept;

}  // namespace hpz

#endif
