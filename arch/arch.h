// SPDX-License-Identifier: BSD-2-Clause
//
// All that lib/ may see of an instruction set. One directory of arch/ implements it per build.
#ifndef HPZERO_ARCH_ARCH_H
#define HPZERO_ARCH_ARCH_H

#include <span>

#include "arch/kernel.h"

namespace hpz {

struct CacheSizes {  // bytes of one instance, 0 where unknown
  uint64_t l1 = 0, l2 = 0, llc = 0;
  friend bool operator==(const CacheSizes &, const CacheSizes &) = default;
};

// What the built-in bands need to know of a CPU, derived from its features.
struct Tuning {
  enum class Plain : uint8_t {
    kMemset,  // nothing known: trust the C library
    kShort,   // ordinary stores lead on short ranges, whatever the caches
    kUpToL1,  // ordinary stores lead in L1 only, the string instruction beyond
    kUpToL2,  // ordinary stores lead up to most of L2
  };
  Plain plain = Plain::kMemset;
  const char *name = "a CPU without measured bands";  // for the plan's source line
};

struct Cpu {
  FeatureSet features = 0;
  CacheSizes caches;
  char identity[48] = {};  // vendor-family-model-stepping: what a profile is bound to
  friend bool operator==(const Cpu &, const Cpu &) = default;
};

// Asks the CPU by its own instructions: no file, no lock, no allocation, no system call.
Cpu detect_cpu() noexcept;

std::span<const Kernel> kernels() noexcept;             // in order of preference within a role
std::span<const char *const> feature_names() noexcept;  // index = bit
Tuning tuning(FeatureSet features) noexcept;
uint32_t block_bytes(const Kernel &kernel) noexcept;  // what one step clears, on this CPU

// Features that are safe only where core_signature() is the same on every CPU that a thread may run
// on, for detection reads it on one. None where the instruction set leaves nothing to the core.
FeatureSet features_by_core() noexcept;
uint64_t core_signature() noexcept;  // of the CPU that runs the call

void store_fence() noexcept;  // orders weakly ordered stores before everything after

// The cache probe's instrument. timed_touch clears 8 bytes by a read-modify-write and tells how
// long that took (never by a load: a load of an untouched page maps the shared zero page and costs
// a second fault).
bool has_fine_counter(FeatureSet features) noexcept;  // false: never call the two below
uint64_t timed_touch(void *at) noexcept;              // ticks
void evict(void *at) noexcept;  // writes the line back and drops it from all caches

// For a signal handler with this ucontext_t: changes it so that the return from the handler calls
// function(argument), on the stack of what was interrupted, below its frame, instead of resuming
// there. function must not return. False: the registers are not known here, nothing changed.
bool resume_at(void *ucontext, void (*function)(void *), void *argument) noexcept;

}  // namespace hpz

#endif
