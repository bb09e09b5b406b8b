// SPDX-License-Identifier: BSD-2-Clause
//
// Takers that wait for pages which are not there (HPZ_TAKE_AWAIT): each page that comes, whatever
// it comes by, is had by exactly one of them, and the others leave at their deadline, not before.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>

#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "tests/pool/held_memory.h"
#include "tests/pool/pools.h"
#include "tests/pool/taking_thread.h"
#include "tests/support/settings.h"
#include "tests/support/watchdog.h"

namespace hpz::test {
namespace {

constexpr uint64_t kLongMs = 50'000;

TEST(PoolAwait, each_page_is_had_once_and_the_others_wait_on) {
  const Watchdog watchdog;
  const PoolPointer pool = make_pool(plain_options(2, HPZ_POOL_NO_FILLING));
  std::vector<hpz_page> pages = take_all(pool);
  ASSERT_EQ(pages.size(), 2u);
  for (const hpz_page &page : pages) spoil(page);
  std::vector<std::unique_ptr<TakingThread>> awaiters;
  for (int i = 0; i < 4; ++i) {
    awaiters.push_back(std::make_unique<TakingThread>(pool, HPZ_TAKE_AWAIT, in_ms(kLongMs)));
  }
  const uint64_t soon_ns = in_ms(20);
  TakingThread hurried(pool, HPZ_TAKE_AWAIT, soon_ns);
  EXPECT_EQ(hurried.result(), -ETIMEDOUT);
  EXPECT_GE(hurried.back_ns(), soon_ns);
  for (const auto &awaiter : awaiters) awaiter->wait_until_asleep();

  std::set<TakingThread *> served;
  const auto find_served = [&] {
    for (const auto &awaiter : awaiters) {
      if (awaiter->is_back()) served.insert(awaiter.get());
    }
    return served.size();
  };
  for (const size_t expected : {size_t{2}, size_t{4}}) {
    ASSERT_EQ(find_served(), expected - 2);
    const std::set<TakingThread *> before = served;
    ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), 1, 0), 0);
    ASSERT_EQ(hpz_pool_give(pool.get(), &pages[1], 1, HPZ_GIVE_CLEAR), 0);
    wait_until([&] { return find_served() >= expected; });
    for (const auto &awaiter : awaiters) awaiter->wait_until_asleep();
    ASSERT_EQ(find_served(), expected) << "two pages are for two";
    EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 2, 0}));
    pages.clear();
    for (TakingThread *const awaiter : served) {
      if (before.count(awaiter) == 0) pages.push_back(awaiter->page());
    }
    EXPECT_NE(pages[0].base, pages[1].base) << "one was had by two";
    for (const hpz_page &page : pages) {
      EXPECT_TRUE(is_zero(page));
      spoil(page);
    }
  }
}

// The same at the deadline: a page may come just before it, or just after.
TEST(PoolAwait, what_comes_near_the_deadline_is_had_once_or_by_nobody) {
  const Watchdog watchdog;
  const PoolPointer pool = make_pool(plain_options(2, HPZ_POOL_NO_FILLING));
  for (int round = 0; round < (quick() ? 2 : 8); ++round) {
    const std::vector<hpz_page> pages = take_all(pool);
    ASSERT_EQ(pages.size(), 2u);
    for (const hpz_page &page : pages) spoil(page);
    std::vector<std::unique_ptr<TakingThread>> awaiters;
    // Long enough for two that get a page, on a machine that is busy; short for those who do not.
    const uint64_t deadline_ns = in_ms(quick() ? 1500 : 300);
    for (int i = 0; i < 4; ++i) {
      awaiters.push_back(std::make_unique<TakingThread>(pool, HPZ_TAKE_AWAIT, deadline_ns));
    }
    ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), 1, 0), 0);
    ASSERT_EQ(hpz_pool_give(pool.get(), &pages[1], 1, HPZ_GIVE_CLEAR), 0);
    std::vector<hpz_page> had;
    std::set<void *> places;
    uint64_t late = 0;
    for (const auto &awaiter : awaiters) {
      const int result = awaiter->result();
      if (result == 1) {
        EXPECT_TRUE(is_zero(awaiter->page()));
        had.push_back(awaiter->page());
        places.insert(awaiter->page().base);
      } else {
        EXPECT_EQ(result, -ETIMEDOUT);
        EXPECT_GE(awaiter->back_ns(), deadline_ns);
        ++late;
      }
    }
    EXPECT_EQ(places.size(), had.size()) << "one was had by two";
    ASSERT_EQ(hpz_pool_give(pool.get(), had.data(), had.size(), HPZ_GIVE_CLEAR), 0);
    // A page that a taker gives up at the deadline goes to nobody; two pages never to three.
    EXPECT_EQ(late + had.size(), 4u);
    EXPECT_GE(late, 2u);
    EXPECT_EQ(stats_of(pool).taken, 0u);
    EXPECT_EQ(stats_of(pool).busy, 0u);
  }
}

