// SPDX-License-Identifier: BSD-2-Clause
//
// The verbs on memory files: exact bytes, whatever the way; holes, sizes, offsets and seals.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <vector>

#include "tests/space/file_ways.h"
#include "tests/support/descriptors.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/poisoned_file.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/settings.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;

using Verb = decltype(&hpz_space_zero);

// qemu-user 7.2 answers some fallocate and all madvise with 0; by a page of our own.
bool are_holes_punched() {
  PoisonedFile file(memfd_create("probe", MFD_CLOEXEC), 4096);
  return fallocate(file.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0 &&
         file.blocks_bytes() == 0;
}

int memory_file(unsigned flags = 0) {
  return memfd_create("file", MFD_CLOEXEC | flags);
}

class FileVerbs : public ByWay {};
HPZERO_BY_WAY(FileVerbs);

const std::vector<std::vector<hpz_extent>> kExtentLists = {
    {{0, 1}},
    {{1, 4095}, {4097, 4096}, {12288, 8192}},
    {{5000, 100}, {2 * kMiB - 4096, 8192}, {4 * kMiB + 1, kMiB + 7}},
    {{65536 - 3, 6}, {3 * kMiB, 65536}, {3 * kMiB + 2 * 65536, 1}},
    {{0, 6 * kMiB}},
    {{6 * kMiB - 1, 1}, {6 * kMiB - 5, 2}},
};

TEST_P(FileVerbs, exact_bytes) {
  for (const Verb verb : {hpz_space_zero, hpz_space_reset, hpz_space_release}) {
    for (const size_t from : Sizes{12345, 0, 4096}) {
      if (from != 12345 && quick()) continue;
      for (const std::vector<hpz_extent> &extents : kExtentLists) {
        PoisonedFile file(memory_file(), from + 6 * kMiB + 4321);
        const SpacePointer space = make_file_space(file.fd(), from, 6 * kMiB, way());
        hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
        options.chunk_bytes = 256 * 1024;
        hpz_job_report report = HPZ_JOB_REPORT_INIT;
        ASSERT_EQ(verb(space.get(), team(), extents.data(), extents.size(), &options, &report), 0);
        uint64_t bytes = 0;
        for (const hpz_extent &extent : extents) bytes += extent.len;
        EXPECT_EQ(report.done_bytes, bytes);
        EXPECT_EQ(report.cleared_bytes + report.skipped_bytes, bytes);
        EXPECT_EQ(report.first_bad_offset, UINT64_MAX);
        file.clear(extents, from);
        ASSERT_TRUE(file.is_as_expected()) << "from " << from;
      }
    }
  }
}

TEST_P(FileVerbs, whole_spaces_that_end_with_the_file) {
  for (const Verb verb : {hpz_space_zero, hpz_space_reset, hpz_space_release}) {
    for (const size_t bytes : Sizes{1, 4095, 4096, 70'001, 5 * kMiB + 5}) {
      PoisonedFile file(memory_file(), 100 + bytes);
      const SpacePointer space = make_file_space(file.fd(), 100, bytes, way());
      ASSERT_EQ(verb(space.get(), team(), nullptr, 0, nullptr, nullptr), 0);
      file.clear(100, bytes);
      ASSERT_TRUE(file.is_as_expected()) << bytes;
      EXPECT_EQ(verb(space.get(), team(), nullptr, 0, nullptr, nullptr), 0) << "again";
      ASSERT_TRUE(file.is_as_expected()) << bytes;
    }
  }
}

TEST_P(FileVerbs, populate_keeps_what_there_is) {
  PoisonedFile file(memory_file(), 100);
  ASSERT_EQ(ftruncate(file.fd(), 4 * kMiB), 0);
  const SpacePointer space = make_file_space(file.fd(), 50, 4 * kMiB - 50, way());
  const hpz_extent extents[] = {{0, 1}, {kMiB, kMiB}};
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  ASSERT_EQ(hpz_space_populate(space.get(), team(), extents, 2, nullptr, &report), 0);
  EXPECT_EQ(report.populated_bytes, kMiB + 1);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(file.blocks_bytes(), page + kMiB + page) << "whole pages, and no others";
  ASSERT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(report.populated_bytes, 4 * kMiB - 50);
  EXPECT_EQ(file.blocks_bytes(), 4 * kMiB);
  unsigned char first[101];
  ASSERT_EQ(pread(file.fd(), first, sizeof first, 0), 101);
  EXPECT_TRUE(all_are(first, first + 100, kPoison, "the content"));
  EXPECT_EQ(first[100], 0);
}

// Row E9.
TEST_P(FileVerbs, field_E9_holes) {
  if (!are_holes_punched()) GTEST_SKIP() << "NOT TESTED HERE: holes are not punched";
  const size_t size = quick() ? 32 * kMiB : 256 * kMiB;
  PoisonedFile file(memory_file(), 0);
  ASSERT_EQ(ftruncate(file.fd(), static_cast<off_t>(size)), 0);
  const size_t data = size / 2 + 4096;
  const auto write_data = [&] {
    const std::vector<char> poison(70'000, static_cast<char>(kPoison));
    ASSERT_EQ(pwrite(file.fd(), poison.data(), poison.size(), static_cast<off_t>(data)), 70'000);
  };
  write_data();
  const uint64_t sparse = file.blocks_bytes();
  ASSERT_LE(sparse, 128 * 1024u);
  const SpacePointer space = make_file_space(file.fd(), 0, size, way());
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  ASSERT_EQ(hpz_space_reset(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(report.done_bytes, size);
  EXPECT_LE(report.cleared_bytes, sparse);
  EXPECT_EQ(report.flags & HPZ_JOB_NO_PROOF, 0u);
  EXPECT_LE(file.blocks_bytes(), sparse) << "reset fills no holes, whatever the flags";
  write_data();
  ASSERT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(report.done_bytes, size);
  if (is(HPZ_SPACE_ALLOCATE)) {
    EXPECT_EQ(file.blocks_bytes(), size);
    EXPECT_EQ(report.cleared_bytes, size);
  } else {
    EXPECT_EQ(file.blocks_bytes(), is(HPZ_SPACE_PUNCH) ? 0 : sparse);
    EXPECT_EQ(report.cleared_bytes, is(HPZ_SPACE_PUNCH) ? 0 : sparse);
  }
  std::vector<unsigned char> content(70'000, 1);
  ASSERT_EQ(pread(file.fd(), content.data(), content.size(), static_cast<off_t>(data)), 70'000);
  EXPECT_TRUE(all_are(content.data(), content.data() + content.size(), 0, "the data"));
  ASSERT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(file.blocks_bytes(), size) << "populate fills them";
  ASSERT_EQ(hpz_space_release(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(file.blocks_bytes(), 0u) << "release leaves nothing else";
  EXPECT_EQ(report.skipped_bytes, size);
  EXPECT_EQ(lseek(file.fd(), 0, SEEK_CUR), PoisonedFile::kPlace)
      << "the caller's offset is the caller's";
}

// Row E8: between chunks it is seen, in a chunk it is a fault; the size is nobody's but the
// caller's.
struct Shortening {
  int fd;
  off_t to;
};
int shorten(void *user, uint64_t, uint64_t) {
  const auto *const shortening = static_cast<const Shortening *>(user);
  return ftruncate(shortening->fd, shortening->to);
}

class FileAlone : public testing::TestWithParam<FileWay> {};
INSTANTIATE_TEST_SUITE_P(, FileAlone, testing::ValuesIn(kFileWays),
                         [](const auto &its) { return std::string(its.param.name); });

// By the calling thread alone, which is nowhere else while it shortens the file.
TEST_P(FileAlone, field_E8_truncated_between_chunks) {
  for (const Verb verb : {hpz_space_zero, hpz_space_populate, hpz_space_reset, hpz_space_release}) {
    PoisonedFile file(memory_file(), 8 * kMiB + 10);
    const SpacePointer space = make_file_space(file.fd(), 10, 8 * kMiB, GetParam());
    Shortening shortening = {file.fd(), 3 * kMiB + 500};
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.chunk_bytes = kMiB;
    options.progress = shorten;
    options.user = &shortening;
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    ASSERT_EQ(verb(space.get(), nullptr, nullptr, 0, &options, &report), -EFAULT);
    EXPECT_EQ(report.first_bad_offset, 3 * kMiB + 490) << "the file's end";
    EXPECT_GE(report.done_bytes, kMiB - 10);
    EXPECT_LE(report.done_bytes, 3 * kMiB);
    file.forget_model_from(3 * kMiB + 500);
    if (verb != hpz_space_populate) file.clear(10, report.done_bytes);
    EXPECT_TRUE(file.is_as_expected()) << "what is told to be done is, and no more";
    // No space is made of what is gone, and one that is there finds nothing.
    hpz_space *gone = nullptr;
    EXPECT_EQ(hpz_space_file(file.fd(), 10, 8 * kMiB, nullptr, &gone), -EINVAL);
    ASSERT_EQ(ftruncate(file.fd(), 0), 0);
    EXPECT_EQ(verb(space.get(), nullptr, nullptr, 0, nullptr, &report), -EFAULT);
    EXPECT_EQ(report.first_bad_offset, 0u);
    EXPECT_EQ(report.done_bytes, 0u);
    EXPECT_EQ(lseek(file.fd(), 0, SEEK_END), 0) << "still empty";
  }
}

// Random verbs on random extents, writes and holes of others in between, against a copy.
TEST_P(FileVerbs, model) {
  if (!are_holes_punched()) GTEST_SKIP() << "NOT TESTED HERE: holes are not punched";
  std::mt19937_64 random(seed());
  SCOPED_TRACE("HPZERO_TEST_SEED=" + std::to_string(seed()));
  const size_t size = 3 * kMiB, from = random() % 10'000;
  PoisonedFile file(memory_file(), from + size + random() % 5000);
  const SpacePointer space = make_file_space(file.fd(), from, size, way());
  const auto pick = [&](size_t &at, size_t &len) {
    at = random() % size;
    const size_t most = random() % 2 == 0 ? size_t{20'000} : kMiB;
    len = std::min(random() % most, size - at);
    if (random() % 4 == 0) at &= ~size_t{4095};
    if (random() % 4 == 0) len &= ~size_t{4095};
  };
  for (int i = 0; i < (quick() ? 30 : 150); ++i) {
    size_t at, len;
    pick(at, len);
    switch (random() % 8) {
      case 0:
      case 1:
        file.fill(from + at, len, static_cast<unsigned char>(1 + random() % 255));
        break;
      case 2:
        if (len == 0) break;
        ASSERT_EQ(fallocate(file.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                            static_cast<off_t>(from + at), static_cast<off_t>(len)),
                  0);
        file.clear(from + at, len);
        break;
      default: {
        constexpr Verb kVerbs[] = {hpz_space_zero, hpz_space_reset, hpz_space_release,
                                   hpz_space_populate};
        const Verb verb = kVerbs[random() % 4];
        std::vector<hpz_extent> extents;
        for (size_t count = 1 + random() % 5; count != 0; --count) {
          pick(at, len);
          extents.push_back({at, len});
        }
        hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
        options.chunk_bytes = random() % 2 == 0 ? 0 : uint64_t{8192} << random() % 8;
        ASSERT_EQ(verb(space.get(), team(), extents.data(), extents.size(), &options, nullptr), 0);
        if (verb != hpz_space_populate) file.clear(extents, from);
      }
    }
    ASSERT_TRUE(file.is_as_expected()) << "step " << i;
  }
}

// Whether there are holes to punch is asked where no data can be, also of a file that grew.
TEST(FileGrown, release_touches_nothing_behind) {
  if (!are_holes_punched()) GTEST_SKIP() << "NOT TESTED HERE: no holes";
  const PoisonedFile file(memory_file(), kMiB);
  hpz_space *space = nullptr;
  ASSERT_EQ(hpz_space_file(file.fd(), 0, kMiB, nullptr, &space), 0);
  const SpacePointer owner(space, hpz_space_destroy);
  constexpr off_t kFar = off_t{1} << 40;
  ASSERT_EQ(ftruncate(file.fd(), 2 * kFar), 0);
  const char precious = 'p';
  for (const off_t at : {off_t{kMiB}, kFar, kFar + off_t{kMiB}, 2 * kFar - 1}) {
    ASSERT_EQ(pwrite(file.fd(), &precious, 1, at), 1);
  }
  ASSERT_EQ(hpz_space_release(space, nullptr, nullptr, 0, nullptr, nullptr), 0);
  for (const off_t at : {off_t{kMiB}, kFar, kFar + off_t{kMiB}, 2 * kFar - 1}) {
    char found = 0;
    ASSERT_EQ(pread(file.fd(), &found, 1, at), 1);
    EXPECT_EQ(found, precious) << at;
  }
}

// To a process that could not open the file for writing, mincore calls all of its pages present.
TEST(FileOfOthers, holes_stay_holes) {
  if (geteuid() != 0) GTEST_SKIP() << "NOT TESTED HERE: needs root, to give it up";
  if (kThreadSanitizer || is_set("HPZERO_TEST_EMULATOR")) {
    GTEST_SKIP() << "NOT TESTED HERE: all threads change their user by signals";
  }
  const PoisonedFile file(memory_file(), 0);
  ASSERT_EQ(ftruncate(file.fd(), 16 * kMiB), 0);
  ASSERT_EQ(fchmod(file.fd(), 0644), 0);
  const char data = 1;
  ASSERT_EQ(pwrite(file.fd(), &data, 1, kMiB), 1);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    hpz_space *before = nullptr, *after = nullptr;
    int failed = hpz_space_file(file.fd(), 0, 16 * kMiB, nullptr, &before) != 0 ? 1 : 0;
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) _exit(64);
    failed |= hpz_space_file(file.fd(), 0, 16 * kMiB, nullptr, &after) != 0 ? 2 : 0;
    for (hpz_space *const space : {before, after}) {
      struct stat status = {};
      failed |= pwrite(file.fd(), &data, 1, kMiB) != 1 ? 4 : 0;
      failed |= hpz_space_reset(space, nullptr, nullptr, 0, nullptr, nullptr) != 0 ? 8 : 0;
      failed |= fstat(file.fd(), &status) != 0 || status.st_blocks > 64 ? 16 : 0;
      char found = 1;
      failed |= pread(file.fd(), &found, 1, kMiB) != 1 || found != 0 ? 32 : 0;
    }
    _exit(failed);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// What hpz_space_file says of descriptors.
int create(int fd, uint64_t offset = 0, uint64_t len = 0) {
  hpz_space *space = nullptr;
  const int error = hpz_space_file(fd, offset, len, nullptr, &space);
  EXPECT_EQ(error == 0, space != nullptr);
  hpz_space_destroy(space);
  return error;
}
int create_and_close(int fd) {
  EXPECT_GE(fd, 0);
  const int error = create(fd);
  close(fd);
  return error;
}

TEST(FileSpace, bad_descriptors) {
  EXPECT_EQ(create(-1), -EBADF);
  EXPECT_EQ(create(1 << 20), -EBADF);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  EXPECT_EQ(create_and_close(ends[0]), -ESPIPE);
  EXPECT_EQ(create_and_close(ends[1]), -ESPIPE);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  EXPECT_EQ(create_and_close(ends[0]), -ESPIPE);
  close(ends[1]);
  EXPECT_EQ(create_and_close(open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), -EISDIR);
  EXPECT_EQ(create_and_close(open("/dev/null", O_RDWR | O_CLOEXEC)), -ENODEV);
  EXPECT_EQ(create_and_close(open("/dev/zero", O_RDWR | O_CLOEXEC)), -ENODEV)
      << "can be mapped, and has no content";
  EXPECT_EQ(create_and_close(epoll_create1(EPOLL_CLOEXEC)), -ENODEV);
  const ScratchFolder folder;
  const std::string path = folder.write("file", std::string(100, 'f'));
  EXPECT_EQ(create_and_close(open(path.c_str(), O_RDONLY | O_CLOEXEC)), -EACCES);
  EXPECT_EQ(create_and_close(open(path.c_str(), O_WRONLY | O_CLOEXEC)), -EACCES);
  EXPECT_EQ(create_and_close(open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC)), -EPERM);
  EXPECT_EQ(create_and_close(open(path.c_str(), O_PATH | O_CLOEXEC)), -EBADF);
  EXPECT_EQ(create_and_close(open(path.c_str(), O_RDWR | O_CLOEXEC)), 0) << "of no bytes";
  EXPECT_EQ(read_file(path), std::string(100, 'f'));
}

TEST(FileSpace, bad_arguments) {
  PoisonedFile file(memory_file(), 10'000);
  EXPECT_EQ(create(file.fd(), 0, 10'000), 0);
  EXPECT_EQ(create(file.fd(), 10'000, 0), 0);
  EXPECT_EQ(create(file.fd(), 0, 10'001), -EINVAL);
  EXPECT_EQ(create(file.fd(), 10'001, 0), -EINVAL);
  EXPECT_EQ(create(file.fd(), 9'999, 2), -EINVAL);
  EXPECT_EQ(create(file.fd(), 1, UINT64_MAX), -EINVAL) << "wraps";
  EXPECT_EQ(create(file.fd(), UINT64_MAX, 1), -EINVAL);
  EXPECT_EQ(create(file.fd(), UINT64_MAX - 4095, 8192), -EINVAL);
  EXPECT_EQ(hpz_space_file(file.fd(), 0, 1, nullptr, nullptr), -EINVAL);
  hpz_space *space = nullptr;
  hpz_space_options options = HPZ_SPACE_OPTIONS_INIT;
  for (const uint32_t bad : {HPZ_SPACE_PUNCH | HPZ_SPACE_ALLOCATE, UINT32_C(4), UINT32_MAX}) {
    options.flags = bad;
    EXPECT_EQ(hpz_space_file(file.fd(), 0, 1, &options, &space), -EINVAL) << bad;
  }
  options = HPZ_SPACE_OPTIONS_INIT;
  options.page_bytes = 4096;  // the file's pages are its own
  EXPECT_EQ(hpz_space_file(file.fd(), 0, 1, &options, &space), -EINVAL);
  options = HPZ_SPACE_OPTIONS_INIT;
  options.size = 3;
  EXPECT_EQ(hpz_space_file(file.fd(), 0, 1, &options, &space), -EINVAL);
  EXPECT_EQ(space, nullptr);
  // A caller of before window_bytes.
  options = HPZ_SPACE_OPTIONS_INIT;
  options.size = offsetof(hpz_space_options, window_bytes);
  options.window_bytes = 1;
  ASSERT_EQ(hpz_space_file(file.fd(), 0, 10'000, &options, &space), 0);
  EXPECT_EQ(hpz_space_zero(space, nullptr, nullptr, 0, nullptr, nullptr), 0);
  const hpz_extent beyond = {9'999, 2}, wraps = {1, UINT64_MAX};
  EXPECT_EQ(hpz_space_zero(space, nullptr, &beyond, 1, nullptr, nullptr), -EINVAL);
  EXPECT_EQ(hpz_space_zero(space, nullptr, &wraps, 1, nullptr, nullptr), -EINVAL);
  hpz_space_destroy(space);
  file.clear(0, 10'000);
  EXPECT_TRUE(file.is_as_expected());
}

// Sizes that no mapping can have, and windows at the end of what a file can be.
TEST(FileSpace, huge_sparse_files) {
  const int fd = memory_file();
  constexpr uint64_t kBytes = INT64_MAX;
  if (ftruncate(fd, INT64_MAX) != 0) {
    close(fd);
    GTEST_SKIP() << "NOT TESTED HERE: no file of 8 EiB";
  }
  for (const uint64_t window : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
    hpz_space_options options = HPZ_SPACE_OPTIONS_INIT;
    options.window_bytes = window;
    hpz_space *space = nullptr;
    const int error = hpz_space_file(fd, 0, kBytes, &options, &space);
    ASSERT_EQ(error, 0);
    const hpz_extent extents[] = {{0, 5000}, {kBytes - 10'000, 10'000}};
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(hpz_space_zero(space, nullptr, extents, 2, nullptr, &report), 0);
    EXPECT_EQ(report.done_bytes, 15'000u);
    hpz_space_destroy(space);
  }
  close(fd);
}

// Row E10.
TEST(FileSpace, field_E10_seals) {
  for (const int seal : {F_SEAL_WRITE, 0x10 /* F_SEAL_FUTURE_WRITE */}) {
    PoisonedFile file(memory_file(MFD_ALLOW_SEALING), 10'000);
    ASSERT_EQ(fcntl(file.fd(), F_ADD_SEALS, seal), 0);
    for (const FileWay &way : kFileWays) {
      hpz_space *space = nullptr;
      EXPECT_EQ(create_file_space(file.fd(), 0, 10'000, way, &space), -EPERM);
    }
    EXPECT_TRUE(file.is_as_expected());
  }
  PoisonedFile file(memory_file(MFD_ALLOW_SEALING), 10'000);
  ASSERT_EQ(fcntl(file.fd(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
  const SpacePointer space = make_file_space(file.fd(), 100, 9'000, kFileWays[0]);
  EXPECT_EQ(hpz_space_zero(space.get(), nullptr, nullptr, 0, nullptr, nullptr), 0);
  file.clear(100, 9'000);
  EXPECT_TRUE(file.is_as_expected());
  file.fill(0, 10'000, kPoison);
  EXPECT_EQ(hpz_space_release(space.get(), nullptr, nullptr, 0, nullptr, nullptr), 0);
  file.clear(100, 9'000);
  EXPECT_TRUE(file.is_as_expected());
}

// Sealed behind the back of a space that is there: nothing is claimed.
TEST(FileSpace, field_E10_sealed_later) {
  for (const FileWay &way : kFileWays) {
    PoisonedFile file(memory_file(MFD_ALLOW_SEALING), 10'000);
    const SpacePointer space = make_file_space(file.fd(), 0, 10'000, way);
    if (fcntl(file.fd(), F_ADD_SEALS, 0x10 /* F_SEAL_FUTURE_WRITE */) != 0) {
      GTEST_SKIP() << "NOT TESTED HERE: no F_SEAL_FUTURE_WRITE";
    }
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    const hpz_extent extent = {100, 9'000};
    EXPECT_EQ(hpz_space_release(space.get(), nullptr, &extent, 1, nullptr, &report), -EPERM);
    EXPECT_EQ(report.done_bytes, 0u);
    EXPECT_TRUE(file.is_as_expected()) << "nor are the edges cleared";
    if (way.window_bytes != 0 || (way.flags & HPZ_SPACE_PUNCH) != 0) {
      EXPECT_EQ(hpz_space_zero(space.get(), nullptr, nullptr, 0, nullptr, &report), -EPERM);
      EXPECT_EQ(report.done_bytes, 0u);
      EXPECT_TRUE(file.is_as_expected());
    } else {
      // The seal has nothing against a mapping that was there before.
      EXPECT_EQ(hpz_space_zero(space.get(), nullptr, nullptr, 0, nullptr, &report), 0);
    }
  }
}

// The descriptor is the space's own; the caller's goes its way.
TEST(FileSpace, the_descriptor_may_be_closed) {
  const int fd = memory_file();
  PoisonedFile file(dup(fd), 10'000);
  const SpacePointer space = make_file_space(fd, 0, 10'000, kFileWays[1]);
  close(fd);
  EXPECT_EQ(hpz_space_zero(space.get(), nullptr, nullptr, 0, nullptr, nullptr), 0);
  file.clear(0, 10'000);
  EXPECT_TRUE(file.is_as_expected());
}

TEST(FileSpace, descriptors_are_closed) {
  PoisonedFile file(memory_file(), 10'000);
  const int before = next_descriptor();
  for (const FileWay &way : kFileWays) {
    make_file_space(file.fd(), 0, 10'000, way);
    EXPECT_EQ(create(file.fd(), 0, 10'001), -EINVAL);
  }
  EXPECT_EQ(next_descriptor(), before);
}

}  // namespace
}  // namespace hpz::test
