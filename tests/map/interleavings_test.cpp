// SPDX-License-Identifier: BSD-2-Clause
//
// Marks, zeroing and a second zeroing of the same pages in every order of their steps: no dirty
// subpage is lost, nobody returns before his memory is zero, nobody waits for ever. The map is that
// of the library, compiled with a hook at each of its steps; the space below it is one of this
// test, a byte for each subpage.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/map.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/space/handle.h"
#include "tests/map/map_fixture.h"
#include "tests/map/schedules.h"

namespace hpz::test {
namespace {

constexpr uint64_t kSubpage = 64;
constexpr unsigned char kOld = 0xA5, kNew = 0x5A;  // what is there before, what a thread writes

// The memory of an execution, by subpages, and what is known of each.
struct Subpage {
  unsigned char content = 0;
  bool is_being_cleared = false;  // by one call, which has not told yet
};
struct Memory {
  bool tells_halves = false;  // an extent as two
  std::vector<Subpage> subpages;
  bool is_marked = false;             // a thread has written to what it writes to, and said so
  uint64_t fails_after = UINT64_MAX;  // subpages, then the job of the calls with a report fails
};
Memory *g_memory;

// Clears subpage by subpage, and tells.
int clear(const hpz_extent &extent, uint64_t *left, const DoneObserver &observer,
          hpz_job_report &report) {
  const uint64_t first = extent.offset / kSubpage, end = first + extent.len / kSubpage;
  const uint64_t middle = first + (end - first) / 2;
  uint64_t told = first;
  const auto tell = [&](uint64_t to) {
    if (to == told) return;
    for (uint64_t i = told; i < to; ++i) g_memory->subpages[i].is_being_cleared = false;
    observer.done(observer.context, told * kSubpage, (to - told) * kSubpage);
    report.done_bytes += (to - told) * kSubpage;
    told = to;
  };
  for (uint64_t i = first; i < end; ++i) {
    if (g_memory->subpages[i].is_being_cleared) fail_execution("two clear one subpage at once");
    g_memory->subpages[i].is_being_cleared = true;
  }
  for (uint64_t i = first; i < end; ++i) {
    if (left != nullptr && (*left)-- == 0) {
      tell(i);
      for (; i < end; ++i) g_memory->subpages[i].is_being_cleared = false;
      return -EFAULT;
    }
    test_step(&g_memory->subpages[i], sizeof(Subpage), true);
    g_memory->subpages[i].content = 0;
    if (i + 1 == middle && g_memory->tells_halves) tell(middle);
  }
  tell(end);
  return 0;
}

}  // namespace
}  // namespace hpz::test

// The space's side.
namespace hpz {

int call_verb(Verb, const hpz_space *, hpz_team *team, const hpz_extent *extents, size_t count,
              const hpz_job_options *, hpz_job_report *report, const DoneObserver &observer,
              bool) noexcept {
  if (report == nullptr) return 0;  // a look at the arguments
  uint64_t left = test::g_memory->fails_after;
  for (size_t i = 0; i < count; ++i) {
    // A team that is not null stands for a job that fails.
    const int error = test::clear(extents[i], team != nullptr ? &left : nullptr, observer, *report);
    if (error != 0) return error;
  }
  return 0;
}

}  // namespace hpz

namespace hpz::test {
namespace {

struct Case {
  uint64_t subpages_each;
  std::vector<bool> dirty;  // by subpages, before
};

class World {
 public:
  explicit World(const Case &which)
      : subpages_(which.dirty.size()),
        map_(make_map(subpages_ * kSubpage, which.subpages_each * kSubpage, kSubpage,
                      HPZ_PAGE_ZERO)) {
    memory_.subpages.resize(subpages_);
    g_memory = &memory_;
    // All that is shared is looked at in this order: pages, who waits, subpages.
    hpz_map_set(map_.get(), 0, subpages_ * kSubpage, HPZ_PAGE_DIRTY);
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    hpz_map_zero(map_.get(), space(), nullptr, 0, subpages_ * kSubpage, nullptr, &report);
    for (uint64_t i = 0; i < subpages_; ++i) {
      test_step(&memory_.subpages[i], sizeof(Subpage), true);
      if (!which.dirty[i]) continue;
      memory_.subpages[i].content = kOld;
      hpz_map_set(map_.get(), i * kSubpage, kSubpage, HPZ_PAGE_DIRTY);
    }
  }
  Memory &memory() { return memory_; }

