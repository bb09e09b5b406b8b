// SPDX-License-Identifier: BSD-2-Clause
//
// Memory as a caller has it, mapped and not touched, and what this kernel tells of its pages.
#ifndef HPZERO_TESTS_SUPPORT_MEMORY_H
#define HPZERO_TESTS_SUPPORT_MEMORY_H

#include <stddef.h>

namespace hpz::test {

size_t resident_bytes(void *at, size_t bytes);  // as mincore counts, by whole pages

// Anonymous memory that is gone at the end; flags beside MAP_PRIVATE | MAP_ANONYMOUS.
class Memory {
 public:
  explicit Memory(size_t bytes, int flags = 0);
  Memory(int fd, size_t bytes, int flags);  // of a file
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  unsigned char *begin() const { return begin_; }  // null if there was none to be had
  unsigned char *end() const { return begin_ + bytes_; }
  size_t bytes() const { return bytes_; }
  size_t resident_bytes() const { return test::resident_bytes(begin_, bytes_); }

 private:
  unsigned char *begin_;
  size_t bytes_;
};

// Independent of the library: whether a process can read which of its pages are there ...
bool can_prove();
// ... and whether PAGEMAP_SCAN is there (Linux 6.7), which alone tells the zero page and huge pages
// of the pool from others.
bool can_scan();
// Whether PROCMAP_QUERY is there (Linux 6.11), which tells a mapping without the text of all.
bool can_query_mappings();

}  // namespace hpz::test

#endif
