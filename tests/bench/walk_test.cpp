// SPDX-License-Identifier: BSD-2-Clause
//
// Which ranges a sample clears: that they sit in the cache level that their size suggests, and that
// a cold range does not come again before all others were.
#include "bench/walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bench/sizes.h"

namespace hpz::bench {
namespace {

constexpr Caches kCaches{48 * kKiB, 2 * kMiB, 480 * kMiB};

TEST(SampleShape, RecycledRangesFitTheLevelThatOneOfThemFits) {
  for (uint64_t size = 1; size <= kGiB; size = size * 3 + 1) {
    const SampleShape shape = shape_sample(MemoryState::kRecycled, size, kGiB, kCaches);
    const uint64_t bytes = shape.ranges * size;
    ASSERT_GE(shape.ranges, 1u) << size;
    if (size <= 32 * kKiB) {
      EXPECT_LE(bytes, kCaches.l1 / 3 * 2) << size;
    } else if (size <= kCaches.l2 / 3 * 2) {
      EXPECT_LE(bytes, kCaches.l2 / 3 * 2) << size;
    } else {
      EXPECT_EQ(shape.ranges, 1u) << size;
    }
    EXPECT_GE(least_set_bytes(MemoryState::kRecycled, size, kCaches), bytes);
  }
}

TEST(SampleShape, SectionsAreLongAgainstTheClock) {
  // At 200 GB/s, 24 KiB take 120 ns, of which reading the clock may take a fifth.
  for (const uint64_t size : {64 * uint64_t{1}, kKiB, 4 * kKiB, 16 * kKiB, 64 * kKiB}) {
    const SampleShape shape = shape_sample(MemoryState::kRecycled, size, kGiB, kCaches);
    EXPECT_GE(shape.ranges * size, 16 * kKiB) << size;
    EXPECT_GE(shape.ranges * shape.sections * size, 2 * kMiB) << size;
  }
}

TEST(SampleShape, ColdSamplesNeverMeetARangeTwice) {
  for (uint64_t size = 64; size <= kGiB; size *= 4) {
    const SampleShape shape = shape_sample(MemoryState::kCold, size, 64 * kMiB, kCaches);
    EXPECT_LE(shape.ranges, shape.distinct) << size;
    EXPECT_GE(shape.ranges, 1u) << size;
    EXPECT_EQ(shape.sections, 1u) << size;
  }
}

TEST(SampleShape, StandsInsideTheArenaWhateverTheCachesSay) {
  constexpr uint64_t kSize = 4 * kKiB;
  for (const Caches &caches : {Caches{1, 1, 1}, Caches{kGiB, kGiB, kGiB}}) {
    for (const MemoryState state : kAllStates) {
      // What the agenda makes the arena hold at least.
      const uint64_t arena = std::max(least_set_bytes(state, kSize, caches), 16 * kMiB);
      const SampleShape shape = shape_sample(state, kSize, arena, caches);
      EXPECT_GE(shape.ranges, 1u);
      EXPECT_GE(shape.sections, 1u);
      EXPECT_LE(shape.distinct * range_stride(state, kSize), arena);
    }
  }
}

TEST(Walk, ColdGoesThroughTheWholeSetBeforeItRepeats) {
  ArenaRequest request;
  request.kind = PageKind::k4k;
  request.set_bytes = 4 * kMiB;
  const Arena arena(request, [](uint64_t) {});
  constexpr uint64_t kSize = 4 * kKiB;
  const SampleShape shape = shape_sample(MemoryState::kCold, kSize, arena.bytes(), kCaches);
  Walk walk(arena.base(), arena.kind(), MemoryState::kCold, kSize, shape);
  ASSERT_EQ(walk.slots(), 1024u);
  std::vector<void *> first;
  std::set<void *> seen;
  // Rows with different numbers of ranges share the walk.
  for (size_t taken = 0; taken < 1024; taken += 32 + 96) {
    for (const size_t ranges : {size_t{32}, size_t{96}}) {
      for (void *const range : walk.next(ranges)) {
        first.push_back(range);
        EXPECT_TRUE(seen.insert(range).second);
        EXPECT_GE(range, arena.base());
        EXPECT_LE(static_cast<char *>(range) + kSize, arena.base() + arena.bytes());
      }
    }
  }
  EXPECT_EQ(seen.size(), 1024u);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  EXPECT_EQ(walk.next(1)[0], first[0]);
}

TEST(Walk, SmallColdRangesStayInsideTheirPages) {
  ArenaRequest request;
  request.set_bytes = kMiB;
  const Arena arena(request, [](uint64_t) {});
  for (const uint64_t size : {uint64_t{1}, uint64_t{64}, uint64_t{100}, 3 * kKiB}) {
    const SampleShape shape = shape_sample(MemoryState::kCold, size, arena.bytes(), kCaches);
    Walk walk(arena.base(), arena.kind(), MemoryState::kCold, size, shape);
    std::set<uintptr_t> lines;
    for (void *const range : walk.next(256)) {
      const uintptr_t offset = reinterpret_cast<uintptr_t>(range) % 4096;
      EXPECT_EQ(offset % 64, 0u);
      EXPECT_LE(offset + size, 4096u);
      lines.insert(offset);
    }
    // Not always the same line of the page.
    EXPECT_GT(lines.size(), 1u) << size;
  }
}

TEST(Walk, RecycledMemoryIsDirtyAllOver) {
  ArenaRequest request;
  request.set_bytes = 2 * kMiB;
  const Arena arena(request, [](uint64_t) {});
  for (const uint64_t size : {uint64_t{1}, uint64_t{7}, uint64_t{64}, uint64_t{1000}, 64 * kKiB}) {
    const SampleShape shape = shape_sample(MemoryState::kRecycled, size, arena.bytes(), kCaches);
    Walk walk(arena.base(), arena.kind(), MemoryState::kRecycled, size, shape);
    for (void *const range : walk.next(shape.ranges)) {
      const auto *const bytes = static_cast<const char *>(range);
      for (uint64_t at = 0; at < size; at += 8) {
        bool is_dirty = false;
        for (uint64_t k = at; k < std::min(at + 8, size); ++k) is_dirty |= bytes[k] != 0;
        ASSERT_TRUE(is_dirty) << size << " at " << at;
      }
    }
  }
}

}  // namespace
}  // namespace hpz::bench
