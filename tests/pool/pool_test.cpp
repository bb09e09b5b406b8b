// SPDX-License-Identifier: BSD-2-Clause
//
// Taking, giving, filling, resizing and poisoning, without fillers: one thread, in which everything
// is exact.
#include <errno.h>
#include <gmock/gmock.h>
#include <hpzero/hpzero.h>
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "tests/pool/pools.h"
#include "tests/support/huge_pool.h"
#include "tests/support/memory.h"
#include "tests/support/settings.h"
#include "tests/support/threads.h"
#include "tests/support/transparent_pages.h"
#include "tests/support/watchdog.h"

namespace hpz::test {
namespace {

constexpr uint32_t kManual = HPZ_POOL_NO_FILLING;

PoolPointer manual_pool(uint64_t pages) {
  return make_pool(plain_options(pages, kManual));
}

TEST(Pool, bad_options) {
  struct Row {
    const char *what;
    std::function<void(hpz_pool_options &)> spoil;
  };
  static char memory[2 * kPageBytes];
  const Row rows[] = {
      {"size", [](auto &o) { o.size = 12; }},
      {"flags", [](auto &o) { o.flags |= 1u << 20; }},
      {"reserved", [](auto &o) { o.reserved = 1; }},
      {"page of no power of two", [](auto &o) { o.page_bytes = 3 * kPageBytes; }},
      {"page below the system's", [](auto &o) { o.page_bytes = 512; }},
      {"page of 2^60", [](auto &o) { o.page_bytes = uint64_t{1} << 60; }},
      {"slab of no whole pages", [](auto &o) { o.slab_bytes = kPoolPageBytes + 1; }},
      {"pages without end", [](auto &o) { o.pages_per_node = UINT64_MAX; }},
      {"2^32 pages", [](auto &o) { o.pages_per_node = uint64_t{1} << 32; }},
      {"two kinds", [](auto &o) { o.flags |= HPZ_POOL_THP; }},
      {"nothing to fall back from", [](auto &o) { o.flags |= HPZ_POOL_FALL_BACK; }},
      {"zeroed", [](auto &o) { o.flags |= HPZ_POOL_ZEROED; }},
      {"empty, and pages", [](auto &o) { o.flags |= HPZ_POOL_EMPTY; }},
      {"leave_pages of plain memory", [](auto &o) { o.leave_pages = 1; }},
      {"mount of plain memory", [](auto &o) { o.mount = "/tmp"; }},
      {"cpus", [](auto &o) { o.cpus = "x"; }},
      {"no such cpus", [](auto &o) { o.cpus = "100000"; }},
      {"range beside a kind",
       [](auto &o) {
         o.base = memory;
         o.len = kPageBytes;
       }},
      {"range that is not aligned",
       [](auto &o) {
         o = HPZ_POOL_OPTIONS_INIT;
         o.page_bytes = kPageBytes;
         o.base = memory + 1;
         o.len = kPageBytes;
       }},
      {"range that wraps",
       [](auto &o) {
         o = HPZ_POOL_OPTIONS_INIT;
         o.page_bytes = kPageBytes;
         o.base = reinterpret_cast<void *>(UINTPTR_MAX - kPageBytes + 1);
         o.len = 2 * kPageBytes;
       }},
      {"range with a limit",
       [](auto &o) {
         o = HPZ_POOL_OPTIONS_INIT;
         o.page_bytes = kPageBytes;
         o.base = memory;
         o.len = kPageBytes;
         o.most_pages_per_node = 1;
       }},
      {"range without length",
       [](auto &o) {
         o = HPZ_POOL_OPTIONS_INIT;
         o.base = memory;
       }},
      {"huge pages of a size that no kernel has",
       [](auto &o) {
         o = HPZ_POOL_OPTIONS_INIT;
         o.page_bytes = uint64_t{4} << 40;
       }},
      {"a mount of another kind",
       [](auto &o) {
         o = HPZ_POOL_OPTIONS_INIT;
         o.mount = "/proc";
       }},
      {"exported THP",
       [](auto &o) {
         o = HPZ_POOL_OPTIONS_INIT;
         o.flags = HPZ_POOL_EXPORT | HPZ_POOL_THP;
       }},
  };
  for (const Row &row : rows) {
    SCOPED_TRACE(row.what);
    hpz_pool_options options = plain_options(2, kManual);
    row.spoil(options);
    hpz_pool *pool = nullptr;
    EXPECT_EQ(hpz_pool_create(&options, &pool), -EINVAL);
    EXPECT_EQ(pool, nullptr);
  }
  const hpz_pool_options good = plain_options(2, kManual);
  EXPECT_EQ(hpz_pool_create(&good, nullptr), -EINVAL);
  hpz_pool_options missing = HPZ_POOL_OPTIONS_INIT;
  missing.mount = "/nonexistent";
  hpz_pool *pool = nullptr;
  EXPECT_EQ(hpz_pool_create(&missing, &pool), -ENOENT);
  hpz_pool_options many = plain_options(3, kManual);
  many.most_pages_per_node = 2;
  EXPECT_EQ(hpz_pool_create(&many, &pool), -EDQUOT);
  hpz_pool_destroy(nullptr);
}

TEST(Pool, bad_arguments) {
  const PoolPointer pool = manual_pool(2);
  hpz_page page = HPZ_PAGE_INIT;
  hpz_pool_stats stats = HPZ_POOL_STATS_INIT;
  EXPECT_EQ(hpz_pool_take(nullptr, nullptr, &page, 1), -EINVAL);
  EXPECT_EQ(hpz_pool_give(nullptr, &page, 1, 0), -EINVAL);
  EXPECT_EQ(hpz_pool_fill(nullptr, -1, 1), -EINVAL);
  EXPECT_EQ(hpz_pool_resize(nullptr, -1, 1), -EINVAL);
  EXPECT_EQ(hpz_pool_set_filling(nullptr, -1, 1), -EINVAL);
  EXPECT_EQ(hpz_pool_event_fd(nullptr, 0, 1), -EINVAL);
  EXPECT_EQ(hpz_pool_event_rearm(nullptr, 0), -EINVAL);
  EXPECT_EQ(hpz_pool_poison(nullptr, &page), -EINVAL);
  EXPECT_EQ(hpz_pool_stats_get(nullptr, -1, &stats), -EINVAL);

  EXPECT_EQ(hpz_pool_take(pool.get(), nullptr, nullptr, 0), 0);
  EXPECT_EQ(hpz_pool_give(pool.get(), nullptr, 0, 0), 0);
  EXPECT_EQ(hpz_pool_take(pool.get(), nullptr, nullptr, 1), -EINVAL);
  EXPECT_EQ(hpz_pool_take(pool.get(), nullptr, &page, size_t{INT_MAX} + 1), -EINVAL);
  EXPECT_EQ(hpz_pool_give(pool.get(), nullptr, 1, 0), -EINVAL);
  EXPECT_EQ(take(pool, page, 1u << 20), -EINVAL);
  EXPECT_EQ(take(pool, page, HPZ_TAKE_STRICT), -EINVAL) << "of what node?";
  EXPECT_EQ(take(pool, page, HPZ_TAKE_AWAIT), -EINVAL) << "until when?";
  EXPECT_EQ(hpz_pool_give(pool.get(), &page, 1, 1u << 20), -EINVAL);
  EXPECT_EQ(hpz_pool_give(pool.get(), &page, 1, HPZ_GIVE_CLEAR | HPZ_GIVE_UNWRITTEN), -EINVAL);
  page.size = 8;
  EXPECT_EQ(hpz_pool_take(pool.get(), nullptr, &page, 1), -EINVAL);
  for (const int node : {-2, 999, INT_MAX, INT_MIN}) {
    SCOPED_TRACE(node);
    hpz_take_options options = HPZ_TAKE_OPTIONS_INIT;
    options.node = node;
    page = HPZ_PAGE_INIT;
    EXPECT_EQ(hpz_pool_take(pool.get(), &options, &page, 1), -EINVAL);
    EXPECT_EQ(hpz_pool_fill(pool.get(), node, 1), -EINVAL);
    EXPECT_EQ(hpz_pool_resize(pool.get(), node, 1), -EINVAL);
    EXPECT_EQ(hpz_pool_set_filling(pool.get(), node, 1), -EINVAL);
    EXPECT_EQ(hpz_pool_event_fd(pool.get(), node, 1), -EINVAL);
    EXPECT_EQ(hpz_pool_stats_get(pool.get(), node, &stats), -EINVAL);
  }
  EXPECT_EQ(hpz_pool_stats_get(pool.get(), -1, nullptr), -EINVAL);
  stats.size = 4;
  EXPECT_EQ(hpz_pool_stats_get(pool.get(), -1, &stats), -EINVAL);
  EXPECT_EQ(hpz_pool_event_rearm(pool.get(), 0), -EBADF);
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, SIZE_MAX), -EINVAL);
  EXPECT_EQ(counts_of(pool), (Counts{2, 0, 0, 0, 0}));
}

