// SPDX-License-Identifier: BSD-2-Clause
//
// How jobs and teams end: destroyed at any moment and from any place, cancelled while they wait,
// copied by a fork.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "tests/support/sandbox.h"
#include "tests/support/settings.h"
#include "tests/support/threads.h"
#include "tests/support/watchdog.h"
#include "tests/support/workers.h"
#include "tests/team/work.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;

// For who destroys it from another place.
hpz_team *new_team(uint32_t threads) {
  return make_team(threads).release();
}

uint64_t now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

// Before any team. ThreadSanitizer adds one of its own to the first that is started.
size_t threads_without_team() {
  const size_t first = threads_of_process().size();
  std::thread([] {}).join();
  return threads_left(first);
}

// --- Destroy -------------------------------------------------------------------------------------

// Extents in memory whose page table entries are taken away, so that another thread sees by pagemap
// that the call has come to read them: from then on the job is the library's to protect.
class WatchedExtents {
 public:
  explicit WatchedExtents(size_t count) : bytes_(count * sizeof(hpz_extent)) {
    const int fd = memfd_create("extents", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes_)), 0);
    void *const map = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT_NE(map, MAP_FAILED);
    close(fd);
    extents_ = static_cast<hpz_extent *>(map);
    pagemap_ = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  }
  ~WatchedExtents() {
    if (pagemap_ >= 0) close(pagemap_);
    munmap(extents_, bytes_);
  }
  WatchedExtents(const WatchedExtents &) = delete;
  WatchedExtents &operator=(const WatchedExtents &) = delete;

  hpz_extent *data() const { return extents_; }
  void forget() const { madvise(extents_, bytes_, MADV_DONTNEED); }
  bool can_watch() const { return pagemap_ >= 0; }
  bool are_read() const {
    uint64_t entry = 0;
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto at = reinterpret_cast<uintptr_t>(extents_) / page * sizeof entry;
    return pread(pagemap_, &entry, sizeof entry, static_cast<off_t>(at)) == sizeof entry &&
           (entry >> 63) != 0;
  }

 private:
  size_t bytes_;
  hpz_extent *extents_ = nullptr;
  int pagemap_ = -1;
};

// That the team outlives its use there, AddressSanitizer sees.
TEST(Ends, destroy_while_a_job_is_planned) {
  const Watchdog watchdog(120);
  // To plan so many takes longer than to end a team.
  constexpr size_t kExtents = 65536, kBytes = 64;
  const Work ground(2 * kExtents * kBytes);
  std::mt19937_64 random(seed());
  const WatchedExtents extents(kExtents);
  if (!extents.can_watch()) GTEST_SKIP() << "NOT TESTED HERE: no /proc/self/pagemap";
  for (size_t i = 0; i < kExtents; ++i) extents.data()[i] = {2 * i * kBytes, kBytes};
  std::shuffle(extents.data(), extents.data() + kExtents, random);
  const size_t before = threads_without_team();
  // Until both were seen, which a busy machine makes rare.
  int in_the_middle = is_set("HPZERO_TEST_EMULATOR") ? 1 : 0, cancelled = in_the_middle;
  const int rounds = quick() ? 40 : 200;
  for (int round = 0; round < rounds || in_the_middle == 0 || cancelled == 0; ++round) {
    hpz_team *const team = new_team(2);
    extents.forget();
    std::atomic<bool> has_ended{false};
    int result = 1;
    std::thread caller([&] {
      result = hpz_space_zero(ground.space(), team, extents.data(), kExtents, nullptr, nullptr);
      has_ended = true;
    });
    while (!has_ended && !extents.are_read()) {
    }
    const uint64_t wait_ns = random() % 4'000'000;
    const timespec pause = {0, static_cast<long>(wait_ns)};
    if (round % 4 != 0) nanosleep(&pause, nullptr);
    in_the_middle += extents.are_read() && !has_ended;
    hpz_team_destroy(team);
    // The caller is one thread; those of the team are gone.
    EXPECT_LE(threads_left(before + 1), before + 1);
    caller.join();
    ASSERT_TRUE(result == 0 || result == -ECANCELED) << result;
    cancelled += result == -ECANCELED;
  }
}

// Its user: a handle that is destroyed by the first call.
int destroy_once(void *user, uint64_t, uint64_t) {
  auto &team = *static_cast<hpz_team **>(user);
  if (team != nullptr) hpz_team_destroy(team);
  team = nullptr;
  return 0;
}

