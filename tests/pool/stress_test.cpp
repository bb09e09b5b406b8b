// SPDX-License-Identifier: BSD-2-Clause
//
// Many takers and givers, fillers, poison, resizing and the switch, all at once: each page that is
// taken is looked at whole, written full, and looked at again before it is given. A run in which
// not every way of taking occurred fails.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/pool/pools.h"
#include "tests/support/settings.h"
#include "tests/support/threads.h"
#include "tests/support/watchdog.h"

namespace hpz::test {
namespace {

constexpr size_t kStressPageBytes = size_t{1} << 20;  // two chunks

// One who takes and gives until told to stop. What goes wrong is counted, for threads that fail by
// assertions print all at once.
class Guest {
 public:
  Guest(hpz_pool *pool, uint64_t its_seed, unsigned char mark)
      : pool_(pool), random_(its_seed), mark_(mark) {}

  void run(const std::atomic<bool> &is_over) {
    while (!is_over) {
      once();
      if (failures != 0) return;
    }
    give_all();
  }

  std::atomic<int> failures{0};
  uint64_t cycles = 0;

 private:
  struct Held {
    hpz_page page;
    bool is_written;
  };

  void once() {
    hpz_take_options options = HPZ_TAKE_OPTIONS_INIT;
    bool is_any = false;
    switch (random_() % 8) {
      case 0:
        options.flags = HPZ_TAKE_CLEAN_ONLY;
        break;
      case 1:
        options.flags = HPZ_TAKE_ANY_CONTENT;
        is_any = true;
        break;
      case 2:
        options.deadline_ns = in_ms(0) + random_() % 200'000;
        break;
      case 3:
        options.flags = HPZ_TAKE_AWAIT;
        options.deadline_ns = in_ms(1 + random_() % 4);
        break;
      default:
        break;
    }
    hpz_page pages[2];
    pages[0] = HPZ_PAGE_INIT;
    const int taken = hpz_pool_take(pool_, &options, pages, 1 + random_() % 2);
    if (taken < 0) {
      if (taken != -ETIMEDOUT && taken != -ENOMEM && taken != -EAGAIN) ++failures;
      give_all();
      return;
    }
    for (int i = 0; i < taken; ++i) took(pages[i], is_any);
    if (held_.size() > 2 || random_() % 2 == 0) give_all();
  }

  void took(const hpz_page &page, bool is_any) {
    ++cycles;
    unsigned char *const begin = bytes_of(page), *const end = begin + page.len;
    if (!is_any && find_other(begin, end, 0) != end) ++failures;
    const bool is_written = is_any || random_() % 4 != 0;
    if (is_written) memset(begin, mark_, page.len);
    held_.push_back({page, is_written});
  }

  void give_all() {
    for (const Held &held : held_) {
      unsigned char *const begin = bytes_of(held.page), *const end = begin + held.page.len;
      // Nobody else has written to it.
      if (held.is_written && find_other(begin, end, mark_) != end) ++failures;
      uint32_t how = !held.is_written     ? HPZ_GIVE_UNWRITTEN
                     : random_() % 8 == 0 ? HPZ_GIVE_CLEAR
                                          : 0;
      if (random_() % 2 == 0) how |= HPZ_GIVE_SOLE_OWNER;  // a slab is cleared, not dropped
      if (hpz_pool_give(pool_, &held.page, 1, how) != 0) ++failures;
      if (random_() % 16 == 0 && hpz_pool_give(pool_, &held.page, 1, 0) != -ESTALE) ++failures;
    }
    held_.clear();
  }

