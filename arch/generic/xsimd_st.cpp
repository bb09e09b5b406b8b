// SPDX-License-Identifier: BSD-2-Clause
//
// xsimd's store_aligned() at the baseline width: ordinary vector stores on every instruction set
// that xsimd knows. xsimd 8.1 has no streaming store, and its own CPU detection ignores what the OS
// saves, so neither is used. Keeps up with wider stores beyond L1, loses to them inside it.
#include <xsimd/xsimd.hpp>

#include "arch/kernel.h"

namespace hpz::kernel {
namespace {

#if defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)

// xsimd has no vectors here, and then no batch at all.
struct Batch {
  static constexpr size_t size = sizeof(uint64_t);
  uint64_t value;
  explicit Batch(uint8_t byte) noexcept : value(byte) {}
  void store_aligned(uint8_t *to) const noexcept {
    *static_cast<volatile uint64_t *>(static_cast<void *>(to)) = value;
  }
};

#else

using Batch = xsimd::batch<uint8_t, xsimd::default_arch>;

#endif

static_assert(kLineBytes % Batch::size == 0);

}  // namespace

void xsimd_st(void *const *lanes, size_t count, size_t len) noexcept {
  const Batch zero(uint8_t{0});
  for (size_t i = 0; i < count; ++i) {
    auto *const bytes = static_cast<uint8_t *>(lanes[i]);
    for (size_t at = 0; at < len; at += Batch::size) zero.store_aligned(bytes + at);
  }
}

}  // namespace hpz::kernel
