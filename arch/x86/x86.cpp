// SPDX-License-Identifier: BSD-2-Clause
//
// The x86-64 side of arch.h: the table, and everything that is one or two instructions.
#include <cpuid.h>
#include <emmintrin.h>
#include <ucontext.h>
#include <x86intrin.h>

#include <array>
#include <iterator>

#include "arch/arch.h"
#include "arch/x86/detect.h"
#include "arch/x86/features.h"

#define HPZ_KERNELS_DEF "arch/x86/kernels.def"
#include "arch/registry.inc"

namespace hpz {
namespace {

x86::CpuidRegisters real_cpuid(const void *, uint32_t leaf, uint32_t subleaf) noexcept {
  x86::CpuidRegisters r;
  __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
  return r;
}

uint64_t real_xgetbv(const void *) noexcept {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));  // the intrinsic wants -mxsave
  return uint64_t{high} << 32 | low;
}

}  // namespace

Cpu detect_cpu() noexcept {
  return x86::detect({real_cpuid, real_xgetbv, nullptr});
}

Tuning tuning(FeatureSet features) noexcept {
  return x86::tuning(features);
}

uint32_t block_bytes(const Kernel &) noexcept {
  return kLineBytes;
}

FeatureSet features_by_core() noexcept {
  return 0;
}

uint64_t core_signature() noexcept {
  return 0;
}

void store_fence() noexcept {
  _mm_sfence();
}

bool has_fine_counter(FeatureSet features) noexcept {
  return (features & feature::tsc) != 0;
}

uint64_t timed_touch(void *at) noexcept {
  // LFENCE before RDTSC waits for everything older, after it keeps the access from starting early
  // (Intel SDM vol. 2, RDTSC). The access is locked: it completes, line owned, before the next
  // LFENCE.
  _mm_lfence();
  const uint64_t start = __rdtsc();
  _mm_lfence();
  asm volatile("lock andq $0, %0" : "+m"(*static_cast<uint64_t *>(at)) : : "cc");
  _mm_lfence();
  const uint64_t end = __rdtsc();
  _mm_lfence();
  return end - start;
}

void evict(void *at) noexcept {
  _mm_clflush(at);
  _mm_mfence();
}

bool resume_at(void *ucontext, void (*function)(void *), void *argument) noexcept {
  auto &registers = static_cast<ucontext_t *>(ucontext)->uc_mcontext.gregs;
  constexpr greg_t kRedZone = 128;  // below the stack pointer, the interrupted function's own
  const greg_t stack = (registers[REG_RSP] - kRedZone) & ~greg_t{15};
  registers[REG_RSP] = stack - 8;  // as after a call, which pushes 8 bytes on an aligned stack
  registers[REG_RDI] = reinterpret_cast<greg_t>(argument);
  registers[REG_RIP] = reinterpret_cast<greg_t>(function);
  constexpr greg_t kDirectionFlag = 1 << 10;
  registers[REG_EFL] &= ~kDirectionFlag;  // clear at every call
  return true;
}

}  // namespace hpz
