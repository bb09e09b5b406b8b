// SPDX-License-Identifier: BSD-2-Clause
//
// SETP, SETM, SETE (FEAT_MOPS, Arm ARM C6.2): prologue, main part and epilogue of a memory set over
// the whole extent; the core chooses how, which is why it must see all of it. Encoded by hand, so
// that an assembler without the extension builds it. The three must follow each other with the same
// registers; the kernel restarts the sequence when a thread moves to a core that would do it
// differently. Not measured on hardware yet.
#include "arch/kernel.h"

namespace hpz::kernel {

void mops_set(void *const *lanes, size_t count, size_t len) noexcept {
  for (size_t i = 0; i < count; ++i) {
    register void *to asm("x0") = lanes[i];
    register size_t bytes asm("x1") = len;
    asm volatile(
        ".inst 0x19df0420\n\t"  // setp [x0]!, x1!, xzr
        ".inst 0x19df4420\n\t"  // setm [x0]!, x1!, xzr
        ".inst 0x19df8420"      // sete [x0]!, x1!, xzr
        : "+r"(to), "+r"(bytes)
        :
        : "cc", "memory");
  }
}

}  // namespace hpz::kernel
