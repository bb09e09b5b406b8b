// SPDX-License-Identifier: BSD-2-Clause
//
// 256-bit ordinary stores, two per line, sequential. Wins inside L1 and on Zen up to 7/8 of L2,
// level with avx512_st there (two 256-bit stores a cycle); loses beyond the caches, as every
// ordinary store.
#include <immintrin.h>

#include "arch/kernel.h"

namespace hpz::kernel {

__attribute__((target("avx2"))) void avx2_st(void *const *lanes, size_t count,
                                             size_t len) noexcept {
  const __m256i zero = _mm256_setzero_si256();
  for (size_t i = 0; i < count; ++i) {
    char *const bytes = static_cast<char *>(lanes[i]);
#pragma GCC unroll 4
    for (size_t at = 0; at < len; at += kLineBytes) {
      _mm256_store_si256(reinterpret_cast<__m256i *>(bytes + at), zero);
      _mm256_store_si256(reinterpret_cast<__m256i *>(bytes + at + 32), zero);
    }
  }
}

}  // namespace hpz::kernel
