// SPDX-License-Identifier: BSD-2-Clause
//
// Pools of pages of 1 GiB: 64 chunks of 16 MiB each, so that nobody waits for a whole page. Not
// beside others that want such pages (RESOURCE_LOCK huge_pages).
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <unistd.h>

#include <string>

#include "tests/pool/pools.h"
#include "tests/support/huge_pool.h"
#include "tests/support/watchdog.h"

namespace hpz::test {
namespace {

constexpr size_t kChunkBytes = size_t{16} << 20;

long free_pages() {
  return HugePool::free_pages(kGiganticBytes);
}

hpz_pool_options gigantic_options(uint64_t pages, uint32_t flags = HPZ_POOL_NO_FILLING) {
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.page_bytes = kGiganticBytes;
  options.pages_per_node = pages;
  options.flags = flags;
  return options;
}

TEST(GiganticPool, hits_misses_and_what_is_given_back) {
  const Watchdog watchdog(150);
  HugePool machine(kGiganticBytes);
  if (const std::string why = machine.take_exactly(2); !why.empty()) GTEST_SKIP() << why;
  {
    hpz_pool *none = nullptr;
    const hpz_pool_options three = gigantic_options(3);
    EXPECT_EQ(hpz_pool_create(&three, &none), -ENOMEM);
    EXPECT_EQ(free_pages(), 2);
    const PoolPointer pool = make_pool(gigantic_options(1));
    EXPECT_EQ(free_pages(), 1);
    EXPECT_EQ(stats_of(pool).obtained_page_bytes, kGiganticBytes);
    hpz_page page, other;
    ASSERT_EQ(take(pool, page), 1);
    EXPECT_EQ(page.outcome, unsigned{HPZ_TAKE_HIT});
    EXPECT_EQ(page.len, kGiganticBytes);
    EXPECT_TRUE(is_zero(page));
    spoil(page);
    ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
    EXPECT_EQ(take(pool, page, HPZ_TAKE_CLEAN_ONLY), -EAGAIN);
    // A time long past is looked at after the first chunk.
    EXPECT_EQ(take(pool, page, 0, 1), -ETIMEDOUT);
    EXPECT_EQ(stats_of(pool).cleared_bytes, kChunkBytes);
    ASSERT_EQ(take(pool, page), 1);
    EXPECT_EQ(page.outcome, unsigned{HPZ_TAKE_MISS});
    EXPECT_TRUE(is_zero(page));
    EXPECT_EQ(stats_of(pool).cleared_bytes, kGiganticBytes) << "nothing twice";
    ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 2), 0);
    EXPECT_EQ(free_pages(), 0);
    EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 3), -ENOMEM);
    EXPECT_EQ(counts_of(pool), (Counts{1, 0, 0, 1, 0}));
    ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 1), 0);
    EXPECT_EQ(free_pages(), 1);
    EXPECT_EQ(take(pool, other), -ENOMEM);
  }
  EXPECT_EQ(free_pages(), 2);
}

TEST(GiganticPool, a_filler_and_a_taker_who_meets_it) {
  const Watchdog watchdog(150);
  HugePool machine(kGiganticBytes);
  if (const std::string why = machine.take_exactly(1); !why.empty()) GTEST_SKIP() << why;
  const PoolPointer pool = make_pool(gigantic_options(1, 0));
  hpz_page page;
  ASSERT_EQ(take(pool, page), 1);
  spoil(page);
  ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
  wait_until([&] { return stats_of(pool).clean == 1; });
  EXPECT_EQ(stats_of(pool).filled_bytes, kGiganticBytes);
  do {
    ASSERT_EQ(take(pool, page), 1);
    ASSERT_TRUE(is_zero(page)) << page.outcome;
    spoil(page);
    ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
    while (stats_of(pool).dirty != 0) usleep(100);
  } while (stats_of(pool).waits == 0);  // else the taker was so late that the page was clean
  // Stopped in mid-page, within a chunk: destroy does not clear the rest.
}

// A slab of one page: the next taker's is new, and there is none before the old one has come back.
TEST(GiganticPool, slabs) {
  const Watchdog watchdog(150);
  HugePool machine(kGiganticBytes);
  if (const std::string why = machine.take_exactly(1); !why.empty()) GTEST_SKIP() << why;
  {
    const PoolPointer pool = make_pool(gigantic_options(1, HPZ_POOL_EXPORT | HPZ_POOL_NO_FILLING));
    hpz_page slab;
    ASSERT_EQ(take(pool, slab), 1);
    spoil(slab);
    const int held = dup(slab.fd);
    ASSERT_EQ(hpz_pool_give(pool.get(), &slab, 1, 0), 0);
    EXPECT_EQ(free_pages(), 0) << "its holder has it";
    EXPECT_EQ(take(pool, slab), -ENOMEM);
    EXPECT_EQ(counts_of(pool), (Counts{0, 1, 0, 0, 0}));
    close(held);
    ASSERT_EQ(take(pool, slab), 1);
    EXPECT_TRUE(is_zero(slab));
    EXPECT_EQ(stats_of(pool).renewed_bytes, kGiganticBytes);
  }
  EXPECT_EQ(free_pages(), 1);
}

}  // namespace
}  // namespace hpz::test
