// SPDX-License-Identifier: BSD-2-Clause
//
// The map without its space: memory that is not to be had for its bitmaps and lists, where it may
// believe less and never what is not true, and a fork while somebody holds a page's lock. The map
// is that of the library; the space below it is one of this test.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/map.h>
#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "lib/space/handle.h"
#include "tests/map/map_fixture.h"
#include "tests/support/settings.h"
#include "tests/support/shortage.h"
#include "tests/support/watchdog.h"

namespace hpz::test {
namespace {

constexpr uint64_t kSubpage = 64, kSubpagesEach = 16, kPages = 8;
constexpr uint64_t kPage = kSubpage * kSubpagesEach, kBytes = kPages * kPage;
constexpr unsigned char kPoison = 0xA5;

// The memory of a map, and what happens while it is cleared.
struct Below {
  std::vector<unsigned char> bytes = std::vector<unsigned char>(kBytes, kPoison);
  uint64_t fails_at = UINT64_MAX;  // whoever comes to this offset fails there
  // Called when all before this offset is cleared and not told; false cancels.
  std::function<bool(uint64_t)> behind;
  bool is_asked = false;  // for anything
};
Below *g_below;

}  // namespace
}  // namespace hpz::test

// The space's side: pieces of no whole subpages are cleared, and told one by one.
namespace hpz {

int call_verb(Verb verb, const hpz_space *, hpz_team *, const hpz_extent *extents, size_t count,
              const hpz_job_options *, hpz_job_report *report, const DoneObserver &observer,
              bool) noexcept {
  constexpr uint64_t kPiece = 5 * test::kSubpage + 20;
  if (report == nullptr || verb == populate_space) return 0;
  test::Below &below = *test::g_below;
  below.is_asked = true;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t end = extents[i].offset + extents[i].len;
    for (uint64_t at = extents[i].offset; at < end;) {
      const uint64_t to = std::min({end, at + kPiece, std::max(at, below.fails_at)});
      if (at == to) {
        report->first_bad_offset = at;
        return -EIO;
      }
      memset(below.bytes.data() + at, 0, to - at);
      if (below.behind && !below.behind(to)) return -ECANCELED;
      observer.done(observer.context, at, to - at);
      report->done_bytes += to - at;
      at = to;
    }
  }
  return 0;
}

}  // namespace hpz

namespace hpz::test {
namespace {

class Alone : public testing::Test {
 protected:
  explicit Alone(hpz_page_state initial = HPZ_PAGE_DIRTY)
      : map_(make_map(kBytes, kPage, kSubpage, initial)) {
    g_below = &below_;
  }
  ~Alone() override { fail_allocation_after(-1); }

  bool is_zero(uint64_t from, uint64_t to) const {
    return std::all_of(below_.bytes.begin() + static_cast<ptrdiff_t>(from),
                       below_.bytes.begin() + static_cast<ptrdiff_t>(to),
                       [](unsigned char byte) { return byte == 0; });
  }
  void write(uint64_t from, uint64_t to) {  // and say so
    memset(below_.bytes.data() + from, kPoison, to - from);
    EXPECT_EQ(hpz_map_set(map_.get(), from, to - from, HPZ_PAGE_DIRTY), 0);
  }
  void clear(uint64_t from, uint64_t to, hpz_page_state state) {  // without the map, and say so
    memset(below_.bytes.data() + from, 0, to - from);
    EXPECT_EQ(hpz_map_set(map_.get(), from, to - from, state), 0);
  }
  void start_again(hpz_page_state state) {
    map_ = make_map(kBytes, kPage, kSubpage, state);
    below_ = Below();
    if (state != HPZ_PAGE_DIRTY) std::fill(below_.bytes.begin(), below_.bytes.end(), 0);
  }
  uint64_t dirty_bytes() const { return counts_of(map_.get()).dirty_bytes; }

  // Every subpage for itself is zero, or known to be dirty; and all of it can be cleared.
  void expect_truth() {
    below_.fails_at = UINT64_MAX;
    below_.behind = nullptr;
    const hpz_map_counts counts = counts_of(map_.get());
    EXPECT_EQ(counts.dirty_bytes + counts.zero_bytes + counts.fresh_bytes, kBytes);
    uint64_t dirty = 0;
    for (uint64_t at = 0; at < kBytes; at += kSubpage) {
      const bool was_zero = is_zero(at, at + kSubpage);
      below_.is_asked = false;
      ASSERT_EQ(hpz_map_zero(map_.get(), nullptr, nullptr, at, kSubpage, nullptr, nullptr), 0);
      if (below_.is_asked) dirty += kSubpage;
      ASSERT_TRUE(below_.is_asked || was_zero) << "subpage " << at / kSubpage << " was lost";
    }
    EXPECT_EQ(dirty, counts.dirty_bytes);
    EXPECT_TRUE(is_zero(0, kBytes));
    EXPECT_EQ(dirty_bytes(), 0u);
    EXPECT_EQ(counts_of(map_.get()).detail_bytes, 0u);
  }

