// SPDX-License-Identifier: BSD-2-Clause
//
// A file full of bytes that nobody writes by accident, and the oracle that says by reading it which
// of them have become zero, and whether anything else of it has changed.
#ifndef HPZERO_TESTS_SUPPORT_POISONED_FILE_H
#define HPZERO_TESTS_SUPPORT_POISONED_FILE_H

#include <gtest/gtest.h>
#include <hpzero/space.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <vector>

namespace hpz::test {

class PoisonedFile {
 public:
  static constexpr off_t kPlace = 77;  // of the file's offset: nobody has a reason to move it there

  // Of size 0 and the caller's; closed at the end. Its offset is moved to that place.
  PoisonedFile(int fd, size_t bytes);
  ~PoisonedFile();
  PoisonedFile(const PoisonedFile &) = delete;
  PoisonedFile &operator=(const PoisonedFile &) = delete;

  int fd() const { return fd_; }
  size_t bytes() const { return model_.size(); }
  uint64_t blocks_bytes() const;  // that the file system has given it
  // What was written by somebody else: into the file, and the model.
  void fill(size_t at, size_t len, unsigned char value);
  // What is expected to be zero from here on.
  void clear(size_t at, size_t len);
  void clear(const std::vector<hpz_extent> &extents, size_t from);  // from: where the space begins
  void forget_model_from(size_t at) { model_.resize(at); }          // the file was made shorter
  // Content, size and offset of the file are as they should be.
  testing::AssertionResult is_as_expected() const;

 private:
  int fd_;
  std::vector<unsigned char> model_;
};

}  // namespace hpz::test

#endif
