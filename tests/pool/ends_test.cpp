// SPDX-License-Identifier: BSD-2-Clause
//
// How pools end: by destroy at any time, and in the child of a fork.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/pool/held_memory.h"
#include "tests/pool/pools.h"
#include "tests/support/settings.h"
#include "tests/support/threads.h"
#include "tests/support/watchdog.h"

namespace hpz::test {
namespace {

// Row G11: destroyed while the filler is anywhere.
TEST(PoolEnds, field_G11_destroyed_in_mid_fill) {
  const Watchdog watchdog(120);
  std::mt19937_64 random(seed());
  for (int i = 0; i < (quick() ? 10 : 60); ++i) {
    hpz_pool_options options = plain_options(3, i % 3 == 0 ? HPZ_POOL_IDLE : 0);
    if (i % 4 == 1) options.fill_bytes_per_s = 1 << 20;
    const PoolPointer pool = make_pool(options);
    const std::vector<hpz_page> pages = take_all(pool);
    ASSERT_EQ(pages.size(), 3u);
    ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), 2, 0), 0);
    usleep(static_cast<unsigned>(random() % 1500));
    // One page is still taken.
  }
  wait_until([] { return threads_named("hpzero-fill").empty(); });
}

// It need not wait for more than the chunk in work, whatever the page.
TEST(PoolEnds, destroy_waits_for_one_chunk) {
  const Watchdog watchdog;
  const HeldMemory memory(2);
  PoolPointer pool = memory.pool();
  memory.hold(0, 0);
  ASSERT_EQ(hpz_pool_set_filling(pool.get(), -1, 1), 0);
  wait_until([] { return HeldMemory::reached() == 1; });
  std::atomic<bool> is_gone{false};
  std::atomic<pid_t> ender_id{0};
  std::thread ender([&] {
    ender_id = this_thread();
    pool.reset();
    is_gone = true;
  });
  wait_until([&] { return is_gone || (ender_id != 0 && is_asleep(ender_id)); });
  EXPECT_FALSE(is_gone) << "the filler still stores to the caller's memory";
  memory.release();
  ender.join();
  EXPECT_TRUE(all_are(memory.begin(), memory.begin() + kPoolChunkBytes, 0, "the chunk in work"));
  EXPECT_TRUE(all_are(memory.begin() + kPoolChunkBytes, memory.begin() + memory.bytes(), kPoison,
                      "what it had not begun"));
}

// Rows F23 and D17: in a child there is no pool, and nothing of it goes wrong there.
TEST(PoolEnds, field_F23_fork) {
  const Watchdog watchdog;
  for (const uint32_t flags : {0u, HPZ_POOL_EXPORT, HPZ_POOL_NO_FILLING}) {
    PoolPointer pool = make_pool(plain_options(2, flags));
    hpz_page page;
    ASSERT_EQ(take(pool, page), 1);
    spoil(page);
    const int event = hpz_pool_event_fd(pool.get(), -1, 1);
    ASSERT_GE(event, 0);
    if (!is_set("HPZERO_TEST_EMULATOR")) {
      ASSERT_NE(pools_mappings(), 0u) << "of which the child is to have none";
    }
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(30);
      int failed = 0;
      hpz_page none = HPZ_PAGE_INIT;
      hpz_pool_stats stats = HPZ_POOL_STATS_INIT;
      hpz_pool *const handle = pool.release();
      if (hpz_pool_take(handle, nullptr, &none, 1) != -ECHILD) failed |= 1;
      if (hpz_pool_give(handle, &page, 1, 0) != -ECHILD) failed |= 2;
      if (hpz_pool_fill(handle, -1, 1) != -ECHILD) failed |= 4;
      if (hpz_pool_resize(handle, -1, 1) != -ECHILD) failed |= 8;
      if (hpz_pool_set_filling(handle, -1, 0) != -ECHILD) failed |= 16;
      if (hpz_pool_event_fd(handle, -1, 1) != -ECHILD) failed |= 32;
      if (hpz_pool_event_rearm(handle, event) != -ECHILD) failed |= 32;
      if (hpz_pool_poison(handle, page.base) != -ECHILD) failed |= 64;
      if (hpz_pool_nodes_get(handle, nullptr, 0) != -ECHILD) failed |= 64;
      if (hpz_pool_stats_get(handle, -1, &stats) != -ECHILD) failed |= 64;
      // MADV_DONTFORK. (Emulators take the advice, and do nothing.)
      if (!is_set("HPZERO_TEST_EMULATOR") && pools_mappings() != 0) failed |= 128;
      hpz_pool_destroy(handle);
      _exit(failed);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), 0);
    EXPECT_TRUE(all_are(bytes_of(page), bytes_of(page) + page.len, kPoison, "the parent's"));
    EXPECT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
    EXPECT_EQ(take_all(pool).size(), 2u);
    close(event);
  }
}

// A fork at any moment: a filler or a taker may be anywhere, and hold any lock. The child, in which
// neither is there, is told so and does not wait for them; here all go on.
TEST(PoolEnds, field_F23_forks_while_fillers_work) {
  const Watchdog watchdog(120);
  for (const uint32_t flags : {0u, HPZ_POOL_EXPORT, HPZ_POOL_IDLE}) {
    const PoolPointer pool = make_pool(plain_options(3, flags));
    std::atomic<bool> is_over{false};
    std::atomic<int> failures{0};
    std::thread guest([&] {
      while (!is_over) {
        const std::vector<hpz_page> pages = take_all(pool);
        for (const hpz_page &page : pages) {
          if (!is_zero(page)) ++failures;
          spoil(page);
        }
        if (hpz_pool_give(pool.get(), pages.data(), pages.size(), 0) != 0) ++failures;
      }
    });
    const uint64_t begin = stats_of(pool).hits + stats_of(pool).misses;
    for (int i = 0; i < (quick() ? 5 : 40); ++i) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        alarm(30);  // a wait for who is not there
        hpz_page none = HPZ_PAGE_INIT;
        int failed = 0;
        if (hpz_pool_take(pool.get(), nullptr, &none, 1) != -ECHILD) failed |= 1;
        if (hpz_pool_set_filling(pool.get(), -1, 1) != -ECHILD) failed |= 2;
        if (hpz_pool_resize(pool.get(), -1, 0) != -ECHILD) failed |= 4;
        hpz_pool_destroy(pool.get());
        _exit(failed);
      }
      int status = -1;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), 0);
      usleep(static_cast<unsigned>(i) * 50);
    }
    wait_until([&] { return stats_of(pool).hits + stats_of(pool).misses > begin + 10; });
    is_over = true;
    guest.join();
    EXPECT_EQ(failures, 0);
    wait_until([&] { return stats_of(pool).clean == 3; });
  }
}

// A child may have a pool of its own.
TEST(PoolEnds, a_pool_in_a_child) {
  if (kThreadSanitizer || is_set("HPZERO_TEST_EMULATOR")) {
    GTEST_SKIP() << "NOT TESTED HERE: no threads after a fork";
  }
  const Watchdog watchdog;
  const PoolPointer parents = make_pool(plain_options(1));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(30);
    const PoolPointer pool = make_pool(plain_options(2));
    hpz_page page;
    if (take(pool, page) != 1 || !is_zero(page)) _exit(1);
    spoil(page);
    if (hpz_pool_give(pool.get(), &page, 1, 0) != 0) _exit(2);
    wait_until([&] { return stats_of(pool).clean == 2; });
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hpz::test
