// SPDX-License-Identifier: BSD-2-Clause
//
// VMOVNTDQ of a YMM register, two per line (Intel SDM vol. 1, 10.4.6.2; AMD APM vol. 2, 7.4.1).
// Wins and loses where avx512_nt does, at the same rate on cold memory: the memory path decides
// there, not the width. The streaming kernel of CPUs without AVX-512 or where 512-bit stores lower
// the clock.
#include <immintrin.h>

#include "arch/kernel.h"

namespace hpz::kernel {

__attribute__((target("avx2"))) void avx2_nt(void *const *lanes, size_t count,
                                             size_t len) noexcept {
  const __m256i zero = _mm256_setzero_si256();
  HPZ_CLEAR_LINES(lanes, count, len, 4, {
    _mm256_stream_si256(reinterpret_cast<__m256i *>(line), zero);
    _mm256_stream_si256(reinterpret_cast<__m256i *>(line + 32), zero);
  });
}

}  // namespace hpz::kernel