// Who wants several has those that there are, and waits for each of the others.
TEST(PoolAwait, several_pages) {
  const Watchdog watchdog;
  const PoolPointer pool = make_pool(plain_options(3, HPZ_POOL_NO_FILLING));
  hpz_page kept;
  ASSERT_EQ(take(pool, kept), 1);
  hpz_page pages[3] = {HPZ_PAGE_INIT};
  const uint64_t deadline_ns = in_ms(20);
  hpz_take_options options = take_options(HPZ_TAKE_AWAIT, deadline_ns);
  EXPECT_EQ(hpz_pool_take(pool.get(), &options, pages, 3), 2);
  EXPECT_GE(in_ms(0), deadline_ns) << "it has waited for the third";
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 3, 0}));
  ASSERT_EQ(hpz_pool_give(pool.get(), pages, 2, 0), 0);
  options.deadline_ns = in_ms(kLongMs);
  std::thread giver([&] {
    wait_until([&] { return stats_of(pool).taken == 3; });  // the two of before, taken again
    EXPECT_EQ(hpz_pool_give(pool.get(), &kept, 1, 0), 0);
  });
  EXPECT_EQ(hpz_pool_take(pool.get(), &options, pages, 3), 3);
  giver.join();
  for (const hpz_page &page : pages) EXPECT_TRUE(is_zero(page));
}

// Whatever brings a page wakes who waits for one.
TEST(PoolAwait, woken_by_whatever_brings_a_page) {
  const Watchdog watchdog;
  const struct {
    const char *name;
    uint32_t flags;
    bool is_dirty;  // there is one that will not do yet
    std::function<void(const PoolPointer &, const hpz_page &)> bring;
  } ways[] = {
      {"give", 0, false,
       [](const PoolPointer &pool, const hpz_page &page) {
         EXPECT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
       }},
      {"give, cleared", HPZ_TAKE_CLEAN_ONLY, false,
       [](const PoolPointer &pool, const hpz_page &page) {
         EXPECT_EQ(hpz_pool_give(pool.get(), &page, 1, HPZ_GIVE_CLEAR), 0);
       }},
      {"resize", 0, false,
       [](const PoolPointer &pool, const hpz_page &) {
         EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 2), 0);
       }},
      {"fill", HPZ_TAKE_CLEAN_ONLY, true,
       [](const PoolPointer &pool, const hpz_page &) {
         EXPECT_EQ(hpz_pool_fill(pool.get(), -1, 1), 1);
       }},
      {"a filler", HPZ_TAKE_CLEAN_ONLY, true, [](const PoolPointer &pool, const hpz_page &) {
         EXPECT_EQ(hpz_pool_set_filling(pool.get(), -1, 1), 0);
       }}};
  for (const uint32_t kind : {0u, HPZ_POOL_EXPORT}) {
    for (const auto &way : ways) {
      SCOPED_TRACE(std::string(way.name) + (kind != 0 ? " of a slab" : ""));
      const PoolPointer pool = make_pool(plain_options(1, HPZ_POOL_NO_FILLING | kind));
      hpz_page page;
      ASSERT_EQ(take(pool, page), 1);
      spoil(page);
      if (way.is_dirty) {
        ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
      }
      TakingThread awaiter(pool, way.flags | HPZ_TAKE_AWAIT, in_ms(kLongMs));
      awaiter.wait_until_asleep();
      EXPECT_FALSE(awaiter.is_back());
      way.bring(pool, page);
      EXPECT_EQ(awaiter.result(), 1);
      EXPECT_TRUE(is_zero(awaiter.page()));
    }
  }
}

// One who gives up in the middle of a page wakes the next, who gets what is left of it to do.
TEST(PoolAwait, a_taker_that_gives_up_wakes_one_that_waits) {
  const Watchdog watchdog;
  for (int i = 0; i < (quick() ? 5 : 20); ++i) {
    const HeldMemory memory(1);
    const PoolPointer pool = memory.pool();
    memory.hold(0, 0);
    TakingThread hurried(pool, 0, 1);  // a time long past: one chunk
    wait_until([] { return HeldMemory::reached() == 1; });
    TakingThread awaiter(pool, HPZ_TAKE_AWAIT, in_ms(kLongMs));
    awaiter.wait_until_asleep();
    EXPECT_FALSE(awaiter.is_back());
    memory.release();
    EXPECT_EQ(hurried.result(), -ETIMEDOUT);
    EXPECT_TRUE(is_zero(awaiter.page()));
    EXPECT_EQ(stats_of(pool).cleared_bytes, kPoolPageBytes) << "nothing twice";
  }
}

// ... whoever of them is there first.
TEST(PoolAwait, a_taker_that_gives_up_leaves_the_page_to_one_that_waits) {
  const Watchdog watchdog;
  const PoolPointer pool = make_pool(plain_options(1, HPZ_POOL_NO_FILLING));
  hpz_page page, none;
  for (int i = 0; i < (quick() ? 5 : 50); ++i) {
    ASSERT_EQ(take(pool, page), 1);
    spoil(page);
    TakingThread awaiter(pool, HPZ_TAKE_AWAIT, in_ms(kLongMs));
    ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
    for (int k = 0; k < 3; ++k) {
      const int result = take(pool, none, 0, 1);  // a time long past: one chunk
      ASSERT_TRUE(result == -ETIMEDOUT || result == -ENOMEM) << result;
    }
    ASSERT_EQ(awaiter.result(), 1);
    ASSERT_TRUE(is_zero(awaiter.page()));
    ASSERT_EQ(hpz_pool_give(pool.get(), &awaiter.page(), 1, HPZ_GIVE_CLEAR), 0);
  }
}

}  // namespace
}  // namespace hpz::test
