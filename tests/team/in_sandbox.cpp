// SPDX-License-Identifier: BSD-2-Clause
//
// What sandbox_test.cpp executes in its sandboxes, one test in a process.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;
constexpr size_t kBytes = 24 * kMiB;

// What a program wants of all of it: any answer but a wrong one, a hang, or output.
void use_everything(uint32_t flags_allowed, uint32_t most_threads) {
  hpz_team_options options = HPZ_TEAM_OPTIONS_INIT;
  options.threads = 2;
  hpz_team *team = nullptr;
  ASSERT_EQ(hpz_team_create(&options, &team), 0);
  hpz_team_info info = HPZ_TEAM_INFO_INIT;
  ASSERT_EQ(hpz_team_info_get(team, &info), 0);
  EXPECT_LE(info.threads, most_threads);
  EXPECT_EQ(info.flags & ~flags_allowed, 0u);
  for (hpz_team *const one : {team, static_cast<hpz_team *>(nullptr)}) {
    void *const map =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(map, MAP_FAILED);
    const hpz_range range = {map, kBytes};
    hpz_space *space = nullptr;
    ASSERT_EQ(hpz_space_direct(&range, 1, nullptr, &space), 0);
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(hpz_space_populate(space, one, nullptr, 0, nullptr, &report), 0);
    EXPECT_EQ(report.populated_bytes, kBytes);
    unsigned char resident[kBytes / 4096];
    if (mincore(map, kBytes, resident) == 0) {
      for (const unsigned char page : resident) ASSERT_EQ(page & 1, 1);
    }
    memset(map, 1, kBytes);
    EXPECT_EQ(hpz_space_zero(space, one, nullptr, 0, nullptr, nullptr), 0);
    EXPECT_TRUE(hpz_is_zero(map, kBytes));
    memset(map, 1, kBytes);
    EXPECT_EQ(hpz_space_reset(space, one, nullptr, 0, nullptr, nullptr), 0);
    EXPECT_TRUE(hpz_is_zero(map, kBytes));
    memset(map, 1, kBytes);
    const int released = hpz_space_release(space, one, nullptr, 0, nullptr, nullptr);
    EXPECT_TRUE(released == -EOPNOTSUPP || released == -EPERM ||
                (released == 0 && hpz_is_zero(map, kBytes)))
        << released;
    hpz_space_destroy(space);
    munmap(map, kBytes);
  }
  hpz_team_destroy(team);
}

constexpr uint32_t kAnyFlag = UINT32_MAX;

TEST(InSandbox, everything) {
  use_everything(0, 2);
}

TEST(InSandbox, everything_with_any_flag) {
  use_everything(kAnyFlag, 2);
}

TEST(InSandbox, everything_unpinned) {
  use_everything(HPZ_TEAM_UNPINNED, 2);
}

TEST(InSandbox, everything_alone) {
  use_everything(HPZ_TEAM_FEWER, 0);
}

// Row D1 on an old kernel: an error, not a signal.
TEST(InSandbox, bad_memory) {
  const int fd = memfd_create("short", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, 2 << 20), 0);
  void *const map = mmap(nullptr, 4 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(map, MAP_FAILED);
  const hpz_range range = {map, 4 * kMiB};
  hpz_space *space = nullptr;
  ASSERT_EQ(hpz_space_direct(&range, 1, nullptr, &space), 0);
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_space_populate(space, nullptr, nullptr, 0, nullptr, &report), -EFAULT);
  EXPECT_EQ(report.first_bad_offset, 2 * kMiB);
  EXPECT_EQ(report.done_bytes, 2 * kMiB);
  ASSERT_EQ(mprotect(map, kMiB, PROT_READ), 0);
  EXPECT_EQ(hpz_space_populate(space, nullptr, nullptr, 0, nullptr, &report), -EACCES);
  EXPECT_EQ(report.first_bad_offset, 0u);
}

}  // namespace
}  // namespace hpz::test
