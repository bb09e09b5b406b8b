// SPDX-License-Identifier: BSD-2-Clause
#include "lib/space/backed_clear.h"

#include <errno.h>

#include <algorithm>

#include "lib/space/backed.h"

namespace hpz {

BackedClearer::BackedClearer(const Backing &backing, const Bands &bands, uint64_t chunk_bytes,
                             bool may_unmapped) noexcept
    : backing_(backing),
      bands_(bands),
      chunk_bytes_(chunk_bytes),
      clears_unmapped_(clears_unmapped(backing, may_unmapped)),
      most_windows_(std::clamp<size_t>(backing.most_windows, 1, kMostWindows)) {}

bool BackedClearer::add(uint64_t position, uint64_t bytes) noexcept {
  if (result_.error != 0) return false;
  if (!clears_unmapped_) return add_mapped(position, bytes);
  const WholePages pages = whole_pages(backing_, position, position + bytes);
  return add_by_itself(position, pages.begin) && add_by_itself(pages.begin, pages.end) &&
         add_by_itself(pages.end, position + bytes);
}

bool BackedClearer::add_by_itself(uint64_t begin, uint64_t end) noexcept {
  if (begin == end) return true;
  // What is done counts up to the first error: what lies before this comes first.
  if (!flush()) return false;
  uint64_t done = 0;
  const int error = backing_.ops->clear(backing_.self, begin, end - begin, &done);
  begin += std::min(done, end - begin);
  if (error != 0) return fail(error, begin);
  return add_mapped(begin, end - begin);
}

bool BackedClearer::add_mapped(uint64_t position, uint64_t bytes) noexcept {
  while (bytes != 0) {
    uint64_t held = bytes;
    if (hold(position, held)) {
      position += held;
      bytes -= held;
    } else if (!flush()) {
      return false;
    }
  }
  return true;
}

bool BackedClearer::fail(int error, uint64_t position) noexcept {
  if (!flush()) return false;
  result_.error = error;
  result_.bad_position = position;
  return false;
}

// Takes as many of these bytes as the last window may be made to hold, or a new one. False: there
// is no room.
bool BackedClearer::hold(uint64_t position, uint64_t &bytes) noexcept {
  if (part_count_ == kMostParts) return false;
  if (backing_.lasting != nullptr) {
    windows_[0] = {0, UINT64_MAX, backing_.lasting};
    window_count_ = 1;
  } else {
    const uint64_t page = backing_.page_bytes;
    const uint64_t first = position & ~(page - 1);
    Window *window = window_count_ != 0 ? &windows_[window_count_ - 1] : nullptr;
    // In the window's last page or the one behind it, as far as it may reach.
    const bool goes_on = window != nullptr && first <= window->position + window->bytes &&
                         position - window->position < backing_.window_bytes;
    if (!goes_on) {
      if (window_count_ == most_windows_) return false;
      window = &windows_[window_count_++];
      *window = {first, 0, nullptr};
    }
    bytes = std::min(bytes, backing_.window_bytes - (position - window->position));
    const uint64_t end = (position + bytes + (page - 1)) & ~(page - 1);
    window->bytes = std::min(end, backing_.end) - window->position;
  }
  parts_[part_count_++] = {position, bytes};
  return true;
}

bool BackedClearer::map(Window &window) noexcept {
  if (backing_.lasting != nullptr) return true;
  const BackingOps &ops = *backing_.ops;
  stop_error_ = ops.map == nullptr
                    ? -EOPNOTSUPP
                    : ops.map(backing_.self, window.position, window.bytes, &window.at);
  return stop_error_ == 0;
}

bool BackedClearer::clear_part(PartClearer &clearer, const Part &part, char *at) noexcept {
  uint64_t bytes = part.bytes;
  if (backing_.is_touched_first) {
    const TouchResult touched = touch_backing(backing_, part.position, at, bytes);
    bytes = touched.done_bytes;
    stop_error_ = touched.error;
    stop_position_ = part.position + touched.done_bytes;
  }
  if (bytes != 0 && !clearer.add(at, bytes)) return false;
  return stop_error_ == 0;
}

bool BackedClearer::flush() noexcept {
  if (part_count_ == 0) return result_.error == 0;
  PartClearer clearer(bands_, chunk_bytes_);
  size_t mapped = 0, part = 0;
  for (bool goes_on = true; goes_on && mapped < window_count_;) {
    Window &window = windows_[mapped];
    if (!map(window)) {
      stop_position_ = parts_[part].position;
      break;
    }
    ++mapped;
    for (; goes_on && part < part_count_; ++part) {
      const uint64_t skip = parts_[part].position - window.position;
      if (skip >= window.bytes) break;
      goes_on = clear_part(clearer, parts_[part], window.at + skip);
    }
  }
  const ClearResult cleared = clearer.finish();  // fences, so that the windows may go
  result_.cleared_bytes += cleared.done_bytes;
  result_.error = cleared.error != 0 ? cleared.error : stop_error_;
  result_.bad_position = stop_position_;
  while (mapped != 0) {
    const Window &window = windows_[--mapped];
    const auto skip = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(cleared.bad_at) -
                                            reinterpret_cast<uintptr_t>(window.at));
    if (cleared.error != 0 && skip < window.bytes) result_.bad_position = window.position + skip;
    if (backing_.lasting == nullptr) {
      backing_.ops->unmap(backing_.self, window.position, window.bytes, window.at);
    }
  }
  window_count_ = part_count_ = 0;
  return result_.error == 0;
}

}  // namespace hpz
