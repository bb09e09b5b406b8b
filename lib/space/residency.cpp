// SPDX-License-Identifier: BSD-2-Clause
#include "lib/space/residency.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace hpz {
namespace {

constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kGuard = uint64_t{1} << 58;

// struct pm_scan_arg and struct page_region of linux/fs.h, which headers before 6.7 do not have.
struct ScanArgument {
  uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct PageRegion {
  uint64_t start, end, categories;
};
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanArgument);
constexpr uint64_t kIsPresent = 1 << 3, kIsSwapped = 1 << 4, kIsPfnZero = 1 << 5;

}  // namespace

uintptr_t base_page_bytes() noexcept {
  const long bytes = sysconf(_SC_PAGESIZE);
  return bytes > 0 ? static_cast<uintptr_t>(bytes) : 4096;
}

PageProof judge_entry(uint64_t entry) noexcept {
  if ((entry & kPresent) != 0) return PageProof::kResident;
  // Nothing at all: never touched since it was mapped or given back. Any other bit is a reason to
  // doubt, that of an exclusive mapping and the soft-dirty one excepted (56, 55: the latter is
  // reported for absent pages of a fresh mapping).
  constexpr uint64_t kHarmless = uint64_t{1} << 56 | uint64_t{1} << 55;
  return (entry & ~kHarmless) == 0 ? PageProof::kZero : PageProof::kElsewhere;
}

Residency::Residency() noexcept : fd_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) return;
  DirtyRun run;
  const uintptr_t page = reinterpret_cast<uintptr_t>(this) & ~(base_page_bytes() - 1);
  can_scan_ = scan(page, page + base_page_bytes(), run) == 0 && run.is_resident;
}

Residency::~Residency() {
  if (fd_ >= 0) close(fd_);
}

int Residency::scan(uintptr_t at, uintptr_t end, DirtyRun &out) const noexcept {
  PageRegion region = {};
  // One region at a time; runs of the zero page are stepped over.
  while (at < end) {
    ScanArgument argument = {};
    argument.size = sizeof argument;
    argument.start = at;
    argument.end = end;
    argument.vec = reinterpret_cast<uintptr_t>(&region);
    argument.vec_len = 1;
    argument.category_anyof_mask = kIsPresent | kIsSwapped;
    argument.return_mask = kIsPresent | kIsSwapped | kIsPfnZero;
    const int found = ioctl(fd_, kPagemapScan, &argument);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) return -errno;
    if (found == 0) break;
    if ((region.categories & kIsPfnZero) == 0) {
      out = {region.start, region.end, (region.categories & kIsPresent) != 0};
      return 0;
    }
    at = region.end;
  }
  out = {end, end, false};
  return 0;
}

int Residency::read_entries(uintptr_t at, uintptr_t end, DirtyRun &out) const noexcept {
  const uintptr_t page = base_page_bytes();
  uint64_t entries[512];
  out = {end, end, false};
  bool is_open = false;
  for (; at < end;) {
    uintptr_t wanted = (end - at) / page;
    if (wanted > sizeof entries / sizeof entries[0]) wanted = sizeof entries / sizeof entries[0];
    const ssize_t size = pread(fd_, entries, wanted * sizeof entries[0],
                               static_cast<off_t>(at / page * sizeof entries[0]));
    if (size < 0 && errno == EINTR) continue;
    if (size < static_cast<ssize_t>(sizeof entries[0])) return size < 0 ? -errno : -EIO;
    const size_t count = static_cast<size_t>(size) / sizeof entries[0];
    for (size_t i = 0; i < count; ++i, at += page) {
      const PageProof proof = judge_entry(entries[i]);
      const bool is_resident = proof == PageProof::kResident;
      if (is_open && (proof == PageProof::kZero || is_resident != out.is_resident)) {
        out.end = at;
        return 0;
      }
      if (!is_open && proof != PageProof::kZero) {
        out = {at, end, is_resident};
        is_open = true;
      }
    }
  }
  return 0;
}

int Residency::next_dirty(uintptr_t at, uintptr_t end, DirtyRun &out) const noexcept {
  return can_scan_ ? scan(at, end, out) : read_entries(at, end, out);
}

bool Residency::is_guard(uintptr_t page) const noexcept {
  uint64_t entry = 0;
  const off_t at = static_cast<off_t>(page / base_page_bytes() * sizeof entry);
  return fd_ >= 0 && pread(fd_, &entry, sizeof entry, at) == sizeof entry && (entry & kGuard) != 0;
}

}  // namespace hpz
