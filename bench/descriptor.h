// SPDX-License-Identifier: BSD-2-Clause
//
// A file descriptor that is closed when it is done with.
#ifndef HPZERO_BENCH_DESCRIPTOR_H
#define HPZERO_BENCH_DESCRIPTOR_H

#include <unistd.h>

#include <utility>

namespace hpz::bench {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}  // negative: none
  ~Descriptor() { reset(); }
  Descriptor(Descriptor &&other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

}  // namespace hpz::bench

#endif
