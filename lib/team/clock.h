// SPDX-License-Identifier: BSD-2-Clause
//
// Clocks as nanoseconds.
#ifndef HPZERO_LIB_TEAM_CLOCK_H
#define HPZERO_LIB_TEAM_CLOCK_H

#include <stdint.h>
#include <time.h>

namespace hpz {

inline uint64_t clock_ns(clockid_t clock) noexcept {
  timespec now;
  if (clock_gettime(clock, &now) != 0) return 0;
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}
inline uint64_t monotonic_ns() noexcept {
  return clock_ns(CLOCK_MONOTONIC);
}
inline uint64_t thread_cpu_ns() noexcept {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace hpz

#endif
