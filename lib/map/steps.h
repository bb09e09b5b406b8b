// SPDX-License-Identifier: BSD-2-Clause
//
// Where the threads that share a map can come between each other: before each access to what they
// share, and where one waits for another. Here that is nothing, or the kernel's business. With
// HPZERO_MAP_STEPS these are functions of tests/map, which runs through the orders one by one.
#ifndef HPZERO_LIB_MAP_STEPS_H
#define HPZERO_LIB_MAP_STEPS_H

#include <sched.h>
#include <stdint.h>

#include "lib/team/futex.h"

namespace hpz {

#if defined(HPZERO_MAP_STEPS)
void map_step() noexcept;
void map_yield() noexcept;
void map_sleep(FutexWord &word, uint32_t value, uint64_t until_ns) noexcept;
void map_wake(FutexWord &word) noexcept;
#else
inline void map_step() noexcept {}
// Who has locked a page is about to unlock it, unless it was preempted.
inline void map_yield() noexcept {
  sched_yield();
}
inline void map_sleep(FutexWord &word, uint32_t value, uint64_t until_ns) noexcept {
  futex_wait(word, value, until_ns);
}
inline void map_wake(FutexWord &word) noexcept {
  futex_wake(word, UINT32_MAX);
}
#endif

}  // namespace hpz

#endif
