// SPDX-License-Identifier: BSD-2-Clause
//
// What all verbs have in common: arguments, reports, cancel, deadline, progress.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/guarded_buffer.h"
#include "tests/support/watchdog.h"
#include "tests/support/workers.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;

using Verb = decltype(&hpz_space_zero);
constexpr Verb kVerbs[] = {hpz_space_zero, hpz_space_populate, hpz_space_reset, hpz_space_release};

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

TEST(SpaceCreation, bad_arguments) {
  hpz_space *space = nullptr;
  char byte;
  const hpz_range good = {&byte, 1};
  EXPECT_EQ(hpz_space_direct(&good, 1, nullptr, nullptr), -EINVAL);
  hpz_space_options options = HPZ_SPACE_OPTIONS_INIT;
  options.flags = 1;
  EXPECT_EQ(hpz_space_direct(&good, 1, &options, &space), -EINVAL);
  for (const uint64_t bad : {uint64_t{1}, uint64_t{4095}, uint64_t{6000}, UINT64_MAX}) {
    options = HPZ_SPACE_OPTIONS_INIT;
    options.page_bytes = bad;
    EXPECT_EQ(hpz_space_direct(&good, 1, &options, &space), -EINVAL) << bad;
  }
  options = HPZ_SPACE_OPTIONS_INIT;
  options.size = 3;
  EXPECT_EQ(hpz_space_direct(&good, 1, &options, &space), -EINVAL);
  const hpz_range overlapping[] = {{&byte, 1}, {&byte, 1}};
  EXPECT_EQ(hpz_space_direct(overlapping, 2, nullptr, &space), -EINVAL);
  EXPECT_EQ(space, nullptr);
  hpz_space_destroy(nullptr);

  ASSERT_EQ(hpz_space_direct(nullptr, 0, nullptr, &space), 0) << "a space of no bytes";
  for (const Verb verb : kVerbs) {
    EXPECT_EQ(verb(space, nullptr, nullptr, 0, nullptr, nullptr), 0);
    EXPECT_EQ(verb(nullptr, nullptr, nullptr, 0, nullptr, nullptr), -EINVAL);
    const hpz_extent beyond = {0, 1};
    EXPECT_EQ(verb(space, nullptr, &beyond, 1, nullptr, nullptr), -EINVAL);
  }
  hpz_space_destroy(space);
}

class Space : public ByWorkers {};
HPZERO_BY_WORKERS(Space);

TEST_P(Space, bad_input_writes_nothing) {
  const GuardedBuffer buffer(64 * 1024);
  const SpacePointer space = make_space(buffer.begin(), buffer.size());
  for (const Verb verb : kVerbs) {
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    report.done_bytes = 77;
    const hpz_extent extents[] = {{0, 4096}, {4096, buffer.size()}};
    EXPECT_EQ(verb(space.get(), team(), extents, 2, nullptr, &report), -EINVAL);
    EXPECT_EQ(report.done_bytes, 77u) << "the report is left alone";
    EXPECT_EQ(verb(space.get(), team(), nullptr, 3, nullptr, &report), -EINVAL);
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.flags = 0x80000000;
    EXPECT_EQ(verb(space.get(), team(), nullptr, 0, &options, &report), -EINVAL);
    options = HPZ_JOB_OPTIONS_INIT;
    options.node = -2;
    EXPECT_EQ(verb(space.get(), team(), nullptr, 0, &options, &report), -EINVAL);
    options = HPZ_JOB_OPTIONS_INIT;
    options.size = sizeof(size_t) - 1;
    EXPECT_EQ(verb(space.get(), team(), nullptr, 0, &options, &report), -EINVAL);
    report.size = 0;
    EXPECT_EQ(verb(space.get(), team(), nullptr, 0, nullptr, &report), -EINVAL);
  }
  EXPECT_TRUE(buffer.only_cleared(buffer.begin(), 0));
}

