// SPDX-License-Identifier: BSD-2-Clause
//
// Kernels and devices that this machine does not have, recipe R-SHIM of the field reports: calls of
// the library to fallocate and mmap end in this program.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "tests/space/file_ways.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/poisoned_file.h"

namespace {

constexpr off_t kHuge = 2 << 20;

// What they do; real ones: inward is 1, and alignment too.
struct Shims {
  off_t inward = 1;      // fallocate: rounds its range to multiples, inwards, and says 0
  bool is_idle = false;  // ... does nothing, and says 0
  int refusal = 0;       // ... this errno
  off_t alignment = 1;   // mmap: EINVAL for a length or offset that is no multiple
  int map_error = 0;     // ... this errno
};
Shims g_shims;
std::atomic<int> g_fallocates{0}, g_mmaps{0};

}  // namespace

// The dynamic linker looks here first.
extern "C" {

int fallocate(int fd, int mode, off_t offset, off_t len) {
  ++g_fallocates;
  const Shims &shims = g_shims;
  if (shims.refusal != 0) {
    errno = shims.refusal;
    return -1;
  }
  if (shims.is_idle) return 0;
  const off_t begin = (offset + shims.inward - 1) / shims.inward * shims.inward;
  const off_t end = (offset + len) / shims.inward * shims.inward;
  if (begin >= end) return 0;
  return static_cast<int>(syscall(SYS_fallocate, fd, mode, begin, end - begin));
}

void *mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset) noexcept {
  if (fd >= 0) {
    ++g_mmaps;
    const auto alignment = static_cast<size_t>(g_shims.alignment);
    const bool is_aligned = (static_cast<size_t>(offset) | len) % alignment == 0;
    if (g_shims.map_error != 0 || !is_aligned) {
      errno = g_shims.map_error != 0 ? g_shims.map_error : EINVAL;
      return MAP_FAILED;
    }
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): what the kernel returns
  return reinterpret_cast<void *>(syscall(SYS_mmap, at, len, protection, flags, fd, offset));
}

}  // extern "C"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;

class FileShims : public ByWay {
 protected:
  FileShims() {
    g_shims = Shims();
    g_fallocates = g_mmaps = 0;
  }
  ~FileShims() override { g_shims = Shims(); }

  // The verb on a file of 8 MiB, by extents with edges on both sides of huge pages.
  void check(decltype(&hpz_space_zero) verb, int expected = 0) {
    PoisonedFile file(memfd_create("shims", MFD_CLOEXEC), 8 * kMiB);
    const SpacePointer space = make_file_space(file.fd(), 0, file.bytes(), way());
    const std::vector<hpz_extent> extents = {
        {4096, 8192}, {2 * kMiB - 4096, 8192}, {3 * kMiB + 7, 4 * kMiB}, {8 * kMiB - 3, 3}};
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    ASSERT_EQ(verb(space.get(), team(), extents.data(), extents.size(), nullptr, &report),
              expected);
    if (expected != 0) {
      EXPECT_EQ(report.done_bytes, 0u);
    } else {
      EXPECT_EQ(report.done_bytes, 16384 + 4 * kMiB + 3);
      EXPECT_EQ(report.flags & HPZ_JOB_NO_PROOF, 0u);
      file.clear(extents, 0);
    }
    EXPECT_TRUE(file.is_as_expected());
  }
  void check_clearing() {
    check(hpz_space_zero);
    check(hpz_space_reset);
  }
};
HPZERO_BY_WAY(FileShims);

TEST_P(FileShims, field_E2_holes_of_whole_huge_pages) {
  g_shims.inward = kHuge;
  check_clearing();
  check(hpz_space_release);
  EXPECT_GT(g_fallocates, 0) << "the shim was in the way";
}

TEST_P(FileShims, field_E2_holes_that_are_none) {
  g_shims.is_idle = true;
  check_clearing();
  check(hpz_space_release);
  EXPECT_GT(g_fallocates, 0);
}

// Row E4: another way is taken, and only where there is none it is an error.
TEST_P(FileShims, field_E4_no_holes) {
  for (const int error : {EOPNOTSUPP, ENOSYS, ENODEV}) {
    g_shims.refusal = error;
    check_clearing();
    check(hpz_space_release, -EOPNOTSUPP);
  }
  for (const int error : {EINVAL, EBUSY, ENOSPC, EPERM}) {
    g_shims.refusal = error;
    check_clearing();
  }
  check(hpz_space_release, -EPERM);
}

// ... is no reason to try again and again.
TEST_P(FileShims, field_E4_a_refusal_is_remembered) {
  g_shims.refusal = EOPNOTSUPP;
  PoisonedFile file(memfd_create("refused", MFD_CLOEXEC), 8 * kMiB);
  const SpacePointer space = make_file_space(file.fd(), 0, file.bytes(), way());
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.chunk_bytes = 64 * 1024;
  ASSERT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, &options, nullptr), 0);
  EXPECT_EQ(g_fallocates > 0, is(HPZ_SPACE_PUNCH)) << "tried at all";
  EXPECT_LE(g_fallocates, 5) << "once for each thread that did not know yet";
  const int before = g_fallocates;
  ASSERT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, &options, nullptr), 0);
  EXPECT_EQ(g_fallocates, before);
}

