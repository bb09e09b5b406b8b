// SPDX-License-Identifier: BSD-2-Clause
#include "lib/map/detail.h"

#include <stdlib.h>

namespace hpz {
namespace {

uint64_t words_for(uint64_t subpages) noexcept {
  return (subpages + (kWordBits - 1)) / kWordBits;
}

// By hand: the baseline CPU has no instruction for it, and a call costs more than this.
uint64_t ones(uint64_t word) noexcept {
  if (word == 0) return 0;
  word -= (word >> 1) & 0x5555555555555555;
  word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F;
  return word * 0x0101010101010101 >> 56;
}

uint64_t trailing_zeros(uint64_t word) noexcept {
  return word == 0 ? kWordBits : static_cast<uint64_t>(__builtin_ctzll(word));
}

}  // namespace

uint64_t Detail::bytes_for(uint64_t subpages) noexcept {
  return sizeof(Detail) + 2 * words_for(subpages) * sizeof(uint64_t);
}

Detail *Detail::create(uint64_t subpages) noexcept {
  // A page of more than 16 TiB by subpages of 4 KiB: to go through its bitmaps would take longer
  // than a lock may be held.
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  if (bytes_for(subpages) > kMostBytes) return nullptr;
  auto *const detail = static_cast<Detail *>(calloc(1, bytes_for(subpages)));
  if (detail == nullptr) return nullptr;
  detail->words_ = words_for(subpages);
  detail->first_word_ = detail->words_;
  return detail;
}

void Detail::destroy(Detail *detail) noexcept {
  free(detail);
}

void Detail::add(uint64_t &word, uint64_t bits, uint64_t &count) noexcept {
  count += ones(bits & ~word);
  word |= bits;
}

void Detail::remove(uint64_t &word, uint64_t bits, uint64_t &count) noexcept {
  count -= ones(bits & word);
  word &= ~bits;
}

// change(dirty, clearing, bits) for the words of the range that may have bits.
template <class Change>
void Detail::for_words(uint64_t from, uint64_t to, const Change &change) noexcept {
  if (from >= to) return;
  const uint64_t first = std::max(from / kWordBits, first_word_);
  const uint64_t end = std::min((to - 1) / kWordBits + 1, end_word_);
  for (uint64_t word = first; word < end; ++word) {
    change(dirty_words()[word], clearing_words()[word], range_mask(word, from, to));
  }
}

uint64_t Detail::not_zero() const noexcept {
  if (clearing_ == 0) return dirty_;
  uint64_t count = 0;
  for (uint64_t word = first_word_; word < end_word_; ++word) {
    count += ones(dirty_words()[word] | clearing_words()[word]);
  }
  return count;
}

bool Detail::is_clearing(uint64_t from, uint64_t to) const noexcept {
  if (clearing_ == 0) return false;
  const uint64_t end = std::min((to - 1) / kWordBits + 1, end_word_);
  for (uint64_t word = std::max(from / kWordBits, first_word_); word < end; ++word) {
    if ((clearing_words()[word] & range_mask(word, from, to)) != 0) return true;
  }
  return false;
}

SubpageRun Detail::run(uint64_t at, uint64_t to) const noexcept {
  const uint64_t word = at / kWordBits, bit = at % kWordBits;
  if (word < first_word_) return {SubpageState::kZero, std::min(to, first_word_ * kWordBits)};
  if (word >= end_word_) return {SubpageState::kZero, to};
  const uint64_t dirty = dirty_words()[word] >> bit, clearing = clearing_words()[word] >> bit;
  SubpageState state = SubpageState::kZero;
  uint64_t others = dirty | clearing;  // bits where the run ends
  if ((clearing & 1) != 0) {
    state = SubpageState::kClearing;
    others = ~clearing;
  } else if ((dirty & 1) != 0) {
    state = SubpageState::kDirty;
    others = ~(dirty & ~clearing);
  }
  const uint64_t length = std::min(trailing_zeros(others), kWordBits - bit);
  return {state, std::min(to, at + length)};
}

void Detail::set_dirty(uint64_t from, uint64_t to) noexcept {
  if (from >= to) return;
  set_dirty(from, to, [](uint64_t, uint64_t bits) { return bits; });
}

void Detail::set_clearing(uint64_t from, uint64_t to) noexcept {
  if (from >= to) return;
  reach(from, to);
  for_words(from, to,
            [&](uint64_t &, uint64_t &clearing, uint64_t bits) { add(clearing, bits, clearing_); });
}

void Detail::take(uint64_t from, uint64_t to) noexcept {
  set_clearing(from, to);
  for_words(from, to,
            [&](uint64_t &dirty, uint64_t &, uint64_t bits) { remove(dirty, bits, dirty_); });
}

void Detail::clear_dirty(uint64_t from, uint64_t to) noexcept {
  for_words(from, to, [&](uint64_t &dirty, uint64_t &clearing, uint64_t bits) {
    remove(dirty, bits & ~clearing, dirty_);
  });
}

void Detail::end_clearing(uint64_t from, uint64_t to) noexcept {
  for_words(from, to, [&](uint64_t &, uint64_t &clearing, uint64_t bits) {
    remove(clearing, bits, clearing_);
  });
}

void Detail::fail_clearing(uint64_t from, uint64_t to) noexcept {
  for_words(from, to, [&](uint64_t &dirty, uint64_t &clearing, uint64_t bits) {
    add(dirty, bits & clearing, dirty_);
    remove(clearing, bits, clearing_);
  });
}

}  // namespace hpz
