// SPDX-License-Identifier: BSD-2-Clause
//
// Memory that reads zero and costs nothing until it is written to.
#ifndef HPZERO_LIB_MAP_LAZY_MEMORY_H
#define HPZERO_LIB_MAP_LAZY_MEMORY_H

#include <stdint.h>

namespace hpz {

class LazyMemory {
 public:
  LazyMemory() noexcept = default;
  ~LazyMemory();
  LazyMemory(const LazyMemory &) = delete;
  LazyMemory &operator=(const LazyMemory &) = delete;

  [[nodiscard]] bool open(uint64_t bytes) noexcept;  // once; false: no memory
  void *begin() const noexcept { return begin_; }
  uint64_t bytes() const noexcept { return bytes_; }

 private:
  void *begin_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace hpz

#endif