TEST(Pool, pages_are_there_and_zero) {
  const PoolPointer pool = manual_pool(4);
  const hpz_pool_stats before = stats_of(pool);
  EXPECT_EQ(before.page_bytes, kPoolPageBytes);
  EXPECT_EQ(before.backing, unsigned{HPZ_BACKING_PLAIN});
  EXPECT_EQ(before.obtained_page_bytes, static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(before.flags & HPZ_POOL_FILLS, 0u);
  const std::vector<hpz_page> pages = take_all(pool);
  ASSERT_EQ(pages.size(), 4u);
  std::set<void *> bases;
  for (const hpz_page &page : pages) {
    EXPECT_TRUE(is_zero(page));
    EXPECT_EQ(page.len, kPoolPageBytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(page.base) % kPoolPageBytes, 0u);
    EXPECT_EQ(page.fd, -1) << "nobody else may map it";
    EXPECT_EQ(page.outcome, unsigned{HPZ_TAKE_HIT});
    EXPECT_TRUE(bases.insert(page.base).second);
    EXPECT_EQ(resident_bytes(page.base, page.len), page.len) << "populated, not promised";
  }
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 4, 0}));
  const hpz_pool_stats after = stats_of(pool);
  EXPECT_EQ(after.hits, 4u);
  EXPECT_EQ(after.misses + after.waits, 0u);
  EXPECT_EQ(after.cleared_bytes, 0u) << "row D11: the kernel has cleared them, once";
  EXPECT_LE(after.latency[0].min_ns, after.latency[0].mean_ns);
  EXPECT_LE(after.latency[0].mean_ns, after.latency[0].max_ns);
  EXPECT_GT(after.latency[0].max_ns, 0u);
  EXPECT_EQ(after.latency[1].max_ns, 0u);
}

