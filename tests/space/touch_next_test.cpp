// SPDX-License-Identifier: BSD-2-Clause
//
// touch_next: what the calling thread reads next is cleared last, and by itself.
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "tests/support/guarded_buffer.h"
#include "tests/support/memory.h"
#include "tests/support/workers.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;
// What is left when all else is done is less than any other chunk of these jobs, and no more.
constexpr uint64_t kLast = 64 * 1024;

long this_thread() {
  return syscall(SYS_gettid);
}

// Tells which thread writes to a page: the one that faults there.
class FirstWriter {
 public:
  explicit FirstWriter(unsigned char *page) {
    g_page = page;
    g_writer = 0;
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &before_);
  }
  ~FirstWriter() {
    allow();
    sigaction(SIGSEGV, &before_, nullptr);
  }
  FirstWriter(const FirstWriter &) = delete;
  FirstWriter &operator=(const FirstWriter &) = delete;

  void watch() const { mprotect(g_page, page_bytes(), PROT_READ); }
  long thread() const { return g_writer; }  // 0: none

 private:
  static size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
  static void allow() { mprotect(g_page, page_bytes(), PROT_READ | PROT_WRITE); }
  static void handle(int, siginfo_t *info, void *) {
    const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
    if (at - reinterpret_cast<uintptr_t>(g_page.load()) >= page_bytes()) {
      signal(SIGSEGV, SIG_DFL);  // a real one: it comes again and ends the process
      return;
    }
    g_writer = this_thread();
    allow();
  }

  static inline std::atomic<unsigned char *> g_page{nullptr};
  static inline std::atomic<long> g_writer{0};
  struct sigaction before_;
};

struct Watch {
  const unsigned char *window;
  const FirstWriter *writer;  // null: nobody is watched
  uint64_t least_left = UINT64_MAX;
  bool is_early = false;

  // Only of bytes that nobody but the calling thread may write to.
  static int look(void *user, uint64_t done, uint64_t total) {
    auto &self = *static_cast<Watch *>(user);
    if (done == total) return 0;
    self.least_left = std::min(self.least_left, total - done);
    self.is_early |= !all_are(self.window, self.window + kPageBytes, kPoison, "");
    if (self.writer != nullptr && total - done <= kLast) self.writer->watch();
    return 0;
  }
};

class TouchNext : public ByWorkers {};
HPZERO_BY_WORKERS(TouchNext);

TEST_P(TouchNext, is_cleared_last_by_the_calling_thread) {
  // By workers where there are some, and too little for them.
  const struct { size_t bytes, chunk_bytes; } jobs[] = {{16 * kMiB, 2 * kMiB}, {kMiB, 128 * 1024}};
  const Memory memory(18 * kMiB);
  const size_t skip = -reinterpret_cast<uintptr_t>(memory.begin()) % (2 * kMiB);
  unsigned char *const begin = memory.begin() + skip;
  for (const auto &verb : {hpz_space_zero, hpz_space_reset}) {
    for (const auto &job : jobs) {
      SCOPED_TRACE(testing::Message()
                   << (verb == hpz_space_zero ? "zero " : "reset ") << job.bytes);
      memset(memory.begin(), kPoison, memory.bytes());
      const SpacePointer space = make_space(begin, job.bytes);
      unsigned char *const window = begin + job.bytes / 2;
      const FirstWriter writer(window);
      // Without a proof reset asks the kernel for each page, which says that this one is read-only.
      const bool is_watched = verb == hpz_space_zero || can_prove();
      Watch watch = {window, is_watched ? &writer : nullptr};
      hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
      options.chunk_bytes = job.chunk_bytes;
      options.touch_next = window + 100;
      options.progress = Watch::look;
      options.user = &watch;
      ASSERT_EQ(verb(space.get(), team(), nullptr, 0, &options, nullptr), 0);
      EXPECT_FALSE(watch.is_early) << "cleared while there was something else to do";
      EXPECT_LE(watch.least_left, kLast) << "not told when all else was done";
      if (is_watched) {
        EXPECT_EQ(writer.thread(), this_thread());
      }
      EXPECT_TRUE(all_are(memory.begin(), begin, kPoison, "before"));
      EXPECT_TRUE(hpz_is_zero(begin, job.bytes));
      EXPECT_TRUE(all_are(begin + job.bytes, memory.end(), kPoison, "behind"));
    }
  }
}

}  // namespace
}  // namespace hpz::test