  // Threads. Ranges are of subpages.
  std::function<void()> zero(uint64_t from, uint64_t to, bool fails = false) {
    return [this, from, to, fails] {
      test_step(&memory_.is_marked, sizeof(bool), false);
      const bool was_marked = memory_.is_marked;
      static char team;
      hpz_job_report report = HPZ_JOB_REPORT_INIT;
      const int error =
          hpz_map_zero(map_.get(), space(), reinterpret_cast<hpz_team *>(fails ? &team : nullptr),
                       from * kSubpage, (to - from) * kSubpage, nullptr, &report);
      if (error != 0 && (!fails || error != -EFAULT)) fail_execution("an error");
      if (error == 0 && report.done_bytes != (to - from) * kSubpage) fail_execution("done_bytes");
      if (error != 0) return;
      for (uint64_t i = from; i < to; ++i) {
        const Subpage &subpage = memory_.subpages[i];
        if (subpage.content == kOld) fail_execution("returned before its memory was zero");
        if (subpage.content == kNew && was_marked) fail_execution("returned with a marked subpage");
      }
    };
  }
  std::function<void()> mark(uint64_t from, uint64_t to) {
    return [this, from, to] {
      write(from, to);
      hpz_map_set(map_.get(), from * kSubpage, (to - from) * kSubpage, HPZ_PAGE_DIRTY);
      marked();
    };
  }
  std::function<void()> mark_by_bitmap(uint64_t from, uint64_t to) {
    return [this, from, to] {
      write(from, to);
      const uint64_t word = ((uint64_t{1} << (to - from)) - 1) << from;
      hpz_map_set_dirty_bitmap(map_.get(), 0, &word, subpages_);
      marked();
    };
  }
  // What is being cleared counts as dirty, and so does what nobody has cleared yet.
  std::function<void()> look() {
    return [this] {
      const hpz_map_counts counts = counts_of(map_.get());
      uint64_t dirty = 0;
      for (const Subpage &subpage : memory_.subpages) {
        if (subpage.is_being_cleared || subpage.content == kOld) dirty += kSubpage;
      }
      if (counts.dirty_bytes < dirty) fail_execution("called zero while it is cleared");
    };
  }
  std::function<void()> release(uint64_t from, uint64_t to) {
    return [this, from, to] {
      hpz_job_report report = HPZ_JOB_REPORT_INIT;
      if (hpz_map_release(map_.get(), space(), nullptr, from * kSubpage, (to - from) * kSubpage,
                          nullptr, &report) != 0) {
        fail_execution("an error");
      }
    };
  }

  // When all have returned: the map is right about what it calls zero, and nothing is in hands. By
  // clearing all: what is then still there was not called dirty.
  void check() {
    const hpz_map_counts counts = counts_of(map_.get());
    if (counts.dirty_bytes + counts.zero_bytes + counts.fresh_bytes != subpages_ * kSubpage) {
      fail_execution("counts do not add up");
    }
    uint64_t not_zero = 0;
    for (const Subpage &subpage : memory_.subpages) {
      if (subpage.content != 0) not_zero += kSubpage;
      if (subpage.is_being_cleared) fail_execution("not told");
    }
    if (counts.dirty_bytes < not_zero) fail_execution("a dirty subpage is lost");
    uint32_t cancel = 1;  // for a wait, which would be without an end
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.cancel = &cancel;
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    if (hpz_map_zero(map_.get(), space(), nullptr, 0, subpages_ * kSubpage, &options, &report) !=
        0) {
      fail_execution("left in hands");
    }
    for (const Subpage &subpage : memory_.subpages) {
      if (subpage.content != 0) fail_execution("the wrong subpage is dirty");
    }
    if (counts_of(map_.get()).dirty_bytes != 0) fail_execution("not clean in the end");
    if (counts_of(map_.get()).detail_bytes != 0) fail_execution("detail that says nothing");
  }

 private:
  hpz_space *space() { return reinterpret_cast<hpz_space *>(this); }
  void write(uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; ++i) {
      test_step(&memory_.subpages[i], sizeof(Subpage), true);
      memory_.subpages[i].content = kNew;
    }
  }
  void marked() {
    test_step(&memory_.is_marked, sizeof(bool), true);
    memory_.is_marked = true;
  }

