// SPDX-License-Identifier: BSD-2-Clause
#include "tests/map/stepped_world.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "lib/space/handle.h"
#include "tests/map/schedules.h"

namespace hpz::test {
namespace {

constexpr uint64_t kSubpage = 64;
constexpr unsigned char kOld = 0xA5, kNew = 0x5A;  // what is there before, what a thread writes

SteppedMemory *g_memory;

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

SteppedWorld::SteppedWorld(const Case &which)
    : subpages_(which.dirty.size()),
      map_(
          make_map(subpages_ * kSubpage, which.subpages_each * kSubpage, kSubpage, HPZ_PAGE_ZERO)) {
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

std::function<void()> SteppedWorld::zero(uint64_t from, uint64_t to, bool fails) {
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

std::function<void()> SteppedWorld::mark(uint64_t from, uint64_t to) {
  return [this, from, to] {
    write(from, to);
    hpz_map_set(map_.get(), from * kSubpage, (to - from) * kSubpage, HPZ_PAGE_DIRTY);
    marked();
  };
}

std::function<void()> SteppedWorld::mark_by_bitmap(uint64_t from, uint64_t to) {
  return [this, from, to] {
    write(from, to);
    const uint64_t word = ((uint64_t{1} << (to - from)) - 1) << from;
    hpz_map_set_dirty_bitmap(map_.get(), 0, &word, subpages_);
    marked();
  };
}

std::function<void()> SteppedWorld::look() {
  return [this] {
    const hpz_map_counts counts = counts_of(map_.get());
    uint64_t dirty = 0;
    for (const Subpage &subpage : memory_.subpages) {
      if (subpage.is_being_cleared || subpage.content == kOld) dirty += kSubpage;
    }
    if (counts.dirty_bytes < dirty) fail_execution("called zero while it is cleared");
  };
}

std::function<void()> SteppedWorld::release(uint64_t from, uint64_t to) {
  return [this, from, to] {
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    if (hpz_map_release(map_.get(), space(), nullptr, from * kSubpage, (to - from) * kSubpage,
                        nullptr, &report) != 0) {
      fail_execution("an error");
    }
  };
}

void SteppedWorld::check() {
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
  if (hpz_map_zero(map_.get(), space(), nullptr, 0, subpages_ * kSubpage, &options, &report) != 0) {
    fail_execution("left in hands");
  }
  for (const Subpage &subpage : memory_.subpages) {
    if (subpage.content != 0) fail_execution("the wrong subpage is dirty");
  }
  if (counts_of(map_.get()).dirty_bytes != 0) fail_execution("not clean in the end");
  if (counts_of(map_.get()).detail_bytes != 0) fail_execution("detail that says nothing");
}

void SteppedWorld::write(uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; ++i) {
    test_step(&memory_.subpages[i], sizeof(Subpage), true);
    memory_.subpages[i].content = kNew;
  }
}

void SteppedWorld::marked() {
  test_step(&memory_.is_marked, sizeof(bool), true);
  memory_.is_marked = true;
}

uint64_t explore_case(const Case &which, const SteppedThreads &threads) {
  std::unique_ptr<SteppedWorld> world;
  const auto prepare = [&] {
    world = std::make_unique<SteppedWorld>(which);
    return Execution{threads(*world), [&] { world->check(); }};
  };
  constexpr uint64_t kMostStates = 5'000'000;
  const Explored explored = explore(prepare, kMostStates);
  EXPECT_EQ(explored.failure, "") << "after " << explored.executions << " executions";
  return explored.executions;
}

}  // namespace hpz::test