TEST_P(Space, reports_are_complete) {
  const Memory memory(24 * kMiB);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  for (const Verb verb : kVerbs) {
    memset(memory.begin(), kPoison, memory.bytes());
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.chunk_bytes = 2 * kMiB;
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    report.error = 55;
    ASSERT_EQ(verb(space.get(), team(), nullptr, 0, &options, &report), 0);
    EXPECT_EQ(report.error, 0);
    EXPECT_EQ(report.done_bytes, memory.bytes());
    EXPECT_EQ(report.cleared_bytes + report.populated_bytes + report.skipped_bytes,
              report.done_bytes);
    EXPECT_EQ(report.first_bad_offset, UINT64_MAX);
    EXPECT_GE(report.threads, 1u);
    EXPECT_LE(report.threads, std::max(GetParam(), 1u));
    EXPECT_GT(report.wall_ns, 0u);
    EXPECT_GT(report.cpu_ns, 0u);
    EXPECT_EQ(report.local_bytes + report.remote_bytes,
              report.cleared_bytes + report.populated_bytes);
  }
}

TEST_P(Space, threads_are_at_most_as_asked) {
  const Memory memory(32 * kMiB);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  for (const uint32_t threads : {1u, 2u}) {
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.threads = threads;
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    ASSERT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, &options, &report), 0);
    EXPECT_LE(report.threads, threads);
    EXPECT_EQ(report.done_bytes, memory.bytes());
  }
}

// An older caller's report is shorter; nothing is written behind it.
TEST_P(Space, shorter_reports) {
  const GuardedBuffer buffer(4096);
  const SpacePointer space = make_space(buffer.begin(), buffer.size());
  struct {
    hpz_job_report report;
    uint64_t behind;
  } old;
  memset(&old, 0x5A, sizeof old);
  old.report.size = offsetof(hpz_job_report, cleared_bytes);
  ASSERT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, nullptr, &old.report), 0);
  EXPECT_EQ(old.report.done_bytes, buffer.size());
  EXPECT_EQ(old.report.cleared_bytes, 0x5A5A5A5A5A5A5A5Au);
  EXPECT_EQ(old.behind, 0x5A5A5A5A5A5A5A5Au);
}

TEST_P(Space, cancel_before_anything) {
  const Memory memory(16 * kMiB);
  memset(memory.begin(), kPoison, memory.bytes());
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  const uint32_t cancel = 1;
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.cancel = &cancel;
  for (const Verb verb : kVerbs) {
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(verb(space.get(), team(), nullptr, 0, &options, &report), -ECANCELED);
    EXPECT_EQ(report.done_bytes, 0u);
    EXPECT_EQ(report.error, -ECANCELED);
  }
  EXPECT_TRUE(all_are(memory.begin(), memory.end(), kPoison, "nothing was begun"));
}

struct Progress {
  std::vector<uint64_t> done;
  std::thread::id thread = std::this_thread::get_id();
  uint64_t stop_at = UINT64_MAX;
  bool is_elsewhere = false;
};
int take_down(void *user, uint64_t done, uint64_t total) {
  auto &progress = *static_cast<Progress *>(user);
  EXPECT_LE(done, total);
  progress.done.push_back(done);
  if (std::this_thread::get_id() != progress.thread) progress.is_elsewhere = true;
  return done >= progress.stop_at;
}

// From a boundary of chunks on, for the number of chunks.
unsigned char *aligned(const Memory &memory) {
  const auto at = reinterpret_cast<uintptr_t>(memory.begin());
  return memory.begin() + ((at + (2 * kMiB - 1)) / (2 * kMiB) * (2 * kMiB) - at);
}

TEST_P(Space, progress_is_told_on_the_calling_thread) {
  const Memory memory(34 * kMiB);
  const SpacePointer space = make_space(aligned(memory), 32 * kMiB);
  Progress progress;
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.chunk_bytes = 2 * kMiB;
  options.progress = take_down;
  options.user = &progress;
  ASSERT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, &options, nullptr), 0);
  EXPECT_FALSE(progress.is_elsewhere);
  ASSERT_FALSE(progress.done.empty());
  EXPECT_LE(progress.done.size(), 16u) << "once for each chunk at most";
  EXPECT_EQ(progress.done.back(), 32 * kMiB);
  EXPECT_TRUE(std::is_sorted(progress.done.begin(), progress.done.end()));
  EXPECT_EQ(std::adjacent_find(progress.done.begin(), progress.done.end()), progress.done.end());
}

