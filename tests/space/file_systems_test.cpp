// SPDX-License-Identifier: BSD-2-Clause
//
// The verbs on the files of file systems that are mounted for it: what each of them zeroes in
// place, punches, and has no room for.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/space/file_ways.h"
#include "tests/support/mounted.h"
#include "tests/support/poisoned_file.h"
#include "tests/support/settings.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;
// Blocks that a file system counts for itself (of extents).
constexpr uint64_t kOwnBytes = 128 * 1024;

struct FileSystem {
  const char *name;
  unsigned mib;         // no smaller one can be made
  bool has_true_holes;  // as the library sees it
  bool is_rewritten;    // what has blocks already needs no new ones to be written to
};
void PrintTo(const FileSystem &system, std::ostream *out) {
  *out << system.name;
}
constexpr FileSystem kFileSystems[] = {{"tmpfs", 64, true, true},
                                       {"ext4", 64, true, true},
                                       {"xfs", 320, true, true},
                                       {"btrfs", 128, true, false},
                                       {"overlay", 64, false, true}};

class FileSystems : public testing::TestWithParam<FileSystem> {
 protected:
  FileSystems() : system_(GetParam().name, GetParam().mib) {}
  void SetUp() override {
    if (!system_.why_not().empty()) GTEST_SKIP() << system_.why_not();
  }
  // Calls each(way, team): alone, and with a team.
  template <class Each> void for_each_way(Each each) const {
    for (const uint32_t threads : {0u, 2u}) {
      if (threads != 0 && quick()) break;
      const TeamPointer team = make_team(threads);
      for (const FileWay &way : kFileWays) {
        SCOPED_TRACE(way.name + (" with a team of " + std::to_string(threads)));
        each(way, team.get());
        if (HasFatalFailure()) return;
      }
    }
  }

  Mounted system_;
};
INSTANTIATE_TEST_SUITE_P(, FileSystems, testing::ValuesIn(kFileSystems),
                         [](const testing::TestParamInfo<FileSystem> &its) {
                           return std::string(its.param.name);
                         });

