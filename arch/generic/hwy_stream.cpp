// SPDX-License-Identifier: BSD-2-Clause
//
// Highway's Stream() at its lowest vector width (x86: MOVNTDQ of 16 bytes): a plain sequential
// loop, as programs that use Highway get it. The peer that the interleaved kernels of arch/<isa>
// are measured against, and the streaming kernel of an instruction set that has none of its own
// (there it may be an ordinary store). Static dispatch: dynamic dispatch would need libhwy and with
// it the C++ run-time library.
//
// Wins on cold memory, at the rate of the hand-written kernels from 64 KiB on where one stream
// fills the memory path; loses where lanes matter (scattered pages) and on lines that sit in cache.
#if defined(__x86_64__)
// Highway has no vectors for the x86-64 baseline: SSE2 alone is compiled to byte loops. Its lowest
// vector target is SSSE3, which this kernel's row therefore needs (hwy_baseline).
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif
#define HWY_COMPILE_ONLY_STATIC
#include <hwy/highway.h>

#include "arch/kernel.h"

HWY_BEFORE_NAMESPACE();
namespace hpz::kernel {

void hwy_stream(void *const *lanes, size_t count, size_t len) noexcept {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<uint8_t, kLineBytes> d;
  const auto zero = hn::Zero(d);
  for (size_t i = 0; i < count; ++i) {
    auto *const bytes = static_cast<uint8_t *>(lanes[i]);
    for (size_t at = 0; at < len; at += hn::Lanes(d)) hn::Stream(zero, d, bytes + at);
  }
}

}  // namespace hpz::kernel
HWY_AFTER_NAMESPACE();
