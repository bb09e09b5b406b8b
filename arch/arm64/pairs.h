// SPDX-License-Identifier: BSD-2-Clause
//
// The store loop that stp, stnp and the edges of dc_zva share: a line is two pairs of Q registers.
#ifndef HPZERO_ARCH_ARM64_PAIRS_H
#define HPZERO_ARCH_ARM64_PAIRS_H

#include "arch/kernel.h"

// Clears whole lines from `at` to `end` (integers, at < end) by INSTRUCTION ("stp" or "stnp").
// Assembly because compilers have no intrinsic for STNP and turn STP loops into other ones.
// Unrolled to a line: 4 instructions for 64 bytes; two lines would save a quarter of them and need
// a remainder.
#define HPZ_CLEAR_BY_PAIRS(INSTRUCTION, at, end)           \
  asm volatile(                                            \
      "movi v0.2d, #0\n"                                   \
      "1:\n\t" INSTRUCTION " q0, q0, [%0]\n\t" INSTRUCTION \
      " q0, q0, [%0, #32]\n\t"                             \
      "add %0, %0, #64\n\t"                                \
      "cmp %0, %1\n\t"                                     \
      "b.ne 1b"                                            \
      : "+r"(at)                                           \
      : "r"(end)                                           \
      : "v0", "cc", "memory")

#endif
