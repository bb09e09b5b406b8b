// SPDX-License-Identifier: BSD-2-Clause
#include "lib/map/pages.h"

#include <sched.h>

#include "lib/map/steps.h"

namespace hpz {
namespace {

unsigned shift_of(uint64_t power_of_two) noexcept {
  return static_cast<unsigned>(__builtin_ctzll(power_of_two));
}

// As a whole, and not in detail.
bool is_in_hands(PageState state) noexcept {
  return state == PageState::kClearing || state == PageState::kReleasing ||
         state == PageState::kRemarked;
}

}  // namespace

bool Pages::open(const Shape &shape) noexcept {
  shape_ = shape;
  page_shift_ = shift_of(shape.page_bytes);
  subpage_shift_ = shift_of(shape.subpage_bytes);
  detail_shift_ = page_shift_ - subpage_shift_;
  pages_ = ((shape.len - 1) >> page_shift_) + 1;
  if (!state_memory_.open(pages_)) return false;
  states_ = static_cast<std::atomic<uint8_t> *>(state_memory_.begin());
  if (detail_shift_ == 0) return true;
  if (!detail_memory_.open(pages_ * sizeof(void *))) return false;
  details_ = static_cast<Detail **>(detail_memory_.begin());
  return true;
}

Pages::~Pages() {
  if (detail_bytes_.load(std::memory_order_relaxed) == 0) return;
  // The table of pages that are not Partial may never have been touched.
  for (uint64_t page = 0; page < pages_; ++page) {
    if (states_[page].load(std::memory_order_relaxed) == stored(PageState::kPartial)) {
      Detail::destroy(details_[page]);
    }
  }
}

void Pages::pause(unsigned tries) noexcept {
  // Who has locked it is about to unlock it, unless it was preempted.
  if (tries % 64 == 63) sched_yield();
}

void Pages::unlock(uint64_t page, PageState to) noexcept {
  map_unlocking(states_ + page, details_[page], Detail::bytes_for(subpages_of(page)));
  map_step(states_[page], Access::kWrite);
  states_[page].store(stored(to), std::memory_order_release);
}

// --- Detail --------------------------------------------------------------------------------------

Detail *Pages::make_detail(uint64_t page) noexcept {
  Detail *const detail = Detail::create(subpages_of(page));
  if (detail == nullptr) return nullptr;
  details_[page] = detail;
  detail_bytes_.fetch_add(Detail::bytes_for(subpages_of(page)), std::memory_order_relaxed);
  return detail;
}

Detail *Pages::make_clearing_detail(uint64_t page) noexcept {
  Detail *const detail = make_detail(page);
  if (detail != nullptr) detail->set_clearing(0, subpages_of(page));
  return detail;
}

void Pages::drop_detail(uint64_t page) noexcept {
  Detail::destroy(details_[page]);
  details_[page] = nullptr;
  detail_bytes_.fetch_sub(Detail::bytes_for(subpages_of(page)), std::memory_order_relaxed);
}

// What a page with detail is to be, and the detail gone if it has nothing to say.
PageState Pages::settled(uint64_t page) noexcept {
  const Detail &detail = *details_[page];
  const uint64_t dirty = detail.dirty();
  if (detail.clearing() != 0 || (dirty != 0 && dirty != subpages_of(page))) {
    return PageState::kPartial;
  }
  drop_detail(page);
  return dirty != 0 ? PageState::kDirty : PageState::kZero;
}

// --- What is said --------------------------------------------------------------------------------

void Pages::mark_any_page(uint64_t page) noexcept {
  for (;;) {
    const PageState state = load(page);
    switch (state) {
      case PageState::kDirty:
      case PageState::kRemarked:
        return;
      case PageState::kZero:
      case PageState::kFresh:
        if (change(page, state, PageState::kDirty)) return;
        break;
      case PageState::kClearing:
      case PageState::kReleasing:
        if (change(page, state, PageState::kRemarked)) return;
        break;
      case PageState::kPartial:
        if (!lock(page, state)) break;
        details_[page]->set_dirty(0, subpages_of(page));
        return unlock(page, settled(page));
      case PageState::kLocked:
        break;
    }
  }
}

void Pages::mark(uint64_t page, uint64_t from, uint64_t to) noexcept {
  if (from == 0 && to == subpages_of(page)) return mark_page(page);
  mark_masked(page, from, to, [](uint64_t, uint64_t bits) { return bits; });
}

void Pages::say_zero(uint64_t page, uint64_t from, uint64_t to, PageState zero_or_fresh) noexcept {
  const bool is_whole = from == 0 && to == subpages_of(page);
  for (;;) {
    const PageState state = load(page);
    switch (state) {
      case PageState::kZero:
      case PageState::kFresh:
        // A part that is resident makes the page resident; a part that is not, nothing.
        if (state == zero_or_fresh || (!is_whole && zero_or_fresh == PageState::kFresh)) return;
        if (change(page, state, zero_or_fresh)) return;
        break;
      case PageState::kDirty: {
        if (is_whole) {
          if (change(page, state, zero_or_fresh)) return;
          break;
        }
        if (!lock(page, state)) break;
        Detail *const detail = make_detail(page);
        if (detail == nullptr) return unlock(page, state);
        detail->set_dirty(0, from);
        detail->set_dirty(to, subpages_of(page));
        return unlock(page, PageState::kPartial);
      }
      case PageState::kPartial: {
        if (!lock(page, state)) break;
        details_[page]->clear_dirty(from, to);
        const PageState after = settled(page);
        return unlock(page, after == PageState::kZero && is_whole ? zero_or_fresh : after);
      }
      case PageState::kClearing:
      case PageState::kReleasing:
      case PageState::kRemarked:
        return;  // whoever has it in hands knows better
      case PageState::kLocked:
        break;
    }
  }
}

bool Pages::is_zero(uint64_t page, uint64_t subpage) noexcept {
  for (;;) {
    const PageState state = load(page);
    if (state != PageState::kPartial) {
      return state == PageState::kZero || state == PageState::kFresh;
    }
    if (!lock(page, state)) continue;
    const bool is = details_[page]->run(subpage, subpage + 1).state == SubpageState::kZero;
    unlock(page, state);
    return is;
  }
}

bool Pages::is_busy(uint64_t page, uint64_t from, uint64_t to) noexcept {
  for (;;) {
    const PageState state = load(page);
    if (state != PageState::kPartial) return is_in_hands(state);
    if (!lock(page, state)) continue;
    const bool is = details_[page]->is_clearing(from, to);
    unlock(page, state);
    return is;
  }
}

void Pages::say_resident(uint64_t page) noexcept {
  if (load(page) == PageState::kFresh) change(page, PageState::kFresh, PageState::kZero);
}

void Pages::count(hpz_map_counts &out) noexcept {
  for (uint64_t page = 0; page < pages_; ++page) {
    const uint64_t bytes = bytes_of(page, 0, subpages_of(page));
    PageState state = load(page);
    while (state == PageState::kPartial && !lock(page, state)) state = load(page);
    switch (state) {
      case PageState::kZero:
      case PageState::kReleasing:
        out.zero_bytes += bytes;
        break;
      case PageState::kFresh:
        out.fresh_bytes += bytes;
        break;
      case PageState::kPartial: {
        const Detail &detail = *details_[page];
        const uint64_t subpages = subpages_of(page);
        uint64_t dirty = detail.not_zero() << subpage_shift_;
        // The last subpage of the map may be short.
        if (detail.run(subpages - 1, subpages).state != SubpageState::kZero) {
          dirty -= (subpages << subpage_shift_) - bytes;
        }
        unlock(page, state);
        out.dirty_bytes += dirty;
        out.zero_bytes += bytes - dirty;
        break;
      }
      case PageState::kDirty:
      case PageState::kClearing:
      case PageState::kRemarked:
      case PageState::kLocked:
        out.dirty_bytes += bytes;
        break;
    }
  }
  out.detail_bytes = detail_bytes_.load(std::memory_order_relaxed);
  out.memory_bytes += out.detail_bytes + state_memory_.bytes() + detail_memory_.bytes();
}

// --- Taking --------------------------------------------------------------------------------------

uint64_t Pages::take_bits(uint64_t page, uint64_t from, uint64_t to, Batch &batch) noexcept {
  Detail &detail = *details_[page];
  while (from < to) {
    const SubpageRun run = detail.run(from, to);
    const uint64_t offset = offset_of(page, from), bytes = bytes_of(page, from, run.end);
    switch (run.state) {
      case SubpageState::kZero:
        if (!batch.add_known(offset, bytes)) return from;
        break;
      case SubpageState::kClearing:
        if (!batch.add_busy(offset, bytes)) return from;
        break;
      case SubpageState::kDirty:
        if (!batch.make_room(offset)) return from;
        detail.take(from, run.end);
        batch.take(offset, bytes);
        break;
    }
    from = run.end;
  }
  return to;
}

// Of a page that is Dirty, if it still is. There is room.
bool Pages::take_all_dirty(uint64_t page, uint64_t from, uint64_t to, Batch &batch) noexcept {
  const uint64_t offset = offset_of(page, from), bytes = bytes_of(page, from, to);
  if (from == 0 && to == subpages_of(page)) {
    if (!change(page, PageState::kDirty, PageState::kClearing)) return false;
    batch.take(offset, bytes);
    return true;
  }
  if (!lock(page, PageState::kDirty)) return false;
  Detail *const detail = make_detail(page);
  if (detail == nullptr) {
    unlock(page, PageState::kDirty);
    batch.add_untaken(offset, bytes);
    return true;
  }
  detail->set_dirty(0, subpages_of(page));
  detail->take(from, to);
  unlock(page, PageState::kPartial);
  batch.take(offset, bytes);
  return true;
}

uint64_t Pages::take_dirty(uint64_t page, uint64_t from, uint64_t to, Batch &batch) noexcept {
  const uint64_t offset = offset_of(page, from), bytes = bytes_of(page, from, to);
  for (;;) {
    const PageState state = load(page);
    switch (state) {
      case PageState::kZero:
      case PageState::kFresh:
        return batch.add_known(offset, bytes) ? to : from;
      case PageState::kDirty:
        if (!batch.make_room(offset)) return from;
        if (take_all_dirty(page, from, to, batch)) return to;
        break;
      case PageState::kClearing:
      case PageState::kReleasing:
      case PageState::kRemarked:
        return batch.add_busy(offset, bytes) ? to : from;
      case PageState::kPartial: {
        if (!lock(page, state)) break;
        const uint64_t end = take_bits(page, from, to, batch);
        unlock(page, state);
        return end;
      }
      case PageState::kLocked:
        break;
    }
  }
}

uint64_t Pages::take_not_fresh(uint64_t page, uint64_t from, uint64_t to, Batch &batch) noexcept {
  const uint64_t offset = offset_of(page, from), bytes = bytes_of(page, from, to);
  const bool is_whole = from == 0 && to == subpages_of(page);
  for (;;) {
    const PageState state = load(page);
    switch (state) {
      case PageState::kFresh:
        return batch.add_known(offset, bytes) ? to : from;
      case PageState::kZero:
        if (!batch.make_room(offset)) return from;
        if (!is_whole) {  // zero before, zero afterwards
          batch.add_untaken(offset, bytes);
          return to;
        }
        if (!change(page, state, PageState::kReleasing)) break;
        batch.take(offset, bytes);
        return to;
      case PageState::kDirty:
        if (!batch.make_room(offset)) return from;
        if (take_all_dirty(page, from, to, batch)) return to;
        break;
      case PageState::kClearing:
      case PageState::kReleasing:
      case PageState::kRemarked:
        return batch.add_busy(offset, bytes) ? to : from;
      case PageState::kPartial: {
        if (!batch.make_room(offset)) return from;
        if (!lock(page, state)) break;
        Detail &detail = *details_[page];
        if (detail.is_clearing(from, to)) {
          unlock(page, state);
          return batch.add_busy(offset, bytes) ? to : from;
        }
        if (is_whole) {
          drop_detail(page);
          unlock(page, PageState::kClearing);
        } else {
          detail.take(from, to);
          unlock(page, state);
        }
        batch.take(offset, bytes);
        return to;
      }
      case PageState::kLocked:
        break;
    }
  }
}

// --- What has come of it -------------------------------------------------------------------------

bool Pages::publish(uint64_t page, uint64_t from, uint64_t to, PageState zero_or_fresh) noexcept {
  const bool is_whole = from == 0 && to == subpages_of(page);
  for (;;) {
    const PageState state = load(page);
    if (state == PageState::kPartial) {
      if (!lock(page, state)) continue;
      details_[page]->end_clearing(from, to);
      unlock(page, settled(page));
      return true;
    }
    if (!is_in_hands(state)) return true;  // it was not taken
    if (is_whole) {
      const PageState after = state == PageState::kRemarked ? PageState::kDirty : zero_or_fresh;
      if (change(page, state, after)) return true;
      continue;
    }
    if (state == PageState::kRemarked || zero_or_fresh == PageState::kFresh) return false;
    if (!lock(page, state)) continue;
    Detail *const detail = make_clearing_detail(page);
    if (detail != nullptr) detail->end_clearing(from, to);
    unlock(page, detail != nullptr ? PageState::kPartial : state);
    return detail != nullptr;
  }
}

bool Pages::give_back(uint64_t page, uint64_t from, uint64_t to) noexcept {
  const bool is_whole = from == 0 && to == subpages_of(page);
  for (;;) {
    const PageState state = load(page);
    if (state == PageState::kPartial) {
      if (!lock(page, state)) continue;
      details_[page]->fail_clearing(from, to);
      unlock(page, settled(page));
      return false;
    }
    if (state == PageState::kClearing && !is_whole) {
      if (!lock(page, state)) continue;
      Detail *const detail = make_clearing_detail(page);
      if (detail != nullptr) detail->fail_clearing(from, to);
      unlock(page, detail != nullptr ? PageState::kPartial : PageState::kDirty);
      return detail == nullptr;
    }
    if (!is_in_hands(state)) return true;  // it was not taken
    const PageState before = state == PageState::kReleasing ? PageState::kZero : PageState::kDirty;
    if (change(page, state, before)) return true;
  }
}

}  // namespace hpz
