// SPDX-License-Identifier: BSD-2-Clause
//
// Lanes of whole 64-byte lines cut at block boundaries, as a function of the block size and of what
// clears a block, so that tests can do it with sizes that no emulator has.
#ifndef HPZERO_ARCH_ARM64_ZVA_BLOCKS_H
#define HPZERO_ARCH_ARM64_ZVA_BLOCKS_H

#include "arch/kernel.h"

namespace hpz::arm64 {

// The architecture's range of DC ZVA block sizes (DCZID_EL0.BS from 2 to 9).
inline constexpr uint32_t kMinZvaBlock = 16;
inline constexpr uint32_t kMaxZvaBlock = 2048;

// clear_lines(from, to): whole lines by ordinary stores. clear_blocks(from, to, block): whole
// blocks, both ends on block boundaries, never empty.
template <class ClearLines, class ClearBlocks>
[[gnu::always_inline]] inline void clear_by_blocks(void *const *lanes, size_t count, size_t len,
                                                   uintptr_t block, ClearLines clear_lines,
                                                   ClearBlocks clear_blocks) noexcept {
  for (size_t i = 0; i < count; ++i) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(lanes[i]);
    const uintptr_t end = begin + len;
    // In blocks up to a line both are begin and end themselves.
    const uintptr_t first = (begin + (block - 1)) & ~(block - 1);
    const uintptr_t last = end & ~(block - 1);
    // No whole block inside. At the end of the address space, where nobody has memory, rounding up
    // may wrap.
    if (first >= last || first < begin) {
      clear_lines(begin, end);
      continue;
    }
    if (begin != first) clear_lines(begin, first);
    clear_blocks(first, last, block);
    if (last != end) clear_lines(last, end);
  }
}

}  // namespace hpz::arm64

#endif
