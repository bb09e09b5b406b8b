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

// Open on /proc/self/pagemap. One object may be used by several threads.
class Residency {
 public:
  Residency() noexcept;
  ~Residency();
  Residency(const Residency &) = delete;
  Residency &operator=(const Residency &) = delete;

  bool can_prove() const noexcept { return fd_ >= 0; }
  // Whether PAGEMAP_SCAN is there: it alone tells huge pages of hugetlb and the zero page.
  bool can_scan() const noexcept { return can_scan_; }

  // The next run in [at, end), both page boundaries; none: out.begin == out.end == end. 0, or a
  // negative errno value: nothing is proven.
  int next_dirty(uintptr_t at, uintptr_t end, DirtyRun &out) const noexcept;

  // Whether the page is a guard page (MADV_GUARD_INSTALL): an access is a fault.
  bool is_guard(uintptr_t page) const noexcept;

 private:
  int scan(uintptr_t at, uintptr_t end, DirtyRun &out) const noexcept;
  int read_entries(uintptr_t at, uintptr_t end, DirtyRun &out) const noexcept;

  int fd_;
  bool can_scan_ = false;
};

// What an entry of /proc/self/pagemap says (Linux: Documentation/admin-guide/mm/pagemap.rst).
enum class PageProof : uint8_t { kZero, kResident, kElsewhere };
PageProof judge_entry(uint64_t entry) noexcept;

uintptr_t base_page_bytes() noexcept;

}  // namespace hpz

#endif