  const uint64_t subpages_;
  MapPointer map_;
  Memory memory_;
};

using Threads = std::function<std::vector<std::function<void()>>(World &)>;

// Executions.
uint64_t explore_case(const Case &which, const Threads &threads) {
  std::unique_ptr<World> world;
  const auto prepare = [&] {
    world = std::make_unique<World>(which);
    return Execution{threads(*world), [&] { world->check(); }};
  };
  const Explored explored = explore(prepare, 5'000'000);
  EXPECT_EQ(explored.failure, "") << "after " << explored.executions << " executions";
  return explored.executions;
}

// Of one subpage, which has no detail; of two, dirty, in part, and not; two pages.
const Case kOne = {1, {true}};
const Case kDirty = {2, {true, true}};
const Case kPartly = {2, {true, false}};
const Case kClean = {2, {false, false}};
const Case kTwoPages = {2, {true, true, false, true}};

TEST(Interleavings, mark_and_zero) {
  uint64_t executions = 0;
  for (const Case &which : {kOne, kDirty, kPartly, kClean, kTwoPages}) {
    const uint64_t all = which.dirty.size();
    for (uint64_t from = 0; from < all; ++from) {
      for (uint64_t to = from + 1; to <= all; ++to) {
        executions += explore_case(which, [&](World &world) {
          world.memory().tells_halves = true;
          return std::vector{world.mark(from, to), world.zero(0, all)};
        });
        executions += explore_case(which, [&](World &world) {
          return std::vector{world.mark_by_bitmap(from, to), world.zero(from, all)};
        });
      }
    }
  }
  EXPECT_GT(executions, 2000u);
}

// (Less would be a search that has lost its way; the numbers are somewhat less than what was found
// when these tests were written.)
TEST(Interleavings, zero_and_zero) {
  uint64_t executions = 0;
  for (const Case &which : {kOne, kPartly, kDirty}) {
    const uint64_t all = which.dirty.size();
    executions += explore_case(which, [&](World &world) {
      world.memory().tells_halves = true;
      return std::vector{world.zero(0, all), world.zero(0, 1)};
    });
    executions += explore_case(which, [&](World &world) {
      return std::vector{world.zero(0, all), world.zero(0, all)};
    });
  }
  EXPECT_GT(executions, 1000u);
}

TEST(Interleavings, mark_zero_and_zero) {
  uint64_t executions = 0;
  for (const bool is_dirty : {true, false}) {
    executions += explore_case({1, {is_dirty}}, [&](World &world) {
      return std::vector{world.mark(0, 1), world.zero(0, 1), world.zero(0, 1)};
    });
  }
  EXPECT_GT(executions, 1000u);
}

// The job of one of them fails, after none or some of the subpages.
TEST(Interleavings, a_zero_that_fails) {
  uint64_t executions = 0;
  for (const Case &which : {kOne, kDirty}) {
    const uint64_t all = which.dirty.size();
    for (uint64_t fails_after = 0; fails_after < all; ++fails_after) {
      executions += explore_case(which, [&](World &world) {
        world.memory().fails_after = fails_after;
        return std::vector{world.mark(0, 1), world.zero(0, all, true)};
      });
      executions += explore_case(which, [&](World &world) {
        world.memory().fails_after = fails_after;
        return std::vector{world.zero(0, all), world.zero(0, all, true)};
      });
    }
  }
  EXPECT_GT(executions, 100u);
}

// The second one comes after a mark of its own thread: it finds what was marked while the first one
// was clearing it, or had already told that it is done, and must not take it for the first one's,
// nor the first one for its own.
TEST(Interleavings, a_zero_after_a_mark) {
  uint64_t executions = 0;
  for (const Case &which : {kOne, kDirty, kPartly}) {
    const uint64_t all = which.dirty.size();
    for (const bool fails : {false, true}) {
      executions += explore_case(which, [&](World &world) {
        world.memory().tells_halves = true;
        world.memory().fails_after = 1;
        const auto both = [mark = world.mark(0, 1), zero = world.zero(0, 1)] {
          mark();
          zero();
        };
        return std::vector<std::function<void()>>{world.zero(0, all, fails), both};
      });
    }
  }
  EXPECT_GT(executions, 1000u);
}

// A call that has failed deals only with what it has not told: what it has may be in the hands of
// the other one again, whose memory is not zero yet.
TEST(Interleavings, a_zero_after_one_that_failed) {
  const uint64_t executions = explore_case(kDirty, [](World &world) {
    world.memory().tells_halves = true;
    world.memory().fails_after = 1;
    const auto first = [fails = world.zero(0, 2, true), look = world.look()] {
      fails();
      look();
    };
    const auto second = [mark = world.mark(0, 1), zero = world.zero(0, 1)] {
      mark();
      zero();
    };
    return std::vector<std::function<void()>>{first, second};
  });
  EXPECT_GT(executions, 1000u);
}

TEST(Interleavings, others) {
  uint64_t executions = 0;
  for (const Case &which : {kOne, kPartly, kClean}) {
    const uint64_t all = which.dirty.size();
    executions += explore_case(which, [&](World &world) {
      return std::vector{world.mark(0, 1), world.release(0, all)};
    });
    executions += explore_case(which, [&](World &world) {
      return std::vector{world.zero(0, all), world.release(0, all)};
    });
    executions += explore_case(which, [&](World &world) {
      return std::vector{world.mark(0, 1), world.mark_by_bitmap(0, all)};
    });
  }
  EXPECT_GT(executions, 100u);
}

}  // namespace
}  // namespace hpz::test
