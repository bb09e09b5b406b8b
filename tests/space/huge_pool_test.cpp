// SPDX-License-Identifier: BSD-2-Clause
//
// The verbs on huge pages, of a pool that is filled or emptied for them: not beside others that
// want such pages (RESOURCE_LOCK huge_pages).
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/support/guarded_buffer.h"
#include "tests/support/huge_pool.h"
#include "tests/support/workers.h"

namespace hpz::test {
namespace {

constexpr size_t kHuge = kHugeBytes;

// A child's store to a page that it shares with its parent needs a page of its own. Without one it
// would be a signal.
TEST(HugePool, reset_after_a_fork_with_an_empty_pool) {
  HugePool pool;
  if (const std::string why = pool.take(2); !why.empty()) GTEST_SKIP() << why;
  const Memory memory(2 * kHuge, MAP_HUGETLB);
  ASSERT_NE(memory.begin(), nullptr);
  memset(memory.begin(), kPoison, memory.bytes());
  if (const std::string why = pool.take_exactly(0); !why.empty()) GTEST_SKIP() << why;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    const SpacePointer space = make_space(memory.begin(), memory.bytes());
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    int failed = 0;
    if (hpz_space_reset(space.get(), nullptr, nullptr, 0, nullptr, &report) != -ENOMEM) failed |= 1;
    if (report.first_bad_offset != 0 || report.done_bytes != 0) failed |= 2;
    if (!all_are(memory.begin(), memory.end(), kPoison, "the child's")) failed |= 4;
    _exit(failed);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << " (7: SIGBUS)";
  EXPECT_TRUE(all_are(memory.begin(), memory.end(), kPoison, "the parent's"));
}

class HugePages : public ByWorkers {};
HPZERO_BY_WORKERS(HugePages);

// Rows D1, D2 and D4: an error, exact bytes, whichever worker it was; the process lives.
TEST_P(HugePages, field_D1_D4_shortage) {
  HugePool pool;
  if (const std::string why = pool.take_exactly(5); !why.empty()) GTEST_SKIP() << why;
  const Memory memory(8 * kHuge, MAP_HUGETLB | MAP_NORESERVE);
  ASSERT_NE(memory.begin(), nullptr);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.chunk_bytes = kHuge;
  EXPECT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, &options, &report), -ENOMEM)
      << "anonymous: past the end of a file is excluded";
  EXPECT_EQ(report.error, -ENOMEM);
  EXPECT_EQ(report.done_bytes, 5 * kHuge) << "all that there was, and no more";
  EXPECT_EQ(report.populated_bytes, 5 * kHuge);
  EXPECT_EQ(memory.resident_bytes(), 5 * kHuge);
  EXPECT_EQ(HugePool::free_pages(), 0);
  ASSERT_EQ(report.first_bad_offset % kHuge, 0u);
  ASSERT_LT(report.first_bad_offset, memory.bytes());
  if (team() == nullptr) {
    EXPECT_EQ(report.first_bad_offset, 5 * kHuge) << "in order";
  }
}

TEST_P(HugePages, reset_and_release) {
  HugePool pool;
  if (const std::string why = pool.take(4); !why.empty()) GTEST_SKIP() << why;
  const Memory memory(4 * kHuge, MAP_HUGETLB);
  ASSERT_NE(memory.begin(), nullptr);
  memory.begin()[kHuge + 5] = 1;
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  ASSERT_EQ(hpz_space_reset(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(report.done_bytes, memory.bytes());
  // What was never touched is skipped where that is proven (PAGEMAP_SCAN), else cleared.
  EXPECT_EQ(report.skipped_bytes, can_scan() ? 3 * kHuge : 0);
  EXPECT_TRUE(hpz_is_zero(memory.begin() + kHuge, kHuge));
  memset(memory.begin(), kPoison, memory.bytes());
  // Of huge pages in part the rest is kept.
  const hpz_extent extent = {4096, 2 * kHuge};
  EXPECT_EQ(hpz_space_release(space.get(), team(), &extent, 1, nullptr, &report), 0);
  EXPECT_EQ(report.skipped_bytes, kHuge);
  EXPECT_EQ(report.cleared_bytes, kHuge);
  EXPECT_TRUE(all_are(memory.begin(), memory.begin() + 4096, kPoison, "before"));
  EXPECT_TRUE(hpz_is_zero(memory.begin() + 4096, 2 * kHuge));
  EXPECT_TRUE(all_are(memory.begin() + 4096 + 2 * kHuge, memory.end(), kPoison, "behind"));
}

}  // namespace
}  // namespace hpz::test
