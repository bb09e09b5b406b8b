// SPDX-License-Identifier: BSD-2-Clause
//
// The lock of a node's lists. It is held for some hundred instructions; but a filler of class
// SCHED_IDLE that loses its CPU while it has the lock gets it back 10 ms later, if the CPU is busy.
// So the lock knows when its holder is the filler, and who must wait for it lifts it out of that
// class.
#ifndef HPZERO_LIB_POOL_NODE_LOCK_H
#define HPZERO_LIB_POOL_NODE_LOCK_H

#include <stdint.h>

#include <atomic>

#include "lib/team/futex.h"

namespace hpz {

class NodeLock {
 public:
  // lift() is called, perhaps more than once, when it is the filler who must be waited for.
  template <class Lift> void lock(const Lift &lift) noexcept {
    uint32_t free = kFree;
    if (word_.compare_exchange_strong(free, kHeld, std::memory_order_acquire)) return;
    lock_slowly(kHeld, lift);
  }
  void lock_as_filler() noexcept {
    uint32_t free = kFree;
    if (word_.compare_exchange_strong(free, kFillers, std::memory_order_acquire)) return;
    lock_slowly(kFillers, [] {});
  }
  void unlock() noexcept {
    const uint32_t before = word_.exchange(kFree, std::memory_order_release);
    if ((before & kAwaited) == 0) return;
    // All, where a filler is among them: woken alone it might not run for 10 ms, with the others
    // asleep at a lock that is free.
    futex_wake(word_, (before & kFillerWaits) != 0 ? UINT32_MAX : 1);
  }

 private:
  static constexpr uint32_t kFree = 0, kHeld = 1, kFillers = 2, kAwaited = 4, kFillerWaits = 8;
  // To sleep and be woken takes 10 us and more, a list operation 50 ns: this many looks take some
  // 300 ns.
  static constexpr int kLooks = 100;

  template <class Lift> void lock_slowly(uint32_t as, const Lift &lift) noexcept {
    for (int i = 0; i < kLooks; ++i) {
      uint32_t word = word_.load(std::memory_order_relaxed);
      if (word == kFree && word_.compare_exchange_weak(word, as, std::memory_order_acquire)) {
        return;
      }
    }
    for (;;) {
      uint32_t word = word_.load(std::memory_order_relaxed);
      if (word == kFree) {
        // Others may sleep.
        if (word_.compare_exchange_weak(word, as | kAwaited, std::memory_order_acquire)) return;
        continue;
      }
      const uint32_t awaited = word | kAwaited | (as == kFillers ? kFillerWaits : 0);
      if (word != awaited &&
          !word_.compare_exchange_weak(word, awaited, std::memory_order_relaxed)) {
        continue;
      }
      if ((word & kFillers) != 0) lift();
      futex_wait(word_, awaited, 0);
    }
  }

  FutexWord word_{kFree};
};

}  // namespace hpz

#endif
