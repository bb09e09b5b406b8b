// SPDX-License-Identifier: BSD-2-Clause
//
// The verbs on huge pages, of a pool that is filled or emptied for them: alone, by the lock
// huge_pages.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/support/guarded_buffer.h"
#include "workers.h"

namespace hpz::test {
namespace {

constexpr size_t kHuge = 2 << 20;

class Pool {
 public:
  Pool() : before_(read("nr_hugepages")) {}
  ~Pool() {
    if (before_ >= 0) set(before_);
  }
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  // Those that can be taken. -1: no such pages in this kernel.
  static long free_pages() {
    const long free = read("free_hugepages");
    return free < 0 ? free : free - read("resv_hugepages");
  }
  static long all_pages() { return read("nr_hugepages"); }
  static bool set(long pages) {
    FILE *const file = fopen(path("nr_hugepages").c_str(), "we");
    if (file == nullptr) return false;
    fprintf(file, "%ld", pages);
    return fclose(file) == 0;
  }

 private:
  static std::string path(const char *name) {
    return std::string("/sys/kernel/mm/hugepages/hugepages-2048kB/") + name;
  }
  static long read(const char *name) {
    FILE *const file = fopen(path(name).c_str(), "re");
    if (file == nullptr) return -1;
    long value = -1;
    if (fscanf(file, "%ld", &value) != 1) value = -1;
    fclose(file);
    return value;
  }

  long before_;
};

// A child's store to a page that it shares with its parent needs a page of its own. Without one it
// would be a signal.
TEST(HugePool, reset_after_a_fork_with_an_empty_pool) {
  const Pool pool;
  if (Pool::all_pages() < 0) GTEST_SKIP() << "NOT TESTED HERE: no 2 MiB pages in this kernel";
  if (Pool::free_pages() < 2 && !Pool::set(Pool::all_pages() + 2)) {
    GTEST_SKIP() << "NOT TESTED HERE: the pool cannot be changed (wants root)";
  }
  const Memory memory(2 * kHuge, MAP_HUGETLB);
  if (memory.begin() == nullptr) GTEST_SKIP() << "NOT TESTED HERE: no two free 2 MiB pages";
  memset(memory.begin(), kPoison, memory.bytes());
  if (!Pool::set(Pool::all_pages() - Pool::free_pages()) || Pool::free_pages() != 0) {
    GTEST_SKIP() << "NOT TESTED HERE: the pool cannot be emptied";
  }
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

TEST_P(HugePages, reset_and_release) {
  const Pool pool;
  if (Pool::all_pages() < 0) GTEST_SKIP() << "NOT TESTED HERE: no 2 MiB pages in this kernel";
  if (Pool::free_pages() < 4 && !Pool::set(Pool::all_pages() + 4)) {
    GTEST_SKIP() << "NOT TESTED HERE: the pool cannot be changed (wants root)";
  }
  const Memory memory(4 * kHuge, MAP_HUGETLB);
  if (memory.begin() == nullptr) GTEST_SKIP() << "NOT TESTED HERE: no four free 2 MiB pages";
  memory.begin()[kHuge + 5] = 1;
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  ASSERT_EQ(hpz_space_reset(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(report.done_bytes, memory.bytes());
  // What was never touched is skipped where that is proven (PAGEMAP_SCAN), else cleared.
  EXPECT_TRUE(report.skipped_bytes == 3 * kHuge || report.skipped_bytes == 0)
      << report.skipped_bytes;
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
