// SPDX-License-Identifier: BSD-2-Clause
//
// arch.h for instruction sets without a directory of their own: the generic kernels alone, no
// counter, hence no cache probe. The starting point of a new directory.
#include <array>
#include <atomic>
#include <iterator>

#include "arch/arch.h"
#include "arch/portable/features.h"

#define HPZ_KERNELS_DEF "arch/portable/kernels.def"
#include "arch/registry.inc"

namespace hpz {

FeatureSet features_by_core() noexcept {
  return 0;
}

uint64_t core_signature() noexcept {
  return 0;
}

uint32_t block_bytes(const Kernel &) noexcept {
  return kLineBytes;
}

void store_fence() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// Without a fine counter the probe's instrument is never called.
bool has_fine_counter(FeatureSet) noexcept {
  return false;
}

uint64_t timed_touch(void *) noexcept {
  return 0;
}

void evict(void *) noexcept {}

bool resume_at(void *, void (*)(void *), void *) noexcept {
  return false;
}

}  // namespace hpz
