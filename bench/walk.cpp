// SPDX-License-Identifier: BSD-2-Clause
#include "bench/walk.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>

#include "bench/sizes.h"

namespace hpz::bench {
namespace {

// Cold bytes per sample. Less: what the row before left dirty in the caches weighs more than the
// row itself. More: fewer rounds in the same time.
constexpr uint64_t kColdBytes = 16 * kMiB;
// Ranges per cold section, which bounds the list of pointers that is read while the clock runs.
constexpr size_t kMaxColdRanges = 4096;

// Bytes per hot or recycled sample: 0.1 to 1 ms in cache. Less: single interrupts show. More: fewer
// rounds in the same time.
constexpr uint64_t kCachedBytes = 16 * kMiB;
constexpr size_t kMaxSections = 1024;
// Bytes per hot section, if one range is less.
constexpr uint64_t kHotSectionBytes = 256 * kKiB;
// Hot and recycled ranges per section: the list of pointers must stay small against the first-level
// cache that it shares with small ranges.
constexpr size_t kMaxCachedRanges = 256;
// The part of a cache level that recycled ranges may fill; the rest is for stack, code and
// pointers.
constexpr uint64_t part_of_level(uint64_t level_bytes) {
  return level_bytes / 3 * 2;
}

// Fresh bytes per section, and mappings per sample.
constexpr uint64_t kFreshBytes = 16 * kMiB;

// Cold ranges smaller than a page lie one to a page, as small objects of a large heap do.
constexpr uint64_t kColdStride = 4 * kKiB;
constexpr uint64_t kLine = 64;

// Ranges of one size that recycle together: as many as fit the level that one of them fits.
size_t recycled_group(uint64_t size, const Caches &caches) {
  const uint64_t stride = range_stride(MemoryState::kRecycled, size);
  for (const uint64_t level : {caches.l1, caches.l2}) {
    if (stride <= part_of_level(level)) {
      return std::min<size_t>(part_of_level(level) / stride, kMaxCachedRanges);
    }
  }
  // Larger ones take long enough alone.
  return 1;
}

size_t sections_for(uint64_t sample_bytes, uint64_t section_bytes) {
  return std::clamp<size_t>(sample_bytes / section_bytes, 1, kMaxSections);
}

}  // namespace

uint64_t range_stride(MemoryState state, uint64_t size) {
  const bool is_apart = state == MemoryState::kCold || state == MemoryState::kFresh;
  return is_apart ? round_up(size, kColdStride) : round_up(size, kLine);
}

SampleShape shape_sample(MemoryState state, uint64_t size, uint64_t set_bytes,
                         const Caches &caches) {
  SampleShape shape;
  const uint64_t stride = range_stride(state, size);
  switch (state) {
    case MemoryState::kHot:
      shape.ranges = std::clamp<size_t>(kHotSectionBytes / stride, 1, kMaxCachedRanges);
      shape.sections = sections_for(kCachedBytes, shape.ranges * stride);
      shape.distinct = 1;
      break;
    case MemoryState::kRecycled:
      shape.ranges = recycled_group(size, caches);
      shape.sections = sections_for(kCachedBytes, shape.ranges * stride);
      shape.distinct = shape.ranges;
      // A last-level cache that is filled by what falls out of the second level (Intel since
      // Skylake server) takes lines that were used twice more readily than others. Whoever owned
      // the range before did not touch it once. With one pass 32 MiB are found in the cache every
      // other time.
      shape.dirty_passes = stride > caches.l2 ? 2 : 1;
      break;
    case MemoryState::kCold: {
      const size_t slots = std::max<size_t>(set_bytes / stride, 1);
      shape.ranges = std::clamp<size_t>(kColdBytes / stride, 1, std::min(kMaxColdRanges, slots));
      shape.distinct = slots;
      break;
    }
    case MemoryState::kFresh:
      shape.ranges = std::clamp<size_t>(kFreshBytes / stride, 1, kMaxColdRanges);
      shape.distinct = shape.ranges;
      break;
  }
  return shape;
}

uint64_t least_set_bytes(MemoryState state, uint64_t size, const Caches &caches) {
  if (state == MemoryState::kFresh) return kColdStride;
  const size_t ranges = state == MemoryState::kRecycled ? recycled_group(size, caches) : 1;
  return ranges * range_stride(state, size);
}

uint64_t begin_of_walk(MemoryState state, uint64_t size, uint64_t set_bytes, const Caches &caches,
                       double part) {
  if (state != MemoryState::kHot && state != MemoryState::kRecycled) return 0;
  const uint64_t room = set_bytes - std::min(set_bytes, least_set_bytes(state, size, caches));
  constexpr uint64_t kHugePage = 2 * kMiB;
  return static_cast<uint64_t>(static_cast<double>(room) * part) / kHugePage * kHugePage;
}

Walk::Walk(char *base, PageKind kind, MemoryState state, uint64_t size, const SampleShape &shape,
           double part)
    : base_(base), kind_(kind), state_(state), size_(size), shape_(shape) {
  ranges_.reserve(std::max<size_t>(shape.ranges, kMaxColdRanges));
  if (state != MemoryState::kCold) return;
  order_.resize(shape.distinct);
  std::iota(order_.begin(), order_.end(), 0u);
  // The same walk in every run: a figure that changes was not changed by the walk.
  std::mt19937 random(12345);
  std::shuffle(order_.begin(), order_.end(), random);
  at_ = static_cast<size_t>(static_cast<double>(order_.size()) * part);
}

const std::vector<void *> &Walk::next(size_t ranges) {
  ranges_.clear();
  const uint64_t stride = range_stride(state_, size_);
  switch (state_) {
    case MemoryState::kHot:
      ranges_.assign(ranges, base_);
      // From the same state for all rows; what the row makes of it by clearing it once, untimed, is
      // the row's.
      if (!is_warm_) dirty(ranges_.data(), 1);
      is_warm_ = true;
      break;
    case MemoryState::kRecycled:
      for (size_t i = 0; i < ranges; ++i) ranges_.push_back(base_ + i * stride);
      for (int pass = 0; pass < shape_.dirty_passes; ++pass) {
        dirty(ranges_.data(), ranges_.size());
      }
      break;
    case MemoryState::kCold:
      for (size_t i = 0; i < ranges; ++i) {
        const uint64_t slot = order_[at_];
        if (++at_ == order_.size()) at_ = 0;
        // Small ranges begin at changing lines of their pages: a set that only ever uses the first
        // line of each page would use a 64th of the caches and of the memory channels.
        const uint64_t room = stride - round_up(size_, kLine);
        const uint64_t shift = room == 0 ? 0 : slot * kLine % (room + kLine);
        ranges_.push_back(base_ + slot * stride + shift);
      }
      break;
    case MemoryState::kFresh: {
      const uint64_t bytes = round_up(ranges * stride, page_bytes(kind_));
      fresh_ = std::make_unique<Mapping>(kind_, bytes);
      for (size_t i = 0; i < ranges; ++i) ranges_.push_back(fresh_->base() + i * stride);
      break;
    }
  }
  return ranges_;
}

void Walk::done() {
  fresh_.reset();
  is_warm_ = false;
}

void Walk::dirty(void *const *ranges, size_t count) const {
  for (size_t i = 0; i < count; ++i) {
    auto *const words = static_cast<uint64_t *>(ranges[i]);
    const uint64_t n = size_ / sizeof(uint64_t);
    // A value that changes from word to word, so that the compiler cannot make a call of memset of
    // it, which for large ranges stores past the cache on some machines.
    for (uint64_t k = 0; k < n; ++k) words[k] = k + 1;
    auto *const tail = static_cast<volatile char *>(ranges[i]) + n * sizeof(uint64_t);
    for (uint64_t k = 0; k < size_ % sizeof(uint64_t); ++k) tail[k] = 1;
  }
  // What still waits in the store buffer is not to be paid for by the row.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace hpz::bench
