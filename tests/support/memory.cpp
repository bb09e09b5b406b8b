// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

namespace hpz::test {
namespace {

// By an argument that cannot be read: a request that is known here says so, others are ENOTTY. Not
// by ioctl, for that of a sanitizer's run-time would read it itself.
bool knows(const char *file, unsigned long request) {
  const int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_known = syscall(SYS_ioctl, fd, request, nullptr) != 0 && errno == EFAULT;
  close(fd);
  return is_known;
}

}  // namespace

size_t resident_bytes(void *at, size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  EXPECT_EQ(mincore(at, bytes, pages.data()), 0);
  size_t resident = 0;
  for (const unsigned char flags : pages) resident += (flags & 1) * page;
  return resident;
}

Memory::Memory(size_t bytes, int flags) : Memory(-1, bytes, MAP_PRIVATE | MAP_ANONYMOUS | flags) {}

Memory::Memory(int fd, size_t bytes, int flags)
    : begin_(
          static_cast<unsigned char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0))),
      bytes_(bytes) {
  if (begin_ == MAP_FAILED) begin_ = nullptr;
}

Memory::~Memory() {
  if (begin_ != nullptr) munmap(begin_, bytes_);
}

bool can_prove() {
  return access("/proc/self/pagemap", R_OK) == 0 && access("/proc/self/smaps", R_OK) == 0;
}

bool can_scan() {
  return knows("/proc/self/pagemap", _IOWR('f', 16, char[96]));
}

bool can_query_mappings() {
  return knows("/proc/self/maps", _IOWR('f', 17, char[104]));
}

}  // namespace hpz::test