TEST(Pool, many_at_once_in_structs_of_a_newer_caller) {
  const PoolPointer pool = manual_pool(3);
  struct Newer {
    hpz_page page;
    uint64_t more;
  } pages[5];
  for (Newer &each : pages) {
    each.page = HPZ_PAGE_INIT;
    each.page.size = sizeof(Newer);
    each.more = 77;
  }
  EXPECT_EQ(hpz_pool_take(pool.get(), nullptr, &pages[0].page, 5), 3) << "as many as there are";
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(pages[i].page.size, sizeof(Newer));
    EXPECT_EQ(pages[i].more, 0u) << "what the library does not know";
    EXPECT_TRUE(is_zero(pages[i].page));
  }
  EXPECT_EQ(pages[3].more, 77u);
  EXPECT_EQ(pages[3].page.base, nullptr);
  EXPECT_EQ(hpz_pool_give(pool.get(), &pages[0].page, 3, HPZ_GIVE_UNWRITTEN), 0);
  EXPECT_EQ(counts_of(pool), (Counts{3, 0, 0, 0, 0}));
}

// Row G1, in one thread: whatever a page held, who takes it sees zeroes.
TEST(Pool, field_G1_given_back_with_a_secret) {
  const PoolPointer pool = manual_pool(2);
  const int rounds = quick() ? 4 : 20;
  for (int i = 0; i < rounds; ++i) {
    for (const uint32_t how : {0u, HPZ_GIVE_CLEAR}) {
      const std::vector<hpz_page> pages = take_all(pool);
      ASSERT_EQ(pages.size(), 2u);
      for (const hpz_page &page : pages) {
        ASSERT_TRUE(is_zero(page));
        spoil(page);
        ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, how), 0);
      }
      const uint64_t clean = how == HPZ_GIVE_CLEAR ? 2 : 0;
      ASSERT_EQ(counts_of(pool), (Counts{clean, 2 - clean, 0, 0, 0}));
    }
  }
  const hpz_pool_stats stats = stats_of(pool);
  EXPECT_GT(stats.misses, 0u);
  EXPECT_GT(stats.hits, 0u);
  EXPECT_EQ(stats.cleared_bytes,
            (stats.misses + 2 * static_cast<uint64_t>(rounds)) * kPoolPageBytes);
  EXPECT_EQ(stats.filled_bytes, 0u);
  EXPECT_GT(stats.latency[HPZ_TAKE_MISS].min_ns, 0u);
}

