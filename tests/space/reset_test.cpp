// SPDX-License-Identifier: BSD-2-Clause
//
// The verb reset: reads zero everywhere, and nothing that was not touched is afterwards.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/guarded_buffer.h"
#include "tests/support/sandbox.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/settings.h"
#include "tests/support/workers.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;

class ResetVerb : public ByWorkers {};
HPZERO_BY_WORKERS(ResetVerb);

TEST_P(ResetVerb, clears_what_was_touched) {
  const Memory memory(64 * kMiB);
  madvise(memory.begin(), memory.bytes(), MADV_NOHUGEPAGE);
  SCOPED_TRACE("HPZERO_TEST_SEED=" + std::to_string(seed()));
  std::mt19937_64 random(seed() + GetParam());
  for (int i = 0; i < 100; ++i) memory.begin()[random() % memory.bytes()] = 1;
  const size_t resident = memory.resident_bytes();
  const SpacePointer space = make_space(memory.begin() + 1, memory.bytes() - 2);
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  ASSERT_EQ(hpz_space_reset(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(report.done_bytes, memory.bytes() - 2);
  EXPECT_EQ(report.cleared_bytes + report.skipped_bytes, report.done_bytes);
  const size_t resident_after = memory.resident_bytes();
  EXPECT_TRUE(hpz_is_zero(memory.begin() + 1, memory.bytes() - 2));
  EXPECT_EQ((report.flags & HPZ_JOB_NO_PROOF) == 0, can_prove());
  if (!can_prove()) GTEST_SKIP() << "NOT TESTED HERE: sparse memory stays so (no pagemap, smaps)";
  EXPECT_LE(report.cleared_bytes, resident);
  EXPECT_EQ(resident_after, resident) << "nothing was inflated";
}

// Pages that were read and never written are the shared zero page: nothing to clear.
TEST_P(ResetVerb, pages_that_were_only_read_are_left_alone) {
  const Memory memory(16 * kMiB);
  madvise(memory.begin(), memory.bytes(), MADV_NOHUGEPAGE);
  EXPECT_TRUE(hpz_is_zero(memory.begin(), memory.bytes()));
  memory.begin()[3 * kMiB] = 1;
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  ASSERT_EQ(hpz_space_reset(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(report.done_bytes, memory.bytes());
  EXPECT_TRUE(hpz_is_zero(memory.begin(), memory.bytes()));
  if (!can_prove() || !can_scan()) GTEST_SKIP() << "NOT TESTED HERE: no PAGEMAP_SCAN";
  EXPECT_LE(report.cleared_bytes, static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
}

// Such a page may be replaced by a zero page at any time, or keep what it held.
TEST_P(ResetVerb, lazily_freed_pages_are_cleared) {
  const Memory memory(8 * kMiB);
  memset(memory.begin(), kPoison, memory.bytes());
  if (madvise(memory.begin(), memory.bytes(), MADV_FREE) != 0) {
    GTEST_SKIP() << "NOT TESTED HERE: no MADV_FREE";
  }
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  ASSERT_EQ(hpz_space_reset(space.get(), team(), nullptr, 0, nullptr, nullptr), 0);
  EXPECT_TRUE(hpz_is_zero(memory.begin(), memory.bytes()));
}

// What parent and child share until one of them writes.
TEST_P(ResetVerb, copies_of_a_fork_are_each_their_own) {
  const Memory memory(8 * kMiB);
  memset(memory.begin(), kPoison, memory.bytes());
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    close(told[1]);
    char byte;
    int failed = read(told[0], &byte, 1) != 1 ? 1 : 0;
    failed |= !all_are(memory.begin(), memory.end(), kPoison, "") ? 2 : 0;
    hpz_space *own = nullptr;
    const hpz_range range = {memory.begin(), memory.bytes() / 2};
    failed |= hpz_space_direct(&range, 1, nullptr, &own) != 0 ? 4 : 0;
    failed |= hpz_space_reset(own, nullptr, nullptr, 0, nullptr, nullptr) != 0 ? 8 : 0;
    failed |= !hpz_is_zero(range.base, range.len) ? 16 : 0;
    failed |= !all_are(memory.begin() + range.len, memory.end(), kPoison, "") ? 32 : 0;
    _exit(failed);
  }
  close(told[0]);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_space_reset(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(report.cleared_bytes, memory.bytes());
  EXPECT_TRUE(hpz_is_zero(memory.begin(), memory.bytes()));
  EXPECT_EQ(write(told[1], "g", 1), 1);
  close(told[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// A page that nobody may touch: an error, not the signal that a store to it would be.
TEST_P(ResetVerb, guard_pages) {
  constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL, Linux 6.13
  const Memory memory(8 * kMiB);
  const size_t bad = 3 * kMiB + 4096;
  memset(memory.begin(), kPoison, memory.bytes());
  // Emulators say yes and do nothing: the kernel must refuse to read it, too.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const bool is_guarded = madvise(memory.begin() + bad, 4096, kGuardInstall) == 0 &&
                          write(ends[1], memory.begin() + bad, 1) < 0;
  close(ends[0]);
  close(ends[1]);
  if (!is_guarded) {
    GTEST_SKIP() << "NOT TESTED HERE: no guard pages in this kernel";
  }
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.threads = 1;
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_space_reset(space.get(), team(), nullptr, 0, &options, &report), -EFAULT);
  EXPECT_EQ(report.first_bad_offset, bad);
  EXPECT_EQ(report.done_bytes, bad);
  EXPECT_TRUE(hpz_is_zero(memory.begin(), bad));
  EXPECT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, &options, &report), -EFAULT);
  EXPECT_EQ(report.first_bad_offset, bad);
}

// --- Without a proof all is cleared, and the report says so --------------------------------------

// In a child that prepare has taken the proof from; it says false where it could not.
void expect_no_proof(uint32_t threads, bool (*prepare)()) {
  constexpr int kNotPrepared = 64;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    if (!prepare()) _exit(kNotPrepared);
    const TeamPointer its_team = make_team(threads);
    const Memory memory(8 * kMiB);
    madvise(memory.begin(), memory.bytes(), MADV_NOHUGEPAGE);
    memset(memory.begin() + kMiB, kPoison, 2 * kMiB);
    const SpacePointer space = make_space(memory.begin(), memory.bytes());
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    int failed = 0;
    if (hpz_space_reset(space.get(), its_team.get(), nullptr, 0, nullptr, &report) != 0) {
      failed |= 1;
    }
    if ((report.flags & HPZ_JOB_NO_PROOF) == 0) failed |= 2;
    if (report.cleared_bytes != memory.bytes() || report.skipped_bytes != 0) failed |= 4;
    if (report.done_bytes != memory.bytes()) failed |= 8;
    if (memory.resident_bytes() != memory.bytes()) failed |= 16;
    if (!hpz_is_zero(memory.begin(), memory.bytes())) failed |= 32;
    _exit(failed);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0) << kNotPrepared << ": there was no taking it away";
}

class NoProof : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    if ((kThreadSanitizer || is_set("HPZERO_TEST_EMULATOR")) && GetParam() != 0) {
      GTEST_SKIP() << "NOT TESTED HERE: neither ThreadSanitizer nor QEMU has threads after a fork";
    }
  }
};
HPZERO_BY_WORKERS(NoProof);

TEST_P(NoProof, without_proc) {
  HPZERO_NEEDS_NAMESPACES();
  expect_no_proof(GetParam(), [] {
    try {
      enter_own_mounts();
      hide_folder("/proc");
    } catch (const std::runtime_error &) {
      return false;
    }
    return true;
  });
}

bool can_open(const char *path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

// The mappings are known there, and nothing of their pages: a process that nobody may look into has
// a pagemap that is root's.
TEST_P(NoProof, without_pagemap) {
  if (!can_prove()) GTEST_SKIP() << "NOT TESTED HERE: one without the other (no pagemap, smaps)";
  expect_no_proof(GetParam(), [] {
    if (geteuid() == 0 && syscall(SYS_setresuid, 65534, 65534, 65534) != 0) return false;
    if (prctl(PR_SET_DUMPABLE, 0) != 0) return false;
    return !can_open("/proc/thread-self/pagemap") && can_open("/proc/thread-self/smaps");
  });
}

// /proc/self is the first thread's, and shows no memory once that one has ended.
TEST(Reset, after_the_first_thread_has_ended) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    std::thread([] {
      char line[8];
      for (;;) {  // until it is gone: then its list of mappings is empty
        FILE *const maps = fopen("/proc/self/maps", "re");
        const bool is_there = maps != nullptr && fgets(line, sizeof line, maps) != nullptr;
        if (maps != nullptr) fclose(maps);
        if (!is_there) break;
        usleep(1000);
      }
      const Memory memory(8 * kMiB);
      const SpacePointer space = make_space(memory.begin(), memory.bytes());
      const auto verbs = {hpz_space_reset, hpz_space_release};
      int failed = 0, bit = 1;
      for (const auto verb : verbs) {
        memset(memory.begin() + kMiB, kPoison, 2 * kMiB);
        if (verb(space.get(), nullptr, nullptr, 0, nullptr, nullptr) != 0) failed |= bit;
        if (!hpz_is_zero(memory.begin(), memory.bytes())) failed |= 2 * bit;
        bit *= 4;
      }
      _exit(failed);
    }).detach();
    // What pthread_exit ends with. Itself, it would unwind the stack through the test framework.
    syscall(SYS_exit, 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// The oracle is a second copy that memset clears; extents of any alignment, in transparent huge
// pages or not.
TEST_P(ResetVerb, exactly_the_extents) {
  SCOPED_TRACE("HPZERO_TEST_SEED=" + std::to_string(seed()));
  std::mt19937_64 random(seed() + GetParam());
  const auto up_to = [&](uint64_t most) { return random() % (most + 1); };
  for (int round = 0; round < 20; ++round) {
    const Memory memory(8 * kMiB);
    madvise(memory.begin(), memory.bytes(), up_to(1) == 0 ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    std::vector<unsigned char> expected(memory.bytes(), 0);
    for (int i = 0; i < 50; ++i) {
      const size_t at = up_to(memory.bytes() - 1);
      const size_t len = std::min<size_t>(up_to(20000), memory.bytes() - at);
      memset(memory.begin() + at, kPoison, len);
      memset(expected.data() + at, kPoison, len);
    }
    std::vector<hpz_extent> extents(1 + up_to(20));
    for (hpz_extent &extent : extents) {
      extent.offset = up_to(memory.bytes());
      extent.len = std::min(up_to(500'000), memory.bytes() - extent.offset);
      memset(expected.data() + extent.offset, 0, extent.len);
    }
    const SpacePointer space = make_space(memory.begin(), memory.bytes());
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.chunk_bytes = 1 + up_to(3 * kMiB);
    options.touch_next = memory.begin() + up_to(memory.bytes());
    ASSERT_EQ(
        hpz_space_reset(space.get(), team(), extents.data(), extents.size(), &options, nullptr), 0);
    ASSERT_EQ(memcmp(memory.begin(), expected.data(), expected.size()), 0) << "round " << round;
  }
}

// What lies in a shared mapping may be in the page cache though nobody here has touched it.
TEST_P(ResetVerb, shared_memory_is_cleared) {
  const int fd = memfd_create("shared", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, 4 * kMiB), 0);
  const std::string secret(4096, 's');
  for (const off_t at : {0, 1 << 20, (4 << 20) - 4096}) {
    ASSERT_EQ(pwrite(fd, secret.data(), secret.size(), at), 4096);
  }
  const Memory memory(fd, 4 * kMiB, MAP_SHARED);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  ASSERT_EQ(hpz_space_reset(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(report.skipped_bytes, 0u);
  std::string read(4096, 'x');
  for (const off_t at : {0, 1 << 20, (4 << 20) - 4096}) {
    ASSERT_EQ(pread(fd, read.data(), read.size(), at), 4096);
    EXPECT_EQ(read, std::string(4096, '\0'));
  }
  close(fd);
}

// An absent page of a private file mapping is the file's content.
TEST_P(ResetVerb, private_file_mappings_are_cleared) {
  const ScratchFolder folder;
  const std::string path = folder.write("file", std::string(kMiB, 'f'));
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  const Memory memory(fd, kMiB, MAP_PRIVATE);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  ASSERT_EQ(hpz_space_reset(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(report.cleared_bytes, kMiB);
  EXPECT_TRUE(hpz_is_zero(memory.begin(), kMiB));
  char byte = 0;
  EXPECT_EQ(pread(fd, &byte, 1, 0), 1);
  EXPECT_EQ(byte, 'f') << "the file itself is not touched";
  close(fd);
}

// Answers faults of a memory's absent pages: what they hold is for it to say, and is no zeroes.
class FaultHandler {
 public:
  explicit FaultHandler(int flags)
      : fd_(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | flags))) {}
  ~FaultHandler() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    if (fd_ >= 0) close(fd_);
  }
  FaultHandler(const FaultHandler &) = delete;
  FaultHandler &operator=(const FaultHandler &) = delete;

  bool is_there() const { return fd_ >= 0; }
  void watch(const Memory &memory) {
    uffdio_api api = {};
    api.api = UFFD_API;
    ASSERT_EQ(ioctl(fd_, UFFDIO_API, &api), 0);
    uffdio_register range = {};
    range.range = {reinterpret_cast<uintptr_t>(memory.begin()), memory.bytes()};
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    ASSERT_EQ(ioctl(fd_, UFFDIO_REGISTER, &range), 0);
    thread_ = std::thread([this] { answer(); });
  }

 private:
  void answer() const {
    const std::vector<unsigned char> page(4096, kPoison);
    while (!stop_) {
      pollfd wait = {fd_, POLLIN, 0};
      uffd_msg message;
      if (poll(&wait, 1, 10) <= 0 || read(fd_, &message, sizeof message) != sizeof message) {
        continue;
      }
      uffdio_copy copy = {};
      copy.dst = message.arg.pagefault.address & ~uint64_t{4095};
      copy.src = reinterpret_cast<uintptr_t>(page.data());
      copy.len = 4096;
      ioctl(fd_, UFFDIO_COPY, &copy);
    }
  }

  const int fd_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_P(ResetVerb, userfaultfd_is_no_proof) {
  FaultHandler handler(0);
  if (!handler.is_there()) GTEST_SKIP() << "NOT TESTED HERE: no userfaultfd (wants root)";
  const Memory memory(kMiB);
  ASSERT_NO_FATAL_FAILURE(handler.watch(memory));
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_space_reset(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(report.cleared_bytes, memory.bytes());
  EXPECT_TRUE(hpz_is_zero(memory.begin(), memory.bytes()));
  // Given back, it would be the handler's again.
  EXPECT_EQ(hpz_space_release(space.get(), team(), nullptr, 0, nullptr, &report), -EOPNOTSUPP);
  EXPECT_EQ(report.done_bytes, 0u);
}

// The kind that needs no rights answers no fault that the kernel takes for us: an error, and not a
// byte that is said to be zero.
TEST_P(ResetVerb, userfaultfd_of_user_mode_is_no_proof) {
  constexpr int kUserModeOnly = 1;  // UFFD_USER_MODE_ONLY, Linux 5.11
  FaultHandler handler(kUserModeOnly);
  if (!handler.is_there()) GTEST_SKIP() << "NOT TESTED HERE: no userfaultfd";
  const Memory memory(kMiB);
  ASSERT_NO_FATAL_FAILURE(handler.watch(memory));
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.threads = 1;
  EXPECT_LT(hpz_space_reset(space.get(), team(), nullptr, 0, &options, &report), 0);
  EXPECT_EQ(report.first_bad_offset, 0u);
  EXPECT_EQ(report.done_bytes, 0u);
  EXPECT_EQ(hpz_space_release(space.get(), team(), nullptr, 0, nullptr, &report), -EOPNOTSUPP);
  EXPECT_EQ(report.done_bytes, 0u);
  // What the handler has given is memory like any other.
  ASSERT_TRUE(all_are(memory.begin(), memory.end(), kPoison, "the handler's"));
  EXPECT_EQ(hpz_space_reset(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(report.cleared_bytes, memory.bytes());
  EXPECT_TRUE(hpz_is_zero(memory.begin(), memory.bytes()));
}

TEST_P(ResetVerb, unmapped_and_read_only_memory_before_anything_is_done) {
  const Memory memory(8 * kMiB);
  memset(memory.begin(), kPoison, memory.bytes());
  ASSERT_EQ(mprotect(memory.begin() + 6 * kMiB, 4096, PROT_READ), 0);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  for (const auto verb : {hpz_space_reset, hpz_space_release}) {
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(verb(space.get(), team(), nullptr, 0, nullptr, &report), -EACCES);
    EXPECT_EQ(report.first_bad_offset, 6 * kMiB);
    EXPECT_EQ(report.done_bytes, 0u);
  }
  ASSERT_EQ(munmap(memory.begin() + 4 * kMiB, 4096), 0);
  for (const auto verb : {hpz_space_reset, hpz_space_release}) {
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(verb(space.get(), team(), nullptr, 0, nullptr, &report), -EFAULT);
    EXPECT_EQ(report.first_bad_offset, 4 * kMiB);
    EXPECT_EQ(report.done_bytes, 0u);
  }
  EXPECT_TRUE(all_are(memory.begin(), memory.begin() + 4 * kMiB, kPoison, "before"));
  EXPECT_TRUE(all_are(memory.begin() + 4 * kMiB + 4096, memory.end(), kPoison, "behind"));
}

TEST_P(ResetVerb, file_shorter_than_its_mapping) {
  const int fd = memfd_create("short", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, 2 * kMiB), 0);
  const Memory memory(fd, 4 * kMiB, MAP_SHARED);
  close(fd);
  memset(memory.begin(), kPoison, 2 * kMiB);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.threads = 1;
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_space_reset(space.get(), team(), nullptr, 0, &options, &report), -EFAULT);
  EXPECT_EQ(report.first_bad_offset, 2 * kMiB);
  EXPECT_EQ(report.done_bytes, 2 * kMiB);
  EXPECT_TRUE(hpz_is_zero(memory.begin(), 2 * kMiB));
}

}  // namespace
}  // namespace hpz::test
