// SPDX-License-Identifier: BSD-2-Clause
#include "bench/sparse.h"

#include <hpzero/hpzero.h>

#include <cstring>

namespace hpz::bench {

uint64_t SparseMemory::places() const {
  const uint64_t pages = bytes() / page_bytes(kind_);
  return (pages + kOneIn - 1) / kOneIn;
}

void SparseMemory::dirty() {
  constexpr int kDirt = 0xa5;
  const uint64_t page = page_bytes(kind_);
  for (uint64_t at = 0; at < bytes(); at += kOneIn * page) std::memset(base() + at, kDirt, page);
}

bool SparseMemory::reads_zero() const {
  const uint64_t page = page_bytes(kind_);
  for (uint64_t at = 0; at < bytes(); at += kOneIn * page) {
    if (hpz_is_zero(base() + at, page) == 0) return false;
  }
  return true;
}

}  // namespace hpz::bench
