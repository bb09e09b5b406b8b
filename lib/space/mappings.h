// SPDX-License-Identifier: BSD-2-Clause
//
// What kinds of mapping lie behind addresses, as /proc/self/smaps tells.
#ifndef HPZERO_LIB_SPACE_MAPPINGS_H
#define HPZERO_LIB_SPACE_MAPPINGS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/team/array.h"

namespace hpz {

struct Mapping {
  uintptr_t begin, end;
  uint64_t page_bytes;     // 0: not told
  uint64_t device, inode;  // major << 32 | minor; both 0: no file behind it
  uint64_t file_offset;
  bool is_writable, is_shared;
  bool is_hugetlb;
  bool is_anonymous;         // private, and an absent page is a zero page
  bool may_be_kernels_huge;  // anonymous if the file behind it is of the kernel's own hugetlb mount
  bool has_flags;            // VmFlags were there: what follows is known
  bool has_userfaultfd;      // an absent page's content comes from whoever handles it
  bool is_locked;
  bool is_special;  // I/O memory, page frames without struct page
};

// Reads smaps line by line, whatever the pieces it comes in.
class SmapsParser {
 public:
  // Mappings that end at lo or before and those that begin at hi or behind are left out.
  SmapsParser(uintptr_t lo, uintptr_t hi, Array<Mapping> &out) noexcept
      : lo_(lo), hi_(hi), out_(out) {}
  void feed(const char *text, size_t size) noexcept;
  bool has_lines() const noexcept { return has_lines_; }
  bool is_done() const noexcept { return is_past_; }        // nothing that follows matters
  bool has_failed() const noexcept { return has_failed_; }  // no memory, or not such a file

 private:
  void line() noexcept;
  void header() noexcept;
  void flags() noexcept;

  uintptr_t lo_, hi_;
  Array<Mapping> &out_;
  bool is_inside_ = false;  // the lines are about a mapping that is wanted
  bool is_past_ = false, has_failed_ = false, has_lines_ = false;
  size_t length_ = 0;
  char line_[512];  // longer ones are cut: what is wanted stands in front
};

// Private anonymous huge pages have a file of a mount inside the kernel behind them; any other file
// may be called as theirs is. kernels_device: of that mount.
void judge_huge_mapping(Mapping &mapping, uint64_t kernels_device) noexcept;

// The mappings that have bytes in [lo, hi), by address. It walks the page tables of
// all mappings up to hi (some 15 ms for each GiB of 4 KiB pages): nothing else tells of
// userfaultfd. -errno: not readable, -ENOMEM.
int read_mappings(uintptr_t lo, uintptr_t hi, Array<Mapping> &out) noexcept;

// The one that holds the address, or null.
const Mapping *find_mapping(const Array<Mapping> &mappings, uintptr_t address) noexcept;

// The largest page size of the mappings in [lo, hi), by the PROCMAP_QUERY ioctl (Linux 6.11), which
// walks no page tables. False: the kernel has no such ioctl, or it is refused.
bool query_page_bytes(uintptr_t lo, uintptr_t hi, uint64_t &largest) noexcept;

}  // namespace hpz

#endif
