// SPDX-License-Identifier: BSD-2-Clause
#include "lib/pool/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include "lib/pool/huge_pages.h"
#include "lib/space/pages.h"
#include "lib/space/residency.h"

namespace hpz {
namespace {

// --- Files without a name ------------------------------------------------------------------------

// -EINVAL: it is another file system.
int64_t hugetlbfs_page_bytes(const struct statfs &system) noexcept {
  if (static_cast<unsigned long>(system.f_type) != HUGETLBFS_MAGIC) return -EINVAL;
  return static_cast<int64_t>(system.f_bsize);
}

// What was mounted there when the pool was created may be gone: a file of what is below would be
// of small pages, and have our content written to a disk.
bool is_of_mount(int fd, uint64_t page_bytes) noexcept {
  struct statfs system;
  return fstatfs(fd, &system) == 0 &&
         hugetlbfs_page_bytes(system) == static_cast<int64_t>(page_bytes);
}

int open_in_folder(const char *mount) noexcept {
  const int fd = open(mount, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd >= 0 ? fd : -errno;
  // Before Linux 5.10 or so: a name for the moment. Killed right there, it leaves a file without
  // pages.
  char path[4096];
  if (snprintf(path, sizeof path, "%s/hpzero.XXXXXX", mount) >= static_cast<int>(sizeof path)) {
    return -ENAMETOOLONG;
  }
  const int named = mkostemp(path, O_CLOEXEC);
  if (named < 0) return -errno;
  unlink(path);
  return named;
}

int file_in_mount(const Source &source) noexcept {
  const int fd = open_in_folder(source.mount);
  if (fd < 0 || is_of_mount(fd, source.page_bytes)) return fd;
  close(fd);
  return -ENOENT;
}

int memfd(const Source &source) noexcept {
  unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  if (source.backing == HPZ_BACKING_HUGETLB) {
    flags |= MFD_HUGETLB | static_cast<unsigned>(__builtin_ctzll(source.page_bytes))
                               << MFD_HUGE_SHIFT;
  }
  const long fd = syscall(SYS_memfd_create, "hpzero_pool", flags);
  return fd >= 0 ? static_cast<int>(fd) : -errno;
}

// A file of that size; or -1, for memory that has none.
int make_file(const Source &source, uint64_t bytes, int &out) noexcept {
  out = -1;
  if (source.backing == HPZ_BACKING_THP ||
      (source.backing == HPZ_BACKING_PLAIN && !source.is_exported)) {
    return 0;
  }
  const int fd = source.mount != nullptr ? file_in_mount(source) : memfd(source);
  if (fd < 0) return fd;
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    const int error = -errno;
    close(fd);
    return error;
  }
  // A holder that shrinks it would turn our stores into signals, one that seals it against writing
  // would keep its next taker from mapping it. (Files of a mount have no seals.)
  if (source.is_exported) {
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  }
  out = fd;
  return 0;
}

// A kernel that is short of memory of its own (madvise), or of what may be locked (mmap, of a
// program that locks all it has), says to try again.
int shortage(int error) noexcept {
  return error == -EAGAIN ? -ENOMEM : error;
}

// --- Mappings ------------------------------------------------------------------------------------

void *map_at(const Source &source, void *at, uint64_t bytes, int fd) noexcept {
  // Private only where shared memory would have no huge pages on most systems.
  int flags = source.backing == HPZ_BACKING_THP ? MAP_PRIVATE : MAP_SHARED;
  if (fd < 0) flags |= MAP_ANONYMOUS;
  if (at != nullptr) flags |= MAP_FIXED;
  return mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
}

// At a multiple of its page size; hugetlb sees to that itself.
void *map_aligned(const Source &source, uint64_t bytes, int fd) noexcept {
  const uint64_t align = source.page_bytes;
  if (source.backing == HPZ_BACKING_HUGETLB || align <= base_page_bytes()) {
    return map_at(source, nullptr, bytes, fd);
  }
  void *const room =
      mmap(nullptr, bytes + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return room;
  char *const begin = static_cast<char *>(room);
  const uint64_t before = (0 - reinterpret_cast<uintptr_t>(begin)) & (align - 1);
  void *const memory = map_at(source, begin + before, bytes, fd);
  if (memory == MAP_FAILED) {
    munmap(room, bytes + align);
    return memory;
  }
  if (before != 0) munmap(begin, before);
  munmap(begin + before + bytes, align - before);
  return memory;
}

// Whether the kernel has nothing there. False also where it does not tell.
bool is_absent(char *base, uint64_t bytes) noexcept {
  unsigned char pages[4096];
  const uint64_t piece = sizeof pages * base_page_bytes();
  for (uint64_t at = 0; at < bytes; at += piece) {
    const uint64_t length = std::min(piece, bytes - at);
    for (unsigned char &page : pages) page = 0;  // MemorySanitizer does not know what mincore fills
    if (mincore(base + at, length, pages) != 0) return false;
    for (uint64_t i = 0; i < length / base_page_bytes(); ++i) {
      if ((pages[i] & 1) != 0) return false;
    }
  }
  return true;
}

}  // namespace

bool has_huge_pages(uint64_t page_bytes) noexcept {
  Source source;
  source.page_bytes = page_bytes;
  const int fd = memfd(source);
  if (fd >= 0) close(fd);
  // Of no such size, no such pages, no such file. Any other refusal is to be told when it matters.
  return fd != -ENODEV && fd != -ENOSYS && fd != -EINVAL;
}

int64_t mounted_page_bytes(const char *mount) noexcept {
  struct statfs system;
  return statfs(mount, &system) == 0 ? hugetlbfs_page_bytes(system) : -errno;
}

int map_memory(const Source &source, uint64_t bytes, MappedMemory &out) noexcept {
  int fd;
  int error = make_file(source, bytes, fd);
  if (error != 0) return error;
  void *const memory = map_aligned(source, bytes, fd);
  if (memory == MAP_FAILED) {
    error = shortage(-errno);
  } else if (madvise(memory, bytes, MADV_DONTFORK) != 0) {
    error = shortage(-errno);
    munmap(memory, bytes);
  } else if (source.backing == HPZ_BACKING_THP) {
    (void)madvise(memory, bytes, MADV_HUGEPAGE);  // a kernel without them says EINVAL
  }
  if (fd >= 0 && (error != 0 || !source.is_exported)) {
    close(fd);
    fd = -1;
  }
  if (error == 0) out = {static_cast<char *>(memory), fd};
  return error;
}

void unmap_memory(const MappedMemory &memory, uint64_t bytes) noexcept {
  if (memory.base != nullptr) munmap(memory.base, bytes);
  if (memory.fd >= 0) close(memory.fd);
}

bool drop_memory(const Source &source, char *base, uint64_t bytes) noexcept {
  // On shared memory MADV_DONTNEED changes nothing; MADV_REMOVE punches a hole.
  const int advice = source.backing == HPZ_BACKING_THP ? MADV_DONTNEED : MADV_REMOVE;
  return madvise(base, bytes, advice) == 0 && is_absent(base, bytes);
}

int populate_memory(const Source &source, const hpz_range *ranges, size_t count,
                    const Population &how, uint32_t &report_flags) noexcept {
  hpz_space_options options = HPZ_SPACE_OPTIONS_INIT;
  options.page_bytes = std::max<uint64_t>(source.page_bytes, base_page_bytes());
  hpz_space *space = nullptr;
  int error = hpz_space_direct(ranges, count, &options, &space);
  if (error != 0) return error;
  hpz_job_options job = HPZ_JOB_OPTIONS_INIT;
  job.node = how.node;
  job.cancel = how.cancel;
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  error = hpz_space_populate(space, how.team, nullptr, 0, &job, &report);
  hpz_space_destroy(space);
  report_flags = report.flags;
  // Files of our own are as long as their mappings: what populate cannot know, it is a shortage.
  return error == -EFAULT && source.backing != HPZ_BACKING_RANGE ? -ENOMEM : shortage(error);
}

uint64_t obtained_page_bytes(const Source &source, const char *base, uint64_t bytes) noexcept {
  if (source.backing == HPZ_BACKING_HUGETLB) return source.page_bytes;
  if (source.backing == HPZ_BACKING_PLAIN) return base_page_bytes();
  const Residency residency;
  const auto begin = reinterpret_cast<uintptr_t>(base);
  if (!residency.is_all_huge(begin, begin + bytes)) return base_page_bytes();
  return std::max<uint64_t>(transparent_page_bytes(""), base_page_bytes());
}

}  // namespace hpz
