// SPDX-License-Identifier: BSD-2-Clause
//
// The environment variables: what they ask for, judged against the table and the CPU.
#ifndef HPZERO_LIB_PLAN_ENV_H
#define HPZERO_LIB_PLAN_ENV_H

#include "lib/plan/plan.h"

namespace hpz {

struct Environment {
  const char *kernel = nullptr;       // HPZ_KERNEL: id of the only kernel to use
  const char *cpu_disable = nullptr;  // HPZ_CPU_DISABLE: features to do without, comma-separated
  const char *profile = nullptr;      // HPZ_PROFILE: path, looked at by hpz_init only
};

// secure_getenv: a set-uid program is not steered by its caller. An empty value counts as unset,
// and so does one of 4 KiB or more.
Environment read_environment() noexcept;

// Bits of the features in a comma-separated list; unknown is set to whether a name was not found.
FeatureSet parse_features(const char *list, std::span<const char *const> names,
                          bool &unknown) noexcept;

}  // namespace hpz

#endif
