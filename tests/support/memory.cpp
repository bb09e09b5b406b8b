// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

namespace hpz::test {

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

size_t Memory::resident_bytes() const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes_ + page - 1) / page);
  EXPECT_EQ(mincore(begin_, bytes_, pages.data()), 0);
  size_t resident = 0;
  for (const unsigned char flags : pages) resident += (flags & 1) * page;
  return resident;
}

bool can_prove() {
  return access("/proc/self/pagemap", R_OK) == 0 && access("/proc/self/smaps", R_OK) == 0;
}

bool can_scan() {
  // struct pm_scan_arg of linux/fs.h, of an empty range.
  struct {
    uint64_t size = 96, flags = 0, start = 0, end = 0, walk_end = 0, vec = 0, vec_len = 0,
             max_pages = 0, category_inverted = 0, category_mask = 0, category_anyof_mask = 2,
             return_mask = 2;
  } argument;
  const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool can = ioctl(fd, _IOWR('f', 16, char[96]), &argument) >= 0;
  close(fd);
  return can;
}

}  // namespace hpz::test
