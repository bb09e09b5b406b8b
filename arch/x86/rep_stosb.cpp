// SPDX-License-Identifier: BSD-2-Clause
//
// REP STOSB, one instruction per lane (Intel Optimization Manual 3.8.7 "REP STOSB operation"; AMD
// APM vol. 3). Must see the whole extent: the microcode chooses its store protocol by the count, so
// cutting a range loses (pieces of 4 KiB: to a third of the rate on Zen 5, 0.85x on Granite
// Rapids).
//
// Wins in the last-level cache, on Zen also beyond it, where one instruction streams. Loses on
// short ranges to its start-up, and on cold memory where it reads for ownership (Granite Rapids:
// 0.42x of non-temporal stores at any length).
#include "arch/kernel.h"

namespace hpz::kernel {

void rep_stosb(void *const *lanes, size_t count, size_t len) noexcept {
  for (size_t i = 0; i < count; ++i) {
    void *to = lanes[i];
    size_t bytes = len;
    asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(0) : "memory");
  }
}

}  // namespace hpz::kernel
