// SPDX-License-Identifier: BSD-2-Clause
//
// What is remembered of the subpages of one page: which are dirty, and which are being cleared (and
// may be dirty again meanwhile). Who reads or writes it has locked the page.
#ifndef HPZERO_LIB_MAP_DETAIL_H
#define HPZERO_LIB_MAP_DETAIL_H

#include <stdint.h>

#include <algorithm>

namespace hpz {

enum class SubpageState { kZero, kDirty, kClearing };

struct SubpageRun {
  SubpageState state;
  uint64_t end;  // a subpage's number within its page
};

inline constexpr uint64_t kWordBits = 64;

// The bits of a word that belong to [from, to).
inline uint64_t range_mask(uint64_t word, uint64_t from, uint64_t to) noexcept {
  const uint64_t first = word * kWordBits;
  uint64_t mask = ~uint64_t{0};
  if (from > first) mask = from - first < kWordBits ? mask << (from - first) : 0;
  if (to < first + kWordBits) mask &= to > first ? ~uint64_t{0} >> (first + kWordBits - to) : 0;
  return mask;
}

class Detail {
 public:
  // All zero. Null: no memory.
  static Detail *create(uint64_t subpages) noexcept;
  static void destroy(Detail *detail) noexcept;
  static uint64_t bytes_for(uint64_t subpages) noexcept;

  uint64_t dirty() const noexcept { return dirty_; }        // how many
  uint64_t clearing() const noexcept { return clearing_; }  // how many
  // ... are dirty, or being cleared, or both.
  uint64_t not_zero() const noexcept;
  bool is_clearing(uint64_t from, uint64_t to) const noexcept;
  // From at on, as far as it is the same (or shorter).
  SubpageRun run(uint64_t at, uint64_t to) const noexcept;

  void set_dirty(uint64_t from, uint64_t to) noexcept;
  // Word by word what mask(word, bits) leaves of the bits of [from, to).
  template <class Mask> void set_dirty(uint64_t from, uint64_t to, const Mask &mask) noexcept {
    reach(from, to);
    for (uint64_t word = from / kWordBits; word <= (to - 1) / kWordBits; ++word) {
      add(dirty_words()[word], mask(word, range_mask(word, from, to)), dirty_);
    }
  }
  void set_clearing(uint64_t from, uint64_t to) noexcept;
  void take(uint64_t from, uint64_t to) noexcept;           // dirty or not: being cleared, only
  void clear_dirty(uint64_t from, uint64_t to) noexcept;    // but not of what is being cleared
  void end_clearing(uint64_t from, uint64_t to) noexcept;   // no more being cleared
  void fail_clearing(uint64_t from, uint64_t to) noexcept;  // ... but dirty

 private:
  uint64_t *dirty_words() noexcept { return reinterpret_cast<uint64_t *>(this + 1); }
  const uint64_t *dirty_words() const noexcept {
    return reinterpret_cast<const uint64_t *>(this + 1);
  }
  uint64_t *clearing_words() noexcept { return dirty_words() + words_; }
  const uint64_t *clearing_words() const noexcept { return dirty_words() + words_; }
  void reach(uint64_t from, uint64_t to) noexcept {
    first_word_ = std::min(first_word_, from / kWordBits);
    end_word_ = std::max(end_word_, (to - 1) / kWordBits + 1);
  }
  static void add(uint64_t &word, uint64_t bits, uint64_t &count) noexcept;
  static void remove(uint64_t &word, uint64_t bits, uint64_t &count) noexcept;
  template <class Change> void for_words(uint64_t from, uint64_t to, const Change &) noexcept;

  uint64_t words_;  // of each of the two bitmaps, which lie behind this
  uint64_t dirty_, clearing_;
  // Outside of these no bit has ever been set: a page of 1 GiB has 4096 words to look at.
  uint64_t first_word_, end_word_;
};

}  // namespace hpz

#endif
