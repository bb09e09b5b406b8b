// SPDX-License-Identifier: BSD-2-Clause
//
// Sleeping on a word, and waking who sleeps on it. (std::atomic::wait would do it with the C++
// run-time library.)
#ifndef HPZERO_LIB_TEAM_FUTEX_H
#define HPZERO_LIB_TEAM_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace hpz {

using FutexWord = std::atomic<uint32_t>;
static_assert(sizeof(FutexWord) == sizeof(uint32_t));

// Sleeps while the word has this value, at most until a time of CLOCK_MONOTONIC (0: no limit). May
// return early: the caller looks again.
inline void futex_wait(FutexWord &word, uint32_t value, uint64_t until_ns) noexcept {
  constexpr uint64_t kSecond = 1'000'000'000;
  timespec until;
  until.tv_sec = static_cast<time_t>(until_ns / kSecond);
  until.tv_nsec = static_cast<long>(until_ns % kSecond);
  // WAIT_BITSET, because its time is absolute.
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, until_ns == 0 ? nullptr : &until,
          nullptr, FUTEX_BITSET_MATCH_ANY);
}

inline void futex_wake(FutexWord &word, uint32_t count) noexcept {
  const int limit = count > INT_MAX ? INT_MAX : static_cast<int>(count);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, limit, nullptr, nullptr, 0);
}

}  // namespace hpz

#endif
