// SPDX-License-Identifier: BSD-2-Clause
#include "bench/file_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "bench/descriptor.h"
#include "bench/memory.h"
#include "bench/refusal.h"
#include "bench/sizes.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; the headers of Debian 12 lack it
#endif

namespace hpz::bench {
namespace {

// As in memory.cpp: a progress line moves, system calls are few.
constexpr uint64_t kStep = 64 * kMiB;

// A file of a tmpfs of its own that gives huge pages whatever shmem_enabled says, mounted nowhere:
// it is gone with its last descriptor. -1 for who may not (CAP_SYS_ADMIN).
int open_huge_tmpfs_file() {
  const Descriptor context(fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (context.get() < 0) return -1;
  const auto set = [&](const char *key, const char *value) {
    return fsconfig(context.get(), FSCONFIG_SET_STRING, key, value, 0) == 0;
  };
  if (!set("huge", "always") || !set("size", "100%") ||
      fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return -1;
  }
  const Descriptor mount(fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
  if (mount.get() < 0) return -1;
  return openat(mount.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

unsigned memfd_flags(PageKind kind) {
  constexpr unsigned kShift = 26;  // MFD_HUGE_SHIFT: the page size's logarithm from this bit on
  unsigned flags = MFD_CLOEXEC;
  if (kind == PageKind::k2m) flags |= MFD_HUGETLB | (21U << kShift);
  if (kind == PageKind::k1g) flags |= MFD_HUGETLB | (30U << kShift);
  return flags;
}

Refusal shortage(PageKind kind, uint64_t bytes) {
  return Refusal("cannot make a file of " + format_size(bytes) + " on " +
                 std::string(page_kind_title(kind)) + " resident (" + std::strerror(errno) +
                 "): use a smaller --set or --size, or other --pages");
}

}  // namespace

FileMemory::FileMemory(PageKind kind, uint64_t bytes, const std::function<void(uint64_t)> &progress)
    : kind_(kind), bytes_(bytes) {
  try {
    open();
    map();
    populate(progress);
  } catch (...) {
    if (reserved_ != nullptr) munmap(reserved_, reserved_bytes_);
    if (fd_ >= 0) close(fd_);
    throw;
  }
}

FileMemory::~FileMemory() {
  munmap(reserved_, reserved_bytes_);
  close(fd_);
}

void FileMemory::open() {
  if (kind_ == PageKind::kThp) fd_ = open_huge_tmpfs_file();
  source_ = fd_ >= 0 ? "file of a tmpfs with huge=always" : "memfd";
  if (fd_ < 0) fd_ = memfd_create("hpzero-bench", memfd_flags(kind_));
  if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(bytes_)) != 0) throw shortage(kind_, bytes_);
}

// Where address and offset are congruent to the size of huge pages, as those of tmpfs want it.
void FileMemory::map() {
  const uint64_t alignment = page_bytes(kind_);
  reserved_bytes_ = bytes_ + alignment;
  void *const reserved =
      mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) throw shortage(kind_, bytes_);
  reserved_ = reserved;
  const uint64_t address = reinterpret_cast<uintptr_t>(reserved);
  const uint64_t shift = (alignment - address % alignment) % alignment;
  base_ = static_cast<char *>(reserved) + shift;
  if (mmap(base_, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_, 0) == MAP_FAILED) {
    throw shortage(kind_, bytes_);
  }
  if (kind_ == PageKind::k4k) madvise(base_, bytes_, MADV_NOHUGEPAGE);
  if (kind_ == PageKind::kThp) madvise(base_, bytes_, MADV_HUGEPAGE);
}

void FileMemory::populate(const std::function<void(uint64_t)> &progress) {
  for (uint64_t at = 0; at < bytes_; at += kStep) {
    const uint64_t step = std::min(kStep, bytes_ - at);
    if (!bench::populate(base_ + at, step)) throw shortage(kind_, bytes_);
    progress(at + step);
  }
  if (kind_ == PageKind::kThp && huge_percent() < kEnoughHugePercent) {
    is_collapsed_ = true;
    collapse(0, bytes_);
  }
}

// Huge pages whatever shmem_enabled says, made of those that are there by copying: slow. What it
// achieved huge_percent tells.
void FileMemory::collapse(uint64_t offset, uint64_t bytes) {
  char *const base = base_ + offset;
  for (uint64_t at = 0; at < bytes; at += kStep) {
    if (madvise(base + at, std::min(kStep, bytes - at), MADV_COLLAPSE) != 0) return;
  }
}

void FileMemory::restore(uint64_t offset, uint64_t bytes) {
  if (!bench::populate(base_ + offset, bytes)) throw shortage(kind_, bytes);
  if (is_collapsed_) collapse(offset, bytes);
}

unsigned FileMemory::huge_percent() const {
  if (is_pool_kind(kind_)) return 100;
  return static_cast<unsigned>(huge_bytes(base_, bytes_) * 100 / bytes_);
}

std::string FileMemory::summary() const {
  std::string text = source_;
  if (is_collapsed_) text += ", made huge by MADV_COLLAPSE";
  if (!is_pool_kind(kind_)) text += ", " + std::to_string(huge_percent()) + " % mapped huge";
  return text;
}

}  // namespace hpz::bench
