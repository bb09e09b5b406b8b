// SPDX-License-Identifier: BSD-2-Clause
//
// Export pools: slabs that are files, and what somebody who has had one can do afterwards: nothing
// to who has the next.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/pool/pools.h"
#include "tests/support/descriptors.h"
#include "tests/support/memory.h"
#include "tests/support/settings.h"
#include "tests/support/threads.h"
#include "tests/support/watchdog.h"

namespace hpz::test {
namespace {

constexpr size_t kSlabBytes = size_t{1} << 20;

hpz_pool_options slab_options(uint64_t slabs, uint32_t flags = HPZ_POOL_NO_FILLING) {
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  options.slab_bytes = kSlabBytes;
  options.pages_per_node = slabs;
  options.flags = HPZ_POOL_PLAIN | HPZ_POOL_EXPORT | flags;
  return options;
}

TEST(PoolExport, a_slab_is_a_file_that_begins_at_0) {
  const PoolPointer pool = make_pool(slab_options(2));
  EXPECT_EQ(stats_of(pool).page_bytes, kSlabBytes);
  const std::vector<hpz_page> slabs = take_all(pool);
  ASSERT_EQ(slabs.size(), 2u);
  EXPECT_NE(file_of(slabs[0].fd), file_of(slabs[1].fd));
  for (const hpz_page &slab : slabs) {
    EXPECT_EQ(slab.len, kSlabBytes);
    EXPECT_EQ(slab.offset, 0u);
    EXPECT_TRUE(is_zero(slab));
    struct stat file = {};
    ASSERT_EQ(fstat(slab.fd, &file), 0);
    EXPECT_EQ(file.st_size, static_cast<off_t>(kSlabBytes));
    EXPECT_NE(fcntl(slab.fd, F_GETFD) & FD_CLOEXEC, 0);
    const Memory again(slab.fd, kSlabBytes, MAP_SHARED);
    ASSERT_NE(again.begin(), nullptr);
    bytes_of(slab)[4711] = 42;
    EXPECT_EQ(again.begin()[4711], 42) << "the same memory";
    if (is_set("HPZERO_TEST_EMULATOR")) continue;  // seals are not known to every qemu-user
    EXPECT_EQ(ftruncate(slab.fd, 0), -1) << "whoever holds it could make signals of our stores";
    EXPECT_EQ(ftruncate(slab.fd, 2 * kSlabBytes), -1);
    EXPECT_EQ(fcntl(slab.fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
  }
}

// A holder of the past keeps its own memory, and sees nothing of what became of the slab.
void expect_strangers(const PoolPointer &pool, uint32_t how, bool by_filler) {
  hpz_page first;
  ASSERT_EQ(take(pool, first), 1);
  const int kept = dup(first.fd);
  const ino_t file = file_of(kept);
  const Memory holder(kept, kSlabBytes, MAP_SHARED);
  ASSERT_NE(holder.begin(), nullptr);
  spoil(first);
  ASSERT_EQ(hpz_pool_give(pool.get(), &first, 1, how), 0);
  if (by_filler) {
    ASSERT_EQ(hpz_pool_set_filling(pool.get(), -1, 1), 0);
    wait_until([&] { return stats_of(pool).clean == 1; });
    ASSERT_EQ(hpz_pool_set_filling(pool.get(), -1, 0), 0);
  }
  hpz_page second;
  ASSERT_EQ(take(pool, second), 1);
  EXPECT_NE(file_of(second.fd), file);
  EXPECT_TRUE(is_zero(second));
  memset(second.base, 0x5B, second.len);
  EXPECT_TRUE(all_are(holder.begin(), holder.end(), kPoison, "what the holder reads"));
  memset(holder.begin(), 0x11, holder.bytes());
  EXPECT_TRUE(all_are(bytes_of(second), bytes_of(second) + kSlabBytes, 0x5B, "the next taker's"));
  // By the descriptor itself, and by what is mapped of it only now.
  std::vector<unsigned char> through(kSlabBytes);
  ASSERT_EQ(pread(kept, through.data(), kSlabBytes, 0), static_cast<ssize_t>(kSlabBytes));
  EXPECT_TRUE(all_are(through.data(), through.data() + kSlabBytes, 0x11, "what its file has"));
  memset(through.data(), 0x22, kSlabBytes);
  ASSERT_EQ(pwrite(kept, through.data(), kSlabBytes, 0), static_cast<ssize_t>(kSlabBytes));
  const Memory late(kept, kSlabBytes, MAP_SHARED);
  ASSERT_NE(late.begin(), nullptr);
  EXPECT_TRUE(all_are(late.begin(), late.end(), 0x22, "what is mapped of it"));
  memset(late.begin(), 0x33, late.bytes());
  EXPECT_TRUE(all_are(bytes_of(second), bytes_of(second) + kSlabBytes, 0x5B, "the next taker's"));
  const Memory its(second.fd, kSlabBytes, MAP_SHARED);
  EXPECT_TRUE(all_are(its.begin(), its.end(), 0x5B, "... and the file that he has"));
  EXPECT_EQ(hpz_pool_give(pool.get(), &first, 1, 0), -ESTALE);
  close(kept);
  ASSERT_EQ(hpz_pool_give(pool.get(), &second, 1, 0), 0);
}

TEST(PoolExport, an_old_holder_cannot_read_or_write_what_the_next_taker_gets) {
  const Watchdog watchdog;
  const PoolPointer pool = make_pool(slab_options(1));
  expect_strangers(pool, 0, false);
  expect_strangers(pool, HPZ_GIVE_CLEAR, false);
  expect_strangers(pool, HPZ_GIVE_UNWRITTEN, false);  // unwritten by whom?
  expect_strangers(pool, 0, true);
  const hpz_pool_stats stats = stats_of(pool);
  EXPECT_EQ(counts_of(pool), (Counts{0, 1, 0, 0, 0}));
  EXPECT_EQ(stats.renewed_bytes, 7 * kSlabBytes) << "cleared by the kernel, once each";
  EXPECT_EQ(stats.cleared_bytes + stats.filled_bytes, 0u);
}

// The same with a holder that is another process.
TEST(PoolExport, an_old_holder_that_is_another_process) {
  const Watchdog watchdog;
  const PoolPointer pool = make_pool(slab_options(1));
  hpz_page first, second;
  ASSERT_EQ(take(pool, first), 1);
  spoil(first);
  int to[2], from[2];
  ASSERT_EQ(pipe2(to, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(from, O_CLOEXEC), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    close(to[1]);
    // MADV_DONTFORK: what it knows of the slab is the descriptor.
    const Memory holder(first.fd, kSlabBytes, MAP_SHARED);
    char byte = 'm';
    if (holder.begin() == nullptr || write(from[1], &byte, 1) != 1) _exit(1);
    if (read(to[0], &byte, 1) != 1) _exit(2);
    if (!all_are(holder.begin(), holder.end(), kPoison, "the child's")) _exit(3);
    memset(holder.begin(), 0x11, holder.bytes());
    _exit(0);
  }
  close(from[1]);
  char byte = 0;
  ASSERT_EQ(read(from[0], &byte, 1), 1) << "it has mapped the slab";
  ASSERT_EQ(hpz_pool_give(pool.get(), &first, 1, 0), 0);
  ASSERT_EQ(take(pool, second), 1);
  EXPECT_TRUE(is_zero(second));
  memset(second.base, 0x5B, second.len);
  ASSERT_EQ(write(to[1], &byte, 1), 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(all_are(bytes_of(second), bytes_of(second) + kSlabBytes, 0x5B, "the next taker's"));
  for (const int fd : {to[0], to[1], from[0]}) close(fd);
}

TEST(PoolExport, a_sole_owner_gives_the_slab_itself) {
  const PoolPointer pool = make_pool(slab_options(1));
  hpz_page first, second;
  ASSERT_EQ(take(pool, first), 1);
  const ino_t file = file_of(first.fd);
  spoil(first);
  ASSERT_EQ(hpz_pool_give(pool.get(), &first, 1, HPZ_GIVE_SOLE_OWNER), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 1, 0, 0, 0}));
  ASSERT_EQ(take(pool, second), 1);
  EXPECT_EQ(file_of(second.fd), file);
  EXPECT_EQ(second.base, first.base);
  EXPECT_EQ(second.outcome, unsigned{HPZ_TAKE_MISS});
  EXPECT_TRUE(is_zero(second));
  EXPECT_EQ(stats_of(pool).renewed_bytes, 0u);
  EXPECT_EQ(stats_of(pool).cleared_bytes, kSlabBytes);
  ASSERT_EQ(hpz_pool_give(pool.get(), &second, 1, HPZ_GIVE_SOLE_OWNER | HPZ_GIVE_UNWRITTEN), 0);
  EXPECT_EQ(counts_of(pool), (Counts{1, 0, 0, 0, 0}));
}

TEST(PoolExport, any_content_is_never_a_slab_without_memory) {
  const PoolPointer pool = make_pool(slab_options(1));
  hpz_page slab;
  ASSERT_EQ(take(pool, slab), 1);
  ASSERT_EQ(hpz_pool_give(pool.get(), &slab, 1, 0), 0);
  ASSERT_EQ(take(pool, slab, HPZ_TAKE_ANY_CONTENT), 1);
  EXPECT_EQ(slab.outcome, unsigned{HPZ_TAKE_MISS});
  EXPECT_TRUE(is_zero(slab));
  EXPECT_EQ(hpz_pool_poison(pool.get(), slab.base), 0);
  ASSERT_EQ(hpz_pool_give(pool.get(), &slab, 1, 0), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 0, 1}));
  EXPECT_EQ(take(pool, slab), -ENOMEM);
}

TEST(PoolExport, nothing_is_leaked) {
  const size_t before = open_descriptors();
  {
    const PoolPointer pool = make_pool(slab_options(2));
    EXPECT_EQ(open_descriptors(), before + 2);
    for (int i = 0; i < (quick() ? 10 : 100); ++i) {
      const std::vector<hpz_page> slabs = take_all(pool);
      ASSERT_EQ(slabs.size(), 2u);
      for (const hpz_page &slab : slabs) ASSERT_TRUE(is_zero(slab));
      spoil(slabs[0]);
      ASSERT_EQ(hpz_pool_give(pool.get(), slabs.data(), 2, i % 3 == 1 ? HPZ_GIVE_CLEAR : 0), 0);
    }
    ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 5), 0);
    EXPECT_EQ(hpz_pool_fill(pool.get(), -1, 5), 2);
    EXPECT_EQ(open_descriptors(), before + 5);
    ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 1), 0);
    EXPECT_EQ(open_descriptors(), before + 1);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(PoolExport, a_poisoned_slab_gets_no_new_memory) {
  const PoolPointer pool = make_pool(slab_options(1));
  hpz_page slab;
  ASSERT_EQ(take(pool, slab), 1);
  const size_t files = open_descriptors();
  ASSERT_EQ(hpz_pool_poison(pool.get(), slab.base), 0);
  ASSERT_EQ(hpz_pool_give(pool.get(), &slab, 1, HPZ_GIVE_CLEAR), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 0, 1}));
  EXPECT_EQ(stats_of(pool).renewed_bytes, 0u);
  EXPECT_EQ(open_descriptors(), files - 1);
}

