// SPDX-License-Identifier: BSD-2-Clause
//
// The thread that clears a node's dirty pages in the background: how it is started, lifted, paused
// and stopped. What it does to pages is in filling.cpp.
#ifndef HPZERO_LIB_POOL_FILLER_H
#define HPZERO_LIB_POOL_FILLER_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include <atomic>

#include "lib/pool/page.h"
#include "lib/team/cpu_set.h"
#include "lib/team/futex.h"

namespace hpz {

class Filler {
 public:
  // 0 or a negative errno value. main(argument) is the thread's; it begins with enter().
  int start(void *(*main)(void *), void *argument, const CpuSet &cpus) noexcept;
  bool is_there() const noexcept { return is_there_.load(std::memory_order_acquire); }
  // It ends within a chunk of the page that it clears, or of the populate that renews one. Before
  // join(), and to be woken.
  void close() noexcept;
  void join() noexcept;
  uint64_t cpu_ns() const noexcept;

  // --- The filler's own ---
  void enter() noexcept;
  // Into SCHED_IDLE, or into it again. Holding neither a lock nor a page.
  void sink() noexcept;

  bool may_work() const noexcept {
    return is_on.load(std::memory_order_relaxed) && pausers.load(std::memory_order_relaxed) == 0 &&
           !is_closing.load(std::memory_order_relaxed);
  }

  // --- Of any other thread ---
  // Out of SCHED_IDLE, if it is in it.
  void lift() noexcept;

  // Written under the node's lock, read without it between chunks.
  std::atomic<bool> is_on{false};  // the switch
  std::atomic<bool> is_closing{false};
  std::atomic<uint32_t> pausers{0};  // who want its page back: resize

  // Under the node's lock.
  const Page *current = nullptr;  // the page at which it is
  bool is_asleep = false;
  FutexWord epoch{0};  // counts what may give it something to do; it sleeps on it
  FutexWord rests{0};  // counts the pages that it has left; pausers sleep on it

  // The filler's own.
  uint64_t not_before_ns = 0;  // the rate limit
  uint64_t retry_ns = 0;       // when renewing slabs is tried again

  // Of who starts it.
  bool wants_idle = false;
  bool is_pinned = false;

  // What the scheduler refused.
  std::atomic<bool> cannot_sink{false}, cannot_lift{false};
  uint32_t cancel = 0;  // of a populate in work: read atomically, by address

 private:
  pthread_t thread_ = {};
  std::atomic<bool> is_there_{false};
  std::atomic<pid_t> id_{0};
  // Who lifts it first says so: sunk again before that is done, it would be out of the class with
  // nobody knowing.
  enum class Class : uint8_t { kOrdinary, kIdle, kBeingLifted };
  std::atomic<Class> class_{Class::kOrdinary};
};

}  // namespace hpz

#endif
