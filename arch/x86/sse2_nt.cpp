// SPDX-License-Identifier: BSD-2-Clause
//
// MOVNTDQ, four per line (Intel SDM vol. 1, 10.4.6.2): the streaming kernel of the x86-64 baseline.
// Wins and loses where the wider ones do; on lines that sit in the second-level cache it is a
// little slower than they are, since it fills a write-combining buffer in four steps.
#include <emmintrin.h>

#include "arch/kernel.h"

namespace hpz::kernel {

void sse2_nt(void *const *lanes, size_t count, size_t len) noexcept {
  const __m128i zero = _mm_setzero_si128();
  HPZ_CLEAR_LINES(lanes, count, len, 4, {
    _mm_stream_si128(reinterpret_cast<__m128i *>(line), zero);
    _mm_stream_si128(reinterpret_cast<__m128i *>(line + 16), zero);
    _mm_stream_si128(reinterpret_cast<__m128i *>(line + 32), zero);
    _mm_stream_si128(reinterpret_cast<__m128i *>(line + 48), zero);
  });
}

}  // namespace hpz::kernel
