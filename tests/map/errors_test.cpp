// SPDX-License-Identifier: BSD-2-Clause
//
// Verbs that end in the middle: what is done is known, the rest is dirty, nothing stays in hands.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "tests/map/map_fixture.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/settings.h"
#include "tests/support/watchdog.h"
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

// The host's handler makes an error of a fault in mid-job.
void claim_fault(int, siginfo_t *info, void *context) {
  if (hpz_fault_claim(info, context) != 1) _exit(77);
}

TEST_P(MapErrors, a_fault_that_is_claimed) {
  struct sigaction claiming = {}, before;
  claiming.sa_sigaction = claim_fault;
  claiming.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGSEGV, &claiming, &before), 0);
  const Memory memory(8 * kMiB);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  const size_t bad = 5 * kMiB + 7 * 4096;
  const struct {
    uint64_t page, subpage;
  } shapes[] = {{65536, 4096}, {4 * kMiB, 4096}, {4 * kMiB, 65536}, {65536, 65536}};
  for (const auto &[page, subpage] : shapes) {
    SCOPED_TRACE(std::to_string(page) + " by " + std::to_string(subpage));
    memset(memory.begin(), kPoison, memory.bytes());
    EXPECT_EQ(mprotect(memory.begin() + bad, 4096, PROT_READ), 0);
    const MapPointer map = make_map(memory.bytes(), page, subpage, HPZ_PAGE_DIRTY);
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.threads = 1;  // in order
    options.chunk_bytes = 2 * kMiB;
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(hpz_map_zero(map.get(), space.get(), team(), 0, memory.bytes(), &options, &report),
              -EFAULT);
    EXPECT_EQ(report.error, -EFAULT);
    EXPECT_EQ(report.first_bad_offset, bad);
    EXPECT_EQ(report.done_bytes, bad);
    EXPECT_TRUE(hpz_is_zero(memory.begin(), bad));
    EXPECT_EQ(memory.begin()[bad], kPoison);
    const uint64_t known = bad - bad % subpage;
    EXPECT_EQ(counts_of(map.get()).zero_bytes, known) << "what is done of a subpage is not known";
    EXPECT_EQ(counts_of(map.get()).dirty_bytes, memory.bytes() - known);

    EXPECT_EQ(mprotect(memory.begin() + bad, 4096, PROT_READ | PROT_WRITE), 0);
    EXPECT_EQ(hpz_map_zero(map.get(), space.get(), team(), 0, memory.bytes(), nullptr, &report), 0);
    EXPECT_EQ(report.skipped_bytes, known);
    EXPECT_EQ(report.cleared_bytes, memory.bytes() - known);
    EXPECT_TRUE(hpz_is_zero(memory.begin(), memory.bytes()));
    EXPECT_EQ(counts_of(map.get()).dirty_bytes, 0u);
    EXPECT_EQ(counts_of(map.get()).detail_bytes, 0u);
  }
  ASSERT_EQ(sigaction(SIGSEGV, &before, nullptr), 0);
}

// A backing fails by a number that otherwise says that nothing was done: here something was, and
// the report tells how much.
TEST(MapCalls, a_callback_of_the_space_fails_like_a_refusal) {
  struct Failing {
    unsigned char *memory;
    int error;
  };
  for (const int error : {-EINVAL, -ECHILD}) {
    const Memory memory(64 * 4096);
    memset(memory.begin(), kPoison, memory.bytes());
    Failing failing = {memory.begin(), error};
    hpz_space_ops ops = HPZ_SPACE_OPS_INIT;
    ops.len = memory.bytes();
    ops.map = [](void *context, uint64_t offset, uint64_t, void **out) {
      const auto &self = *static_cast<Failing *>(context);
      *out = self.memory + offset;
      return offset != 4096 ? 0 : self.error;
    };
    ops.unmap = [](void *, uint64_t, uint64_t, void *) {};
    hpz_space *made = nullptr;
    ASSERT_EQ(hpz_space_custom(&ops, &failing, &made), 0);
    const SpacePointer space(made, hpz_space_destroy);
    const MapPointer map = make_map(memory.bytes(), 4 * 4096, 4096, HPZ_PAGE_DIRTY);
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    report.done_bytes = 77;
    EXPECT_EQ(hpz_map_zero(map.get(), space.get(), nullptr, 0, ops.len, nullptr, &report), error);
    EXPECT_EQ(report.error, error);
    EXPECT_EQ(report.done_bytes, 4096u);
    EXPECT_EQ(report.first_bad_offset, 4096u);
    expect_truth(map.get(), memory.begin(), memory.bytes(), 4096, report);
  }
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

// What the parent's other threads were at nobody ends in the child, whose map is a copy. Forked
// from the first callback and from the last one, of jobs and where all is known already.
TEST(MapCalls, fork_in_a_callback) {
  struct Forking {
    pid_t child = -1;
    uint64_t from;  // bytes that are told to be done
  };
  // ThreadSanitizer and qemu-user go no further in the child of a process with threads.
  const bool may_have_threads = !kThreadSanitizer && !is_set("HPZERO_TEST_EMULATOR");
  for (const uint32_t threads : {0u, 2u}) {
    if (threads != 0 && !may_have_threads) GTEST_SKIP() << "NOT TESTED HERE: no threads and a fork";
    for (const MapVerb verb : {hpz_map_zero, hpz_map_populate, hpz_map_release}) {
      const uint64_t len = 8 * kMiB;
      const struct { uint64_t known, from; } cases[] = {{kMiB, 1}, {kMiB, len}, {len, 1}};
      for (const auto &[known, from] : cases) {
        SCOPED_TRACE(std::to_string(threads) + " threads, from " + std::to_string(from) + ", " +
                     std::to_string(known) + " known");
        const Watchdog watchdog;
        const TeamPointer team = make_team(threads);
        const Memory memory(len);
        const SpacePointer space = make_space(memory.begin(), len);
        const MapPointer map = make_map(len, 65536, 4096, HPZ_PAGE_DIRTY);
        ASSERT_EQ(hpz_map_set(map.get(), 0, known, HPZ_PAGE_FRESH), 0);
        Forking forking = {-1, from};
        hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
        options.chunk_bytes = 65536;
        options.user = &forking;
        options.progress = [](void *user, uint64_t done, uint64_t) {
          auto &self = *static_cast<Forking *>(user);
          if (self.child != -1 || done < self.from) return 0;
          self.child = fork();
          if (self.child == 0) alarm(60);  // the parent's is not its own
          return 0;
        };
        hpz_job_report report = HPZ_JOB_REPORT_INIT;
        const int error = verb(map.get(), space.get(), team.get(), 0, len, &options, &report);
        if (forking.child == 0) {
          const bool is_as_it_was = report.error == 0 && report.done_bytes == 0;
          _exit(error == -ECHILD && is_as_it_was ? 0 : 1);
        }
        EXPECT_EQ(error, 0) << "of the parent";
        EXPECT_EQ(report.done_bytes, len);
        ASSERT_GT(forking.child, 0);
        int status = -1;
        ASSERT_EQ(waitpid(forking.child, &status, 0), forking.child);
        EXPECT_EQ(status, 0);
        EXPECT_EQ(counts_of(map.get()).dirty_bytes, 0u);
      }
    }
  }
}

}  // namespace
}  // namespace hpz::test
