// SPDX-License-Identifier: BSD-2-Clause
#include "lib/space/residency.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/space/pages.h"

namespace hpz {
namespace {

constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kGuard = uint64_t{1} << 58;

// struct pm_scan_arg of linux/fs.h, which headers before 6.7 do not have.
struct ScanArgument {
  uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanArgument);
constexpr uint64_t kIsPresent = 1 << 3, kIsSwapped = 1 << 4, kIsPfnZero = 1 << 5, kIsHuge = 1 << 6;

}  // namespace

PageProof judge_entry(uint64_t entry) noexcept {
  if ((entry & kPresent) != 0) return PageProof::kResident;
  // Nothing at all: never touched since it was mapped or given back. Any other bit is a reason to
  // doubt, that of an exclusive mapping and the soft-dirty one excepted (56, 55: the latter is
  // reported for absent pages of a fresh mapping).
  constexpr uint64_t kHarmless = uint64_t{1} << 56 | uint64_t{1} << 55;
  return (entry & ~kHarmless) == 0 ? PageProof::kZero : PageProof::kElsewhere;
}

// Of the thread: "self" is the first thread, and shows nothing once that has ended.
Residency::Residency() noexcept : fd_(open("/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) return;
  const uintptr_t page = reinterpret_cast<uintptr_t>(this) & ~(base_page_bytes() - 1);
  ScanArgument argument = {};
  argument.size = sizeof argument;
  argument.start = page;
  argument.end = page + base_page_bytes();
  argument.category_anyof_mask = kIsPresent;
  argument.return_mask = kIsPresent;
  uint64_t region[3] = {};
  argument.vec = reinterpret_cast<uintptr_t>(region);
  argument.vec_len = 1;
  can_scan_ = ioctl(fd_, kPagemapScan, &argument) == 1;
}

bool Residency::is_all_huge(uintptr_t begin, uintptr_t end) const noexcept {
  if (!can_scan_) return false;
  // One that is not is enough.
  uint64_t region[3] = {};
  ScanArgument argument = {};
  argument.size = sizeof argument;
  argument.start = begin;
  argument.end = end;
  argument.vec = reinterpret_cast<uintptr_t>(region);
  argument.vec_len = argument.max_pages = 1;
  argument.category_inverted = argument.category_mask = kIsHuge;
  argument.return_mask = kIsHuge;
  int found;
  do found = ioctl(fd_, kPagemapScan, &argument);
  while (found < 0 && errno == EINTR);
  return found == 0;
}

Residency::~Residency() {
  if (fd_ >= 0) close(fd_);
}

int DirtyRuns::next(DirtyRun &out) noexcept {
  return can_scan_ ? next_region(out) : next_of_entries(out);
}

int DirtyRuns::fill_regions() noexcept {
  ScanArgument argument = {};
  argument.size = sizeof argument;
  argument.start = at_;
  argument.end = end_;
  argument.vec = reinterpret_cast<uintptr_t>(buffer_.regions);
  argument.vec_len = kRegions;
  argument.category_anyof_mask = kIsPresent | kIsSwapped;
  argument.return_mask = kIsPresent | kIsSwapped | kIsPfnZero;
  int found;
  do found = ioctl(fd_, kPagemapScan, &argument);
  while (found < 0 && errno == EINTR);
  if (found < 0) return -errno;
  next_ = 0;
  held_ = static_cast<size_t>(found);
  // A full buffer may end before the walk does.
  at_ = held_ == kRegions ? buffer_.regions[held_ - 1].end : end_;
  return 0;
}

int DirtyRuns::next_region(DirtyRun &out) noexcept {
  for (;;) {
    while (next_ < held_) {
      const Region &region = buffer_.regions[next_++];
      if ((region.categories & kIsPfnZero) != 0) continue;
      out = {region.begin, region.end, (region.categories & kIsPresent) != 0};
      return 0;
    }
    if (at_ >= end_) break;
    if (const int error = fill_regions(); error != 0) return error;
  }
  out = {end_, end_, false};
  return 0;
}

// Entries of the pages from at_ on, which it leaves where it is.
int DirtyRuns::fill_entries() noexcept {
  const uintptr_t page = base_page_bytes();
  const uintptr_t left = (end_ - at_) / page;
  const size_t wanted = left < kEntries ? left : kEntries;
  ssize_t size;
  do {
    size = pread(fd_, buffer_.entries, wanted * sizeof(uint64_t),
                 static_cast<off_t>(at_ / page * sizeof(uint64_t)));
  } while (size < 0 && errno == EINTR);
  if (size < static_cast<ssize_t>(sizeof(uint64_t))) return size < 0 ? -errno : -EIO;
  next_ = 0;
  held_ = static_cast<size_t>(size) / sizeof(uint64_t);
  return 0;
}

int DirtyRuns::next_of_entries(DirtyRun &out) noexcept {
  const uintptr_t page = base_page_bytes();
  out = {end_, end_, false};
  for (bool is_open = false; at_ < end_; at_ += page, ++next_) {
    if (next_ == held_) {
      if (const int error = fill_entries(); error != 0) return error;
    }
    const PageProof proof = judge_entry(buffer_.entries[next_]);
    const bool is_resident = proof == PageProof::kResident;
    if (is_open && (proof == PageProof::kZero || is_resident != out.is_resident)) {
      out.end = at_;
      return 0;
    }
    if (!is_open && proof != PageProof::kZero) {
      out = {at_, end_, is_resident};
      is_open = true;
    }
  }
  return 0;
}

bool Residency::is_guard(uintptr_t page) const noexcept {
  uint64_t entry = 0;
  const off_t at = static_cast<off_t>(page / base_page_bytes() * sizeof entry);
  return fd_ >= 0 && pread(fd_, &entry, sizeof entry, at) == sizeof entry && (entry & kGuard) != 0;
}

}  // namespace hpz
