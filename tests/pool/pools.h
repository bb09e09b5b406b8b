// SPDX-License-Identifier: BSD-2-Clause
//
// Pools for tests: small ones, of memory that every machine has unless a test says otherwise.
#ifndef HPZERO_TESTS_POOL_POOLS_H
#define HPZERO_TESTS_POOL_POOLS_H

#include <gtest/gtest.h>
#include <hpzero/pool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/guarded_buffer.h"
#include "tests/support/scratch_folder.h"

namespace hpz::test {

using PoolPointer = std::unique_ptr<hpz_pool, decltype(&hpz_pool_destroy)>;

// Eight chunks to a page.
inline constexpr size_t kPoolPageBytes = size_t{4} << 20;
inline constexpr size_t kPoolChunkBytes = size_t{512} << 10;

inline hpz_pool_options plain_options(uint64_t pages, uint32_t flags = 0) {
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.page_bytes = kPoolPageBytes;
  options.pages_per_node = pages;
  options.flags = HPZ_POOL_PLAIN | flags;
  return options;
}

// A failure of the test if there is none.
inline PoolPointer make_pool(const hpz_pool_options &options) {
  hpz_pool *pool = nullptr;
  EXPECT_EQ(hpz_pool_create(&options, &pool), 0);
  return {pool, hpz_pool_destroy};
}

inline hpz_pool_stats stats_of(const PoolPointer &pool, int node = -1) {
  hpz_pool_stats stats = HPZ_POOL_STATS_INIT;
  EXPECT_EQ(hpz_pool_stats_get(pool.get(), node, &stats), 0);
  return stats;
}

// clean, dirty, busy, taken, poisoned.
inline std::vector<uint64_t> counts_of(const PoolPointer &pool) {
  const hpz_pool_stats stats = stats_of(pool);
  return {stats.clean, stats.dirty, stats.busy, stats.taken, stats.poisoned};
}
using Counts = std::vector<uint64_t>;

inline hpz_take_options take_options(uint32_t flags, uint64_t deadline_ns = 0) {
  hpz_take_options options = HPZ_TAKE_OPTIONS_INIT;
  options.flags = flags;
  options.deadline_ns = deadline_ns;
  return options;
}

inline uint64_t in_ms(uint64_t ms) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec) +
         ms * 1'000'000;
}

inline int take(const PoolPointer &pool, hpz_page &page, uint32_t flags = 0,
                uint64_t deadline_ns = 0) {
  const hpz_take_options options = take_options(flags, deadline_ns);
  page = HPZ_PAGE_INIT;
  return hpz_pool_take(pool.get(), &options, &page, 1);
}

// As many as there are.
inline std::vector<hpz_page> take_all(const PoolPointer &pool, uint32_t flags = 0) {
  std::vector<hpz_page> pages;
  hpz_page page;
  while (take(pool, page, flags) == 1) pages.push_back(page);
  return pages;
}

inline unsigned char *bytes_of(const hpz_page &page) {
  return static_cast<unsigned char *>(page.base);
}
inline testing::AssertionResult is_zero(const hpz_page &page) {
  return all_are(bytes_of(page), bytes_of(page) + page.len, 0, "the page that was taken");
}
inline void spoil(const hpz_page &page) {
  memset(page.base, kPoison, page.len);
}

// Mappings of this process that a pool has made, of shared memory.
inline size_t pools_mappings() {
  const std::string maps = read_file("/proc/self/maps");
  size_t count = 0;
  for (const char *const name : {"/memfd:hpzero_pool", "/dev/zero"}) {
    for (size_t at = maps.find(name); at != std::string::npos; at = maps.find(name, at + 1)) {
      ++count;
    }
  }
  return count;
}

// What comes, if not at once. Who uses it has a Watchdog.
template <class Condition> void wait_until(const Condition &condition) {
  while (!condition()) usleep(500);
}

}  // namespace hpz::test

#endif
