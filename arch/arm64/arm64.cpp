// SPDX-License-Identifier: BSD-2-Clause
//
// The arm64 side of arch.h: the table, and everything that is one or two instructions.
#include <ucontext.h>

#include <sys/auxv.h>

#include <array>
#include <iterator>

#include "arch/arch.h"
#include "arch/arm64/dc_zva.h"
#include "arch/arm64/detect.h"
#include "arch/arm64/features.h"

#define HPZ_KERNELS_DEF "arch/arm64/kernels.def"
#include "arch/registry.inc"

namespace hpz {
namespace {

#define HPZ_READ_REGISTER(name)                               \
  [] {                                                        \
    uint64_t value;                                           \
    asm volatile("mrs %0, " name : "=r"(value) : : "memory"); \
    return value;                                             \
  }()

arm64::Registers read_registers() noexcept {
  arm64::Registers registers;
  registers.hwcap = getauxval(AT_HWCAP);
  registers.hwcap2 = getauxval(AT_HWCAP2);
  registers.dczid = HPZ_READ_REGISTER("dczid_el0");
  registers.cntfrq = HPZ_READ_REGISTER("cntfrq_el0");
  // Elsewhere the read is an illegal instruction.
  if ((registers.hwcap & arm64::kHwcapCpuid) != 0) registers.midr = HPZ_READ_REGISTER("midr_el1");
  return registers;
}

}  // namespace

Cpu detect_cpu() noexcept {
  const arm64::Registers registers = read_registers();
  arm64::set_zva_block(arm64::zva_block_of(registers.dczid));
  return arm64::detect(registers);
}

FeatureSet features_by_core() noexcept {
  return feature::zva;
}

uint64_t core_signature() noexcept {
  return HPZ_READ_REGISTER("dczid_el0");
}

Tuning tuning(FeatureSet) noexcept {
  return {Tuning::Plain::kShort, "arm64"};
}

uint32_t block_bytes(const Kernel &kernel) noexcept {
  const uint32_t zva_block = arm64::zva_block();
  return kernel.fn == &kernel::dc_zva && zva_block != 0 ? zva_block : kLineBytes;
}

// Not needed by any kernel here: arm64 orders all of these stores as it orders any other, by what
// the caller does to publish them.
void store_fence() noexcept {
  asm volatile("dmb ishst" : : : "memory");
}

bool has_fine_counter(FeatureSet features) noexcept {
  return (features & feature::fine_counter) != 0;
}

uint64_t timed_touch(void *at) noexcept {
  asm volatile("isb" : : : "memory");
  const uint64_t start = HPZ_READ_REGISTER("cntvct_el0");
  asm volatile("isb" : : : "memory");
  // A store, and the barrier waits for it. (An exclusive load would be a load.)
  asm volatile("str xzr, [%0]\n\tdsb ish\n\tisb" : : "r"(at) : "memory");
  return HPZ_READ_REGISTER("cntvct_el0") - start;
}

void evict(void *at) noexcept {
  asm volatile("dc civac, %0\n\tdsb ish" : : "r"(at) : "memory");
}

bool resume_at(void *ucontext, void (*function)(void *), void *argument) noexcept {
  auto &registers = static_cast<ucontext_t *>(ucontext)->uc_mcontext;
  registers.sp &= ~decltype(registers.sp){15};
  registers.regs[0] = reinterpret_cast<uintptr_t>(argument);
  registers.pc = reinterpret_cast<uintptr_t>(function);
  return true;
}

}  // namespace hpz
