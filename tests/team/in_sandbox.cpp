// SPDX-License-Identifier: BSD-2-Clause
//
// What sandbox_test.cpp executes in its sandboxes, one test in a process.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/memory.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;
constexpr size_t kBytes = 24 * kMiB;

// What is expected of a team and of release; all else is as where nothing is refused.
struct Expected {
  uint32_t flags = 0;           // of the team, all of them
  uint32_t flags_of_nodes = 0;  // ... and where there are several nodes
  uint32_t threads = 2;         // of the two asked for
  int released = 0;
};

// What a program wants of all of it: no wrong answer, no hang, no output.
void use_everything(const Expected &expected) {
  hpz_team_options options = HPZ_TEAM_OPTIONS_INIT;
  options.threads = 2;
  hpz_team *team = nullptr;
  ASSERT_EQ(hpz_team_create(&options, &team), 0);
  hpz_team_info info = HPZ_TEAM_INFO_INIT;
  ASSERT_EQ(hpz_team_info_get(team, &info), 0);
  EXPECT_EQ(info.threads, expected.threads);
  EXPECT_EQ(info.flags, expected.flags | (info.nodes > 1 ? expected.flags_of_nodes : 0));
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
    EXPECT_EQ(resident_bytes(map, kBytes), kBytes);
    memset(map, 1, kBytes);
    EXPECT_EQ(hpz_space_zero(space, one, nullptr, 0, nullptr, nullptr), 0);
    EXPECT_TRUE(hpz_is_zero(map, kBytes));
    memset(map, 1, kBytes);
    EXPECT_EQ(hpz_space_reset(space, one, nullptr, 0, nullptr, nullptr), 0);
    EXPECT_TRUE(hpz_is_zero(map, kBytes));
    memset(map, 1, kBytes);
    EXPECT_EQ(hpz_space_release(space, one, nullptr, 0, nullptr, nullptr), expected.released);
    EXPECT_EQ(hpz_is_zero(map, kBytes) != 0, expected.released == 0);
    hpz_space_destroy(space);
    munmap(map, kBytes);
  }
  hpz_team_destroy(team);
}

TEST(InSandbox, everything) {
  use_everything({});
}

TEST(InSandbox, everything_without_placement) {
  Expected expected;
  expected.flags_of_nodes = HPZ_TEAM_NO_PLACEMENT;
  use_everything(expected);
}

TEST(InSandbox, everything_unpinned) {
  Expected expected;
  expected.flags = HPZ_TEAM_UNPINNED;
  use_everything(expected);
}

TEST(InSandbox, everything_alone) {
  Expected expected;
  expected.flags = HPZ_TEAM_FEWER;
  expected.threads = 0;
  use_everything(expected);
}

TEST(InSandbox, everything_but_release_is_permitted) {
  Expected expected;
  expected.released = -EPERM;
  use_everything(expected);
}

TEST(InSandbox, everything_but_release_is_supported) {
  Expected expected;
  expected.released = -EOPNOTSUPP;
  use_everything(expected);
}

// Its user: a handle that is destroyed by the first call.
int destroy_once(void *user, uint64_t, uint64_t) {
  auto &team = *static_cast<hpz_team **>(user);
  if (team != nullptr) hpz_team_destroy(team);
  team = nullptr;
  return 0;
}

// A team without workers runs its jobs on the calling thread, which must not wait for itself.
TEST(InSandbox, destroy_from_a_callback) {
  alarm(30);  // a deadlock is a failure
  void *const map =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(map, MAP_FAILED);
  for (const size_t bytes : {size_t{4096}, kMiB / 2, kBytes}) {
    const hpz_range range = {map, bytes};
    hpz_space *space = nullptr;
    ASSERT_EQ(hpz_space_direct(&range, 1, nullptr, &space), 0);
    hpz_team *team = nullptr;
    ASSERT_EQ(hpz_team_create(nullptr, &team), 0);
    hpz_team_info info = HPZ_TEAM_INFO_INIT;
    ASSERT_EQ(hpz_team_info_get(team, &info), 0);
    ASSERT_EQ(info.threads, 0u);
    hpz_team *to_destroy = team;
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.progress = destroy_once;
    options.user = &to_destroy;
    options.chunk_bytes = kMiB;
    const int result = hpz_space_zero(space, team, nullptr, 0, &options, nullptr);
    EXPECT_EQ(to_destroy, nullptr);
    EXPECT_TRUE(result == -ECANCELED || (result == 0 && bytes <= kMiB)) << result;
    hpz_space_destroy(space);
  }
}

// Whatever page size the caller or a neighbour suggests: each page is touched, by its own size.
TEST(InSandbox, populate_of_pages_that_are_said_to_be_larger) {
  for (const size_t page_bytes : {size_t{0}, 2 * kMiB, size_t{1} << 30}) {
    // With huge pages of somebody else between the ranges; they need no pool, for nobody touches
    // them.
    char *const map = static_cast<char *>(
        mmap(nullptr, 3 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(map, MAP_FAILED);
    madvise(map, 3 * kBytes, MADV_NOHUGEPAGE);
    const auto at = reinterpret_cast<uintptr_t>(map);
    char *const between = map + (kBytes + 2 * kMiB - at % (2 * kMiB));
    const void *const huge =
        mmap(between, 4 * kMiB, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
    if (huge == MAP_FAILED && page_bytes == 0) {
      printf("NOT TESTED HERE: no 2 MiB pages in this kernel\n");
    }
    const hpz_range ranges[] = {{map, kBytes}, {map + 2 * kBytes, kBytes}};
    hpz_space_options options = HPZ_SPACE_OPTIONS_INIT;
    options.page_bytes = page_bytes;
    hpz_space *space = nullptr;
    ASSERT_EQ(hpz_space_direct(ranges, 2, &options, &space), 0);
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(hpz_space_populate(space, nullptr, nullptr, 0, nullptr, &report), 0);
    EXPECT_EQ(report.populated_bytes, 2 * kBytes);
    for (const hpz_range &range : ranges) {
      EXPECT_EQ(resident_bytes(range.base, range.len), kBytes) << page_bytes;
    }
    hpz_space_destroy(space);
    munmap(map, 3 * kBytes);
  }
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
