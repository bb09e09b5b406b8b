// SPDX-License-Identifier: BSD-2-Clause
//
// Whether the CPUs that this process may use are alike in what kernels rely on.
#ifndef HPZERO_LIB_PLAN_CORES_H
#define HPZERO_LIB_PLAN_CORES_H

#include <stdint.h>

namespace hpz {

enum class CoreCheck : uint8_t { kAlike, kDiffer, kFailed };

// Reads core_signature() on each CPU of the calling thread's affinity mask, in a thread of its own:
// the caller's affinity is never touched. A CPU that cannot be visited (gone offline) counts for
// nothing. kFailed: there was no thread, or not one CPU could be visited.
CoreCheck compare_cores() noexcept;

// The comparison itself, for a mask and a way to visit and read a CPU, so that tests can invent
// both. visit returns false where it cannot get to the CPU.
struct CoreReader {
  bool (*visit)(void *context, unsigned cpu) noexcept;
  uint64_t (*read)(void *context) noexcept;
  void *context;
};
CoreCheck compare_cores(const unsigned long *mask, unsigned bits,
                        const CoreReader &reader) noexcept;

}  // namespace hpz

#endif
