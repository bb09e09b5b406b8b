// SPDX-License-Identifier: BSD-2-Clause
#include "lib/space/file_blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "lib/space/pages.h"
#include "lib/space/retry.h"
#include "lib/zero/scan.h"

namespace hpz {
namespace {

constexpr int kZeroMode = FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;
constexpr int kPunchMode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

off_t offset(uint64_t at) noexcept {
  return static_cast<off_t>(at);
}

// The same file by a description of our own, where /proc lets us. For reading: nothing is changed
// through it.
int reopen(int fd) noexcept {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/thread-self/fd/%d", fd);
  const int own = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (own < 0) return -1;
  struct stat here = {}, there = {};
  if (fstat(fd, &here) == 0 && fstat(own, &there) == 0 && here.st_dev == there.st_dev &&
      here.st_ino == there.st_ino) {
    return own;
  }
  close(own);
  return -1;
}

// Errors that say of the kind of call what it will say again.
bool is_refusal(int error) noexcept {
  return error == -EOPNOTSUPP || error == -ENOSYS || error == -ENODEV || error == -EPERM;
}

}  // namespace

FileBlocks::~FileBlocks() {
  if (seek_fd_ >= 0) close(seek_fd_);
}

void FileBlocks::open(int fd, const FileFacts &facts, bool may_punch) noexcept {
  fd_ = fd;
  facts_ = facts;
  zeroes_ = facts.zeroes_in_place;
  punches_ = may_punch && facts.punches_exactly;
  if (facts.can_shrink) seek_fd_ = reopen(fd);
}

uint64_t FileBlocks::find_data(uint64_t at, uint64_t end) const noexcept {
  const off_t data = lseek(seek_fd_, offset(at), SEEK_DATA);
  if (data >= 0) return std::min(static_cast<uint64_t>(data), end);
  return errno == ENXIO ? end : at;  // for any other reason nothing is proven
}

void FileBlocks::find_data(uint64_t at, uint64_t end, uint64_t &begin_out,
                           uint64_t &end_out) const noexcept {
  begin_out = find_data(at, end);
  end_out = end;
  if (begin_out == end) return;
  const off_t hole = lseek(seek_fd_, offset(begin_out), SEEK_HOLE);
  if (hole > offset(begin_out)) end_out = std::min(static_cast<uint64_t>(hole), end);
}

int FileBlocks::call(int mode, uint64_t at, uint64_t bytes) const noexcept {
  return retry([&] { return fallocate(fd_, mode, offset(at), offset(bytes)); });
}

int FileBlocks::zero(uint64_t at, uint64_t bytes) noexcept {
  const int error = zero_by(kPunchMode, punches_, at, bytes);
  return error == -EOPNOTSUPP ? zero_by(kZeroMode, zeroes_, at, bytes) : error;
}

int FileBlocks::zero_by(int mode, std::atomic<bool> &works, uint64_t at, uint64_t bytes) noexcept {
  if (!works.load(std::memory_order_relaxed)) return -EOPNOTSUPP;
  const int error = call(mode, at, bytes);
  if (error == 0) return is_proven(at, bytes) ? 0 : -EOPNOTSUPP;
  // A sandbox says -EPERM as well, and has nothing against stores to a mapping.
  if (error == -EPERM && is_sealed(fd_)) return error;
  if (is_refusal(error)) works.store(false, std::memory_order_relaxed);
  return error == -EIO ? error : -EOPNOTSUPP;
}

// By a hole where no file has data: at the end of what a file can be, not behind the end that this
// one had once, for it may have grown.
int FileBlocks::try_punch() noexcept {
  if (is_sealed(fd_)) return -EPERM;
  // Of tmpfs, hugetlbfs, xfs and btrfs; of ext4 with blocks of 4 KiB.
  constexpr uint64_t kLongest[] = {(uint64_t{1} << 63) - 1, uint64_t{1} << 44};
  const uint64_t page = facts_.page_bytes;
  for (const uint64_t longest : kLongest) {
    const uint64_t at = (longest & ~(page - 1)) - 2 * page;
    struct stat status = {};
    if (fstat(fd_, &status) != 0) return -errno;
    if (static_cast<uint64_t>(status.st_size) > at) continue;
    const int error = call(kPunchMode, at, page);
    if (error == -EPERM) return error;
    if (is_refusal(error)) return -EOPNOTSUPP;
    if (error != -EFBIG) break;  // others are about the place
  }
  return 0;
}

int FileBlocks::punch(uint64_t at, uint64_t bytes) noexcept {
  const int error = call(kPunchMode, at, bytes);
  if (error == 0) return is_proven(at, bytes) ? 0 : kNotProven;
  if (error == -EPERM) return error;
  return is_refusal(error) || error == -EINVAL ? -EOPNOTSUPP : error;
}

int FileBlocks::allocate(uint64_t at, uint64_t bytes) noexcept {
  const int error = call(FALLOC_FL_KEEP_SIZE, at, bytes);
  return error == -ENOSYS || error == -ENODEV || error == -EINVAL ? -EOPNOTSUPP : error;
}

// Some kernels punch the whole huge pages among what they are given, and call that a success
// (tests/space/file_huge_test.cpp). Of hugetlbfs whole pages are asked for; but what others round
// to is not ours to know.
bool FileBlocks::is_proven(uint64_t at, uint64_t bytes) const noexcept {
  if (can_find_data()) {
    if (find_data(at, at + bytes) == at + bytes) return true;
    // Somebody may have read or mapped it meanwhile; what it holds decides.
  } else if (facts_.punches_exactly) {
    const uint64_t base = base_page_bytes();
    const uint64_t step = std::max(facts_.page_bytes, kHugePageBytes);
    for (uint64_t done = 0; done < bytes; done += step) {
      const uint64_t last = std::min(done + step, bytes) - base;
      if (!reads_zero(at + done, base) || !reads_zero(at + last, base)) return false;
    }
    return true;
  }
  return reads_zero(at, bytes);
}

bool FileBlocks::reads_zero(uint64_t at, uint64_t bytes) const noexcept {
  alignas(4096) char buffer[16 * 1024] = {};  // aligned for O_DIRECT
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t got = pread(seek_fd_ >= 0 ? seek_fd_ : fd_, buffer,
                              std::min<uint64_t>(bytes - done, sizeof buffer), offset(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || !scan_is_zero(buffer, static_cast<size_t>(got))) return false;
    done += static_cast<uint64_t>(got);
  }
  return true;
}

int FileBlocks::write(uint64_t at, uint64_t bytes, uint64_t &done_bytes) const noexcept {
  alignas(4096) static const char kZeroes[4096] = {};
  constexpr size_t kMostParts = 256;
  iovec parts[kMostParts];
  for (done_bytes = 0; done_bytes < bytes;) {
    struct stat status = {};
    // A write behind the end would make the file longer.
    if (facts_.can_shrink && fstat(fd_, &status) != 0) return -errno;
    const uint64_t end = facts_.can_shrink ? static_cast<uint64_t>(status.st_size) : facts_.bytes;
    if (end <= at + done_bytes) return -EFAULT;
    uint64_t left = std::min(bytes - done_bytes, end - (at + done_bytes));
    int count = 0;
    for (; left != 0 && count < static_cast<int>(kMostParts); ++count) {
      const size_t part = std::min<uint64_t>(left, sizeof kZeroes);
      parts[count] = {const_cast<char *>(kZeroes), part};
      left -= part;
    }
    const ssize_t got = pwritev(fd_, parts, count, offset(at + done_bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? -errno : -EIO;
    done_bytes += static_cast<uint64_t>(got);
  }
  return 0;
}

}  // namespace hpz
