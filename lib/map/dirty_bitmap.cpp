// SPDX-License-Identifier: BSD-2-Clause
#include "lib/map/dirty_bitmap.h"

#include <endian.h>

#include <algorithm>

namespace hpz {

// With no bits beyond the end.
uint64_t DirtyBitmap::word(size_t index) const noexcept {
  const uint64_t from = index * kWordBits;
  if (from >= bits) return 0;
  const uint64_t whole = le64toh(words[index]);  // KVM's are little-endian on every CPU
  return bits - from >= kWordBits ? whole : whole & range_mask(0, 0, bits - from);
}

// 64 bits from any bit on.
uint64_t DirtyBitmap::word_at(uint64_t bit) const noexcept {
  const uint64_t index = bit / kWordBits, shift = bit % kWordBits;
  if (shift == 0) return word(index);
  return word(index) >> shift | word(index + 1) << (kWordBits - shift);
}

// to if there is none.
uint64_t DirtyBitmap::first_one(uint64_t from, uint64_t to) const noexcept {
  while (from < to) {
    const uint64_t ones = word(from / kWordBits) >> from % kWordBits;
    if (ones != 0) {
      return std::min(to, from + static_cast<uint64_t>(__builtin_ctzll(ones)));
    }
    from = (from / kWordBits + 1) * kWordBits;
  }
  return to;
}

bool DirtyBitmap::has_ones_only(uint64_t from, uint64_t count) const noexcept {
  for (; count >= kWordBits; from += kWordBits, count -= kWordBits) {
    if (word_at(from) != ~uint64_t{0}) return false;
  }
  return count == 0 || (~word_at(from) & range_mask(0, 0, count)) == 0;
}

bool DirtyBitmap::has_ones_from(uint64_t bit) const noexcept {
  return bit < bits && first_one(bit, bits) < bits;
}

void DirtyBitmap::mark(Pages &pages, uint64_t first) const noexcept {
  if (bits == 0) return;
  Pages::begin_marking();
  if (pages.detail_shift() == 0) {
    mark_undivided(pages, first);
  } else {
    mark_divided(pages, first);
  }
}

// A bit is a page. First the words that have ones, without a branch that a CPU would have to guess:
// of a guest that has written to a hundredth of its pages every second word has one.
void DirtyBitmap::mark_undivided(Pages &pages, uint64_t first) const noexcept {
  constexpr size_t kBlock = 256;  // words: their lines of states are on their way, and fit a cache
  const size_t count = (bits + (kWordBits - 1)) / kWordBits;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t end = std::min(count, begin + kBlock);
    size_t found[kBlock], founds = 0;
    for (size_t i = begin; i < end; ++i) {
      found[founds] = i;
      founds += words[i] != 0 ? 1 : 0;
    }
    for (size_t i = 0; i < founds; ++i) pages.prefetch(first + found[i] * kWordBits);
    for (size_t i = 0; i < founds; ++i) {
      for (uint64_t ones = word(found[i]); ones != 0; ones &= ones - 1) {
        pages.mark_page(first + found[i] * kWordBits +
                        static_cast<uint64_t>(__builtin_ctzll(ones)));
      }
    }
  }
}

// Page by page, from the first one bit to the next.
void DirtyBitmap::mark_divided(Pages &pages, uint64_t first) const noexcept {
  const unsigned shift = pages.detail_shift();
  for (uint64_t bit = first_one(0, bits); bit < bits; bit = first_one(bit, bits)) {
    const uint64_t page = (first + bit) >> shift, begin = page << shift;  // of its subpages
    const uint64_t subpages = pages.subpages_of(page);
    const uint64_t end = std::min(first + bits, begin + subpages);
    const uint64_t from = first + bit - begin, to = end - begin;
    const auto mask = [&](uint64_t word, uint64_t range) {
      const uint64_t at = begin + word * kWordBits;  // the subpage of the word's lowest bit
      return range & (at >= first ? word_at(at - first) : word_at(0) << (first - at));
    };
    if (to - from == subpages && has_ones_only(bit, subpages)) {
      pages.mark_page(page);
    } else {
      pages.mark_masked(page, from, to, mask);
    }
    bit = end - first;
  }
}

}  // namespace hpz
