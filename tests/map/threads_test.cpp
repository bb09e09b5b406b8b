// SPDX-License-Identifier: BSD-2-Clause
//
// Many threads at one map: markers, zeroers, counters. (Every order of a few steps is tried one by
// one in interleavings_test.cpp; here are real threads, teams and ThreadSanitizer.)
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/map/map_fixture.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/settings.h"
#include "tests/support/threads.h"
#include "tests/support/watchdog.h"
#include "tests/support/workers.h"

namespace hpz::test {
namespace {

// Each marker has subpages of its own, so that it alone knows what must be in them: after it has
// said that one is dirty and a zeroing that began later has returned, it is zero.
TEST(MapThreads, nothing_is_lost) {
  const Watchdog watchdog(170);
  constexpr uint64_t kSubpage = 4096, kPage = 4 * kSubpage, kPages = 24, kMarkers = 2;
  constexpr uint64_t kSubpages = kPages * kPage / kSubpage;
  const Memory memory(kPages * kPage);
  memset(memory.begin(), 0, memory.bytes());
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  const MapPointer map = make_map(memory.bytes(), kPage, kSubpage, HPZ_PAGE_ZERO);
  const TeamPointer team = make_team(2);
  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> bad{0}, zeroings{0}, counts_taken{0};

  const auto mark = [&](uint64_t which) {
    std::mt19937_64 random(seed() + which);
    for (int round = 0; round < (quick() ? 300 : 3000); ++round) {
      const uint64_t subpage = random() % (kSubpages / kMarkers) * kMarkers + which;
      unsigned char *const at = memory.begin() + subpage * kSubpage;
      // Atomic, for others may be clearing the whole page meanwhile.
      __atomic_store_n(at + random() % kSubpage, kPoison, __ATOMIC_RELAXED);
      if (random() % 2 == 0) {
        const uint64_t word = 1;
        if (hpz_map_set_dirty_bitmap(map.get(), subpage * kSubpage, &word, 1) != 0) ++bad;
      } else {
        if (hpz_map_set(map.get(), subpage * kSubpage, 1, HPZ_PAGE_DIRTY) != 0) ++bad;
      }
      if (random() % 4 != 0) continue;
      // Its own, all of its page, or everything.
      const uint64_t ranges[][2] = {
          {subpage * kSubpage, kSubpage}, {subpage / 4 * kPage, kPage}, {0, memory.bytes()}};
      const auto &range = ranges[random() % 3];
      hpz_team *const who = random() % 2 == 0 ? team.get() : nullptr;
      if (hpz_map_zero(map.get(), space.get(), who, range[0], range[1], nullptr, nullptr) != 0) {
        ++bad;
      }
      if (!hpz_is_zero(at, kSubpage)) ++bad;
      ++zeroings;
    }
  };
  const auto look = [&] {
    while (!is_over.load()) {
      const hpz_map_counts counts = counts_of(map.get());
      if (counts.dirty_bytes + counts.zero_bytes + counts.fresh_bytes != memory.bytes()) ++bad;
      ++counts_taken;
      std::this_thread::yield();
    }
  };
  std::vector<std::thread> markers;
  std::thread observer(look);
  while (counts_taken.load() == 0) std::this_thread::yield();  // it looks while they mark
  for (uint64_t i = 0; i < kMarkers; ++i) markers.emplace_back(mark, i);
  for (std::thread &thread : markers) thread.join();
  is_over = true;
  observer.join();
  EXPECT_EQ(bad.load(), 0u);
  EXPECT_GT(zeroings.load(), 0u);
  // What the map calls zero now, is.
  ASSERT_EQ(hpz_map_zero(map.get(), space.get(), nullptr, 0, memory.bytes(), nullptr, nullptr), 0);
  EXPECT_TRUE(hpz_is_zero(memory.begin(), memory.bytes()));
  EXPECT_EQ(counts_of(map.get()).zero_bytes, memory.bytes());
  EXPECT_EQ(counts_of(map.get()).detail_bytes, 0u);
}

// Who holds a page in its hands is stopped there, by its callback; another call waits for it, and
// does not return before.
struct Gate {
  std::atomic<bool> is_reached{false}, is_open{false};
};
int stop_at(void *user, uint64_t, uint64_t) {
  auto &gate = *static_cast<Gate *>(user);
  gate.is_reached = true;
  while (!gate.is_open.load()) std::this_thread::yield();
  return 0;
}

TEST(MapThreads, the_second_waits) {
  const Watchdog watchdog;
  const Memory memory(4 << 20);
  memset(memory.begin(), kPoison, memory.bytes());
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  const MapPointer map = make_map(memory.bytes(), memory.bytes(), 4096, HPZ_PAGE_DIRTY);
  Gate gate;
  std::thread first([&] {
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.chunk_bytes = 4096;
    options.progress = stop_at;
    options.user = &gate;
    EXPECT_EQ(hpz_map_zero(map.get(), space.get(), nullptr, 0, memory.bytes(), &options, nullptr),
              0);
  });
  while (!gate.is_reached.load()) std::this_thread::yield();

  const uint64_t last = memory.bytes() - 4096;
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  const uint32_t cancel = 1;
  options.cancel = &cancel;
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_map_zero(map.get(), space.get(), nullptr, last, 4096, &options, &report),
            -ECANCELED);
  EXPECT_EQ(report.done_bytes, 0u);
  options = HPZ_JOB_OPTIONS_INIT;
  options.deadline_ns = 1;
  EXPECT_EQ(hpz_map_release(map.get(), space.get(), nullptr, last, 4096, &options, &report),
            -ETIMEDOUT);
  // What is done is known already, while the job is not yet done.
  EXPECT_EQ(hpz_map_zero(map.get(), space.get(), nullptr, 0, 4096, nullptr, &report), 0);
  EXPECT_EQ(report.skipped_bytes, 4096u);
  EXPECT_EQ(counts_of(map.get()).zero_bytes, 4096u);

  std::atomic<bool> has_returned{false};
  std::atomic<pid_t> waiting{0};
  std::thread second([&] {
    waiting = this_thread();
    hpz_job_report its = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(hpz_map_zero(map.get(), space.get(), nullptr, last, 4096, nullptr, &its), 0);
    EXPECT_EQ(its.skipped_bytes, 4096u) << "the other one has cleared it";
    EXPECT_TRUE(hpz_is_zero(memory.begin() + last, 4096));
    has_returned = true;
  });
  // It waits where the library lets it sleep, for all that this thread can see.
  while (!has_returned && (waiting == 0 || !is_asleep(waiting))) usleep(1000);
  EXPECT_FALSE(has_returned.load());
  // A mark in between: it is dirty afterwards, and nothing else.
  ASSERT_EQ(hpz_map_set(map.get(), 8192, 4096, HPZ_PAGE_DIRTY), 0);
  gate.is_open = true;
  first.join();
  second.join();
  EXPECT_EQ(counts_of(map.get()).dirty_bytes, 4096u);
}

}  // namespace
}  // namespace hpz::test