// While a slow callback looks at one chunk the others end: the last call is for all of them.
TEST_P(Space, the_last_progress_is_all) {
  const Memory memory(20 * kMiB);
  for (const size_t chunks : {1u, 2u, 3u, 9u}) {
    for (const bool is_touched_last : {false, true}) {
      const SpacePointer space = make_space(aligned(memory), chunks * 2 * kMiB);
      Progress progress;
      hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
      options.chunk_bytes = 2 * kMiB;
      if (is_touched_last) options.touch_next = aligned(memory) + kMiB;
      options.user = &progress;
      options.progress = [](void *user, uint64_t done, uint64_t total) {
        usleep(10'000);
        return take_down(user, done, total);
      };
      ASSERT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, &options, nullptr), 0);
      ASSERT_FALSE(progress.done.empty());
      EXPECT_EQ(progress.done.back(), chunks * 2 * kMiB) << chunks << " chunks";
      EXPECT_LE(progress.done.size(), chunks + (is_touched_last ? 3 : 1));
    }
  }
}

// Cancelled by the flag, in the first callback: what is done then stays done, and the rest is not
// begun.
TEST_P(Space, cancel_in_mid_job) {
  const Watchdog watchdog;
  constexpr size_t kBytes = 128 * kMiB, kChunk = 2 * kMiB;
  const Memory memory(kBytes + kChunk);
  const SpacePointer space = make_space(aligned(memory), kBytes);
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  // Workers do not wait for a callback; while this thread sleeps they may do it all, but not
  // always.
  do {
    memset(memory.begin(), kPoison, memory.bytes());
    uint32_t cancel = 0;
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.chunk_bytes = kChunk;
    options.threads = 1;
    options.cancel = &cancel;
    options.user = &cancel;
    options.progress = [](void *user, uint64_t, uint64_t) {
      __atomic_store_n(static_cast<uint32_t *>(user), 1, __ATOMIC_RELEASE);
      return 0;
    };
    const int result = hpz_space_zero(space.get(), team(), nullptr, 0, &options, &report);
    ASSERT_TRUE(result == -ECANCELED || (result == 0 && team() != nullptr)) << result;
  } while (report.done_bytes == kBytes);  // the flag came after the last chunk
  ASSERT_EQ(report.error, -ECANCELED);
  EXPECT_GE(report.done_bytes, kChunk);
  EXPECT_LT(report.done_bytes, kBytes);
  if (team() == nullptr) {
    EXPECT_LE(report.done_bytes, 2 * kChunk) << "this one and, at most, the next";
  }
  // One thread works in order.
  EXPECT_TRUE(hpz_is_zero(aligned(memory), report.done_bytes));
  EXPECT_TRUE(all_are(aligned(memory) + report.done_bytes, aligned(memory) + kBytes, kPoison, ""));
}

TEST_P(Space, deadline_in_mid_job) {
  const Watchdog watchdog;
  constexpr size_t kBytes = 128 * kMiB, kChunk = 2 * kMiB;
  const Memory memory(kBytes + kChunk);
  const SpacePointer space = make_space(aligned(memory), kBytes);
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  // How long the job takes is the machine's affair: the time is sought that falls into it.
  uint64_t ahead_ns = 4'000'000;
  for (;;) {
    memset(memory.begin(), kPoison, memory.bytes());
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.chunk_bytes = kChunk;
    options.threads = 1;
    options.deadline_ns = now_ns() + ahead_ns;
    const int result = hpz_space_zero(space.get(), team(), nullptr, 0, &options, &report);
    ASSERT_TRUE(result == -ETIMEDOUT || result == 0) << result;
    if (report.done_bytes == kBytes) {  // in time, or as it ended
      ahead_ns = std::max<uint64_t>(ahead_ns * 2 / 3, 1000);
    } else if (report.done_bytes == 0) {
      ahead_ns = ahead_ns * 2;
    } else {
      break;
    }
  }
  ASSERT_EQ(report.error, -ETIMEDOUT);
  EXPECT_GT(report.done_bytes, 0u);
  EXPECT_LT(report.done_bytes, kBytes);
  EXPECT_TRUE(hpz_is_zero(aligned(memory), report.done_bytes));
  EXPECT_TRUE(all_are(aligned(memory) + report.done_bytes, aligned(memory) + kBytes, kPoison, ""));
}

