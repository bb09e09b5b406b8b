// SPDX-License-Identifier: BSD-2-Clause
//
// How many CPUs the cgroups of this process may use, by quota.
#ifndef HPZERO_LIB_TEAM_QUOTA_H
#define HPZERO_LIB_TEAM_QUOTA_H

#include <stdint.h>

namespace hpz {

// The smallest quota on the way from the process's own cgroup to the root (v2 cpu.max, v1
// cpu.cfs_quota_us / cpu.cfs_period_us, hybrid set-ups), in CPUs, rounded up; 0: none, or it cannot
// be found out. root: a prefix for /proc and /sys, "" for the machine's own.
uint32_t read_cpu_quota(const char *root) noexcept;

}  // namespace hpz

#endif
