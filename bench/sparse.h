// SPDX-License-Identifier: BSD-2-Clause
//
// Memory of which little was touched, as that of an idle virtual machine: anonymous, one place in a
// hundred resident, the rest never asked for.
#ifndef HPZERO_BENCH_SPARSE_H
#define HPZERO_BENCH_SPARSE_H

#include <cstdint>

#include "bench/memory.h"
#include "bench/pages.h"

namespace hpz::bench {

class SparseMemory {
 public:
  // bytes: a multiple of the page size.
  SparseMemory(PageKind kind, uint64_t bytes) : kind_(kind), mapping_(kind, bytes) {}

  PageKind kind() const { return kind_; }
  char *base() const { return mapping_.base(); }
  uint64_t bytes() const { return mapping_.bytes(); }

  // Every hundredth page, the first one among them.
  static constexpr uint64_t kOneIn = 100;
  uint64_t places() const;
  uint64_t touched_bytes() const { return places() * page_bytes(kind_); }

  void dirty();             // writes all touched places full
  bool reads_zero() const;  // all touched places
  uint64_t resident() const { return resident_bytes(base(), bytes()); }

 private:
  PageKind kind_;
  Mapping mapping_;
};

}  // namespace hpz::bench

#endif
