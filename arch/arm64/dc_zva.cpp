// SPDX-License-Identifier: BSD-2-Clause
//
// DC ZVA: clears the naturally aligned block that an address points into (Arm ARM C5.3.8). A block
// has 16 to 2048 bytes, as DCZID_EL0 says; never assumed to be 64. Lanes reach its boundaries by
// STP.
//
// The block size is read once, at detection. Reading it in each call would not be safer: the thread
// can migrate between the read and the DC ZVA. Linux checks at boot that all cores agree and taints
// the kernel otherwise; HPZ_INIT_CHECK_CPUS re-reads it on each allowed CPU and prohibits DC ZVA
// where they differ.
//
// Faults on Device memory (Arm ARM D8.7), where word64 must be used. Wins on bulk, whose lines are
// not read before they are written; on short ranges STP is ahead. Not measured on hardware yet.
#include "arch/arm64/dc_zva.h"

#include "arch/arm64/pairs.h"
#include "arch/arm64/zva_blocks.h"

namespace hpz::arm64 {
namespace {

// Everyone who detects stores the same value; the plan that lets a kernel run is published later.
// (By builtins: <atomic> has inline functions, which an unoptimised build emits.)
constinit uint32_t g_block = 0;

// Unrolled by 4: 2.5 instructions a block, against 4 without.
void clear_whole_blocks(uintptr_t at, uintptr_t end, uintptr_t block) noexcept {
  const uintptr_t stride = 4 * block;
  uintptr_t left = (end - at) / block % 4;
  const uintptr_t unrolled_end = end - left * block;
  while (at != unrolled_end) {
    asm volatile(
        "dc zva, %0\n\t"
        "dc zva, %1\n\t"
        "dc zva, %2\n\t"
        "dc zva, %3"
        :
        : "r"(at), "r"(at + block), "r"(at + 2 * block), "r"(at + 3 * block)
        : "memory");
    at += stride;
  }
  for (; left != 0; --left, at += block) asm volatile("dc zva, %0" : : "r"(at) : "memory");
}

}  // namespace

void set_zva_block(uint32_t bytes) noexcept {
  __atomic_store_n(&g_block, bytes, __ATOMIC_RELAXED);
}
uint32_t zva_block() noexcept {
  return __atomic_load_n(&g_block, __ATOMIC_RELAXED);
}

}  // namespace hpz::arm64

namespace hpz::kernel {

void dc_zva(void *const *lanes, size_t count, size_t len) noexcept {
  arm64::clear_by_blocks(
      lanes, count, len, arm64::zva_block(),
      [](uintptr_t at, uintptr_t end) { HPZ_CLEAR_BY_PAIRS("stp", at, end); },
      arm64::clear_whole_blocks);
}

}  // namespace hpz::kernel
