// SPDX-License-Identifier: BSD-2-Clause
#include "lib/space/file_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/space/pages.h"

namespace hpz {
namespace {

// linux/magic.h, which has no name for xfs.
constexpr uint32_t kTmpfs = 0x01021994, kExt4 = 0xEF53, kXfs = 0x58465342, kBtrfs = 0x9123683E,
                   kHugetlbfs = 0x958458F6;

// linux/fcntl.h, which does not go with fcntl.h.
#ifndef F_GET_SEALS
constexpr int F_GET_SEALS = 1034, F_SEAL_WRITE = 8;
#endif
#ifndef F_SEAL_FUTURE_WRITE
constexpr int F_SEAL_FUTURE_WRITE = 16;
#endif

// Linux 5.8, the same number everywhere. Older kernels say ENOSYS.
constexpr long kFaccessat2 = 439;

// A number in a file of its own, decimal or 0x...
bool read_attribute(const char *root, dev_t device, const char *name, uint64_t &out) noexcept {
  char path[256];
  const int length = snprintf(path, sizeof path, "%s/sys/dev/char/%u:%u/%s", root, major(device),
                              minor(device), name);
  if (length < 0 || static_cast<size_t>(length) >= sizeof path) return false;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[32] = {};
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return false;
  char *end;
  errno = 0;
  out = strtoull(text, &end, 0);
  return end != text && errno == 0 && (*end == '\n' || *end == '\0');
}

// Of all character devices those for DAX alone have a size and an alignment.
int inspect_dax(const char *root, dev_t device, FileFacts &out) noexcept {
  uint64_t align = 0;
  if (!read_attribute(root, device, "size", out.bytes)) return -ENODEV;
  if (!read_attribute(root, device, "align", align) &&
      !read_attribute(root, device, "dax_region/align", align)) {
    return -ENODEV;
  }
  if (!is_page_size(align) || align < out.page_bytes) return -ENODEV;
  out.page_bytes = align;
  return 0;
}

void inspect_file_system(int fd, FileFacts &out) noexcept {
  struct statfs system = {};
  if (fstatfs(fd, &system) != 0) return;  // a sandbox: nothing is known to be true
  switch (static_cast<uint32_t>(system.f_type)) {
    case kTmpfs:
      out.is_memory = out.has_true_holes = out.punches_exactly = true;
      break;
    case kExt4:
    case kXfs:
    case kBtrfs:
      out.has_true_holes = out.punches_exactly = out.zeroes_in_place = true;
      break;
    case kHugetlbfs: {
      const auto page = static_cast<uint64_t>(system.f_bsize);
      out.punches_exactly = true;
      out.takes_writes = false;
      if (is_page_size(page)) out.page_bytes = page;
      break;
    }
    default:
      break;
  }
}

}  // namespace

bool is_sealed(int fd) noexcept {
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals > 0 && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0;
}

bool is_told_what_is_in_memory(int fd) noexcept {
  // Asked each time: a process that gives up its rights keeps its descriptors.
  return syscall(kFaccessat2, fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

int inspect_file(int fd, const char *root, FileFacts &out) noexcept {
  out = FileFacts();
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_PATH) != 0) return -EBADF;
  struct stat status = {};
  if (fstat(fd, &status) != 0) return -errno;
  if (S_ISDIR(status.st_mode)) return -EISDIR;
  if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) return -ESPIPE;
  if ((flags & O_ACCMODE) != O_RDWR) return -EACCES;
  if ((flags & O_APPEND) != 0 || is_sealed(fd)) return -EPERM;

  out.page_bytes = base_page_bytes();
  if (S_ISCHR(status.st_mode)) return inspect_dax(root, status.st_rdev, out);
  if (S_ISBLK(status.st_mode)) {
    out.takes_writes = true;
    return ioctl(fd, BLKGETSIZE64, &out.bytes) == 0 ? 0 : -errno;
  }
  if (!S_ISREG(status.st_mode)) return -ENODEV;
  out.bytes = static_cast<uint64_t>(status.st_size);
  out.can_shrink = out.takes_writes = true;
  inspect_file_system(fd, out);
  return 0;
}

}  // namespace hpz
