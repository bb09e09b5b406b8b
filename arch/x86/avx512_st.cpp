// SPDX-License-Identifier: BSD-2-Clause
//
// 512-bit ordinary stores, a line each, sequential. Wins inside L1 (1.02x hot, 1.1x recycled of
// memset on Granite Rapids, 1.8x at 4 KiB on Zen 5) and on Zen up to 7/8 of L2. Loses beyond the
// caches: every line is read before it is written. Lanes would not help: interleaving loses the
// hardware prefetcher (0.5x in L2 on Granite Rapids).
#include <immintrin.h>

#include "arch/kernel.h"

namespace hpz::kernel {

__attribute__((target("avx512f"))) void avx512_st(void *const *lanes, size_t count,
                                                  size_t len) noexcept {
  const __m512i zero = _mm512_setzero_si512();
  for (size_t i = 0; i < count; ++i) {
    char *const bytes = static_cast<char *>(lanes[i]);
#pragma GCC unroll 4
    for (size_t at = 0; at < len; at += kLineBytes) {
      _mm512_store_si512(reinterpret_cast<__m512i *>(bytes + at), zero);
    }
  }
}

}  // namespace hpz::kernel