TEST(Pool, given_twice_stale_or_of_nobody) {
  const PoolPointer pool = manual_pool(2), other = manual_pool(2);
  hpz_page first, second;
  ASSERT_EQ(take(pool, first), 1);
  EXPECT_EQ(hpz_pool_give(other.get(), &first, 1, 0), -EINVAL) << "of another pool";
  EXPECT_EQ(hpz_pool_give(pool.get(), &first, 1, HPZ_GIVE_UNWRITTEN), 0);
  EXPECT_EQ(hpz_pool_give(pool.get(), &first, 1, 0), -ESTALE) << "twice";
  ASSERT_EQ(take(pool, second), 1);
  ASSERT_EQ(second.base, first.base);
  EXPECT_NE(second.ticket, first.ticket);
  EXPECT_EQ(hpz_pool_give(pool.get(), &first, 1, 0), -ESTALE) << "somebody else has it now";
  EXPECT_EQ(counts_of(pool), (Counts{1, 0, 0, 1, 0}));
  hpz_page wrong = second;
  wrong.ticket += uint64_t{1} << 32;
  EXPECT_EQ(hpz_pool_give(pool.get(), &wrong, 1, 0), -EINVAL) << "a ticket of the future";
  wrong.ticket = 12345;
  EXPECT_EQ(hpz_pool_give(pool.get(), &wrong, 1, 0), -EINVAL);
  wrong.ticket = UINT64_MAX;
  EXPECT_EQ(hpz_pool_give(pool.get(), &wrong, 1, 0), -EINVAL);
  wrong = second;
  wrong.base = &wrong;
  EXPECT_EQ(hpz_pool_give(pool.get(), &wrong, 1, 0), -EINVAL);
  const hpz_page never = HPZ_PAGE_INIT;
  EXPECT_EQ(hpz_pool_give(pool.get(), &never, 1, 0), -EINVAL);
  // Among wrong ones the right one is given all the same.
  const hpz_page several[] = {first, second, second};
  EXPECT_EQ(hpz_pool_give(pool.get(), several, 3, 0), -ESTALE);
  EXPECT_EQ(counts_of(pool), (Counts{1, 1, 0, 0, 0}));
}

TEST(Pool, any_content_and_unwritten) {
  const PoolPointer pool = manual_pool(1);
  hpz_page page;
  ASSERT_EQ(take(pool, page, HPZ_TAKE_ANY_CONTENT), 1) << "a clean one will do, too";
  EXPECT_TRUE(is_zero(page));
  spoil(page);
  ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
  ASSERT_EQ(take(pool, page, HPZ_TAKE_ANY_CONTENT), 1);
  EXPECT_EQ(page.outcome, unsigned{HPZ_TAKE_HIT});
  EXPECT_TRUE(all_are(bytes_of(page), bytes_of(page) + page.len, kPoison, "as it was given"));
  ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, HPZ_GIVE_UNWRITTEN), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 1, 0, 0, 0})) << "unwritten, but never zero";
  ASSERT_EQ(take(pool, page), 1);
  EXPECT_EQ(page.outcome, unsigned{HPZ_TAKE_MISS});
  EXPECT_TRUE(is_zero(page));
  ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, HPZ_GIVE_UNWRITTEN), 0);
  EXPECT_EQ(counts_of(pool), (Counts{1, 0, 0, 0, 0}));
}

TEST(Pool, clean_only) {
  const PoolPointer pool = manual_pool(2);
  hpz_page page, other;
  ASSERT_EQ(take(pool, page, HPZ_TAKE_CLEAN_ONLY), 1);
  ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
  ASSERT_EQ(take(pool, other, HPZ_TAKE_CLEAN_ONLY), 1);
  EXPECT_EQ(take(pool, page, HPZ_TAKE_CLEAN_ONLY), -EAGAIN);
  EXPECT_EQ(take(pool, page, HPZ_TAKE_CLEAN_ONLY | HPZ_TAKE_AWAIT, in_ms(5)), -ETIMEDOUT);
  EXPECT_EQ(counts_of(pool), (Counts{0, 1, 0, 1, 0}));
  EXPECT_EQ(hpz_pool_fill(pool.get(), -1, 9), 1);
  EXPECT_EQ(take(pool, page, HPZ_TAKE_CLEAN_ONLY), 1);
  EXPECT_TRUE(is_zero(page));
}