TEST_P(FileShims, field_E14_aligned_mappings) {
  for (const off_t alignment : {kHuge, off_t{1} << 30}) {
    g_shims.alignment = alignment;
    check_clearing();
  }
  EXPECT_GT(g_mmaps, 0);
  g_shims.alignment = kHuge;
  PoisonedFile file(memfd_create("aligned", MFD_CLOEXEC), 8 * kMiB);
  const SpacePointer space = make_file_space(file.fd(), 5000, 7 * kMiB, way());
  EXPECT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, nullptr, nullptr), 0);
  EXPECT_TRUE(file.is_as_expected());
}

// The other ways take 1 GiB of memory for that.
std::vector<FileWay> punching_ways() {
  std::vector<FileWay> ways;
  for (const FileWay &way : kFileWays) {
    if ((way.flags & HPZ_SPACE_PUNCH) != 0) ways.push_back(way);
  }
  return ways;
}
class FileShimsPunching : public FileShims {};
INSTANTIATE_TEST_SUITE_P(, FileShimsPunching,
                         testing::Combine(testing::ValuesIn(punching_ways()),
                                          testing::Values(0u, 1u, 2u, 5u)),
                         way_name);

// Pages of 1 GiB, which chunks of 32 MiB would never give back.
TEST_P(FileShimsPunching, holes_of_the_largest_pages) {
  g_shims.alignment = off_t{1} << 30;
  PoisonedFile file(memfd_create("largest", MFD_CLOEXEC), 0);
  ASSERT_EQ(ftruncate(file.fd(), off_t{3} << 30), 0);
  ASSERT_EQ(pwrite(file.fd(), "data", 4, (off_t{1} << 30) + 5), 4);
  const SpacePointer space = make_file_space(file.fd(), 0, uint64_t{3} << 30, way());
  const hpz_extent extent = {uint64_t{1} << 30, uint64_t{2} << 30};
  ASSERT_EQ(hpz_space_zero(space.get(), team(), &extent, 1, nullptr, nullptr), 0);
  EXPECT_EQ(file.blocks_bytes(), 0u);
  char content[4] = {1, 1, 1, 1};
  ASSERT_EQ(pread(file.fd(), content, 4, (off_t{1} << 30) + 5), 4);
  EXPECT_EQ(std::string(content, 4), std::string(4, '\0'));
}

// DAX: neither holes nor small pages.
TEST_P(FileShims, field_E14_aligned_mappings_without_holes) {
  g_shims.alignment = kHuge;
  g_shims.refusal = EOPNOTSUPP;
  check_clearing();
  check(hpz_space_release, -EOPNOTSUPP);
}

// A file system that maps nothing, or a sandbox in which nobody may.
TEST_P(FileShims, no_mappings) {
  for (const int error : {ENODEV, EPERM, ENOSYS, EINVAL}) {
    g_shims = Shims();
    g_mmaps = 0;
    g_shims.map_error = error;
    check_clearing();
    check(hpz_space_release);
    g_shims.refusal = EOPNOTSUPP;
    check_clearing();
    check(hpz_space_release, -EOPNOTSUPP);
    EXPECT_GT(g_mmaps, 0) << "the shim was in the way";
  }
}

TEST_P(FileShims, no_mappings_populate) {
  for (const int error : {ENODEV, EPERM, ENOSYS, EINVAL}) {
    g_shims = Shims();
    g_mmaps = 0;
    g_shims.map_error = error;
    PoisonedFile file(memfd_create("fresh", MFD_CLOEXEC), 0);
    ASSERT_EQ(ftruncate(file.fd(), 4 * kMiB), 0);
    const SpacePointer space = make_file_space(file.fd(), 0, 4 * kMiB, way());
    ASSERT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, nullptr, nullptr), 0);
    EXPECT_EQ(file.blocks_bytes(), 4 * kMiB);
    g_shims.refusal = ENOSYS;
    EXPECT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, nullptr, nullptr), -EOPNOTSUPP);
    EXPECT_GT(g_mmaps, 0) << "the shim was in the way";
  }
}

TEST_P(FileShims, no_room_for_a_page) {
  PoisonedFile file(memfd_create("room", MFD_CLOEXEC), kMiB);
  g_shims.map_error = ENOMEM;
  hpz_space *space = nullptr;
  EXPECT_EQ(create_file_space(file.fd(), 0, kMiB, way(), &space), -ENOMEM);
}

// What is there when the space is made is gone later: an error, and nothing is claimed.
TEST_P(FileShims, no_windows_later) {
  PoisonedFile file(memfd_create("later", MFD_CLOEXEC), 8 * kMiB);
  const SpacePointer space = make_file_space(file.fd(), 0, file.bytes(), way());
  g_shims.map_error = ENOMEM;
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  const hpz_extent extent = {100, 7 * kMiB};
  const int result = hpz_space_zero(space.get(), team(), &extent, 1, nullptr, &report);
  if (way().window_bytes == 0) {
    EXPECT_EQ(result, 0) << "the lasting mapping is there";
    file.clear(100, 7 * kMiB);
  } else {
    EXPECT_EQ(result, -ENOMEM);
    EXPECT_LT(report.first_bad_offset, 8 * kMiB);
    if (!is(HPZ_SPACE_PUNCH)) {
      EXPECT_EQ(report.done_bytes, 0u);
    }
  }
  if (result == 0 || !is(HPZ_SPACE_PUNCH)) {
    EXPECT_TRUE(file.is_as_expected());
  }
}

}  // namespace
}  // namespace hpz::test
