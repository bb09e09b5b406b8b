// SPDX-License-Identifier: BSD-2-Clause
//
// A dirty bitmap as KVM hands it out: 8 subpages to a byte, the lowest bit first, in words that are
// to be read as little-endian ones.
#ifndef HPZERO_LIB_MAP_DIRTY_BITMAP_H
#define HPZERO_LIB_MAP_DIRTY_BITMAP_H

#include <stddef.h>
#include <stdint.h>

#include "lib/map/pages.h"

namespace hpz {

struct DirtyBitmap {
  const uint64_t *words;
  size_t bits;

  bool has_ones_from(uint64_t bit) const noexcept;
  // Bit 0 is the subpage of this number, from the beginning of the map.
  void mark(Pages &pages, uint64_t first) const noexcept;

 private:
  uint64_t word(size_t index) const noexcept;  // bit 0 the lowest, on every CPU
  uint64_t word_at(uint64_t bit) const noexcept;
  bool has_ones_only(uint64_t from, uint64_t count) const noexcept;
  uint64_t first_one(uint64_t from, uint64_t to) const noexcept;
  void mark_undivided(Pages &pages, uint64_t first) const noexcept;
  void mark_divided(Pages &pages, uint64_t first) const noexcept;
};

}  // namespace hpz

#endif
