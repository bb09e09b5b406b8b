// SPDX-License-Identifier: BSD-2-Clause
//
// The verb release: reads zero and is not resident, or an error before anything is done.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "tests/support/guarded_buffer.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/workers.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;

class ReleaseVerb : public ByWorkers {};
HPZERO_BY_WORKERS(ReleaseVerb);

TEST_P(ReleaseVerb, private_anonymous_memory) {
  const Memory memory(24 * kMiB);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  memset(memory.begin(), kPoison, memory.bytes());
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  // Edges in the middle of pages, and of transparent huge ones.
  const hpz_extent extent = {100, 20 * kMiB};
  ASSERT_EQ(hpz_space_release(space.get(), team(), &extent, 1, nullptr, &report), 0);
  EXPECT_EQ(report.done_bytes, 20 * kMiB);
  EXPECT_EQ(report.skipped_bytes, 20 * kMiB - page);
  EXPECT_EQ(report.cleared_bytes, page);
  EXPECT_TRUE(all_are(memory.begin(), memory.begin() + 100, kPoison, "before"));
  EXPECT_TRUE(all_are(memory.begin() + 100 + 20 * kMiB, memory.end(), kPoison, "behind"));
  EXPECT_LE(memory.resident_bytes(), 4 * kMiB + 2 * page);
  EXPECT_TRUE(hpz_is_zero(memory.begin() + 100, 20 * kMiB));
}

// qemu-user 7.2 answers 0 and does nothing, which no library can know. By a page of our own.
bool are_holes_punched() {
  const int fd = memfd_create("one page", MFD_CLOEXEC);
  EXPECT_EQ(ftruncate(fd, 4096), 0);
  const Memory page(fd, 4096, MAP_SHARED);
  close(fd);
  page.begin()[7] = 1;
  return madvise(page.begin(), 4096, MADV_REMOVE) != 0 || page.begin()[7] == 0;
}

TEST_P(ReleaseVerb, shared_memory_gets_a_hole) {
  if (!are_holes_punched()) GTEST_SKIP() << "NOT TESTED HERE: MADV_REMOVE says yes and does not";
  const int fd = memfd_create("shared", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, 8 * kMiB), 0);
  const Memory memory(fd, 8 * kMiB, MAP_SHARED);
  memset(memory.begin(), kPoison, memory.bytes());
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  const hpz_extent extent = {4096, 7 * kMiB};
  ASSERT_EQ(hpz_space_release(space.get(), team(), &extent, 1, nullptr, &report), 0);
  struct stat file;
  ASSERT_EQ(fstat(fd, &file), 0);
  EXPECT_EQ(file.st_size, 8 << 20) << "the size is the file's own";
  EXPECT_LE(file.st_blocks * 512, 1 << 20);
  EXPECT_TRUE(hpz_is_zero(memory.begin() + 4096, 7 * kMiB));
  EXPECT_TRUE(all_are(memory.begin(), memory.begin() + 4096, kPoison, "before"));
  EXPECT_TRUE(all_are(memory.begin() + 4096 + 7 * kMiB, memory.end(), kPoison, "behind"));
  close(fd);
}

// The kernel punches holes past the end of a file without a word.
TEST_P(ReleaseVerb, file_shorter_than_its_mapping) {
  if (!are_holes_punched()) GTEST_SKIP() << "NOT TESTED HERE: MADV_REMOVE says yes and does not";
  for (const size_t inside : {3 * kMiB, 4 * kMiB + 100}) {
    const int fd = memfd_create("short", MFD_CLOEXEC);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(ftruncate(fd, static_cast<off_t>(inside)), 0);
    const Memory memory(fd, 8 * kMiB, MAP_SHARED);
    memset(memory.begin(), kPoison, inside);
    const size_t end = (inside + 4095) / 4096 * 4096;  // the last page is the file's
    const SpacePointer space = make_space(memory.begin(), memory.bytes());
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.threads = 1;
    options.chunk_bytes = 2 * kMiB;
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(hpz_space_release(space.get(), team(), nullptr, 0, &options, &report), -EFAULT);
    EXPECT_EQ(report.first_bad_offset, end);
    EXPECT_LE(report.done_bytes, end);
    size_t zero = 0;
    for (size_t at = 0; at < end; at += 4096) {
      zero += hpz_is_zero(memory.begin() + at, 4096) != 0 ? size_t{4096} : 0;
    }
    EXPECT_EQ(zero, report.done_bytes) << "what is said to be given back, and no more";
    close(fd);
  }
}

// Row E1's kind: what would come back as the file's content is not given back.
TEST_P(ReleaseVerb, private_file_mapping_is_refused) {
  const ScratchFolder folder;
  const std::string path = folder.write("file", std::string(kMiB, 'f'));
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  const Memory file(fd, kMiB, MAP_PRIVATE), memory(kMiB);
  close(fd);
  memset(memory.begin(), kPoison, memory.bytes());
  memset(file.begin(), kPoison, file.bytes());
  const SpacePointer space =
      make_space({{memory.begin(), memory.bytes()}, {file.begin(), file.bytes()}});
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_space_release(space.get(), team(), nullptr, 0, nullptr, &report), -EOPNOTSUPP);
  EXPECT_EQ(report.first_bad_offset, kMiB);
  EXPECT_EQ(report.done_bytes, 0u);
  EXPECT_TRUE(all_are(memory.begin(), memory.end(), kPoison, "nothing was done"));
}

TEST_P(ReleaseVerb, locked_memory_is_refused) {
  const Memory memory(64 * 1024);
  memset(memory.begin(), kPoison, memory.bytes());
  // By number: sanitizers make mlock a call that does nothing.
  if (syscall(SYS_mlock, memory.begin(), memory.bytes()) != 0) {
    GTEST_SKIP() << "NOT TESTED HERE: no mlock";
  }
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  EXPECT_EQ(hpz_space_release(space.get(), team(), nullptr, 0, nullptr, nullptr), -EOPNOTSUPP);
  EXPECT_TRUE(all_are(memory.begin(), memory.end(), kPoison, "nothing was done"));
}

}  // namespace
}  // namespace hpz::test