// A descriptor table that is full: an errno, and the slab is neither lost nor handed out.
TEST(PoolExport, no_descriptor_to_renew_with) {
  const PoolPointer pool = make_pool(slab_options(2));
  const std::vector<hpz_page> slabs = take_all(pool);
  ASSERT_EQ(slabs.size(), 2u);
  ASSERT_EQ(hpz_pool_give(pool.get(), slabs.data(), 2, 0), 0);
  {
    const ShortTable table(0);
    hpz_page slab;
    EXPECT_EQ(take(pool, slab), -EMFILE);
    EXPECT_EQ(take(pool, slab, HPZ_TAKE_AWAIT, in_ms(30)), -ETIMEDOUT);
    EXPECT_EQ(hpz_pool_fill(pool.get(), -1, 2), -EMFILE);
    EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 3), -EMFILE);
  }
  EXPECT_EQ(counts_of(pool), (Counts{0, 2, 0, 0, 0}));
  EXPECT_EQ(take_all(pool).size(), 2u);
}

// The same in the middle of growth: of the slabs that were made by then nothing is left.
TEST(PoolExport, no_descriptor_in_the_middle_of_growth) {
  const PoolPointer pool = make_pool(slab_options(2));
  hpz_page slab;
  ASSERT_EQ(take(pool, slab), 1);
  spoil(slab);
  const size_t files = open_descriptors(), mappings = pools_mappings();
  hpz_pool *none = nullptr;
  for (size_t more = 1; more < 5; ++more) {
    int resized, created;
    {
      const ShortTable table(ShortTable::with_room_for(more));
      resized = hpz_pool_resize(pool.get(), -1, 2 + more + 1);
      const hpz_pool_options options = slab_options(more + 1);
      created = hpz_pool_create(&options, &none);
    }
    EXPECT_EQ(resized, -EMFILE);
    EXPECT_EQ(created, -EMFILE);
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(counts_of(pool), (Counts{1, 0, 0, 1, 0}));
    EXPECT_EQ(open_descriptors(), files);
    EXPECT_EQ(pools_mappings(), mappings);
  }
  {
    const ShortTable table(ShortTable::with_room_for(3));
    EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 5), 0) << "as many as there is room for";
  }
  EXPECT_EQ(counts_of(pool), (Counts{4, 0, 0, 1, 0}));
  EXPECT_TRUE(
      all_are(bytes_of(slab), bytes_of(slab) + kSlabBytes, kPoison, "a taker's, meanwhile"));
}

