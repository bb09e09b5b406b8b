// SPDX-License-Identifier: BSD-2-Clause
//
// The states of all pages of a map, and how they change. Every change is one compare-exchange of
// the page's byte, or happens while that byte is Locked; a lock is held for a few loops over the
// page's detail, never while anything is cleared or waited for.
//
//   Dirty      nothing is known
//   Zero       reads zero
//   Fresh      reads zero, not resident
//   Clearing   all of it is in the hands of one call, which will publish what has come of it
//   Releasing  the same; it reads zero already
//   Remarked   was marked dirty while Clearing or Releasing: it will be Dirty
//   Partial    its subpages differ: see its detail
//   Locked     somebody is at the detail
//
// A page that is in somebody's hands is left alone by all others, but for marks. So when a call
// finds it as it has left it, or Remarked, it is still the same taking.
#ifndef HPZERO_LIB_MAP_PAGES_H
#define HPZERO_LIB_MAP_PAGES_H

#include <hpzero/map.h>
#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <atomic>

#include "lib/map/batch.h"
#include "lib/map/detail.h"
#include "lib/map/lazy_memory.h"
#include "lib/map/steps.h"

namespace hpz {

enum class PageState : uint8_t {
  kDirty = HPZ_PAGE_DIRTY,
  kZero = HPZ_PAGE_ZERO,
  kFresh = HPZ_PAGE_FRESH,
  kClearing,
  kReleasing,
  kRemarked,
  kPartial,
  kLocked
};

// Bytes of the map.
struct Part {
  uint64_t begin, end;
};

class Pages {
 public:
  struct Shape {
    uint64_t len;
    uint64_t page_bytes, subpage_bytes;  // powers of two
    PageState initial;
  };

  Pages() noexcept = default;
  ~Pages();
  Pages(const Pages &) = delete;
  Pages &operator=(const Pages &) = delete;
  [[nodiscard]] bool open(const Shape &shape) noexcept;  // false: no memory

  uint64_t bytes() const noexcept { return shape_.len; }
  uint64_t subpages() const noexcept { return (shape_.len - 1) / shape_.subpage_bytes + 1; }
  uint64_t page_bytes() const noexcept { return shape_.page_bytes; }
  uint64_t subpage_bytes() const noexcept { return shape_.subpage_bytes; }

  // Whoever marks has written before. A page that is dirty already is only looked at: without this
  // the look could come before the write, and a call take, clear and publish the page in between.
  static void begin_marking() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
  // The other half: whoever has taken looks at, or writes to, memory from here on.
  static void end_taking() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }

  // --- A page, or its subpages [from, to): what is said of them ---
  void mark(uint64_t page, uint64_t from, uint64_t to) noexcept;
  // Those of [from, to) whose bits mask(word, bits) leaves of the bits of a word of the page.
  template <class Mask>
  void mark_masked(uint64_t page, uint64_t from, uint64_t to, const Mask &mask) noexcept;
  void mark_page(uint64_t page) noexcept {
    const PageState state = load(page);  // most are one of these
    if (state == PageState::kDirty) return;
    const bool is_zero = state == PageState::kZero || state == PageState::kFresh;
    if (!is_zero || !change(page, state, PageState::kDirty)) mark_any_page(page);
  }
  void say_zero(uint64_t page, uint64_t from, uint64_t to, PageState zero_or_fresh) noexcept;
  bool is_zero(uint64_t page, uint64_t subpage) noexcept;  // or fresh
  bool is_fresh(uint64_t page) const noexcept { return load(page) == PageState::kFresh; }
  void say_resident(uint64_t page) noexcept;  // fresh no longer
  void count(hpz_map_counts &out) noexcept;

  // --- Taking. The first subpage that is not dealt with: the batch is full, or is_at_busy. ---
  uint64_t take_dirty(uint64_t page, uint64_t from, uint64_t to, Batch &batch) noexcept;
  uint64_t take_not_fresh(uint64_t page, uint64_t from, uint64_t to, Batch &batch) noexcept;

  // --- What has come of what this call has taken of the page ---
  // It is zero, or fresh if it is the whole page. False: nothing was done. Of a page that was taken
  // whole and has no detail (there was no memory, or it is to be fresh or dirty as a whole) a part
  // cannot be published.
  bool publish(uint64_t page, uint64_t from, uint64_t to, PageState zero_or_fresh) noexcept;
  // It is what it was before. True: so is all that was taken of the page.
  bool give_back(uint64_t page, uint64_t from, uint64_t to) noexcept;

  // In somebody's hands.
  bool is_busy(uint64_t page, uint64_t from, uint64_t to) noexcept;

