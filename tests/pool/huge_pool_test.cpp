// SPDX-License-Identifier: BSD-2-Clause
//
// Pools of huge pages of the kernel's: what they take of it, what they leave to others, and that
// all of it comes back whatever happens. Not beside others that want such pages (RESOURCE_LOCK
// huge_pages).
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "tests/pool/pools.h"
#include "tests/support/huge_pool.h"
#include "tests/support/memory.h"
#include "tests/support/sandbox.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/settings.h"
#include "tests/support/threads.h"
#include "tests/support/watchdog.h"

namespace hpz::test {
namespace {

hpz_pool_options huge_options(uint64_t pages, uint32_t flags = HPZ_POOL_NO_FILLING) {
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.pages_per_node = pages;
  options.flags = flags;
  return options;
}

TEST(HugePools, take_pages_of_the_kernels_and_give_them_back) {
  HugePool machine;
  if (const std::string why = machine.take_exactly(8); !why.empty()) GTEST_SKIP() << why;
  {
    const PoolPointer pool = make_pool(huge_options(5));
    EXPECT_EQ(HugePool::free_pages(), 3);
    const hpz_pool_stats stats = stats_of(pool);
    EXPECT_EQ(stats.backing, unsigned{HPZ_BACKING_HUGETLB});
    EXPECT_EQ(stats.page_bytes, kHugeBytes);
    EXPECT_EQ(stats.obtained_page_bytes, kHugeBytes);
    const std::vector<hpz_page> pages = take_all(pool);
    ASSERT_EQ(pages.size(), 5u);
    for (const hpz_page &page : pages) {
      EXPECT_TRUE(is_zero(page));
      EXPECT_EQ(page.fd, -1);
      spoil(page);
    }
    ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), 3, 0), 0);
    ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 3), 0);
    EXPECT_EQ(HugePool::free_pages(), 5) << "given back";
    ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 8), 0);
    EXPECT_EQ(HugePool::free_pages(), 0);
    const std::vector<hpz_page> others = take_all(pool);
    EXPECT_EQ(others.size(), 6u);
    for (const hpz_page &page : others) EXPECT_TRUE(is_zero(page)) << "also where one was before";
  }
  EXPECT_EQ(HugePool::free_pages(), 8);
}

// Rows D1 and G6: a shortage is an error, of which nothing is left, and no signal afterwards.
TEST(HugePools, field_G6_shortage) {
  HugePool machine;
  if (const std::string why = machine.take_exactly(4); !why.empty()) GTEST_SKIP() << why;
  hpz_pool *none = nullptr;
  const hpz_pool_options five = huge_options(5);
  EXPECT_EQ(hpz_pool_create(&five, &none), -ENOMEM);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(HugePool::free_pages(), 4);
  hpz_pool_options slabs = huge_options(3);
  slabs.slab_bytes = kHugeBytes;  // several mappings: the failure is in mid-growth
  const PoolPointer pool = make_pool(slabs);
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 5), -ENOMEM);
  EXPECT_EQ(counts_of(pool), (Counts{3, 0, 0, 0, 0}));
  EXPECT_EQ(HugePool::free_pages(), 1);
  if (const std::string why = machine.take_exactly(2); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 5), 0) << "there are some again";
  EXPECT_EQ(counts_of(pool), (Counts{5, 0, 0, 0, 0}));
}

// Row G3: a pool leaves some to others.
TEST(HugePools, field_G3_leaves_pages_to_others) {
  HugePool machine;
  if (const std::string why = machine.take_exactly(6); !why.empty()) GTEST_SKIP() << why;
  hpz_pool_options options = huge_options(4);
  options.leave_pages = 3;
  hpz_pool *none = nullptr;
  EXPECT_EQ(hpz_pool_create(&options, &none), -EDQUOT);
  EXPECT_EQ(HugePool::free_pages(), 6);
  options.pages_per_node = 3;
  const PoolPointer pool = make_pool(options);
  EXPECT_EQ(HugePool::free_pages(), 3);
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 4), -EDQUOT);
  EXPECT_EQ(counts_of(pool), (Counts{3, 0, 0, 0, 0}));
  EXPECT_EQ(HugePool::free_pages(), 3);
}

