// SPDX-License-Identifier: BSD-2-Clause
//
// Sets of CPU numbers of any size: the kernel's masks may be larger than cpu_set_t (row F3 of the
// field reports).
#ifndef HPZERO_LIB_TEAM_CPU_SET_H
#define HPZERO_LIB_TEAM_CPU_SET_H

#include <stdint.h>

#include "lib/team/array.h"

namespace hpz {

class CpuSet {
 public:
  [[nodiscard]] bool add(uint32_t cpu) noexcept;  // false: no memory
  bool contains(uint32_t cpu) const noexcept;
  uint32_t count() const noexcept;
  bool empty() const noexcept { return count() == 0; }
  uint32_t end() const noexcept {  // every member is less than this
    return static_cast<uint32_t>(words_.size() * kBits);
  }
  void keep_only(const CpuSet &other) noexcept;

  // As sched_setaffinity takes it.
  const unsigned long *data() const noexcept { return words_.data(); }
  size_t bytes() const noexcept { return words_.size() * sizeof(unsigned long); }

 private:
  friend int read_affinity(CpuSet &out) noexcept;
  static constexpr size_t kBits = 8 * sizeof(unsigned long);
  Array<unsigned long> words_;
};

// The calling thread's affinity mask, whatever the size of the kernel's; offline CPUs are not in
// it. 0 or a negative errno value.
int read_affinity(CpuSet &out) noexcept;

// "0-3,8": the format of taskset and of the kernel's lists. -EINVAL: something else (spaces and a
// last newline excepted), a number of 2^20 or more. -ENOMEM.
int parse_cpu_list(const char *text, CpuSet &out) noexcept;

}  // namespace hpz

#endif
