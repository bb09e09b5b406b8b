// SPDX-License-Identifier: BSD-2-Clause
//
// Verbs that end in the middle: what is done is known, the rest is dirty, nothing stays in hands.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/map/map_fixture.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/settings.h"
#include "tests/support/workers.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;
using MapVerb = decltype(&hpz_map_zero);

class MapErrors : public ByWorkers {};
HPZERO_BY_WORKERS(MapErrors);

int stop_after_some(void *user, uint64_t done, uint64_t total) {
  EXPECT_LE(done, total);
  return done >= *static_cast<uint64_t *>(user);
}

// What the map says afterwards is true, byte by byte, and adds up with the report.
void expect_truth(hpz_map *map, const unsigned char *memory, uint64_t len, uint64_t subpage,
                  const hpz_job_report &report) {
  const hpz_map_counts counts = counts_of(map);
  EXPECT_EQ(counts.dirty_bytes + counts.zero_bytes + counts.fresh_bytes, len);
  EXPECT_EQ(len - counts.dirty_bytes, report.done_bytes) << "what is done is known";
  uint64_t not_zero = 0;
  for (uint64_t at = 0; at < len; at += subpage) {
    const uint64_t bytes = std::min(subpage, len - at);
    if (!hpz_is_zero(memory + at, bytes)) not_zero += bytes;
  }
  EXPECT_LE(not_zero, counts.dirty_bytes);
}

TEST_P(MapErrors, cancelled_in_the_middle) {
  const Memory memory(32 * kMiB);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  // Pages of one chunk, of many, and of part of one.
  for (const uint64_t page : {2 * kMiB, 16 * kMiB, size_t{65536}, size_t{4096}}) {
    for (const MapVerb verb : {hpz_map_zero, hpz_map_release}) {
      SCOPED_TRACE(page);
      memset(memory.begin(), kPoison, memory.bytes());
      const MapPointer map = make_map(memory.bytes(), page, 4096, HPZ_PAGE_DIRTY);
      uint64_t stop_at = 6 * kMiB;
      hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
      options.chunk_bytes = kMiB;
      options.progress = stop_after_some;
      options.user = &stop_at;
      hpz_job_report report = HPZ_JOB_REPORT_INIT;
      const int error = verb(map.get(), space.get(), team(), 0, memory.bytes(), &options, &report);
      // With a team, all may be done before the caller comes to say no.
      if (GetParam() == 0) {
        EXPECT_EQ(error, -ECANCELED);
      }
      EXPECT_EQ(error, report.done_bytes == memory.bytes() ? 0 : -ECANCELED);
      EXPECT_EQ(report.error, error);
      expect_truth(map.get(), memory.begin(), memory.bytes(), 4096, report);

      ASSERT_EQ(verb(map.get(), space.get(), team(), 0, memory.bytes(), nullptr, nullptr), 0);
      EXPECT_TRUE(hpz_is_zero(memory.begin(), memory.bytes()));
      EXPECT_EQ(counts_of(map.get()).dirty_bytes, 0u);
      EXPECT_EQ(counts_of(map.get()).detail_bytes, 0u);
    }
  }
}

TEST_P(MapErrors, cancelled_before_anything) {
  const Memory memory(8 * kMiB);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  const uint32_t cancel = 1;
  hpz_job_options cancelled = HPZ_JOB_OPTIONS_INIT, late = HPZ_JOB_OPTIONS_INIT;
  cancelled.cancel = &cancel;
  late.deadline_ns = 1;
  for (const MapVerb verb : {hpz_map_zero, hpz_map_populate, hpz_map_release}) {
    const MapPointer map = make_map(memory.bytes(), kMiB, 4096, HPZ_PAGE_ZERO);
    ASSERT_EQ(hpz_map_set(map.get(), kMiB + 5000, 3 * kMiB, HPZ_PAGE_DIRTY), 0);
    const hpz_map_counts before = counts_of(map.get());
    const auto run = [&](const hpz_job_options &options) {
      return verb(map.get(), space.get(), team(), 100, memory.bytes() - 200, &options, nullptr);
    };
    EXPECT_EQ(run(cancelled), -ECANCELED);
    EXPECT_EQ(run(late), -ETIMEDOUT);
    const hpz_map_counts after = counts_of(map.get());
    EXPECT_EQ(after.dirty_bytes, before.dirty_bytes) << "also what was known to be zero still is";
    EXPECT_EQ(after.zero_bytes, before.zero_bytes);
    EXPECT_EQ(run(HPZ_JOB_OPTIONS_INIT), 0);
  }
}

