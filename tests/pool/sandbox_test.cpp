// SPDX-License-Identifier: BSD-2-Clause
//
// Pools where the kernel refuses what fillers want: the idle class, the way out of it, CPUs,
// threads. The pool says so, and everybody gets his page all the same. Each case is a child.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "tests/pool/held_memory.h"
#include "tests/pool/pools.h"
#include "tests/support/sandbox.h"
#include "tests/support/threads.h"

namespace hpz::test {
namespace {

constexpr uint32_t kRefused =
    HPZ_POOL_FEWER | HPZ_POOL_UNPINNED | HPZ_POOL_NO_LIFT | HPZ_POOL_NO_IDLE;

// A taker waits for the chunk in work of a filler that is to be of the idle class. class_in_work:
// what the filler is; class_awaited: when somebody waits for it.
void meet_an_idle_filler(uint32_t refused, int class_in_work, int class_awaited) {
  const HeldMemory memory(1);
  const PoolPointer pool = memory.pool(HPZ_POOL_IDLE | HPZ_POOL_NO_FILLING);
  memory.hold(0, 0);
  ASSERT_EQ(hpz_pool_set_filling(pool.get(), -1, 1), 0);
  wait_until([] { return HeldMemory::reached() == 1; });
  ASSERT_EQ(threads_named("hpzero-fill").size(), 1u);
  const pid_t filler = threads_named("hpzero-fill")[0];
  EXPECT_EQ(stats_of(pool).flags & kRefused, refused);
  EXPECT_EQ(scheduler_of(filler), class_in_work);
  hpz_page page;
  std::thread taker([&] { EXPECT_EQ(take(pool, page), 1); });
  wait_until([&] { return stats_of(pool).cleared_bytes == kPoolPageBytes - kPoolChunkBytes; });
  EXPECT_EQ(scheduler_of(filler), class_awaited);
  memory.release();
  taker.join();
  EXPECT_EQ(page.outcome, unsigned{HPZ_TAKE_WAIT});
  EXPECT_TRUE(is_zero(page));
  spoil(page);
  ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
  wait_until([&] { return stats_of(pool).clean == 1; });
  EXPECT_EQ(stats_of(pool).flags & kRefused, refused) << "and so it stays";
}

TEST(PoolSandbox, idle_class_refused) {
  for (const int error : {EPERM, ENOSYS}) {
    run_in_child([error] {
      refuse({{SYS_sched_setscheduler, error}});
      meet_an_idle_filler(HPZ_POOL_NO_IDLE, SCHED_OTHER, SCHED_OTHER);
    });
  }
}

TEST(PoolSandbox, no_way_out_of_the_idle_class) {
  run_in_child([] {
    refuse({{SYS_sched_setscheduler, EPERM, 1, SCHED_OTHER}});
    meet_an_idle_filler(HPZ_POOL_NO_LIFT, SCHED_IDLE, SCHED_IDLE);
  });
}

bool set_nice_limit(rlim_t value) {
  const rlimit limit = {value, value};
  return setrlimit(RLIMIT_NICE, &limit) == 0;
}

// Root of a user namespace that has no id but root's is no ordinary user and cannot become one.
bool can_be_ordinary_user() {
  if (geteuid() != 0) return true;
  const pid_t child = fork();
  if (child == 0) _exit(setresuid(65534, 65534, 65534) == 0 || errno != EINVAL ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status == 0;
}
#define HPZERO_NEEDS_ORDINARY_USER()                                                      \
  do {                                                                                    \
    if (can_be_ordinary_user()) break;                                                    \
    GTEST_SKIP() << "NOT TESTED HERE: this user namespace has no id of an ordinary user"; \
  } while (false)

// By the kernel's own rule, as pool.h has it: without privileges, by this limit alone.
void meet_as_ordinary_user(rlim_t nice_limit) {
  ASSERT_TRUE(set_nice_limit(nice_limit));
  if (geteuid() == 0) {
    ASSERT_EQ(setresgid(65534, 65534, 65534), 0);
    ASSERT_EQ(setresuid(65534, 65534, 65534), 0);
  }
  const bool may = nice_limit >= 20;
  meet_an_idle_filler(may ? 0 : HPZ_POOL_NO_LIFT, SCHED_IDLE, may ? SCHED_OTHER : SCHED_IDLE);
}
TEST(PoolSandbox, ordinary_users_have_no_way_out_of_the_idle_class) {
  HPZERO_NEEDS_ORDINARY_USER();
  run_in_child([] { meet_as_ordinary_user(0); });
}
TEST(PoolSandbox, but_by_a_limit_of_20) {
  HPZERO_NEEDS_ORDINARY_USER();
  if (!set_nice_limit(20)) {
    GTEST_SKIP() << "NOT TESTED HERE: RLIMIT_NICE cannot be raised (wants CAP_SYS_RESOURCE)";
  }
  run_in_child([] { meet_as_ordinary_user(20); });
  run_in_child([] { meet_as_ordinary_user(19); });
}

TEST(PoolSandbox, pinning_refused) {
  for (const int error : {EPERM, EINVAL, ENOSYS}) {
    run_in_child([error] {
      cpu_set_t own, its;
      ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
      const std::string cpus = std::to_string(last_cpu());
      refuse({{SYS_sched_setaffinity, error}});
      hpz_pool_options options = plain_options(1);
      options.cpus = cpus.c_str();
      const PoolPointer pool = make_pool(options);
      EXPECT_EQ(stats_of(pool).flags & kRefused, HPZ_POOL_UNPINNED);
      wait_until([] { return threads_named("hpzero-fill").size() == 1; });
      ASSERT_EQ(sched_getaffinity(threads_named("hpzero-fill")[0], sizeof its, &its), 0);
      EXPECT_TRUE(CPU_EQUAL(&its, &own)) << "it runs where its creator may";
      hpz_page page;
      ASSERT_EQ(take(pool, page), 1);
      spoil(page);
      ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
      wait_until([&] { return stats_of(pool).clean == 1; });
      ASSERT_EQ(take(pool, page, HPZ_TAKE_CLEAN_ONLY), 1);
      EXPECT_TRUE(is_zero(page));
    });
  }
}

// Row F21: no thread to be had.
TEST(PoolSandbox, field_F21_no_filler) {
  run_in_child([] {
    refuse({{SYS_clone3, EAGAIN}, {SYS_clone, EAGAIN}});
    const PoolPointer pool = make_pool(plain_options(2));
    EXPECT_EQ(stats_of(pool).flags & kRefused, HPZ_POOL_FEWER);
    EXPECT_EQ(hpz_pool_set_filling(pool.get(), -1, 1), -EAGAIN);
    EXPECT_EQ(hpz_pool_set_filling(pool.get(), -1, 0), 0);
    const std::vector<hpz_page> pages = take_all(pool);
    ASSERT_EQ(pages.size(), 2u);
    for (const hpz_page &page : pages) spoil(page);
    ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), 2, 0), 0);
    EXPECT_EQ(hpz_pool_fill(pool.get(), -1, 1), 1) << "the caller's own time";
    for (const hpz_page &page : take_all(pool)) EXPECT_TRUE(is_zero(page));
    EXPECT_EQ(stats_of(pool).misses, 1u);
    EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 3), 0);
    EXPECT_EQ(stats_of(pool).filler_cpu_ns, 0u);
  });
}

}  // namespace
}  // namespace hpz::test
