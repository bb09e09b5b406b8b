// SPDX-License-Identifier: BSD-2-Clause
//
// Faults while clearing: signals as with memset, unless the host's handler claims them for the job.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/guarded_buffer.h"
#include "tests/support/watchdog.h"
#include "tests/support/workers.h"
#include "tests/team/work.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;

std::atomic<int> g_seen{0}, g_claimed{0};
thread_local sigjmp_buf t_way_out;
thread_local volatile sig_atomic_t t_has_way_out = 0;

void host_handler(int, siginfo_t *info, void *context) {
  ++g_seen;
  if (hpz_fault_claim(info, context) == 1) {
    ++g_claimed;
    return;
  }
  if (t_has_way_out) siglongjmp(t_way_out, 1);
  _exit(77);
}

// The host's own handlers, with a mask and flags of its own.
class HostHandlers {
 public:
  HostHandlers() {
    struct sigaction action = {};
    action.sa_sigaction = host_handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(SIGSEGV, &action, &before_[0]);
    sigaction(SIGBUS, &action, &before_[1]);
    g_seen = g_claimed = 0;
  }
  ~HostHandlers() {
    sigaction(SIGSEGV, &before_[0], nullptr);
    sigaction(SIGBUS, &before_[1], nullptr);
  }
  HostHandlers(const HostHandlers &) = delete;
  HostHandlers &operator=(const HostHandlers &) = delete;

 private:
  struct sigaction before_[2];
};

class Faults : public ByWorkers {};
HPZERO_BY_WORKERS(Faults);

