// SPDX-License-Identifier: BSD-2-Clause
//
// Clearing a file, or giving its blocks back, without a mapping, and where it has any. Positions
// are the file's.
#ifndef HPZERO_LIB_SPACE_FILE_BLOCKS_H
#define HPZERO_LIB_SPACE_FILE_BLOCKS_H

#include <stdint.h>

#include <atomic>

#include "lib/space/file_facts.h"

namespace hpz {

// Used by several threads at once.
class FileBlocks {
 public:
  FileBlocks() noexcept = default;
  ~FileBlocks();
  FileBlocks(const FileBlocks &) = delete;
  FileBlocks &operator=(const FileBlocks &) = delete;

  // fd stays the caller's. may_punch: zero may make holes of blocks.
  void open(int fd, const FileFacts &facts, bool may_punch) noexcept;

  // Whether find_data is proof.
  bool can_find_data() const noexcept { return seek_fd_ >= 0 && facts_.has_true_holes; }
  // Where in [at, end) the first run begins that may hold something; none: end.
  uint64_t find_data(uint64_t at, uint64_t end) const noexcept;
  // ... and where it ends. On tmpfs that looks at each page up to the file's next hole, however far
  // it is.
  void find_data(uint64_t at, uint64_t end, uint64_t &begin_out, uint64_t &end_out) const noexcept;

  // Whether zero is worth a call.
  bool can_zero() const noexcept {
    return zeroes_.load(std::memory_order_relaxed) || punches_.load(std::memory_order_relaxed);
  }
  // Makes whole blocks read zero by the file system, as far as that is known to be exact.
  // -EOPNOTSUPP: it did not, or nothing says that it did: write to them. Other errors are final.
  int zero(uint64_t at, uint64_t bytes) noexcept;

  // Whether holes can be punched: 0, -EOPNOTSUPP, -EPERM. Changes nothing.
  int try_punch() noexcept;
  // Gives whole blocks back. 0: they read zero; kNotProven: the kernel says so, but they may hold
  // something all the same.
  static constexpr int kNotProven = 1;
  int punch(uint64_t at, uint64_t bytes) noexcept;

  // Makes the file system give holes their blocks.
  int allocate(uint64_t at, uint64_t bytes) noexcept;

  // Writes zero, done_bytes of the beginning also with an error; -EFAULT where the file ends now.
  int write(uint64_t at, uint64_t bytes, uint64_t &done_bytes) const noexcept;

 private:
  int call(int mode, uint64_t at, uint64_t bytes) const noexcept;
  int zero_by(int mode, std::atomic<bool> &works, uint64_t at, uint64_t bytes) noexcept;
  bool is_proven(uint64_t at, uint64_t bytes) const noexcept;
  bool reads_zero(uint64_t at, uint64_t bytes) const noexcept;

  int fd_ = -1;
  int seek_fd_ = -1;  // an open file description of our own: fd_ shares its offset with the caller
  FileFacts facts_;
  // What has been refused is not tried again.
  std::atomic<bool> zeroes_{false}, punches_{false};
};

}  // namespace hpz

#endif
