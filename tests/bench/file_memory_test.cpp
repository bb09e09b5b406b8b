// SPDX-License-Identifier: BSD-2-Clause
//
// Memory behind a descriptor: what is written to it the file has, and holes are filled again.
#include "bench/file_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/sizes.h"
#include "tests/support/settings.h"

namespace hpz::bench {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr uint64_t kBytes = 4 * kMiB;

void expect_one_memory(PageKind kind) {
  uint64_t told = 0;
  const FileMemory memory(kind, kBytes, [&](uint64_t done) { told = done; });
  EXPECT_EQ(told, kBytes);
  EXPECT_EQ(memory.bytes(), kBytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.base()) % page_bytes(kind), 0u);
  struct stat status = {};
  ASSERT_EQ(fstat(memory.fd(), &status), 0);
  EXPECT_EQ(static_cast<uint64_t>(status.st_size), kBytes);
  std::memset(memory.base() + 5000, 0xA5, 3000);
  std::vector<char> read(3002);
  ASSERT_EQ(pread(memory.fd(), read.data(), read.size(), 4999), static_cast<ssize_t>(read.size()));
  EXPECT_EQ(read.front(), 0);
  EXPECT_EQ(read.back(), 0);
  EXPECT_TRUE(std::all_of(read.begin() + 1, read.end() - 1, [](char c) { return c == '\xA5'; }));
}

TEST(FileMemory, IsWhatTheFileHas) {
  expect_one_memory(PageKind::k4k);
  expect_one_memory(PageKind::kThp);
}

TEST(FileMemory, SaysOnWhatPagesItLies) {
  const FileMemory small(PageKind::k4k, kBytes, [](uint64_t) {});
  EXPECT_THAT(small.summary(), HasSubstr("memfd, "));
  // Whether there are huge pages is the machine's; what was got is said in any case.
  const FileMemory huge(PageKind::kThp, kBytes, [](uint64_t) {});
  EXPECT_LE(huge.huge_percent(), 100u);
  EXPECT_THAT(huge.summary(), AnyOf(HasSubstr("huge=always"), HasSubstr("MADV_COLLAPSE"),
                                    HasSubstr("memfd, 100 %")));
}

TEST(FileMemory, HolesAreFilledAgain) {
  FileMemory memory(PageKind::k4k, kBytes, [](uint64_t) {});
  std::memset(memory.base(), 0xA5, kBytes);
  struct stat before = {}, between = {}, after = {};
  ASSERT_EQ(fstat(memory.fd(), &before), 0);
  ASSERT_EQ(fallocate(memory.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 2 * kMiB), 0);
  const auto restore = [&](uint64_t offset) {
    memory.restore(offset, kMiB);
    // An emulator knows nothing of MADV_POPULATE_WRITE, and says that it was done.
    if (test::is_set("HPZERO_TEST_EMULATOR")) std::memset(memory.base() + offset, 0, kMiB);
  };
  constexpr blkcnt_t kBlocks = kMiB / 512;
  restore(kMiB);
  ASSERT_EQ(fstat(memory.fd(), &between), 0);
  EXPECT_EQ(between.st_blocks, before.st_blocks - kBlocks);
  // The hole that is left is the first one.
  EXPECT_EQ(lseek(memory.fd(), 0, SEEK_DATA), static_cast<off_t>(kMiB));
  restore(0);
  ASSERT_EQ(fstat(memory.fd(), &after), 0);
  EXPECT_EQ(after.st_blocks, before.st_blocks);
}

}  // namespace
}  // namespace hpz::bench