TEST_P(Faults, claimed_ones_end_the_job_with_exact_bytes) {
  const HostHandlers handlers;
  const Work memory(24 * kMiB);
  const size_t bad = 13 * kMiB + 5 * 4096;
  ASSERT_EQ(mprotect(memory.begin() + bad, 4096, PROT_READ), 0);
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.threads = 1;  // in order
  options.chunk_bytes = 2 * kMiB;
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_space_zero(memory.space(), team(), nullptr, 0, &options, &report), -EFAULT);
  EXPECT_GE(g_claimed, 1);
  EXPECT_EQ(g_seen, g_claimed);
  EXPECT_EQ(report.error, -EFAULT);
  EXPECT_EQ(report.first_bad_offset, bad);
  EXPECT_EQ(report.done_bytes, bad);
  EXPECT_TRUE(hpz_is_zero(memory.begin(), bad));
  EXPECT_TRUE(all_are(memory.begin() + bad, memory.begin() + bad + 4096, kPoison, "read-only"));

  // The team, and the thread, are as good as before.
  ASSERT_EQ(mprotect(memory.begin() + bad, 4096, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(hpz_space_zero(memory.space(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_TRUE(hpz_is_zero(memory.begin(), 24 * kMiB));
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_FALSE(sigismember(&mask, SIGSEGV) || sigismember(&mask, SIGUSR1));
}

TEST_P(Faults, of_scattered_pages) {
  const HostHandlers handlers;
  const Work memory(4 * kMiB);
  std::vector<hpz_extent> extents;
  for (size_t at = 0; at < 4 * kMiB; at += 8192) extents.push_back({at, 4096});
  const size_t bad = 300 * 8192;
  ASSERT_EQ(munmap(memory.begin() + bad, 4096), 0);
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.threads = 1;
  options.chunk_bytes = 2 * kMiB;
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(
      hpz_space_zero(memory.space(), team(), extents.data(), extents.size(), &options, &report),
      -EFAULT);
  EXPECT_EQ(report.first_bad_offset, bad);
  EXPECT_EQ(report.done_bytes, 300u * 4096);
  EXPECT_TRUE(all_are(memory.begin() + 4096, memory.begin() + 8192, kPoison, "between"));
}

// Several threads fault at once; the lowest offset is told.
TEST_P(Faults, everywhere) {
  const HostHandlers handlers;
  const Work memory(16 * kMiB);
  ASSERT_EQ(mprotect(memory.begin(), 16 * kMiB, PROT_NONE), 0);
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.chunk_bytes = 2 * kMiB;
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(hpz_space_zero(memory.space(), team(), nullptr, 0, &options, &report), -EFAULT);
    EXPECT_EQ(report.done_bytes, 0u);
    EXPECT_EQ(report.first_bad_offset, 0u);
  }
}

// A file that somebody truncates while it is cleared.
TEST_P(Faults, of_a_truncated_file) {
  const HostHandlers handlers;
  const int fd = memfd_create("truncated", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, 8 << 20), 0);
  void *const map = mmap(nullptr, 8 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(map, MAP_FAILED);
  ASSERT_EQ(ftruncate(fd, 5 << 20), 0);
  close(fd);
  const hpz_range range = {map, 8 * kMiB};
  hpz_space *space = nullptr;
  ASSERT_EQ(hpz_space_direct(&range, 1, nullptr, &space), 0);
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.threads = 1;
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_space_zero(space, team(), nullptr, 0, &options, &report), -EFAULT);
  EXPECT_EQ(report.first_bad_offset, 5 * kMiB);
  EXPECT_EQ(report.done_bytes, 5 * kMiB);
  hpz_space_destroy(space);
  munmap(map, 8 * kMiB);
}

// A page waits for others to be cleared with, and meanwhile what lies behind it is proven to read
// zero: that is not done before the page is.
TEST(FaultsOfReset, count_up_to_the_page) {
  const HostHandlers handlers;
  constexpr size_t kChunk = 2 * kMiB;
  const Memory memory(3 * kChunk);
  madvise(memory.begin(), memory.bytes(), MADV_NOHUGEPAGE);
  const auto skip = (0 - reinterpret_cast<uintptr_t>(memory.begin())) & (kChunk - 1);
  unsigned char *const begin = memory.begin() + skip;
  unsigned char *const bad = begin + kChunk;
  memset(bad, kPoison, 4096);
  const SpacePointer space = make_space(begin, 2 * kChunk);
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.chunk_bytes = kChunk;
  options.user = bad;
  options.progress = [](void *user, uint64_t, uint64_t) { return mprotect(user, 4096, PROT_READ); };
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  const int result = hpz_space_reset(space.get(), nullptr, nullptr, 0, &options, &report);
  EXPECT_TRUE(result == -EFAULT || result == -EACCES)
      << "by the store, or touched before: " << result;
  EXPECT_EQ(report.first_bad_offset, kChunk);
  EXPECT_EQ(report.done_bytes, kChunk);
  EXPECT_EQ(report.cleared_bytes + report.skipped_bytes, report.done_bytes);
}

// Row D13: faults that are not the job's go to the host, in mid-job too.
TEST_P(Faults, field_D13_of_the_host_are_its_own) {
  const HostHandlers handlers;
  const Work memory(16 * kMiB), other(kMiB);
  ASSERT_EQ(mprotect(other.begin(), kMiB, PROT_NONE), 0);
  std::atomic<bool> stop{false};
  std::thread host([&] {
    while (!stop) {
      t_has_way_out = 1;
      if (sigsetjmp(t_way_out, 1) == 0) {
        *static_cast<volatile unsigned char *>(other.begin()) = 1;
        ADD_FAILURE() << "no fault";
      }
      t_has_way_out = 0;
    }
  });
  const Watchdog watchdog;
  while (g_seen == 0) std::this_thread::yield();  // they come all through the jobs
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(hpz_space_zero(memory.space(), team(), nullptr, 0, nullptr, nullptr), 0);
  }
  stop = true;
  host.join();
  EXPECT_EQ(g_claimed, 0);
}

// A progress callback is the host's code, on a thread that is in a job.
TEST_P(Faults, in_a_callback_are_the_hosts) {
  const HostHandlers handlers;
  const Work memory(8 * kMiB);
  ASSERT_EQ(mprotect(memory.begin() + 4 * kMiB, 4096, PROT_READ), 0);
  const hpz_extent extent = {0, 4 * kMiB};
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.user = memory.begin() + 4 * kMiB;
  options.progress = [](void *user, uint64_t, uint64_t) {
    t_has_way_out = 1;
    if (sigsetjmp(t_way_out, 1) == 0) *static_cast<volatile unsigned char *>(user) = 1;
    t_has_way_out = 0;
    return 0;
  };
  EXPECT_EQ(hpz_space_zero(memory.space(), team(), &extent, 1, &options, nullptr), 0);
  EXPECT_GE(g_seen, 1);
  EXPECT_EQ(g_claimed, 0);
}

TEST(FaultClaim, refuses_what_is_not_a_fault) {
  siginfo_t info = {};
  info.si_signo = SIGSEGV;
  info.si_code = SEGV_MAPERR;
  ucontext_t context = {};
  EXPECT_EQ(hpz_fault_claim(&info, &context), 0) << "no job on this thread";
  EXPECT_EQ(hpz_fault_claim(nullptr, &context), 0);
  EXPECT_EQ(hpz_fault_claim(&info, nullptr), 0);
}

// --- Which signals are a job's -------------------------------------------------------------------

struct Crafted {
  int signal, code;
};
// What the kernel says of a store by this thread.
constexpr Crafted kOfAJob[] = {{SIGSEGV, SEGV_MAPERR}, {SIGSEGV, SEGV_ACCERR},
                               {SIGSEGV, SEGV_PKUERR}, {SIGBUS, BUS_ADRERR},
                               {SIGBUS, BUS_OBJERR},   {SIGBUS, BUS_MCEERR_AR}};
// News about a page that nobody has touched, what somebody sent, what is no fault of memory.
constexpr Crafted kOfTheHost[] = {
    {SIGBUS, BUS_MCEERR_AO},
    {SIGBUS, BUS_ADRALN},
    {SIGBUS, SI_USER},
    {SIGBUS, SI_TKILL},
    {SIGBUS, SI_QUEUE},
    {SIGBUS, SI_KERNEL},
    {SIGBUS, 99},
    {SIGSEGV, SI_USER},
    {SIGSEGV, SI_TKILL},
    {SIGSEGV, SI_QUEUE},
    {SIGSEGV, SI_KERNEL},
    {SIGSEGV, SEGV_BNDERR},
    {SIGSEGV, 99},
    {SIGILL, ILL_ILLOPC},
    {SIGFPE, FPE_INTDIV},
    {SIGTRAP, TRAP_BRKPT},
    {SIGSEGV, 8},  // SEGV_MTEAERR: about some store of the past
};

std::atomic<const Crafted *> g_crafted{nullptr};  // claimed in place of the true fault
std::atomic<int> g_wrong{0};

siginfo_t crafted(const siginfo_t &fault, const Crafted &as) {
  siginfo_t info = fault;
  info.si_signo = as.signal;
  info.si_code = as.code;
  info.si_addr_lsb = 12;
  return info;
}

void crafting_handler(int, siginfo_t *info, void *context) {
  for (const Crafted &as : kOfTheHost) {
    const siginfo_t other = crafted(*info, as);
    ucontext_t copy = *static_cast<const ucontext_t *>(context);
    if (hpz_fault_claim(&other, &copy) != 0) ++g_wrong;
  }
  const siginfo_t other = crafted(*info, *g_crafted.load());
  if (hpz_fault_claim(&other, context) == 1) return;
  constexpr char kWhy[] = "a fault of the job was not claimed\n";
  (void)!write(STDERR_FILENO, kWhy, sizeof kWhy - 1);
  _exit(78);
}

TEST(FaultClaim, only_of_faults_by_this_threads_stores) {
  const Work memory(64 * 1024);
  ASSERT_EQ(mprotect(memory.begin(), 64 * 1024, PROT_READ), 0);
  struct sigaction action = {}, before[2];
  action.sa_sigaction = crafting_handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before[0]);
  sigaction(SIGBUS, &action, &before[1]);
  g_wrong = 0;
  for (const Crafted &as : kOfAJob) {
    g_crafted = &as;
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    const int result = hpz_space_zero(memory.space(), nullptr, nullptr, 0, nullptr, &report);
    const bool is_poison = as.signal == SIGBUS && as.code == BUS_MCEERR_AR;
    EXPECT_EQ(result, is_poison ? -EHWPOISON : -EFAULT) << as.signal << ' ' << as.code;
    EXPECT_EQ(report.done_bytes, 0u);
  }
  EXPECT_EQ(g_wrong, 0) << "signals that are the host's were claimed";
  sigaction(SIGSEGV, &before[0], nullptr);
  sigaction(SIGBUS, &before[1], nullptr);
}

// As with memset.
TEST(FaultsDeathTest, unclaimed_ones_kill) {
  const Work memory(2 * kMiB);
  mprotect(memory.begin() + kMiB, 4096, PROT_READ);
  const auto zero = [&] {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer has its own
    hpz_space_zero(memory.space(), nullptr, nullptr, 0, nullptr, nullptr);
  };
  EXPECT_EXIT(zero(), testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace hpz::test