// Row F17: what was not begun is untouched, what was begun is done, and the report tells how much.
TEST_P(Space, field_F17_progress_cancels) {
  const Watchdog watchdog;
  const Memory memory(64 * kMiB);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  // On a busy machine the workers may be through before the callback comes to its first turn.
  int result = 0;
  while (result == 0) {
    memset(memory.begin(), kPoison, memory.bytes());
    Progress progress;
    progress.stop_at = 1;
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.chunk_bytes = 2 * kMiB;
    options.progress = take_down;
    options.user = &progress;
    result = hpz_space_zero(space.get(), team(), nullptr, 0, &options, &report);
    ASSERT_TRUE(result == -ECANCELED || report.done_bytes == memory.bytes()) << result;
  }
  ASSERT_EQ(result, -ECANCELED);
  EXPECT_GT(report.done_bytes, 0u);
  EXPECT_LT(report.done_bytes, memory.bytes());
  size_t zero = 0;
  for (size_t at = 0; at < memory.bytes(); at += 4096) {
    const bool is_zero = hpz_is_zero(memory.begin() + at, 4096) != 0;
    if (!is_zero) {
      ASSERT_TRUE(all_are(memory.begin() + at, memory.begin() + at + 4096, kPoison, ""));
    }
    zero += is_zero ? 4096 : 0;
  }
  EXPECT_EQ(zero, report.done_bytes);
  EXPECT_EQ(report.done_bytes % 4096, 0u);
}

TEST_P(Space, deadline) {
  const Memory memory(16 * kMiB);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.deadline_ns = 1;
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  for (const Verb verb : kVerbs) {
    EXPECT_EQ(verb(space.get(), team(), nullptr, 0, &options, &report), -ETIMEDOUT);
    EXPECT_EQ(report.done_bytes, 0u);
  }
  options.deadline_ns = now_ns() + 60'000'000'000;
  EXPECT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, &options, &report), 0);
  EXPECT_EQ(report.done_bytes, memory.bytes());
}

// A job that is cancelled from another thread while it runs ends.
TEST_P(Space, cancel_while_it_runs) {
  const Watchdog watchdog;
  const Memory memory(64 * kMiB);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  std::atomic<uint32_t> cancel{0};
  std::atomic<bool> runs{false};
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.cancel = reinterpret_cast<const uint32_t *>(&cancel);
  options.chunk_bytes = 64 * 1024;
  std::thread canceller([&] {
    while (!runs) std::this_thread::yield();
    cancel = 1;
  });
  int result = 0;
  while (result == 0) {
    result = hpz_space_zero(space.get(), team(), nullptr, 0, &options, nullptr);
    runs = true;
  }
  canceller.join();
  EXPECT_EQ(result, -ECANCELED);
}

TEST_P(Space, callback_may_use_the_library) {
  const Memory memory(8 * kMiB), other(4 * kMiB);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  struct Inner {
    SpacePointer space;
    hpz_team *team;
    int result;
  } inner = {make_space(other.begin(), other.bytes()), team(), 1};
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.chunk_bytes = 2 * kMiB;
  options.user = &inner;
  options.progress = [](void *user, uint64_t, uint64_t) {
    auto &self = *static_cast<Inner *>(user);
    self.result = hpz_space_zero(self.space.get(), self.team, nullptr, 0, nullptr, nullptr);
    return 0;
  };
  EXPECT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, &options, nullptr), 0);
  EXPECT_EQ(inner.result, 0);
}

}  // namespace
}  // namespace hpz::test