// Row G9: an empty pool says so, at once or at the deadline.
TEST(Pool, field_G9_empty_pool) {
  const Watchdog watchdog;
  const PoolPointer pool = manual_pool(1);
  hpz_page page, none;
  ASSERT_EQ(take(pool, page), 1);
  EXPECT_EQ(take(pool, none), -ENOMEM);
  EXPECT_EQ(take(pool, none, HPZ_TAKE_ANY_CONTENT), -ENOMEM);
  EXPECT_EQ(take(pool, none, 0, in_ms(5)), -ENOMEM) << "a deadline is no wish to wait";
  EXPECT_EQ(take(pool, none, HPZ_TAKE_AWAIT, in_ms(5)), -ETIMEDOUT);
  EXPECT_EQ(none.base, nullptr);
  std::thread giver([&, taker = this_thread()] {
    wait_until([&] { return is_asleep(taker); });
    EXPECT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
  });
  hpz_page later;
  EXPECT_EQ(take(pool, later, HPZ_TAKE_AWAIT, in_ms(60'000)), 1);
  giver.join();
  EXPECT_EQ(later.outcome, unsigned{HPZ_TAKE_MISS});
  EXPECT_TRUE(is_zero(later));
}

// A miss that does not end in time leaves the page as it is, and what is done of it done.
TEST(Pool, deadline_of_a_miss) {
  const PoolPointer pool = manual_pool(1);
  hpz_page page;
  ASSERT_EQ(take(pool, page), 1);
  spoil(page);
  ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
  uint64_t tries = 0;
  int result;
  while ((result = take(pool, page, 0, 1)) == -ETIMEDOUT) {  // a time long past: chunk by chunk
    ++tries;
    ASSERT_EQ(counts_of(pool), (Counts{0, 1, 0, 0, 0}));
    ASSERT_EQ(stats_of(pool).cleared_bytes, tries * kPoolChunkBytes);
  }
  EXPECT_EQ(result, 1);
  EXPECT_EQ(tries, kPoolPageBytes / kPoolChunkBytes - 1);
  EXPECT_TRUE(is_zero(page));
  EXPECT_EQ(stats_of(pool).misses, 1u);
  EXPECT_EQ(stats_of(pool).cleared_bytes, kPoolPageBytes) << "nothing twice";
}

TEST(Pool, nodes) {
  const PoolPointer pool = make_pool(plain_options(1, HPZ_POOL_NO_FILLING));
  const int count = hpz_pool_nodes_get(pool.get(), nullptr, 0);
  ASSERT_GE(count, 1);
  std::vector<int32_t> nodes(static_cast<size_t>(count) + 1, -7);
  EXPECT_EQ(hpz_pool_nodes_get(pool.get(), nodes.data(), nodes.size()), count);
  EXPECT_EQ(nodes.back(), -7) << "not written";
  uint64_t pages = 0;
  for (int i = 0; i < count; ++i) {
    hpz_pool_stats stats = HPZ_POOL_STATS_INIT;
    ASSERT_EQ(hpz_pool_stats_get(pool.get(), nodes[static_cast<size_t>(i)], &stats), 0);
    pages += stats.clean;
  }
  EXPECT_EQ(pages, stats_of(pool).clean) << "these are all";
  EXPECT_EQ(hpz_pool_nodes_get(pool.get(), nullptr, 1), -EINVAL);
  EXPECT_EQ(hpz_pool_nodes_get(nullptr, nodes.data(), 1), -EINVAL);
}

TEST(Pool, fill) {
  const PoolPointer pool = manual_pool(3);
  EXPECT_EQ(hpz_pool_fill(pool.get(), -1, 3), 0) << "nothing is dirty";
  const std::vector<hpz_page> pages = take_all(pool);
  for (const hpz_page &page : pages) spoil(page);
  ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), pages.size(), 0), 0);
  EXPECT_EQ(hpz_pool_fill(pool.get(), -1, 0), 0);
  EXPECT_EQ(hpz_pool_fill(pool.get(), -1, 2), 2);
  EXPECT_EQ(counts_of(pool), (Counts{2, 1, 0, 0, 0}));
  EXPECT_EQ(hpz_pool_fill(pool.get(), pages[0].node, SIZE_MAX), 1);
  EXPECT_EQ(counts_of(pool), (Counts{3, 0, 0, 0, 0}));
  for (const hpz_page &page : take_all(pool, HPZ_TAKE_CLEAN_ONLY)) EXPECT_TRUE(is_zero(page));
}

// --- Growing and shrinking -----------------------------------------------------------------------