TEST_P(MapErrors, memory_that_is_not_there) {
  const Memory memory(8 * kMiB);
  memset(memory.begin(), kPoison, memory.bytes());
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  const MapPointer map = make_map(memory.bytes(), 64 * 1024, 4096, HPZ_PAGE_DIRTY);
  ASSERT_EQ(munmap(memory.begin() + 5 * kMiB, kMiB), 0);
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_map_release(map.get(), space.get(), team(), 0, memory.bytes(), nullptr, &report),
            -EFAULT);
  EXPECT_EQ(report.first_bad_offset, 5 * kMiB);
  EXPECT_EQ(counts_of(map.get()).dirty_bytes, memory.bytes());
  // An error, where a store would be a signal.
  EXPECT_EQ(hpz_map_populate(map.get(), space.get(), team(), 0, memory.bytes(), nullptr, &report),
            -EFAULT);
  EXPECT_EQ(counts_of(map.get()).dirty_bytes, memory.bytes()) << "resident, and not zero";
  EXPECT_EQ(report.done_bytes, 0u);
  ASSERT_EQ(hpz_map_zero(map.get(), space.get(), team(), 0, 5 * kMiB, nullptr, nullptr), 0);
  EXPECT_EQ(hpz_map_populate(map.get(), space.get(), team(), 0, memory.bytes(), nullptr, &report),
            -EFAULT);
  EXPECT_EQ(counts_of(map.get()).zero_bytes, 5 * kMiB);
}

// A call from the callback of another one: waiting would be for ever.
struct Again {
  hpz_map *map;
  hpz_space *space;
  int result = 1;
};
int call_again(void *user, uint64_t, uint64_t) {
  auto &again = *static_cast<Again *>(user);
  again.result = hpz_map_zero(again.map, again.space, nullptr, 0, 4 * kMiB, nullptr, nullptr);
  return 0;
}

TEST(MapCalls, a_callback_does_not_wait_for_its_own_job) {
  const Memory memory(4 * kMiB);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  const MapPointer map = make_map(memory.bytes(), kMiB, 4096, HPZ_PAGE_DIRTY);
  Again again = {map.get(), space.get()};
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.chunk_bytes = 4096;
  options.progress = call_again;
  options.user = &again;
  const uint32_t cancel = 0;
  options.cancel = &cancel;
  EXPECT_EQ(
      hpz_map_zero(map.get(), space.get(), nullptr, 0, memory.bytes() - 4096, &options, nullptr),
      0);
  EXPECT_EQ(again.result, 0) << "the last time it is all done";
  EXPECT_EQ(counts_of(map.get()).dirty_bytes, 0u);
  ASSERT_EQ(hpz_map_set(map.get(), 0, memory.bytes(), HPZ_PAGE_DIRTY), 0);
  struct Once {
    Again again;
    int first = 1;
  } once = {again};
  options.progress = [](void *user, uint64_t, uint64_t) {
    auto &self = *static_cast<Once *>(user);
    if (self.first == 1) {
      call_again(&self.again, 0, 0);
      self.first = self.again.result;
    }
    return 0;
  };
  options.user = &once;
  EXPECT_EQ(hpz_map_zero(map.get(), space.get(), nullptr, 0, memory.bytes(), &options, nullptr), 0);
  EXPECT_EQ(once.first, -EDEADLK);
}

TEST(MapCalls, after_fork) {
  const Memory memory(kMiB);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  const MapPointer map = make_map(memory.bytes(), 65536, 4096, HPZ_PAGE_DIRTY);
  const pid_t child = fork();
  if (child == 0) {
    hpz_map_counts counts = HPZ_MAP_COUNTS_INIT;
    const uint64_t word = 1;
    hpz_map *const its = map.get();
    const bool is_none =
        hpz_map_set(its, 0, 1, HPZ_PAGE_ZERO) == -ECHILD &&
        hpz_map_set_dirty_bitmap(its, 0, &word, 1) == -ECHILD &&
        hpz_map_counts_get(its, &counts) == -ECHILD &&
        hpz_map_zero(its, space.get(), nullptr, 0, 4096, nullptr, nullptr) == -ECHILD;
    hpz_map_destroy(its);
    _exit(is_none ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(counts_of(map.get()).dirty_bytes, memory.bytes());
}

}  // namespace
}  // namespace hpz::test
