// SPDX-License-Identifier: BSD-2-Clause
//
// Files where the kernel refuses, by seccomp: row E4, recipe R-SEC of the field reports.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "tests/space/file_ways.h"
#include "tests/support/mounted.h"
#include "tests/support/poisoned_file.h"
#include "tests/support/sandbox.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;
constexpr unsigned kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
constexpr unsigned kZeroRange = FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;

struct Expected {
  int released = 0;
  bool is_proven = true;
};

// What a program wants of a file, all ways, alone and by a team.
void use_file(const std::function<int()> &make_file, const Expected &expected) {
  const std::vector<hpz_extent> extents = {{100, 4000}, {65'000, 3 * kMiB}, {5 * kMiB - 1, 1}};
  for (const uint32_t threads : {0u, 2u}) {
    const TeamPointer team = make_team(threads);
    for (const FileWay &way : kFileWays) {
      SCOPED_TRACE(way.name + (" with a team of " + std::to_string(threads)));
      for (const auto verb : {hpz_space_zero, hpz_space_reset, hpz_space_release}) {
        PoisonedFile file(make_file(), 5 * kMiB + 5);
        const SpacePointer space = make_file_space(file.fd(), 5, 5 * kMiB, way);
        hpz_job_report report = HPZ_JOB_REPORT_INIT;
        const int result =
            verb(space.get(), team.get(), extents.data(), extents.size(), nullptr, &report);
        EXPECT_EQ(result, verb == hpz_space_release ? expected.released : 0);
        if (result == 0) file.clear(extents, 5);
        EXPECT_EQ(report.done_bytes, result == 0 ? 4001 + 3 * kMiB : 0);
        EXPECT_TRUE(file.is_as_expected());
        if (verb == hpz_space_reset) {
          EXPECT_EQ((report.flags & HPZ_JOB_NO_PROOF) == 0, expected.is_proven);
        }
      }
      PoisonedFile file(make_file(), 0);
      ASSERT_EQ(ftruncate(file.fd(), kMiB), 0);
      const SpacePointer space = make_file_space(file.fd(), 0, kMiB, way);
      EXPECT_EQ(hpz_space_populate(space.get(), team.get(), nullptr, 0, nullptr, nullptr), 0);
      EXPECT_GE(file.blocks_bytes(), kMiB);
    }
  }
}

int memory_file() {
  return memfd_create("file", MFD_CLOEXEC);
}

TEST(FileSandbox, nothing_is_refused) {
  run_in_child([] { use_file(memory_file, {}); });
}

// Row E4. A sandbox's -EPERM is no seal.
TEST(FileSandbox, field_E4_no_fallocate) {
  for (const int error : {EOPNOTSUPP, ENOSYS, EPERM}) {
    run_in_child([error] {
      refuse({{SYS_fallocate, error}});
      use_file(memory_file, {error == EPERM ? -EPERM : -EOPNOTSUPP});
    });
  }
}

TEST(FileSandbox, field_E4_no_fallocate_on_a_disk) {
  const Mounted disk("ext4", 64);
  if (!disk.why_not().empty()) GTEST_SKIP() << disk.why_not();
  const auto file = [&] { return disk.file(); };
  run_in_child([&] { use_file(file, {}); });
  for (const int error : {EOPNOTSUPP, ENOSYS, EPERM}) {
    run_in_child([&] {
      refuse({{SYS_fallocate, error, 1, kZeroRange}});
      use_file(file, {});
    });
    run_in_child([&] {
      refuse({{SYS_fallocate, error, 1, kPunch}, {SYS_fallocate, error, 1, kZeroRange}});
      use_file(file, {error == EPERM ? -EPERM : -EOPNOTSUPP});
    });
  }
}

// A jail without /proc: the descriptor cannot be opened again, so where the file has holes cannot
// be asked without moving the caller's offset, which is not ours to move.
TEST(FileSandbox, no_proc) {
  for (const int error : {ENOENT, EPERM, EACCES}) {
    run_in_child([error] {
      refuse({{SYS_openat, error}});
      use_file(memory_file, {0, false});
    });
  }
}

TEST(FileSandbox, file_system_unknown) {
  for (const int error : {ENOSYS, EPERM}) {
    run_in_child([error] {
      refuse({{SYS_fstatfs, error}});
      use_file(memory_file, {0, false});
    });
  }
}

TEST(FileSandbox, no_seeking) {
  run_in_child([] {
    // The test itself looks at the offset (SEEK_SET, SEEK_CUR).
    refuse({{SYS_lseek, EPERM, 2, SEEK_DATA}, {SYS_lseek, EINVAL, 2, SEEK_HOLE}});
    use_file(memory_file, {});
  });
}

// Too little address space for one mapping of all: by windows.
TEST(FileSandbox, address_space) {
  run_in_child([] {
    PoisonedFile file(memory_file(), 0);
    ASSERT_EQ(ftruncate(file.fd(), off_t{64} << 30), 0);
    const rlimit limit = {rlim_t{8} << 30, rlim_t{8} << 30};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    hpz_space *space = nullptr;
    ASSERT_EQ(hpz_space_file(file.fd(), 0, uint64_t{64} << 30, nullptr, &space), 0);
    const hpz_extent extents[] = {{uint64_t{63} << 30, 100 * kMiB}, {5, 70 * kMiB}};
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(hpz_space_populate(space, nullptr, extents, 2, nullptr, &report), 0);
    EXPECT_EQ(report.populated_bytes, 170 * kMiB);
    EXPECT_EQ(hpz_space_zero(space, nullptr, nullptr, 0, nullptr, &report), 0);
    EXPECT_EQ(report.cleared_bytes, 170 * kMiB + 4096);
    EXPECT_EQ(report.done_bytes, uint64_t{64} << 30);
    EXPECT_EQ(hpz_space_release(space, nullptr, nullptr, 0, nullptr, &report), 0);
    EXPECT_EQ(file.blocks_bytes(), 0u);
    hpz_space_destroy(space);
  });
}

}  // namespace
}  // namespace hpz::test
