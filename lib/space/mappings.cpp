// SPDX-License-Identifier: BSD-2-Clause
#include "lib/space/mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace hpz {
namespace {

// struct procmap_query of linux/fs.h, which headers before 6.11 do not have.
struct ProcmapQuery {
  uint64_t size, query_flags, query_addr;
  uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
  uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
  uint64_t vma_name_addr, build_id_addr;
};
constexpr unsigned long kProcmapQuery = _IOWR('f', 17, ProcmapQuery);
constexpr uint64_t kCoveringOrNext = 0x10;

bool skip_hex(const char *&at, uint64_t &value) noexcept {
  char *end;
  value = strtoull(at, &end, 16);
  const bool some = end != at;
  at = end;
  return some;
}

bool begins_with(const char *text, const char *start) noexcept {
  return strncmp(text, start, strlen(start)) == 0;
}

uint64_t pack_dev(uint64_t major, uint64_t minor) noexcept {
  return major << 32 | minor;
}

}  // namespace

// "7f0c2a000000-7f0c2a200000 rw-p 00000000 00:0f 12345   /anon_hugepage (deleted)"
void SmapsParser::header() noexcept {
  is_inside_ = false;
  const char *at = line_;
  uint64_t begin, end, offset, dev_major, dev_minor;
  if (!skip_hex(at, begin) || *at++ != '-' || !skip_hex(at, end) || *at++ != ' ' ||
      strlen(at) < 5) {
    has_failed_ = true;
    return;
  }
  const char *const permissions = at;
  at += 4;
  if (!skip_hex(at, offset) || !skip_hex(at, dev_major) || *at++ != ':' ||
      !skip_hex(at, dev_minor)) {
    has_failed_ = true;
    return;
  }
  char *name;
  const uint64_t inode = strtoull(at, &name, 10);
  while (*name == ' ') ++name;
  if (begin >= hi_) {
    is_past_ = true;
    return;
  }
  if (end <= lo_) return;

  Mapping mapping = {};
  mapping.begin = begin;
  mapping.end = end;
  mapping.device = pack_dev(dev_major, dev_minor);
  mapping.inode = inode;
  mapping.file_offset = offset;
  mapping.is_writable = permissions[1] == 'w';
  mapping.is_shared = permissions[3] == 's';
  // A file system may number a file 0; none has device 0:0.
  mapping.is_anonymous = !mapping.is_shared && mapping.device == 0 && inode == 0;
  mapping.may_be_kernels_huge = !mapping.is_shared && strcmp(name, "/anon_hugepage (deleted)") == 0;
  is_inside_ = true;
  if (!out_.push_back(mapping)) has_failed_ = true;
}

void SmapsParser::flags() noexcept {
  Mapping &mapping = out_.back();
  mapping.has_flags = true;
  for (const char *at = line_ + strlen("VmFlags:"); *at != '\0';) {
    while (*at == ' ') ++at;
    if (*at == '\0') break;
    const auto is = [&](const char *flag) { return at[0] == flag[0] && at[1] == flag[1]; };
    if (is("ht")) mapping.is_hugetlb = true;
    if (is("um") || is("uw") || is("ui")) mapping.has_userfaultfd = true;
    if (is("lo") || is("lf")) mapping.is_locked = true;
    if (is("io") || is("pf") || is("mm")) mapping.is_special = true;
    while (*at != ' ' && *at != '\0') ++at;
  }
}

void SmapsParser::line() noexcept {
  has_lines_ = true;
  line_[length_] = '\0';
  // Fields begin with a capital letter, addresses with a digit or a small one.
  if (line_[0] < 'A' || line_[0] > 'Z') return header();
  if (!is_inside_) return;
  if (begins_with(line_, "KernelPageSize:")) {
    out_.back().page_bytes = strtoull(line_ + strlen("KernelPageSize:"), nullptr, 10) * 1024;
  } else if (begins_with(line_, "VmFlags:")) {
    flags();
  }
}

void SmapsParser::feed(const char *text, size_t size) noexcept {
  for (size_t i = 0; i < size && !is_past_ && !has_failed_; ++i) {
    if (text[i] == '\n') {
      line();
      length_ = 0;
    } else if (length_ < sizeof(line_) - 1) {
      line_[length_++] = text[i];
    }
  }
}

void judge_huge_mapping(Mapping &mapping, uint64_t kernels_device) noexcept {
  if (mapping.may_be_kernels_huge) mapping.is_anonymous = mapping.device == kernels_device;
}

namespace {

// 0: not told.
uint64_t kernels_huge_device(uint64_t page_bytes) noexcept {
  const auto bits = static_cast<unsigned>(__builtin_ctzll(page_bytes));
  const int fd = memfd_create("hpzero", MFD_CLOEXEC | MFD_HUGETLB | bits << MFD_HUGE_SHIFT);
  if (fd < 0) return 0;
  struct stat file;
  const bool is_told = fstat(fd, &file) == 0;
  close(fd);
  return is_told ? pack_dev(major(file.st_dev), minor(file.st_dev)) : 0;
}

}  // namespace

int read_mappings(uintptr_t lo, uintptr_t hi, Array<Mapping> &out) noexcept {
  out.clear();
  // Of the thread: "self" is the first thread, and shows nothing once that has ended.
  const int fd = open("/proc/thread-self/smaps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  SmapsParser parser(lo, hi, out);
  int error = 0;
  char buffer[4096];  // no more than a page comes at once
  while (!parser.is_done() && !parser.has_failed()) {
    const ssize_t size = read(fd, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) error = -errno;
    if (size <= 0) break;
    parser.feed(buffer, static_cast<size_t>(size));
  }
  close(fd);
  if (parser.has_failed()) return -ENOMEM;
  if (error == 0 && !parser.has_lines()) error = -EIO;
  for (Mapping &mapping : out) {
    if (mapping.may_be_kernels_huge && mapping.page_bytes != 0) {
      judge_huge_mapping(mapping, kernels_huge_device(mapping.page_bytes));
    }
  }
  return error;
}

const Mapping *find_mapping(const Array<Mapping> &mappings, uintptr_t address) noexcept {
  size_t low = 0, high = mappings.size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (mappings[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < mappings.size() && mappings[low].begin <= address ? &mappings[low] : nullptr;
}

bool query_page_bytes(uintptr_t lo, uintptr_t hi, uint64_t &largest) noexcept {
  // A space of very many mappings: the first ones tell enough for what are only chunk boundaries.
  constexpr int kMostQueries = 1000;
  largest = 0;
  const int fd = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool is_answered = true;
  for (int i = 0; i < kMostQueries && lo < hi; ++i) {
    ProcmapQuery query = {};
    query.size = sizeof query;
    query.query_flags = kCoveringOrNext;
    query.query_addr = lo;
    if (ioctl(fd, kProcmapQuery, &query) != 0) {
      is_answered = errno == ENOENT;  // nothing mapped from here on
      break;
    }
    if (query.vma_start >= hi) break;
    if (query.vma_page_size > largest) largest = query.vma_page_size;
    lo = query.vma_end;
  }
  close(fd);
  return is_answered;
}

}  // namespace hpz