  uint64_t subpages_of(uint64_t page) const noexcept {
    return page != pages_ - 1 ? uint64_t{1} << detail_shift_ : subpages() - (page << detail_shift_);
  }
  uint64_t page_of(uint64_t offset) const noexcept { return offset >> page_shift_; }
  // Bytes from the beginning of the map; the end of it for what lies beyond.
  uint64_t offset_of(uint64_t page, uint64_t subpage) const noexcept {
    const uint64_t number = (page << detail_shift_) + subpage;
    return number > (shape_.len >> subpage_shift_) ? shape_.len : number << subpage_shift_;
  }
  uint64_t bytes_of(uint64_t page, uint64_t from, uint64_t to) const noexcept {
    return offset_of(page, to) - offset_of(page, from);
  }
  // The number of the subpage that begins there, in its page or one behind it.
  uint64_t subpage_in(uint64_t page, uint64_t offset) const noexcept {
    if (offset == shape_.len) return subpages() - (page << detail_shift_);
    return (offset >> subpage_shift_) - (page << detail_shift_);
  }
  Part in_page(uint64_t page, Part part) const noexcept {
    return {std::max(part.begin, offset_of(page, 0)),
            std::min(part.end, offset_of(page, subpages_of(page)))};
  }
  // What of the part is whole pages or subpages (unit: their bytes); the last one of the map may be
  // short and counts as whole. None: the end is not behind the beginning.
  Part whole_units(Part part, uint64_t unit) const noexcept {
    return {(part.begin + (unit - 1)) & ~(unit - 1),
            part.end == shape_.len ? part.end : part.end & ~(unit - 1)};
  }
  unsigned subpage_shift() const noexcept { return subpage_shift_; }
  unsigned detail_shift() const noexcept { return detail_shift_; }
  void prefetch(uint64_t page) const noexcept { __builtin_prefetch(states_ + page, 1); }

 private:
  uint8_t stored(PageState state) const noexcept {
    return static_cast<uint8_t>(static_cast<unsigned>(state) ^
                                static_cast<unsigned>(shape_.initial));
  }
  PageState load(uint64_t page) const noexcept {  // when it is not locked
    for (unsigned tries = 0;; ++tries) {
      map_step_unless(states_[page], stored(PageState::kLocked));
      const uint8_t found = states_[page].load(std::memory_order_acquire);
      if (found != stored(PageState::kLocked)) {
        return static_cast<PageState>(found ^ static_cast<unsigned>(shape_.initial));
      }
      pause(tries);
    }
  }
  bool change(uint64_t page, PageState from, PageState to) noexcept {
    uint8_t expected = stored(from);
    map_step(states_[page], Access::kWrite);
    return states_[page].compare_exchange_strong(expected, stored(to), std::memory_order_acq_rel,
                                                 std::memory_order_relaxed);
  }
  static void pause(unsigned tries) noexcept;
  void mark_any_page(uint64_t page) noexcept;
  void unlock(uint64_t page, PageState to) noexcept;
  bool lock(uint64_t page, PageState from) noexcept {
    return change(page, from, PageState::kLocked);
  }
  // While it is locked.
  Detail *make_detail(uint64_t page) noexcept;
  Detail *make_clearing_detail(uint64_t page) noexcept;  // all of it is in hands
  void drop_detail(uint64_t page) noexcept;
  PageState settled(uint64_t page) noexcept;
  bool take_all_dirty(uint64_t page, uint64_t from, uint64_t to, Batch &batch) noexcept;
  uint64_t take_bits(uint64_t page, uint64_t from, uint64_t to, Batch &batch) noexcept;

  Shape shape_ = {};
  uint64_t pages_ = 0;
  unsigned page_shift_ = 0, subpage_shift_ = 0;
  unsigned detail_shift_ = 0;  // subpages of a page, as a power of two
  LazyMemory state_memory_, detail_memory_;
  // State XOR shape_.initial, so that untouched memory, 0, is the initial state.
  std::atomic<uint8_t> *states_ = nullptr;
  Detail **details_ = nullptr;  // null if a page is one subpage
  std::atomic<uint64_t> detail_bytes_{0};
};

template <class Mask>
void Pages::mark_masked(uint64_t page, uint64_t from, uint64_t to, const Mask &mask) noexcept {
  for (;;) {
    const PageState state = load(page);
    if (state == PageState::kDirty || state == PageState::kRemarked) return;
    if (!lock(page, state)) continue;
    const bool is_zero = state == PageState::kZero || state == PageState::kFresh;
    Detail *const detail = state == PageState::kPartial ? details_[page]
                           : is_zero                    ? make_detail(page)
                                                        : make_clearing_detail(page);
    if (detail == nullptr) return unlock(page, is_zero ? PageState::kDirty : PageState::kRemarked);
    detail->set_dirty(from, to, mask);
    return unlock(page, settled(page));
  }
}

}  // namespace hpz

#endif