// ... nor does a slab that was dropped come back at their expense.
TEST(HugePools, field_G3_leaves_pages_to_others_when_it_renews) {
  HugePool machine;
  if (const std::string why = machine.take_exactly(3); !why.empty()) GTEST_SKIP() << why;
  hpz_pool_options options = huge_options(1, HPZ_POOL_EXPORT | HPZ_POOL_NO_FILLING);
  options.leave_pages = 2;
  const PoolPointer pool = make_pool(options);
  hpz_page slab;
  ASSERT_EQ(take(pool, slab), 1);
  ASSERT_EQ(hpz_pool_give(pool.get(), &slab, 1, 0), 0);
  {
    const Memory others(kHugeBytes, MAP_HUGETLB);
    ASSERT_NE(others.begin(), nullptr);
    others.begin()[0] = 1;
    ASSERT_EQ(HugePool::free_pages(), 2);
    EXPECT_EQ(take(pool, slab), -ENOMEM);
    EXPECT_EQ(counts_of(pool), (Counts{0, 1, 0, 0, 0}));
    EXPECT_EQ(HugePool::free_pages(), 2);
  }
  ASSERT_EQ(take(pool, slab), 1);
  EXPECT_TRUE(is_zero(slab));
}

// Rows D3 and D25: from huge pages to transparent ones to plain ones, and it is told.
TEST(HugePools, field_D3_falls_back) {
  HugePool machine;
  if (const std::string why = machine.take_exactly(2); !why.empty()) GTEST_SKIP() << why;
  const PoolPointer pool = make_pool(huge_options(4, HPZ_POOL_FALL_BACK | HPZ_POOL_NO_FILLING));
  const hpz_pool_stats stats = stats_of(pool);
  EXPECT_EQ(stats.backing, unsigned{HPZ_BACKING_THP});
  EXPECT_EQ(stats.clean, 4u);
  EXPECT_EQ(HugePool::free_pages(), 2) << "nothing is left half mapped";
  for (const hpz_page &page : take_all(pool)) EXPECT_TRUE(is_zero(page));
  const PoolPointer other = make_pool(huge_options(2, HPZ_POOL_FALL_BACK | HPZ_POOL_NO_FILLING));
  EXPECT_EQ(stats_of(other).backing, unsigned{HPZ_BACKING_HUGETLB});
}

// A child that has a pool with its filler at work, and says so by a byte when it is.
[[noreturn]] void live_until_killed(int told, uint32_t flags) {
  alarm(60);
  const PoolPointer pool = make_pool(huge_options(8, flags));
  bool is_told = false;
  for (;;) {
    const std::vector<hpz_page> pages = take_all(pool);
    for (const hpz_page &page : pages) spoil(page);
    hpz_pool_give(pool.get(), pages.data(), pages.size(), 0);
    hpz_pool_stats stats = stats_of(pool);
    if (is_told || stats.filled_bytes + stats.renewed_bytes == 0) continue;
    while (stats.clean < 4) stats = stats_of(pool);
    if (write(told, "x", 1) != 1) _exit(1);
    is_told = true;
  }
}

// Row G4: after SIGKILL nothing stays behind.
TEST(HugePools, field_G4_killed_in_mid_fill) {
  if (kThreadSanitizer) GTEST_SKIP() << "NOT TESTED HERE: no threads after a fork";
  const Watchdog watchdog;
  HugePool machine;
  if (const std::string why = machine.take_exactly(8); !why.empty()) GTEST_SKIP() << why;
  for (int i = 0; i < (quick() ? 4 : 20); ++i) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    // Files that stay open, and files that do not.
    if (child == 0) live_until_killed(ends[1], i % 2 == 0 ? 0 : HPZ_POOL_EXPORT);
    close(ends[1]);
    char byte;
    ASSERT_EQ(read(ends[0], &byte, 1), 1);
    usleep(static_cast<unsigned>(i / 2) * 200);
    if (i % 2 == 0) {
      ASSERT_EQ(HugePool::free_pages(), 0);
    }
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    wait_until([] { return HugePool::free_pages() == 8; });
    close(ends[0]);
  }
}