TEST(Pool, resize) {
  hpz_pool_options options = plain_options(0, kManual | HPZ_POOL_EMPTY);
  options.most_pages_per_node = 8;
  options.slab_bytes = 2 * kPoolPageBytes;
  const PoolPointer pool = make_pool(options);
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 0, 0}));
  hpz_page page;
  EXPECT_EQ(take(pool, page), -ENOMEM);
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 5), 0);
  EXPECT_EQ(counts_of(pool), (Counts{5, 0, 0, 0, 0}));
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 9), -EDQUOT);
  EXPECT_EQ(counts_of(pool), (Counts{5, 0, 0, 0, 0}));

  std::vector<hpz_page> pages = take_all(pool);
  ASSERT_EQ(pages.size(), 5u);
  for (const hpz_page &each : pages) spoil(each);
  ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), 2, 0), 0);
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 1), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 3, 0})) << "those that are taken stay so";
  EXPECT_EQ(hpz_pool_give(pool.get(), &pages[0], 1, 0), -ESTALE) << "it is gone";
  EXPECT_EQ(hpz_pool_give(pool.get(), &pages[2], 1, 0), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 2, 0})) << "given back to the kernel when given";
  EXPECT_EQ(hpz_pool_give(pool.get(), &pages[3], 1, HPZ_GIVE_CLEAR), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 1, 0}));
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 6), 0);
  // An emulator takes the advice to drop memory, and does nothing: what was there is not trusted.
  const int kept = hpz_pool_fill(pool.get(), -1, 5);
  if (!is_set("HPZERO_TEST_EMULATOR")) {
    EXPECT_EQ(kept, 0);
  }
  EXPECT_EQ(counts_of(pool), (Counts{5, 0, 0, 1, 0}));
  const std::vector<hpz_page> again = take_all(pool);
  ASSERT_EQ(again.size(), 5u);
  for (const hpz_page &each : again) {
    EXPECT_TRUE(is_zero(each)) << "of what the pages held before nothing is left";
    EXPECT_NE(each.base, pages[4].base);
    EXPECT_EQ(each.outcome, unsigned{HPZ_TAKE_HIT});
  }
  EXPECT_TRUE(all_are(bytes_of(pages[4]), bytes_of(pages[4]) + kPoolPageBytes, kPoison, "kept"));
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 0), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 6, 0}));
}

TEST(Pool, shrinking_gives_memory_back) {
  const PoolPointer pool = manual_pool(4);
  const std::vector<hpz_page> pages = take_all(pool);
  ASSERT_EQ(hpz_pool_give(pool.get(), &pages[1], 1, 0), 0);
  ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 3), 0);
  const size_t resident = resident_bytes(pages[1].base, kPoolPageBytes);  // the address stays
  if (!is_set("HPZERO_TEST_EMULATOR")) {  // qemu-user takes the advice, and does nothing
    ASSERT_EQ(resident, 0u);
  }
  // Nobody has the rest: the mapping goes.
  ASSERT_EQ(hpz_pool_give(pool.get(), &pages[0], 1, 0), 0);
  ASSERT_EQ(hpz_pool_give(pool.get(), &pages[2], 2, 0), 0);
  ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 0), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 0, 0}));
  std::vector<unsigned char> gone(kPoolPageBytes / static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(mincore(pages[1].base, kPoolPageBytes, gone.data()), -1);
  EXPECT_EQ(errno, ENOMEM);
}

// Up and down again and again: nothing is left of it, and tickets of before stay stale.
TEST(Pool, resized_many_times) {
  const PoolPointer pool = manual_pool(1);
  std::vector<hpz_page> past;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 1 + static_cast<size_t>(i) % 4), 0);
    const std::vector<hpz_page> pages = take_all(pool);
    ASSERT_EQ(pages.size(), 1 + static_cast<size_t>(i) % 4);
    for (const hpz_page &page : pages) {
      ASSERT_TRUE(is_zero(page));
      spoil(page);
    }
    for (const hpz_page &page : past) {
      const int result = hpz_pool_give(pool.get(), &page, 1, 0);
      ASSERT_TRUE(result == -ESTALE || result == -EINVAL) << result;
    }
    ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), pages.size(), 0), 0);
    past.insert(past.end(), pages.begin(), pages.end());
  }
}

