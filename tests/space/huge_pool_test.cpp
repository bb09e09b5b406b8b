// SPDX-License-Identifier: BSD-2-Clause
//
// The verbs with a pool of huge pages that is set to be empty: alone, by the lock huge_pages.
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

}  // namespace
}  // namespace hpz::test
