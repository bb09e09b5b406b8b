// SPDX-License-Identifier: BSD-2-Clause
//
// REP STOSQ, one instruction per lane: fast-string microcode from long before ERMS (Intel
// Optimization Manual 3.8). Level with rep_stosb wherever it was measured; never chosen, since CPUs
// without ERMS that it would be for have not been measured. Here to be measured and forced.
#include "arch/kernel.h"

namespace hpz::kernel {

void rep_stosq(void *const *lanes, size_t count, size_t len) noexcept {
  for (size_t i = 0; i < count; ++i) {
    void *to = lanes[i];
    size_t words = len / sizeof(uint64_t);
    asm volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(0) : "memory");
  }
}

}  // namespace hpz::kernel
