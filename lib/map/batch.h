// SPDX-License-Identifier: BSD-2-Clause
//
// What a call of a verb has in its hands at one time: lists of extents, in the order of their
// offsets, neighbours merged, of bounded length.
#ifndef HPZERO_LIB_MAP_BATCH_H
#define HPZERO_LIB_MAP_BATCH_H

#include <hpzero/space.h>
#include <stddef.h>
#include <stdint.h>

#include <algorithm>

#include "lib/team/array.h"

namespace hpz {

class ExtentList {
 public:
  // 16 bytes each: a list is 1 MiB at most.
  static constexpr size_t kMost = 64 * 1024;

  // For the first ones; then make_room says no rather than that there is no memory.
  [[nodiscard]] bool open() noexcept { return list_.reserve(kFirst); }
  bool make_room(uint64_t offset) noexcept {
    if (follows(offset) || list_.size() < capacity_) return true;
    if (capacity_ == kMost) return false;
    const size_t more = std::min(kMost, 4 * capacity_);
    if (!list_.reserve(more)) return false;
    capacity_ = more;
    return true;
  }
  void push(uint64_t offset, uint64_t len) noexcept {  // there is room
    if (follows(offset)) {
      list_.back().len += len;
    } else {
      static_cast<void>(list_.push_back({offset, len}));
    }
  }
  void clear() noexcept { list_.clear(); }
  const Array<hpz_extent> &list() const noexcept { return list_; }
  bool empty() const noexcept { return list_.empty(); }

 private:
  static constexpr size_t kFirst = 64;
  bool follows(uint64_t offset) const noexcept {
    return !list_.empty() && list_.back().offset + list_.back().len == offset;
  }

  Array<hpz_extent> list_;
  size_t capacity_ = kFirst;
};

struct Batch {
  // More would be in nobody else's hands for too long, and given back late after a cancel.
  static constexpr uint64_t kMostPages = uint64_t{1} << 20;

  ExtentList extents;  // for the verb
  // What of the extents is taken, that is to be published or given back: all from taken_from on and
  // before taken_to. The rest was dirty, and is that afterwards, whatever is cleared of it.
  uint64_t taken_from = 0, taken_to = UINT64_MAX;
  uint64_t pages = 0;  // taken
  bool has_taken = false;

  ExtentList known;  // zero, if wanted
  bool wants_known = false;
  uint64_t known_bytes = 0;

  ExtentList busy;  // in the hands of others, if wanted; else the walk stops there
  bool wants_busy = false;
  bool is_at_busy = false;

  [[nodiscard]] bool open() noexcept { return extents.open() && known.open() && busy.open(); }
  void clear() noexcept {
    extents.clear();
    known.clear();
    busy.clear();
    taken_from = 0;
    taken_to = UINT64_MAX;
    pages = known_bytes = 0;
    has_taken = is_at_busy = false;
  }

  bool make_room(uint64_t offset) noexcept {
    return taken_to == UINT64_MAX && pages < kMostPages && extents.make_room(offset);
  }
  void take(uint64_t offset, uint64_t len) noexcept {  // there is room
    extents.push(offset, len);
    has_taken = true;
    ++pages;
  }
  void add_untaken(uint64_t offset, uint64_t len) noexcept {  // there is room
    extents.push(offset, len);
    if (has_taken) {
      taken_to = offset;
    } else {
      taken_from = offset + len;
    }
  }
  // False: stop before these.
  bool add_known(uint64_t offset, uint64_t len) noexcept {
    if (wants_known && !known.make_room(offset)) return false;
    if (wants_known) known.push(offset, len);
    known_bytes += len;
    return true;
  }
  bool add_busy(uint64_t offset, uint64_t len) noexcept {
    if (!wants_busy) is_at_busy = true;
    if (!wants_busy || !busy.make_room(offset)) return false;
    busy.push(offset, len);
    return true;
  }
};

}  // namespace hpz

#endif