TEST(Pool, growth_that_fails_changes_nothing) {
  const PoolPointer pool = manual_pool(2);
  const std::vector<hpz_page> pages = take_all(pool);
  ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), 1, 0), 0);
  // More than the address space has.
  const size_t too_many = (size_t{1} << 47) / kPoolPageBytes;
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, too_many), -ENOMEM);
  EXPECT_EQ(counts_of(pool), (Counts{0, 1, 0, 1, 0}));
  EXPECT_EQ(hpz_pool_give(pool.get(), &pages[1], 1, 0), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 2, 0, 0, 0})) << "none is too many";
}

// ... or more than a number of bytes can say: products of sizes wrap.
TEST(Pool, growth_beyond_all_numbers) {
  for (const uint64_t slab : {uint64_t{1} << 40, uint64_t{3} << 45}) {
    hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
    options.page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    options.slab_bytes = slab;
    options.flags = HPZ_POOL_PLAIN | HPZ_POOL_EXPORT | HPZ_POOL_EMPTY | HPZ_POOL_NO_FILLING;
    const PoolPointer pool = make_pool(options);
    EXPECT_EQ(hpz_pool_resize(pool.get(), -1, (size_t{1} << 24) + 1), -EINVAL);
    EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 174'763), -EINVAL);  // 3 * that is 1 modulo 2^19
    EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 0, 0}));
  }
}

// --- Poison --------------------------------------------------------------------------------------

TEST(Pool, poisoned_pages_are_neither_written_nor_handed_out) {
  const PoolPointer pool = manual_pool(4);
  std::vector<hpz_page> pages = take_all(pool);
  ASSERT_EQ(pages.size(), 4u);
  for (const hpz_page &page : pages) spoil(page);
  int here = 0;
  EXPECT_EQ(hpz_pool_poison(pool.get(), &here), -ENOENT);
  EXPECT_EQ(hpz_pool_poison(pool.get(), nullptr), -ENOENT);
  EXPECT_EQ(hpz_pool_poison(pool.get(), bytes_of(pages[0]) + 12345), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 4, 0})) << "its taker still has it";
  ASSERT_EQ(hpz_pool_give(pool.get(), &pages[0], 1, HPZ_GIVE_CLEAR), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 3, 1}));
  EXPECT_TRUE(all_are(bytes_of(pages[0]), bytes_of(pages[0]) + kPoolPageBytes, kPoison, "written"));
  ASSERT_EQ(hpz_pool_give(pool.get(), &pages[1], 1, 0), 0);
  EXPECT_EQ(hpz_pool_poison(pool.get(), pages[1].base), 0);  // dirty
  ASSERT_EQ(hpz_pool_give(pool.get(), &pages[2], 1, HPZ_GIVE_CLEAR), 0);
  EXPECT_EQ(hpz_pool_poison(pool.get(), pages[2].base), 0);  // clean
  EXPECT_EQ(hpz_pool_poison(pool.get(), pages[2].base), 0) << "again";
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 1, 3}));
  hpz_page page;
  EXPECT_EQ(take(pool, page), -ENOMEM);
  EXPECT_EQ(take(pool, page, HPZ_TAKE_ANY_CONTENT), -ENOMEM);
  EXPECT_EQ(hpz_pool_fill(pool.get(), -1, 4), 0);
  EXPECT_TRUE(all_are(bytes_of(pages[1]), bytes_of(pages[1]) + kPoolPageBytes, kPoison, "written"));
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 3), 0) << "poisoned ones do not count";
  EXPECT_EQ(counts_of(pool), (Counts{2, 0, 0, 1, 3}));
}

// --- Memory of the caller ------------------------------------------------------------------------

PoolPointer range_pool(const Memory &memory, size_t page_bytes, uint32_t flags = 0) {
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.page_bytes = page_bytes;
  options.base = memory.begin();
  options.len = memory.bytes();
  options.flags = kManual | flags;
  return make_pool(options);
}

TEST(Pool, range_of_the_caller) {
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const Memory memory(5 * page_bytes);
  memset(memory.begin(), kPoison, memory.bytes());
  const PoolPointer pool = range_pool(memory, page_bytes);
  EXPECT_EQ(stats_of(pool).backing, unsigned{HPZ_BACKING_RANGE});
  EXPECT_EQ(counts_of(pool), (Counts{0, 5, 0, 0, 0})) << "nobody knows what it holds";
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 6), -EOPNOTSUPP);
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 1), -EOPNOTSUPP);
  const std::vector<hpz_page> pages = take_all(pool);
  ASSERT_EQ(pages.size(), 5u);
  for (const hpz_page &page : pages) {
    EXPECT_TRUE(is_zero(page));
    EXPECT_GE(bytes_of(page), memory.begin());
    EXPECT_LE(bytes_of(page) + page.len, memory.end());
  }
}

