// SPDX-License-Identifier: BSD-2-Clause
//
// File systems of a test's own, as small as it likes, seen by nobody else.
#ifndef HPZERO_TESTS_SUPPORT_MOUNTED_H
#define HPZERO_TESTS_SUPPORT_MOUNTED_H

#include <string>

#include "tests/support/scratch_folder.h"

namespace hpz::test {

// Mounted in a mount namespace that this process enters with the first one; gone at the end.
class Mounted {
 public:
  // Of so many MiB: "tmpfs", "overlay" (over folders of a tmpfs), or what there is a mkfs for, on a
  // loop device; "device" is one with nothing on it.
  Mounted(const std::string &type, unsigned mib);
  ~Mounted();
  Mounted(const Mounted &) = delete;
  Mounted &operator=(const Mounted &) = delete;

  // "", or why there is none: words for GTEST_SKIP. It is a failure of the test, too, where it
  // should be there.
  const std::string &why_not() const { return why_not_; }
  // A new empty file, open for reading and writing; it has no name.
  int file() const;
  // The loop device; -1: there is none.
  int device() const { return device_; }

 private:
  void mount_loop(const std::string &type, unsigned mib);
  bool mount_over(const std::string &from, const std::string &at, const char *type,
                  const std::string &options);

  ScratchFolder folder_;
  std::string why_not_;
  int device_ = -1;
  unsigned mounts_ = 0;
};

}  // namespace hpz::test

#endif