// Whether the job is done by workers or by the calling thread.
TEST(Ends, destroy_from_the_callback_of_any_job) {
  const Watchdog watchdog;
  const size_t before = threads_without_team();
  const struct {
    size_t bytes, chunk_bytes;
  } jobs[] = {{4096, 0},
              {512 * 1024, 0},
              {512 * 1024, 4096},
              {4 * kMiB, 4 * kMiB},
              {4 * kMiB, 64 * 1024},
              {32 * kMiB, 2 * kMiB}};
  for (const auto &job : jobs) {
    for (const uint32_t threads : {1u, 3u}) {
      const Work ground(job.bytes);
      hpz_team *const team = new_team(threads);
      hpz_team *to_destroy = team;
      hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
      options.chunk_bytes = job.chunk_bytes;
      options.progress = destroy_once;
      options.user = &to_destroy;
      const int result = ground.zero(team, &options);
      EXPECT_TRUE(result == 0 || result == -ECANCELED) << result;
      EXPECT_EQ(to_destroy, nullptr) << "no call of progress";
      EXPECT_LE(threads_left(before), before) << job.bytes << ": not gone when the call returns";
    }
  }
}

TEST(Ends, destroy_cancels_a_job_on_the_calling_thread) {
  const Watchdog watchdog;
  const Work ground(512 * 1024);  // too small for the workers
  hpz_team *const team = new_team(1);
  struct User {
    std::atomic<bool> runs{false};
    std::atomic<pid_t> destroyer{0};
  } user;
  std::thread destroyer([&] {
    while (!user.runs) std::this_thread::yield();
    user.destroyer = this_thread();
    hpz_team_destroy(team);
  });
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.chunk_bytes = 4096;
  options.user = &user;
  options.progress = [](void *argument, uint64_t, uint64_t) {
    auto &self = *static_cast<User *>(argument);
    self.runs = true;
    // It sleeps once it has told the job, or is about to and waits for a lock: the 128 chunks have
    // more than a second for that.
    while (self.destroyer == 0 || !is_asleep(self.destroyer)) usleep(1000);
    usleep(10'000);
    return 0;
  };
  EXPECT_EQ(ground.zero(team, &options), -ECANCELED);
  destroyer.join();
}

// --- Cancel --------------------------------------------------------------------------------------

// A job that keeps the worker of its team until it is let go: its memory is not to be had before.
class HeldWork {
 public:
  HeldWork() : memory_(8 * kMiB) {
    hpz_space_ops ops = HPZ_SPACE_OPS_INIT;
    ops.len = memory_.bytes();
    ops.map = [](void *context, uint64_t offset, uint64_t, void **out) {
      auto &self = *static_cast<HeldWork *>(context);
      self.holder_ = this_thread();
      while (!self.is_let_go_) usleep(1000);
      *out = self.memory_.begin() + offset;
      return 0;
    };
    ops.unmap = [](void *, uint64_t, uint64_t, void *) {};
    EXPECT_EQ(hpz_space_custom(&ops, this, &space_), 0);
  }
  ~HeldWork() { hpz_space_destroy(space_); }
  HeldWork(const HeldWork &) = delete;
  HeldWork &operator=(const HeldWork &) = delete;

  pid_t holder() const { return holder_; }  // 0: nobody has begun
  void let_go() { is_let_go_ = true; }

  // In several chunks: one alone would be the calling thread's.
  int zero(hpz_team *team) const {
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.chunk_bytes = 2 * kMiB;
    return hpz_space_zero(space_, team, nullptr, 0, &options, nullptr);
  }

 private:
  const Memory memory_;
  hpz_space *space_ = nullptr;
  std::atomic<pid_t> holder_{0};
  std::atomic<bool> is_let_go_{false};
};

// How many ms it took from the flag to the return, without those in which the caller was ready to
// run and the machine too busy for it.
uint64_t cancel_behind_held_work(bool before) {
  const Work ground(8 * kMiB);
  HeldWork work;
  const TeamPointer team = make_team(1);
  std::atomic<pid_t> owner{0};
  std::thread other([&] {
    owner = this_thread();
    EXPECT_EQ(work.zero(team.get()), 0);
  });
  while (work.holder() == 0) usleep(1000);
  EXPECT_NE(work.holder(), owner) << "it has the worker";
  const auto caller = this_thread();
  std::atomic<uint32_t> cancel{before ? 1u : 0u};
  uint64_t delay_ns = waited_for_cpu_ns(caller), set_at = now_ms();
  std::atomic<bool> has_returned{false};
  std::thread canceller([&] {
    if (!before) {
      usleep(50'000);
      delay_ns = waited_for_cpu_ns(caller);
      set_at = now_ms();
      cancel = 1;
    }
    for (int ms = 0; ms < 5000 && !has_returned; ++ms) usleep(1000);
    work.let_go();
  });
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.cancel = reinterpret_cast<const uint32_t *>(&cancel);
  options.chunk_bytes = kMiB;
  const int result = ground.zero(team.get(), &options);
  const uint64_t delayed_ns = waited_for_cpu_ns(caller);
  const uint64_t returned_at = now_ms();
  has_returned = true;
  canceller.join();
  other.join();
  EXPECT_EQ(result, -ECANCELED);
  const uint64_t ms = returned_at - set_at, delay_ms = (delayed_ns - delay_ns) / 1'000'000;
  return ms - std::min(ms, delay_ms);
}

// A job that waits behind another caller's is cancelled where it waits, and soon: the best of three
// counts, for a busy machine may keep any thread waiting.
TEST(Ends, cancel_of_a_job_that_waits) {
  const Watchdog watchdog(150);
  const uint64_t bound_ms = quick() ? 1000 : 100;
  for (const bool before : {true, false}) {
    uint64_t best_ms = UINT64_MAX;
    for (int i = 0; i < 3 && best_ms > bound_ms && !HasFailure(); ++i) {
      best_ms = std::min(best_ms, cancel_behind_held_work(before));
    }
    EXPECT_LE(best_ms, bound_ms) << "ms; before: " << before;
  }
}

// --- Copies of the process -----------------------------------------------------------------------

// Of a child that is number 1 of its namespace: no signal but this one ends it.
int wait_or_kill(pid_t child, unsigned seconds) {
  int status = 0;
  for (unsigned i = 0; i < seconds * 100; ++i) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    usleep(10'000);
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return -SIGKILL;
}

// fork(), but the child is process 1 of a new namespace; as an ordinary user, in a user namespace,
// too. Allowed with threads, as unshare is not everywhere.
pid_t fork_as_first() {
  const long child = syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
  if (child >= 0 || errno != EPERM) return static_cast<pid_t>(child);
  return static_cast<pid_t>(syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0));
}

TEST(Ends, child_with_the_same_number_has_no_team) {
  // To ThreadSanitizer a child of clone is the same process, whose workers nobody has waited for.
  if (kThreadSanitizer || is_set("HPZERO_TEST_EMULATOR")) {
    GTEST_SKIP() << "NOT TESTED HERE: neither ThreadSanitizer nor qemu-user knows this clone";
  }
  HPZERO_NEEDS_NAMESPACES();
  const Work ground(8 * kMiB);
  const pid_t first = fork_as_first();
  ASSERT_GE(first, 0) << "no pid namespace, though there are others: " << strerror(errno);
  if (first == 0) {
    hpz_team_options options = HPZ_TEAM_OPTIONS_INIT;
    options.threads = 2;
    hpz_team *team = nullptr;
    if (getpid() != 1 || hpz_team_create(&options, &team) != 0) _exit(100);
    if (ground.zero(team, nullptr) != 0) _exit(101);
    const pid_t second = fork_as_first();
    if (second < 0) _exit(102);
    if (second == 0) {
      hpz_team_info info = HPZ_TEAM_INFO_INIT;
      int failed = getpid() != 1 ? 1 : 0;
      failed |= hpz_team_info_get(team, &info) != -ECHILD ? 2 : 0;
      failed |= ground.zero(team, nullptr) != -ECHILD ? 4 : 0;
      failed |= ground.zero(nullptr, nullptr) != 0 ? 8 : 0;
      hpz_team_destroy(team);
      _exit(failed);
    }
    const int failed = wait_or_kill(second, 60);
    if (failed == 0 && ground.zero(team, nullptr) != 0) _exit(103);
    _exit(failed < 0 ? 104 : failed);
  }
  EXPECT_EQ(wait_or_kill(first, 90), 0) << "104: it hung or died by a signal";
}

// The child's copy of the call has no workers to wait for. One on the calling thread has all that
// it needs.
TEST(Ends, fork_in_a_callback) {
  const struct {
    size_t bytes, chunk_bytes;
    int result;  // of the child
  } jobs[] = {{32 * kMiB, 64 * 1024, -ECHILD}, {512 * 1024, 4096, 0}};
  for (const auto &job : jobs) {
    const Work ground(job.bytes);
    hpz_team *const team = new_team(2);
    const pid_t parent = getpid();
    pid_t child = -1;
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.chunk_bytes = job.chunk_bytes;
    options.user = &child;
    options.progress = [](void *user, uint64_t, uint64_t) {
      auto &its_child = *static_cast<pid_t *>(user);
      if (its_child == -1) its_child = fork();
      return 0;
    };
    const int result = ground.zero(team, &options);
    if (getpid() != parent) {
      int failed = result != job.result ? 1 : 0;
      failed |= ground.zero(team, nullptr) != -ECHILD ? 2 : 0;
      failed |= ground.zero(nullptr, nullptr) != 0 ? 4 : 0;
      hpz_team_destroy(team);
      _exit(failed);
    }
    EXPECT_EQ(result, 0) << "of the parent";
    ASSERT_GT(child, 0);
    EXPECT_EQ(wait_or_kill(child, 60), 0) << job.bytes << ": -9 is a hang";
    hpz_team_destroy(team);
  }
}

}  // namespace
}  // namespace hpz::test
