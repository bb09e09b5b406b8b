// SPDX-License-Identifier: BSD-2-Clause
//
// The descriptors of this process: how many there are, how many there may be, what is behind one.
#ifndef HPZERO_TESTS_SUPPORT_DESCRIPTORS_H
#define HPZERO_TESTS_SUPPORT_DESCRIPTORS_H

#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

namespace hpz::test {

size_t open_descriptors();
int next_descriptor();  // the lowest number that is free

ino_t file_of(int fd);
bool is_readable(int fd);  // there is something to read now

// A table that ends at this number: who opens one more gets EMFILE.
class ShortTable {
 public:
  explicit ShortTable(rlim_t end);
  ~ShortTable();
  ShortTable(const ShortTable &) = delete;
  ShortTable &operator=(const ShortTable &) = delete;

  // The end of one that has room for so many more.
  static rlim_t with_room_for(size_t more);

 private:
  rlimit before_;
};

}  // namespace hpz::test

#endif