// A filler that finds no descriptor to renew a slab with tries again, and takers who wait get it.
TEST(PoolExport, a_filler_without_descriptors_recovers) {
  const Watchdog watchdog;
  const PoolPointer pool = make_pool(slab_options(2, 0));
  const std::vector<hpz_page> slabs = take_all(pool);
  ASSERT_EQ(slabs.size(), 2u);
  wait_until([] {
    const std::vector<pid_t> fillers = threads_named("hpzero-fill");
    return fillers.size() == 1 && is_asleep(fillers[0]);
  });
  const uint64_t before_ns = stats_of(pool).filler_cpu_ns;
  {
    const ShortTable table(0);
    ASSERT_EQ(hpz_pool_give(pool.get(), slabs.data(), 2, 0), 0);
    wait_until([&] {  // it has tried, and rests
      const uint64_t ns = stats_of(pool).filler_cpu_ns;
      usleep(1000);
      return ns != before_ns && stats_of(pool).filler_cpu_ns == ns;
    });
    const hpz_pool_stats stats = stats_of(pool);
    EXPECT_EQ(stats.clean, 0u);
    EXPECT_EQ(stats.dirty + stats.busy, 2u);
    EXPECT_EQ(stats.renewed_bytes, 0u);
  }
  wait_until([&] { return stats_of(pool).clean == 2; });
  for (const hpz_page &slab : take_all(pool, HPZ_TAKE_CLEAN_ONLY)) EXPECT_TRUE(is_zero(slab));
}

}  // namespace
}  // namespace hpz::test
