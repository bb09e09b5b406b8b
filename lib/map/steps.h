// SPDX-License-Identifier: BSD-2-Clause
//
// Where the threads that share a map can come between each other: before each access to what they
// share, and where one waits for another. Here that is nothing, or the kernel's business. With
// HPZERO_MAP_STEPS these are functions of tests/map, which runs through the orders one by one.
#ifndef HPZERO_LIB_MAP_STEPS_H
#define HPZERO_LIB_MAP_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "lib/team/futex.h"

namespace hpz {

enum class Access { kRead, kWrite };

#if defined(HPZERO_MAP_STEPS)
void map_step(const void *what, size_t bytes, Access access) noexcept;
void map_step_unless(const std::atomic<uint8_t> &byte, uint8_t value) noexcept;
void map_unlocking(const void *what, const void *detail, size_t bytes) noexcept;
void map_sleep(FutexWord &word, uint32_t value, uint64_t until_ns) noexcept;
void map_wake(FutexWord &word) noexcept;
#else
// Before an access to what threads share.
inline void map_step(const void *, size_t, Access) noexcept {}
// The same, before a look that is repeated as long as it finds this value.
inline void map_step_unless(const std::atomic<uint8_t> &, uint8_t) noexcept {}
// What it leaves for the next one: a detail, or null.
inline void map_unlocking(const void *, const void *, size_t) noexcept {}
inline void map_sleep(FutexWord &word, uint32_t value, uint64_t until_ns) noexcept {
  futex_wait(word, value, until_ns);
}
inline void map_wake(FutexWord &word) noexcept {
  futex_wake(word, UINT32_MAX);
}
#endif

template <class T> void map_step(const std::atomic<T> &what, Access access) noexcept {
  map_step(&what, sizeof what, access);
}

}  // namespace hpz

#endif