  const Watchdog watchdog_;  // who finds a page in hands for ever waits for ever
  Below below_;
  MapPointer map_;
};

TEST_F(Alone, no_memory_for_a_map) {
  hpz_map_options options = HPZ_MAP_OPTIONS_INIT;
  options.len = kBytes;
  int failures = 0;
  for (int64_t n = 0; n < 10; ++n) {
    hpz_map *map = nullptr;
    fail_allocation_after(n);
    const int error = hpz_map_create(&options, &map);
    const bool has_failed = allocation_failed();
    fail_allocation_after(-1);
    EXPECT_EQ(error, has_failed ? -ENOMEM : 0);
    EXPECT_EQ(map == nullptr, has_failed);
    hpz_map_destroy(map);
    failures += has_failed;
  }
  EXPECT_EQ(failures, 3) << "itself, a byte for each page, and the table of bitmaps";
}

TEST_F(Alone, without_memory_a_mark_of_a_part_is_one_of_the_page) {
  const uint64_t word = 0x50;
  for (const bool is_by_bitmap : {false, true}) {
    start_again(HPZ_PAGE_ZERO);
    fail_allocation_after(0);
    if (is_by_bitmap) {
      EXPECT_EQ(hpz_map_set_dirty_bitmap(map_.get(), 3 * kPage, &word, kSubpagesEach), 0);
    } else {
      EXPECT_EQ(hpz_map_set(map_.get(), 3 * kPage + kSubpage, 1, HPZ_PAGE_DIRTY), 0);
    }
    EXPECT_TRUE(allocation_failed());
    EXPECT_EQ(dirty_bytes(), kPage);
    expect_truth();
  }
}

TEST_F(Alone, without_memory_what_is_said_of_a_part_is_not_remembered) {
  fail_allocation_after(0);
  clear(3 * kPage, 3 * kPage + kSubpage, HPZ_PAGE_ZERO);
  EXPECT_TRUE(allocation_failed());
  EXPECT_EQ(dirty_bytes(), kBytes);
  expect_truth();
}

// Cleared all the same, and no error; the lists of a call are those it cannot do without.
TEST_F(Alone, without_memory_a_part_of_a_page_is_cleared_and_not_remembered) {
  const uint64_t from = 3 * kPage + kSubpage, to = 4 * kPage - kSubpage;
  int done = 0, refused = 0;
  for (int64_t n = 0; n < 10; ++n) {
    start_again(HPZ_PAGE_DIRTY);
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    fail_allocations_after(n);
    const int error = hpz_map_zero(map_.get(), nullptr, nullptr, from, to - from, nullptr, &report);
    const bool has_failed = allocation_failed();
    fail_allocation_after(-1);
    EXPECT_EQ(report.error, error);
    EXPECT_EQ(report.done_bytes, error == 0 ? to - from : 0);
    EXPECT_EQ(is_zero(from, to), error == 0);
    EXPECT_EQ(below_.bytes[from - 1], kPoison);
    EXPECT_EQ(below_.bytes[to], kPoison);
    if (has_failed) {
      EXPECT_TRUE(error == 0 || error == -ENOMEM) << error;
      done += error == 0;
      refused += error != 0;
    } else {
      EXPECT_EQ(error, 0);
      EXPECT_EQ(dirty_bytes(), kBytes - (to - from));
    }
    if (error != 0 || done == 1) {
      EXPECT_EQ(dirty_bytes() % kPage, 0u) << "no bitmap, so whole pages";
    }
    expect_truth();
  }
  EXPECT_GE(refused, 1);
  EXPECT_GE(done, 1);
}

// All that may want memory; each allocation fails once, and all from each on.
TEST_F(Alone, no_memory_for_each_allocation) {
  using Verb = decltype(&hpz_map_zero);
  const auto run = [this](Verb verb, uint64_t from, uint64_t to, uint64_t fails_at = UINT64_MAX) {
    below_.fails_at = fails_at;
    const int error = verb(map_.get(), nullptr, nullptr, from, to - from, nullptr, nullptr);
    EXPECT_TRUE(error == 0 || error == -EIO || (error == -ENOMEM && allocation_failed()));
    return error;
  };
  const auto run_and_look = [&](Verb verb, uint64_t from, uint64_t to, uint64_t fails_at) {
    const bool is_done = run(verb, from, to, fails_at) == 0;
    EXPECT_TRUE(!is_done || is_zero(from, to));
  };
  std::vector<std::function<void()>> plays;
  plays.push_back([&] {
    clear(5 * kPage, 5 * kPage + 3 * kSubpage, HPZ_PAGE_ZERO);
    clear(6 * kPage, 8 * kPage, HPZ_PAGE_FRESH);
    write(7 * kPage + 3 * kSubpage, 7 * kPage + 5 * kSubpage);
    const uint64_t word = 0x8001;
    memset(below_.bytes.data() + 6 * kPage, kPoison, kSubpage);
    EXPECT_EQ(hpz_map_set_dirty_bitmap(map_.get(), 6 * kPage, &word, kSubpagesEach), 0);
  });
  for (const Verb verb : {hpz_map_zero, hpz_map_populate, hpz_map_release}) {
    for (const uint64_t fails_at : {UINT64_MAX, kPage + 100, 2 * kPage + 7 * kSubpage + 3}) {
      plays.push_back([&, verb, fails_at] {
        run_and_look(verb, 2 * kSubpage, 3 * kPage + 5 * kSubpage, fails_at);
        run_and_look(verb, kSubpage + 1, 4 * kPage - 1, UINT64_MAX);
      });
      plays.push_back([&, verb, fails_at] {
        clear(kPage, 4 * kPage, HPZ_PAGE_ZERO);
        write(kPage + 3 * kSubpage, kPage + 5 * kSubpage);
        run_and_look(verb, 0, 4 * kPage, fails_at);
      });
      // Marks while their pages are in hands, of what is cleared already.
      plays.push_back([&, verb, fails_at] {
        below_.behind = [this](uint64_t to) {
          const uint64_t at = to / kSubpage * kSubpage - kSubpage;
          if (at / kPage == 1 || at / kPage == 2) write(at, at + kSubpage);
          return true;
        };
        run(verb, 0, 4 * kPage, fails_at);
      });
      // ... and before what fails, where nobody has come yet.
      plays.push_back([&, verb, fails_at] {
        below_.behind = [this](uint64_t) {
          write(2 * kPage + 12 * kSubpage, 2 * kPage + 13 * kSubpage);
          return true;
        };
        run(verb, 0, 4 * kPage, fails_at);
      });
    }
  }
  for (size_t i = 0; i < plays.size(); ++i) {
    for (const auto fail_after : {fail_allocation_after, fail_allocations_after}) {
      bool has_failed = true;
      for (int64_t n = 0; has_failed; ++n) {
        SCOPED_TRACE("play " + std::to_string(i) + ", after " + std::to_string(n));
        start_again(HPZ_PAGE_DIRTY);
        fail_after(n);
        plays[i]();
        has_failed = allocation_failed();
        fail_allocation_after(-1);
        ASSERT_NO_FATAL_FAILURE(expect_truth());
        ASSERT_LT(n, 1000);
      }
    }
  }
}

// In the child nobody unlocks what another thread had locked when a callback forked.
TEST_F(Alone, a_child_leaves_what_is_locked) {
  if (kThreadSanitizer || is_set("HPZERO_TEST_EMULATOR")) {
    GTEST_SKIP() << "NOT TESTED HERE: a fork among threads";
  }
  static sem_t is_locked, may_go_on;
  ASSERT_EQ(sem_init(&is_locked, 0, 0), 0);
  ASSERT_EQ(sem_init(&may_go_on, 0, 0), 0);
  std::thread marking;
  pid_t child = -1;
  below_.behind = [&](uint64_t) {
    if (child != -1) return true;
    marking = std::thread([this] {
      call_before_next_allocation([] {  // of a bitmap, for a page that is locked
        sem_post(&is_locked);
        while (sem_wait(&may_go_on) != 0) {
        }
      });
      hpz_map_set(map_.get(), 2 * kPage, kSubpage, HPZ_PAGE_DIRTY);
    });
    while (sem_wait(&is_locked) != 0) {
    }
    child = fork();
    if (child == 0) alarm(60);  // the parent's is not its own
    if (child != 0) sem_post(&may_go_on);
    return child != 0;
  };
  const int error = hpz_map_zero(map_.get(), nullptr, nullptr, 0, kBytes, nullptr, nullptr);
  if (child == 0) _exit(error == -ECHILD ? 0 : 1);
  marking.join();
  EXPECT_EQ(error, 0) << "of the parent";
  EXPECT_EQ(dirty_bytes(), kSubpage) << "marked while it was in hands";
  ASSERT_GT(child, 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hpz::test
