// SPDX-License-Identifier: BSD-2-Clause
//
// Aligned 8-byte ordinary stores, each of them exactly once, in ascending order. For memory on
// which wide, non-temporal or line-clearing stores are forbidden (device, write-combining,
// uncached): hence volatile, which keeps the compiler from merging them. Slow, and that is not its
// point.
#include "arch/kernel.h"

namespace hpz::kernel {

void word64(void *const *lanes, size_t count, size_t len) noexcept {
  for (size_t i = 0; i < count; ++i) {
    auto *const words = static_cast<volatile uint64_t *>(lanes[i]);
    for (size_t at = 0; at < len / sizeof(uint64_t); ++at) words[at] = 0;
  }
}

}  // namespace hpz::kernel
