// SPDX-License-Identifier: BSD-2-Clause
//
// Memory that holds whoever stores to a part of it, until it is released: by a handler of SIGSEGV
// that waits. So a chunk is in work for as long as a test wants, whatever the scheduler does.
#ifndef HPZERO_TESTS_POOL_HELD_MEMORY_H
#define HPZERO_TESTS_POOL_HELD_MEMORY_H

#include <hpzero/team.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "tests/pool/pools.h"
#include "tests/support/memory.h"
#include "tests/support/workers.h"

namespace hpz::test {

// One at a time. Faults elsewhere are given to hpz_fault_claim.
class HeldMemory {
 public:
  explicit HeldMemory(size_t pages)
      : memory_((pages + 1) * kPoolPageBytes),
        begin_(memory_.begin() +
               (0 - reinterpret_cast<uintptr_t>(memory_.begin())) % kPoolPageBytes),
        bytes_(pages * kPoolPageBytes) {
    memset(begin_, kPoison, bytes_);
    for (std::atomic<uintptr_t> &held : held_) held = 0;
    reached_ = 0;
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
  }
  ~HeldMemory() { sigaction(SIGSEGV, &before_, nullptr); }
  HeldMemory(const HeldMemory &) = delete;
  HeldMemory &operator=(const HeldMemory &) = delete;

  unsigned char *begin() const { return begin_; }
  size_t bytes() const { return bytes_; }

  // A pool of all of it, whose pages are dirty.
  PoolPointer pool(uint32_t flags = HPZ_POOL_NO_FILLING) const {
    hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
    options.page_bytes = kPoolPageBytes;
    options.base = begin_;
    options.len = bytes_;
    options.flags = flags;
    return make_pool(options);
  }

  // Two chunks at most, numbered as they were held.
  void hold(size_t page, size_t chunk) const {
    hold_at(begin_ + page * kPoolPageBytes + chunk * kPoolChunkBytes);
  }
  // A chunk of a pool's own memory.
  static void hold_at(unsigned char *at) {
    (held_[0] == 0 ? held_[0] : held_[1]) = reinterpret_cast<uintptr_t>(at);
    EXPECT_EQ(mprotect(at, kPoolChunkBytes, PROT_NONE), 0);
  }
  // Threads that have been held.
  static int reached() { return reached_; }
  static void release(size_t which = 0) {
    auto *const at = reinterpret_cast<void *>(held_[which].load());
    EXPECT_EQ(mprotect(at, kPoolChunkBytes, PROT_READ | PROT_WRITE), 0);
    held_[which] = 0;
  }

 private:
  static void on_fault(int signal, siginfo_t *info, void *context) {
    const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
    for (const std::atomic<uintptr_t> &held : held_) {
      const uintptr_t begin = held;
      if (begin == 0 || at - begin >= kPoolChunkBytes) continue;
      ++reached_;
      while (held != 0) usleep(200);
      return;  // the store is done again
    }
    if (hpz_fault_claim(info, context) != 0) return;
    ::signal(signal, SIG_DFL);  // the test ends as without us
  }

  inline static std::atomic<uintptr_t> held_[2];
  inline static std::atomic<int> reached_;

  const Memory memory_;
  unsigned char *const begin_;
  const size_t bytes_;
  struct sigaction before_;
};

}  // namespace hpz::test

#endif
