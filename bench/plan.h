// SPDX-License-Identifier: BSD-2-Clause
//
// The library's kernels and plan, read through the public header into C++ values.
#ifndef HPZERO_BENCH_PLAN_H
#define HPZERO_BENCH_PLAN_H

#include <hpzero/hpzero.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/states.h"

namespace hpz::bench {

std::vector<hpz_kernel_info> all_kernels();
hpz_plan_info plan_of(hpz_policy policy);

// Level sizes to lay out buffers by: what the CPU reports, or a guess where it reports nothing.
struct Caches {
  uint64_t l1 = 0, l2 = 0, llc = 0;
};
Caches caches();

// The kernel that a plan has for a size.
const char *banded_kernel(const hpz_plan_info &plan, uint64_t size);
// The one that hpz_zero ends up with for memory in that state: the probe decides where it is asked.
const char *auto_kernel(MemoryState state, uint64_t size);
bool is_probed(const hpz_plan_info &automatic, uint64_t size);

}  // namespace hpz::bench

#endif
