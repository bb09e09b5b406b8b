// SPDX-License-Identifier: BSD-2-Clause
//
// The map, and who waits for what others have in hands.
#ifndef HPZERO_LIB_MAP_MAP_H
#define HPZERO_LIB_MAP_MAP_H

#include <hpzero/map.h>
#include <stdint.h>

#include <atomic>

#include "lib/map/pages.h"
#include "lib/map/steps.h"
#include "lib/team/futex.h"
#include "lib/team/process.h"

namespace hpz {

class Map {
 public:
  Pages pages;
  ProcessId process;

  // After pages were published or given back. Either this sees who waits, or who waits sees that.
  void wake() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    map_step(waiters_, Access::kRead);
    if (waiters_.load(std::memory_order_relaxed) == 0) return;
    map_step(published_, Access::kWrite);
    published_.fetch_add(1, std::memory_order_release);
    map_wake(published_);
  }
  void begin_waiting() noexcept {
    map_step(waiters_, Access::kWrite);
    waiters_.fetch_add(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void end_waiting() noexcept {
    map_step(waiters_, Access::kWrite);
    waiters_.fetch_sub(1, std::memory_order_relaxed);
  }
  uint32_t publications() noexcept {  // first this, then look, then sleep
    map_step(published_, Access::kRead);
    return published_.load(std::memory_order_acquire);
  }
  void sleep(uint32_t seen, uint64_t until_ns) noexcept { map_sleep(published_, seen, until_ns); }

 private:
  FutexWord published_{0};
  std::atomic<uint32_t> waiters_{0};
};

}  // namespace hpz

struct hpz_map {
  hpz::Map map;
};

#endif