// Row D17: what a child does, or that it ends, is nothing to the pool.
TEST(HugePools, field_D17_fork_with_no_page_to_spare) {
  const Watchdog watchdog;
  HugePool machine;
  if (const std::string why = machine.take_exactly(3); !why.empty()) GTEST_SKIP() << why;
  const PoolPointer pool = make_pool(huge_options(3));
  hpz_page page;
  ASSERT_EQ(take(pool, page), 1);
  spoil(page);
  EXPECT_NE(pools_mappings(), 0u);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(ends[1]);
    char byte;
    const bool is_told = read(ends[0], &byte, 1) == 1;
    _exit(is_told && pools_mappings() == 0 ? 0 : 1);
  }
  close(ends[0]);
  memset(page.base, 1, page.len);  // no copy that there would be no page for, while it is there
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  close(ends[1]);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
  EXPECT_EQ(take_all(pool).size(), 3u);
}

// Another process, that takes and releases up to five huge pages all the time.
class Neighbour {
 public:
  Neighbour() : child_(fork()) {
    EXPECT_GE(child_, 0);
    if (child_ != 0) return;
    alarm(60);
    for (unsigned i = 0;; ++i) {
      const Memory memory(kHugeBytes * (1 + i % 5), MAP_HUGETLB);
      if (memory.begin() == nullptr) continue;
      // By advice, for a touch would be a signal where the pool was faster.
      madvise(memory.begin(), memory.bytes(), 23);  // MADV_POPULATE_WRITE
    }
  }
  ~Neighbour() {
    EXPECT_EQ(kill(child_, SIGKILL), 0);
    int status = 0;
    EXPECT_EQ(waitpid(child_, &status, 0), child_);
  }
  Neighbour(const Neighbour &) = delete;
  Neighbour &operator=(const Neighbour &) = delete;

 private:
  const pid_t child_;
};

// Row G6: growing and shrinking beside it.
TEST(HugePools, field_G6_beside_another_process) {
  const Watchdog watchdog;
  HugePool machine;
  if (const std::string why = machine.take_exactly(6); !why.empty()) GTEST_SKIP() << why;
  const PoolPointer pool = make_pool(huge_options(1));
  {
    const Neighbour neighbour;
    int grown = 0, refused = 0;
    while (grown < 20 || refused < 5) {
      const uint64_t before = stats_of(pool).clean;
      const uint64_t wanted = 1 + static_cast<uint64_t>(grown + refused) % 6;
      const int result = hpz_pool_resize(pool.get(), -1, wanted);
      ASSERT_TRUE(result == 0 || result == -ENOMEM) << result;
      ++(result == 0 ? grown : refused);
      const uint64_t clean = result == 0 ? wanted : before;
      ASSERT_EQ(counts_of(pool), (Counts{clean, 0, 0, 0, 0}));
      const std::vector<hpz_page> pages = take_all(pool);
      for (const hpz_page &page : pages) {
        ASSERT_TRUE(is_zero(page));
        spoil(page);
      }
      ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), pages.size(), HPZ_GIVE_CLEAR), 0);
    }
  }
  wait_until([&] { return hpz_pool_resize(pool.get(), -1, 6) == 0; });
  EXPECT_EQ(counts_of(pool), (Counts{6, 0, 0, 0, 0})) << "it recovers";
}

// ... and slabs that are dropped and renewed: the neighbour may be faster, and the slab is then
// neither lost nor had by somebody. Without and with a filler, which tries again by itself.
TEST(HugePools, field_G6_slabs_beside_another_process) {
  const Watchdog watchdog;
  HugePool machine;
  if (const std::string why = machine.take_exactly(6); !why.empty()) GTEST_SKIP() << why;
  for (const uint32_t flags : {HPZ_POOL_NO_FILLING, 0u}) {
    const PoolPointer pool = make_pool(huge_options(3, HPZ_POOL_EXPORT | flags));
    {
      const Neighbour neighbour;
      int renewed = 0, refused = 0;
      while (renewed < 20 || (refused < 3 && flags != 0)) {
        std::vector<hpz_page> slabs;
        hpz_page slab;
        int result;
        while ((result = take(pool, slab)) == 1) {
          ASSERT_TRUE(is_zero(slab));
          spoil(slab);
          slabs.push_back(slab);
        }
        ASSERT_EQ(result, -ENOMEM);
        ASSERT_EQ(stats_of(pool).taken, slabs.size());
        if (slabs.size() < 3) ++refused;
        renewed += static_cast<int>(slabs.size());
        ASSERT_EQ(hpz_pool_give(pool.get(), slabs.data(), slabs.size(), 0), 0);
        const hpz_pool_stats stats = stats_of(pool);
        ASSERT_EQ(stats.clean + stats.dirty + stats.busy, 3u);
      }
    }
    if (flags == 0) wait_until([&] { return stats_of(pool).clean == 3; });
    wait_until([&] { return take_all(pool).size() == 3 || stats_of(pool).taken == 3; });
    EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 3, 0})) << "it recovers";
  }
  EXPECT_EQ(HugePool::free_pages(), 6);
}