TEST(Pool, range_that_reads_zero_stays_the_callers) {
  const Memory memory(4 * kPoolPageBytes + 2 * kPageBytes);
  unsigned char *const base =
      memory.begin() + ((0 - reinterpret_cast<uintptr_t>(memory.begin())) % kPoolPageBytes);
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.page_bytes = kPoolPageBytes;
  options.base = base;
  options.len = 2 * kPoolPageBytes;
  options.flags = kManual | HPZ_POOL_ZEROED;
  {
    const PoolPointer pool = make_pool(options);
    EXPECT_EQ(counts_of(pool), (Counts{2, 0, 0, 0, 0}));
    hpz_page page;
    ASSERT_EQ(take(pool, page), 1);
    spoil(page);
  }
  EXPECT_EQ(hpz_is_zero(base, options.len), 0) << "still there, with what the taker wrote";
  EXPECT_TRUE(all_are(base + options.len, memory.end(), 0, "behind"));
}

TEST(Pool, range_that_is_not_there) {
  // Past the end of a file: nobody else can come to be mapped there, as in a hole.
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const int fd = memfd_create("short", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(2 * page_bytes)), 0);
  const Memory memory(fd, 4 * page_bytes, MAP_SHARED);
  close(fd);
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.page_bytes = page_bytes;
  options.base = memory.begin();
  options.len = memory.bytes();
  hpz_pool *pool = nullptr;
  EXPECT_EQ(hpz_pool_create(&options, &pool), -EFAULT);
  EXPECT_EQ(pool, nullptr);
  ASSERT_EQ(mprotect(memory.begin(), page_bytes, PROT_READ), 0);
  EXPECT_EQ(hpz_pool_create(&options, &pool), -EACCES);
  EXPECT_EQ(pool, nullptr);
}

TEST(Pool, transparent_huge_pages) {
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.page_bytes = kPoolPageBytes;
  options.pages_per_node = 2;
  options.flags = HPZ_POOL_THP | kManual;
  const PoolPointer pool = make_pool(options);
  EXPECT_EQ(stats_of(pool).backing, unsigned{HPZ_BACKING_THP});
  const std::vector<hpz_page> pages = take_all(pool);
  ASSERT_EQ(pages.size(), 2u);
  for (const hpz_page &page : pages) {
    EXPECT_TRUE(is_zero(page));
    spoil(page);
  }
  ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), 1, 0), 0);
  ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 1), 0);
  ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 2), 0);
  hpz_page page;
  ASSERT_EQ(take(pool, page), 1);
  EXPECT_TRUE(is_zero(page));
}

// A pool says that it has them where it has them, and knows: that takes a kernel which tells.
TEST(Pool, says_whether_it_has_transparent_huge_pages) {
  const auto base_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const std::string why_none = why_no_transparent_pages();
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.page_bytes = kPoolPageBytes;
  options.pages_per_node = 2;
  options.flags = HPZ_POOL_THP | kManual;
  bool has_said = false;
  for (int i = 0; i < 20 && !has_said; ++i) {
    if (i != 0) usleep(50'000);
    const PoolPointer pool = make_pool(options);
    const std::vector<hpz_page> pages = take_all(pool);
    ASSERT_EQ(pages.size(), 2u);
    const auto begin = std::min(bytes_of(pages[0]), bytes_of(pages[1]));
    const bool is_huge = transparent_bytes(begin, 2 * kPoolPageBytes) >= 2 * kPoolPageBytes;
    const uint64_t obtained = stats_of(pool).obtained_page_bytes;
    if (obtained != base_bytes) {
      EXPECT_EQ(obtained, kHugeBytes);
      EXPECT_TRUE(is_huge) << "by what the kernel counts";
      EXPECT_TRUE(can_scan()) << "how does it know?";
    }
    if (!why_none.empty()) {
      EXPECT_EQ(obtained, base_bytes);
      GTEST_SKIP() << why_none;
    }
    if (is_set("HPZERO_TEST_EMULATOR")) {
      GTEST_SKIP() << "NOT TESTED HERE: qemu-user takes the advice, and does nothing";
    }
    has_said = is_huge && (obtained == kHugeBytes) == can_scan();
  }
  EXPECT_TRUE(has_said) << "none to be had, though they are switched on, or they were not told";
}

}  // namespace
}  // namespace hpz::test
