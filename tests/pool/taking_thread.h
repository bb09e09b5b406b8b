// SPDX-License-Identifier: BSD-2-Clause
//
// A thread that takes one page, for tests in which somebody else gives it, or is at it.
#ifndef HPZERO_TESTS_POOL_TAKING_THREAD_H
#define HPZERO_TESTS_POOL_TAKING_THREAD_H

#include <gtest/gtest.h>
#include <hpzero/pool.h>
#include <stdint.h>
#include <sys/types.h>

#include <atomic>
#include <thread>

#include "tests/pool/pools.h"
#include "tests/support/threads.h"

namespace hpz::test {

class TakingThread {
 public:
  explicit TakingThread(const PoolPointer &pool, uint32_t flags = 0, uint64_t deadline_ns = 0)
      : thread_([this, &pool, flags, deadline_ns] {
          id_ = this_thread();
          result_ = take(pool, page_, flags, deadline_ns);
          back_ns_ = in_ms(0);
          is_back_ = true;
        }) {}
  ~TakingThread() { join(); }
  TakingThread(const TakingThread &) = delete;
  TakingThread &operator=(const TakingThread &) = delete;

  bool is_back() const { return is_back_; }
  // ... or it is back, for whoever asks next.
  void wait_until_asleep() const {
    wait_until([this] { return is_back_ || (id_ != 0 && is_asleep(id_)); });
  }

  // These wait for its return.
  int result() {
    join();
    return result_;
  }
  const hpz_page &page() {
    EXPECT_EQ(result(), 1);
    return page_;
  }
  uint64_t back_ns() {
    join();
    return back_ns_;
  }

 private:
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  hpz_page page_ = HPZ_PAGE_INIT;
  int result_ = 0;
  uint64_t back_ns_ = 0;
  std::atomic<pid_t> id_{0};
  std::atomic<bool> is_back_{false};
  std::thread thread_;  // the last: it uses the others
};

}  // namespace hpz::test

#endif
