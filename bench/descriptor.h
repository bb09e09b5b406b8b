// SPDX-License-Identifier: BSD-2-Clause
//
// A file descriptor that is closed when it is done with.
#ifndef HPZERO_BENCH_DESCRIPTOR_H
#define HPZERO_BENCH_DESCRIPTOR_H

#include <unistd.h>

namespace hpz::bench {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}  // negative: none
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace hpz::bench

#endif