// A dropped slab whose old holder still has its pages: short until they come back.
TEST(HugePools, a_slab_whose_holder_keeps_it) {
  const Watchdog watchdog;
  HugePool machine;
  if (const std::string why = machine.take_exactly(4); !why.empty()) GTEST_SKIP() << why;
  hpz_pool_options options = huge_options(2, HPZ_POOL_EXPORT | HPZ_POOL_NO_FILLING);
  options.slab_bytes = 2 * kHugeBytes;
  const PoolPointer pool = make_pool(options);
  EXPECT_EQ(HugePool::free_pages(), 0);
  hpz_page slab, other;
  ASSERT_EQ(take(pool, slab), 1);
  EXPECT_EQ(slab.len, 2 * kHugeBytes);
  const int held = dup(slab.fd);
  ASSERT_EQ(hpz_pool_give(pool.get(), &slab, 1, 0), 0);
  EXPECT_EQ(take_all(pool).size(), 1u);
  EXPECT_EQ(take(pool, other), -ENOMEM);
  EXPECT_EQ(hpz_pool_fill(pool.get(), -1, 1), -ENOMEM);
  EXPECT_EQ(counts_of(pool), (Counts{0, 1, 0, 1, 0}));
  std::thread holder([held, taker = this_thread()] {
    wait_until([taker] { return is_asleep(taker); });
    close(held);
  });
  EXPECT_EQ(take(pool, other, HPZ_TAKE_AWAIT, in_ms(60'000)), 1) << "nobody tells, so it asks";
  holder.join();
  EXPECT_TRUE(is_zero(other));
}

// By a mount, with a limit of its own (recipe R-HFS).
TEST(HugePools, pages_of_a_mount) {
  HPZERO_NEEDS_NAMESPACES();
  const Watchdog watchdog;
  HugePool machine;
  if (const std::string why = machine.take_exactly(8); !why.empty()) GTEST_SKIP() << why;
  const ScratchFolder folder;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    enter_own_mounts();
    if (mount("none", folder.path().c_str(), "hugetlbfs", 0, "size=8M,pagesize=2M") != 0) {
      _exit(errno == EPERM ? 77 : 1);
    }
    int failed = 0;
    hpz_pool_options options = huge_options(4);
    options.mount = folder.path().c_str();
    {
      const PoolPointer pool = make_pool(options);
      const std::vector<hpz_page> pages = take_all(pool);
      if (pages.size() != 4) failed |= 2;
      for (const hpz_page &page : pages) {
        if (!is_zero(page) || page.len != kHugeBytes) failed |= 4;
      }
      if (hpz_pool_resize(pool.get(), -1, 5) != -ENOMEM) failed |= 8;
      if (counts_of(pool) != Counts{0, 0, 0, 4, 0}) failed |= 16;
    }
    hpz_pool *none = nullptr;
    options.pages_per_node = 5;
    if (hpz_pool_create(&options, &none) != -ENOMEM) failed |= 32;
    options.page_bytes = uint64_t{1} << 30;
    if (hpz_pool_create(&options, &none) != -EINVAL) failed |= 64;
    // Nothing is left of the files: the folder can be taken away. And if it is, under a pool, no
    // pages are taken from what is below.
    options.pages_per_node = 1;
    options.page_bytes = 0;
    {
      const PoolPointer pool = make_pool(options);
      if (umount2(folder.path().c_str(), MNT_DETACH) != 0) failed |= 128;
      if (hpz_pool_resize(pool.get(), -1, 2) != -ENOENT) failed |= 256;
      if (counts_of(pool) != Counts{1, 0, 0, 0, 0}) failed |= 512;
    }
    _exit(failed < 256 ? failed : 99);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << "NOT TESTED HERE: no hugetlbfs may be mounted";
  }
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), 0);
  EXPECT_EQ(HugePool::free_pages(), 8);
}

}  // namespace
}  // namespace hpz::test