  hpz_pool *const pool_;
  std::mt19937_64 random_;
  const unsigned char mark_;
  std::vector<Held> held_;
};

// Row G1 in many threads, thousands of cycles; and G11, for the pool is destroyed at the end with
// its filler at work.
void stress(uint32_t flags, bool resizes, bool poisons) {
  const Watchdog watchdog(150);
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.page_bytes = kStressPageBytes;
  options.pages_per_node = 4;
  options.flags = HPZ_POOL_PLAIN | flags;
  const PoolPointer pool = make_pool(options);
  std::atomic<bool> is_over{false};
  std::vector<std::unique_ptr<Guest>> guests;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    guests.push_back(
        std::make_unique<Guest>(pool.get(), seed() + i, static_cast<unsigned char>(kPoison + i)));
    Guest *const guest = guests.back().get();
    threads.emplace_back([guest, &is_over] { guest->run(is_over); });
  }
  std::mt19937_64 random(seed());
  uint64_t taken_here = 0, poisoned_here = 0;
  bool fails = false;
  const uint64_t enough = quick() ? 300 : 3000;
  for (uint64_t rounds = 0; !is_over; ++rounds) {
    usleep(static_cast<unsigned>(random() % 1000));
    if (random() % 4 == 0) fails |= hpz_pool_set_filling(pool.get(), -1, rounds % 3 != 0) != 0;
    if (random() % 4 == 0) fails |= hpz_pool_fill(pool.get(), -1, 1) < 0;
    if (resizes && random() % 4 == 0) {
      fails |= hpz_pool_resize(pool.get(), -1, 2 + random() % 4) != 0;
    }
    if (poisons && random() % 64 == 0 && poisoned_here < 20) {
      hpz_page page = HPZ_PAGE_INIT;
      if (hpz_pool_take(pool.get(), nullptr, &page, 1) == 1) {
        ++taken_here;
        // Of a page that is ours, or somebody's by now, or nobody's.
        const bool is_ours = random() % 2 == 0;
        int result = is_ours ? hpz_pool_poison(pool.get(), page.base) : 0;
        fails |= result != 0;
        fails |= hpz_pool_give(pool.get(), &page, 1, 0) != 0;
        if (!is_ours) result = hpz_pool_poison(pool.get(), page.base);
        fails |= result != 0 && result != -ENOENT;  // resized away, or dropped
        if (result == 0) ++poisoned_here;
        if (!resizes) fails |= hpz_pool_resize(pool.get(), -1, 4) != 0;
      }
    }
    const hpz_pool_stats stats = stats_of(pool);
    is_over = fails || (stats.hits >= enough && stats.misses != 0 && stats.waits != 0 &&
                        (stats.poisoned != 0) == poisons);
    for (const auto &guest : guests) is_over = is_over || guest->failures != 0;
  }
  for (std::thread &thread : threads) thread.join();
  uint64_t cycles = 0;
  for (const auto &guest : guests) {
    EXPECT_EQ(guest->failures, 0);
    cycles += guest->cycles;
  }
  EXPECT_FALSE(fails);
  // What the counters say is what happened.
  ASSERT_EQ(hpz_pool_set_filling(pool.get(), -1, 0), 0);
  wait_until([&] { return stats_of(pool).busy == 0; });
  const hpz_pool_stats stats = stats_of(pool);
  EXPECT_GT(stats.hits, 0u);
  EXPECT_GT(stats.misses, 0u);
  EXPECT_GT(stats.waits, 0u);
  EXPECT_EQ(stats.poisoned != 0, poisons);
  EXPECT_EQ(stats.renewed_bytes != 0, (flags & HPZ_POOL_EXPORT) != 0);
  EXPECT_EQ(stats.hits + stats.misses + stats.waits, cycles + taken_here);
  EXPECT_EQ(stats.taken, 0u) << "all were given";
  ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 3), 0);
  EXPECT_EQ(stats_of(pool).clean + stats_of(pool).dirty, 3u);
  for (const hpz_page &page : take_all(pool)) {
    EXPECT_TRUE(is_zero(page));
    EXPECT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
  }
  ASSERT_EQ(hpz_pool_set_filling(pool.get(), -1, 1), 0);
}

TEST(PoolStress, takers_givers_fillers) {
  stress(0, false, false);
}

TEST(PoolStress, with_resizing_and_poison) {
  stress(0, true, true);
}

TEST(PoolStress, with_an_idle_filler) {
  if (!idle_class().is_granted) GTEST_SKIP() << "NOT TESTED HERE: SCHED_IDLE is refused";
  stress(HPZ_POOL_IDLE, false, true);
}

TEST(PoolStress, slabs_that_are_dropped) {
  stress(HPZ_POOL_EXPORT, true, true);
}

}  // namespace
}  // namespace hpz::test
