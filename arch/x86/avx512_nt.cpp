// SPDX-License-Identifier: BSD-2-Clause
//
// VMOVNTDQ of a ZMM register: a whole line per store, past the caches, weakly ordered (Intel SDM
// vol. 1, 10.4.6.2 "Caching of Temporal vs. Non-Temporal Data"; AMD APM vol. 1, 5.6.3 and vol.
// 2, 7.4.1).
//
// Wins on cold memory: no read for ownership. Loses up to 30x on lines that sit in L1 or L2, which
// it throws out, and to every reader that comes soon. Four lanes interleaved: on scattered cold 4
// KiB pages 1.6x of one lane, four page walks being in flight (Granite Rapids has four walkers); 8
// lanes gave 0.96x of 4 there, 16 lanes 0.80x (more lines open than fill buffers). On one long
// range the number of lanes makes no difference up to 8.
#include <immintrin.h>

#include "arch/kernel.h"

namespace hpz::kernel {

__attribute__((target("avx512f"))) void avx512_nt(void *const *lanes, size_t count,
                                                  size_t len) noexcept {
  const __m512i zero = _mm512_setzero_si512();
  HPZ_CLEAR_LINES(lanes, count, len, 4,
                  _mm512_stream_si512(reinterpret_cast<__m512i *>(line), zero));
}

}  // namespace hpz::kernel
