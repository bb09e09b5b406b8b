// SPDX-License-Identifier: BSD-2-Clause
//
// By mappings where there are no writes (hugetlbfs).
#include "tests/support/poisoned_file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "tests/support/guarded_buffer.h"
#include "tests/support/memory.h"

namespace hpz::test {

PoisonedFile::PoisonedFile(int fd, size_t bytes) : fd_(fd) {
  EXPECT_GE(fd, 0);
  EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(lseek(fd, kPlace, SEEK_SET), kPlace);
  model_.resize(bytes);
  fill(0, bytes, kPoison);
}

PoisonedFile::~PoisonedFile() {
  close(fd_);
}

uint64_t PoisonedFile::blocks_bytes() const {
  struct stat status = {};
  fsync(fd_);  // some file systems count only then
  EXPECT_EQ(fstat(fd_, &status), 0);
  return static_cast<uint64_t>(status.st_blocks) * 512;
}

void PoisonedFile::fill(size_t at, size_t len, unsigned char value) {
  std::fill_n(model_.begin() + static_cast<ptrdiff_t>(at), len, value);
  for (size_t done = 0; done < len;) {
    const ssize_t got =
        pwrite(fd_, model_.data() + at + done, len - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINVAL) {
      const Memory memory(fd_, bytes(), MAP_SHARED);
      ASSERT_NE(memory.begin(), nullptr);
      memset(memory.begin() + at, value, len);
      return;
    }
    ASSERT_GT(got, 0) << strerror(errno);
    done += static_cast<size_t>(got);
  }
}

void PoisonedFile::clear(size_t at, size_t len) {
  std::fill_n(model_.begin() + static_cast<ptrdiff_t>(at), len, static_cast<unsigned char>(0));
}

void PoisonedFile::clear(const std::vector<hpz_extent> &extents, size_t from) {
  for (const hpz_extent &extent : extents) clear(from + extent.offset, extent.len);
}

testing::AssertionResult PoisonedFile::is_as_expected() const {
  struct stat status = {};
  if (fstat(fd_, &status) != 0 || static_cast<size_t>(status.st_size) != bytes()) {
    return testing::AssertionFailure() << "the size is " << status.st_size;
  }
  if (lseek(fd_, 0, SEEK_CUR) != kPlace) {
    return testing::AssertionFailure() << "the offset is " << lseek(fd_, 0, SEEK_CUR);
  }
  std::vector<unsigned char> part(1 << 20);
  for (size_t at = 0; at < bytes();) {
    const ssize_t got =
        pread(fd_, part.data(), std::min(part.size(), bytes() - at), static_cast<off_t>(at));
    if (got <= 0) return testing::AssertionFailure() << "cannot be read at " << at;
    const auto size = static_cast<size_t>(got);
    if (memcmp(part.data(), model_.data() + at, size) != 0) {
      const auto differs = std::mismatch(part.begin(), part.begin() + got,
                                         model_.begin() + static_cast<ptrdiff_t>(at));
      return testing::AssertionFailure()
             << "at " << at + static_cast<size_t>(differs.first - part.begin()) << " is "
             << int{*differs.first} << ", not " << int{*differs.second};
    }
    at += size;
  }
  return testing::AssertionSuccess();
}

}  // namespace hpz::test
