// SPDX-License-Identifier: BSD-2-Clause
#include "bench/plan.h"

#include <algorithm>

#include "bench/sizes.h"

namespace hpz::bench {

std::vector<hpz_kernel_info> all_kernels() {
  std::vector<hpz_kernel_info> kernels;
  for (size_t i = 0; i < hpz_kernel_count(); ++i) {
    hpz_kernel_info info = HPZ_KERNEL_INFO_INIT;
    if (hpz_kernel_info_get(i, &info) == 0) kernels.push_back(info);
  }
  return kernels;
}

hpz_plan_info plan_of(hpz_policy policy) {
  hpz_plan_info plan = HPZ_PLAN_INFO_INIT;
  hpz_plan_info_get(policy, &plan);
  return plan;
}

Caches caches() {
  const hpz_plan_info plan = plan_of(HPZ_POLICY_AUTO);
  Caches sizes;
  // The guesses are the smallest caches of CPUs in use: a smaller buffer still fits a larger cache.
  sizes.l1 = plan.l1_bytes != 0 ? plan.l1_bytes : 32 * kKiB;
  sizes.l2 = std::max(plan.l2_bytes != 0 ? plan.l2_bytes : 256 * kKiB, sizes.l1);
  sizes.llc = std::max(plan.llc_bytes != 0 ? plan.llc_bytes : 8 * kMiB, sizes.l2);
  return sizes;
}

const char *banded_kernel(const hpz_plan_info &plan, uint64_t size) {
  for (uint32_t i = 0; i < plan.bands && i < std::size(plan.band); ++i) {
    if (size <= plan.band[i].upto_bytes) return plan.band[i].kernel;
  }
  return "";
}

bool is_probed(const hpz_plan_info &automatic, uint64_t size) {
  return automatic.probe_upto_bytes != 0 && automatic.probe_ticks != UINT64_MAX &&
         size >= automatic.probe_from_bytes && size <= automatic.probe_upto_bytes;
}

const char *auto_kernel(MemoryState state, uint64_t size) {
  const hpz_plan_info automatic = plan_of(HPZ_POLICY_AUTO);
  const bool is_far = state == MemoryState::kCold || state == MemoryState::kFresh;
  if (is_probed(automatic, size) && is_far) return banded_kernel(plan_of(HPZ_POLICY_STREAM), size);
  return banded_kernel(automatic, size);
}

}  // namespace hpz::bench
