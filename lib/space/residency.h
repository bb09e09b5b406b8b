// SPDX-License-Identifier: BSD-2-Clause
//
// Which pages of private anonymous memory must be cleared, and which are proven to read zero.
#ifndef HPZERO_LIB_SPACE_RESIDENCY_H
#define HPZERO_LIB_SPACE_RESIDENCY_H

#include <stddef.h>
#include <stdint.h>

namespace hpz {

// Pages that may hold something.
struct DirtyRun {
  uintptr_t begin, end;  // page boundaries, within what was asked
  bool is_resident;      // false: swapped, poisoned, under migration: look before you touch
};

// Open on the process's pagemap. One object may be used by several threads.
class Residency {
 public:
  Residency() noexcept;
  ~Residency();
  Residency(const Residency &) = delete;
  Residency &operator=(const Residency &) = delete;

  bool can_prove() const noexcept { return fd_ >= 0; }
  // Whether PAGEMAP_SCAN is there: it alone tells huge pages of hugetlb and the zero page.
  bool can_scan() const noexcept { return can_scan_; }
  int fd() const noexcept { return fd_; }

  // Whether all of it is mapped by huge pages. False also where PAGEMAP_SCAN is not there.
  bool is_all_huge(uintptr_t begin, uintptr_t end) const noexcept;

  // Whether the page is a guard page (MADV_GUARD_INSTALL): an access is a fault.
  bool is_guard(uintptr_t page) const noexcept;

 private:
  int fd_;
  bool can_scan_ = false;
};

// The dirty runs of [begin, end), both page boundaries, in order.
class DirtyRuns {
 public:
  DirtyRuns(const Residency &residency, uintptr_t begin, uintptr_t end) noexcept
      : fd_(residency.fd()), can_scan_(residency.can_scan()), at_(begin), end_(end) {}

  // The next one; none: out.begin == out.end == end. 0, or a negative errno value: nothing is
  // proven of what follows the run before.
  int next(DirtyRun &out) noexcept;

 private:
  // struct page_region of linux/fs.h, which headers before 6.7 do not have.
  struct Region {
    uint64_t begin, end, categories;
  };
  // Scattered pages are a run each, and a system call for each would take longer than to clear it.
  static constexpr size_t kRegions = 256;
  static constexpr size_t kEntries = 512;
  union Buffer {
    Region regions[kRegions];
    uint64_t entries[kEntries];
  };

  int next_region(DirtyRun &out) noexcept;
  int next_of_entries(DirtyRun &out) noexcept;
  int fill_regions() noexcept;
  int fill_entries() noexcept;

  const int fd_;
  const bool can_scan_;
  uintptr_t at_;  // what lies before is told, or in the buffer
  const uintptr_t end_;
  size_t next_ = 0, held_ = 0;  // in the buffer
  Buffer buffer_ = {};          // MemorySanitizer does not know what the ioctl fills
};

// What an entry of /proc/self/pagemap says (Linux: Documentation/admin-guide/mm/pagemap.rst).
enum class PageProof : uint8_t { kZero, kResident, kElsewhere };
PageProof judge_entry(uint64_t entry) noexcept;

}  // namespace hpz

#endif
