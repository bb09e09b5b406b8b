// SPDX-License-Identifier: BSD-2-Clause
//
// The plan in force: made on the first call, replaced by hpz_init, reached through one atomic
// pointer whose first value leads to trampolines, so that the hot path has no "initialised?"
// branch.
#ifndef HPZERO_LIB_ZERO_DISPATCH_H
#define HPZERO_LIB_ZERO_DISPATCH_H

#include <atomic>

#include "lib/plan/plan.h"

namespace hpz {

struct Plan;

struct Entries {
  void (*zero)(const Plan &, void *, size_t) noexcept;
  void (*cached)(const Plan &, void *, size_t) noexcept;
  void (*stream)(const Plan &, void *, size_t) noexcept;
  void (*pages)(const Plan &, void *const *, size_t, size_t) noexcept;
  friend bool operator==(const Entries &, const Entries &) = default;
};

struct Plan {
  Entries entries;
  Cpu cpu;  // features: as detected, less those disabled
  Selection selection;
  FixedText<256> source;
  friend bool operator==(const Plan &, const Plan &) = default;
};

extern std::atomic<const Plan *> g_plan;

inline const Plan &current_plan() noexcept {
  return *g_plan.load(std::memory_order_acquire);
}

// The plan in force, made now if there was none. Unlike current_plan() it is never the
// trampolines'; its strings live as long as the process. May allocate; null: no memory.
const Plan *settled_plan() noexcept;

// What the plan in force may use; waits for nobody.
FeatureSet settled_features() noexcept;

// hpz_init: see zero.h.
struct RefineOptions {
  const char *profile;  // null: HPZ_PROFILE of the environment, else none
  bool may_probe, check_cpus;
};
int publish_refined_plan(const RefineOptions &options) noexcept;

}  // namespace hpz

#endif