TEST_P(FileSystems, exact_bytes) {
  const std::vector<hpz_extent> extents = {
      {1, 4095}, {8191, 2}, {64 * 1024 + 5, 300'000}, {2 * kMiB, kMiB}, {4 * kMiB - 9, 9}};
  for_each_way([&](const FileWay &way, hpz_team *team) {
    for (const auto verb : {hpz_space_zero, hpz_space_reset, hpz_space_release}) {
      for (const size_t from : {size_t{0}, size_t{1234}}) {
        PoisonedFile file(system_.file(), from + 4 * kMiB + 5);
        const SpacePointer space = make_file_space(file.fd(), from, 4 * kMiB, way);
        hpz_job_report report = HPZ_JOB_REPORT_INIT;
        ASSERT_EQ(verb(space.get(), team, extents.data(), extents.size(), nullptr, &report), 0);
        EXPECT_EQ(report.done_bytes, 4095 + 2 + 300'000 + kMiB + 9);
        file.clear(extents, from);
        ASSERT_TRUE(file.is_as_expected());
        if (verb == hpz_space_reset) {
          EXPECT_EQ((report.flags & HPZ_JOB_NO_PROOF) != 0, !GetParam().has_true_holes);
        }
      }
    }
  });
}

// Row E9.
TEST_P(FileSystems, field_E9_blocks) {
  constexpr size_t kBytes = 24 * kMiB;
  for_each_way([&](const FileWay &way, hpz_team *team) {
    PoisonedFile file(system_.file(), 2 * kMiB);
    ASSERT_EQ(ftruncate(file.fd(), kBytes), 0);
    const uint64_t sparse = file.blocks_bytes();
    ASSERT_LE(sparse, 2 * kMiB + kOwnBytes);
    const SpacePointer space = make_file_space(file.fd(), 0, kBytes, way);
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    ASSERT_EQ(hpz_space_zero(space.get(), team, nullptr, 0, nullptr, &report), 0);
    EXPECT_EQ(report.done_bytes, kBytes);
    if ((way.flags & HPZ_SPACE_ALLOCATE) != 0 || !GetParam().has_true_holes) {
      EXPECT_GE(file.blocks_bytes(), kBytes);
    } else if ((way.flags & HPZ_SPACE_PUNCH) != 0) {
      EXPECT_LE(file.blocks_bytes(), kOwnBytes);
    } else {
      EXPECT_LE(file.blocks_bytes(), sparse + kOwnBytes);
      EXPECT_GE(file.blocks_bytes(), 2 * kMiB);
    }
    ASSERT_EQ(hpz_space_populate(space.get(), team, nullptr, 0, nullptr, &report), 0);
    EXPECT_EQ(report.populated_bytes, kBytes);
    EXPECT_GE(file.blocks_bytes(), kBytes);
    ASSERT_EQ(hpz_space_release(space.get(), team, nullptr, 0, nullptr, &report), 0);
    EXPECT_EQ(report.skipped_bytes, kBytes);
    EXPECT_LE(file.blocks_bytes(), kOwnBytes);
    ASSERT_EQ(lseek(file.fd(), 0, SEEK_END), static_cast<off_t>(kBytes));
    ASSERT_EQ(lseek(file.fd(), 0, SEEK_DATA), -1) << "nothing is left";
  });
}

// What is still in the page cache alone, or was written through another mapping, is data.
TEST_P(FileSystems, unwritten_data_is_data) {
  for_each_way([&](const FileWay &way, hpz_team *team) {
    PoisonedFile file(system_.file(), 0);
    ASSERT_EQ(ftruncate(file.fd(), 4 * kMiB), 0);
    ASSERT_EQ(fallocate(file.fd(), FALLOC_FL_KEEP_SIZE, kMiB, kMiB), 0);
    const SpacePointer space = make_file_space(file.fd(), 0, 4 * kMiB, way);
    const Memory other(file.fd(), 4 * kMiB, MAP_SHARED);
    for (const size_t at : {size_t{5}, kMiB + 4096, 3 * kMiB - 1}) other.begin()[at] = 1;
    ASSERT_EQ(hpz_space_reset(space.get(), team, nullptr, 0, nullptr, nullptr), 0);
    ASSERT_TRUE(hpz_is_zero(other.begin(), other.bytes()));
    for (const size_t at : {size_t{5}, kMiB + 4096, 3 * kMiB - 1}) other.begin()[at] = 1;
    ASSERT_EQ(hpz_space_zero(space.get(), team, nullptr, 0, nullptr, nullptr), 0);
    ASSERT_TRUE(hpz_is_zero(other.begin(), other.bytes()));
  });
}

// A store to a hole would be a signal.
TEST_P(FileSystems, full) {
  const auto bytes = static_cast<uint64_t>(GetParam().mib + 64) << 20;
  for_each_way([&](const FileWay &way, hpz_team *team) {
    PoisonedFile file(system_.file(), 0);
    ASSERT_EQ(ftruncate(file.fd(), static_cast<off_t>(bytes)), 0);
    const SpacePointer space = make_file_space(file.fd(), 0, bytes, way);
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    const auto is_shortage = [](int error) { return error == -ENOMEM || error == -ENOSPC; };
    const int populated = hpz_space_populate(space.get(), team, nullptr, 0, nullptr, &report);
    EXPECT_TRUE(is_shortage(populated)) << populated;
    EXPECT_LT(report.first_bad_offset, bytes);
    EXPECT_LT(report.done_bytes, bytes);
    // Nothing is left for the first page, which begins before this space does.
    const SpacePointer rest = make_file_space(file.fd(), bytes - kMiB + 100, kMiB - 100, way);
    EXPECT_TRUE(is_shortage(hpz_space_populate(rest.get(), team, nullptr, 0, nullptr, &report)));
    EXPECT_LT(report.first_bad_offset, kMiB);
    EXPECT_LT(report.done_bytes, kMiB - 100);
    const int zeroed = hpz_space_zero(space.get(), team, nullptr, 0, nullptr, &report);
    if ((way.flags & HPZ_SPACE_ALLOCATE) != 0 || !GetParam().has_true_holes) {
      EXPECT_TRUE(is_shortage(zeroed)) << zeroed;
      EXPECT_LT(report.done_bytes, bytes);
    } else if (zeroed != 0) {
      EXPECT_FALSE(GetParam().is_rewritten);
      EXPECT_TRUE(is_shortage(zeroed)) << zeroed;
    }
    EXPECT_EQ(hpz_space_release(space.get(), team, nullptr, 0, nullptr, nullptr), 0);
  });
}

// A block device is a file without holes, whose size is the device's.
TEST(BlockDevices, exact_bytes) {
  const Mounted system("device", 8);
  if (!system.why_not().empty()) GTEST_SKIP() << system.why_not();
  std::vector<unsigned char> model(8 * kMiB, 0xA5), content(model.size());
  const std::vector<hpz_extent> extents = {{1, 4095}, {kMiB - 1, 2 * kMiB}, {7 * kMiB + 100, 100}};
  hpz_space *beyond = nullptr;
  EXPECT_EQ(hpz_space_file(system.device(), 0, 8 * kMiB + 1, nullptr, &beyond), -EINVAL);
  // It is the device's to say whether it can give anything back.
  const bool punches =
      fallocate(system.device(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0;
  for (const FileWay &way : kFileWays) {
    SCOPED_TRACE(way.name);
    for (const auto verb : {hpz_space_zero, hpz_space_reset, hpz_space_release}) {
      std::fill(model.begin(), model.end(), static_cast<unsigned char>(0xA5));
      ASSERT_EQ(pwrite(system.device(), model.data(), model.size(), 0),
                static_cast<ssize_t>(model.size()));
      const SpacePointer space = make_file_space(system.device(), 0, model.size(), way);
      const int result =
          verb(space.get(), nullptr, extents.data(), extents.size(), nullptr, nullptr);
      ASSERT_EQ(result, verb == hpz_space_release && !punches ? -EOPNOTSUPP : 0);
      if (result == 0) {
        for (const hpz_extent &extent : extents) {
          std::fill_n(model.begin() + static_cast<ptrdiff_t>(extent.offset), extent.len,
                      static_cast<unsigned char>(0));
        }
      }
      ASSERT_EQ(pread(system.device(), content.data(), content.size(), 0),
                static_cast<ssize_t>(content.size()));
      EXPECT_TRUE(content == model);
    }
  }
}

}  // namespace
}  // namespace hpz::test
