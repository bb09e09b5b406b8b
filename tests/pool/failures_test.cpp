// SPDX-License-Identifier: BSD-2-Clause
//
// Everything that can fail, fails: the first call of it, the second, and so on (counting_caller.h).
// The library's objects are linked in, with their calls of the C library wrapped.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <sched.h>
#include <unistd.h>

#include <ostream>
#include <thread>
#include <vector>

#include "tests/pool/counting_caller.h"
#include "tests/pool/failing_calls.h"
#include "tests/pool/held_memory.h"
#include "tests/pool/pools.h"
#include "tests/support/memory.h"
#include "tests/support/threads.h"
#include "tests/support/watchdog.h"

namespace hpz::test {
namespace {

constexpr size_t kSmallBytes = size_t{64} << 10;

hpz_pool_options small_options(uint64_t pages, uint32_t flags) {
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.page_bytes = kSmallBytes;
  options.pages_per_node = pages;
  options.flags = flags;
  return options;
}

struct Failing {
  uint32_t flags;  // 0: the caller's memory
  int no_memory;
};
// Short: what the C++ library allocates for a longer text MemorySanitizer does not see written.
void PrintTo(const Failing &failing, std::ostream *out) {
  *out << failing.flags << ' ' << failing.no_memory;
}
class EveryCall : public testing::TestWithParam<Failing> {};
INSTANTIATE_TEST_SUITE_P(Pool, EveryCall,
                         testing::Values(Failing{HPZ_POOL_PLAIN, ENOMEM},
                                         Failing{HPZ_POOL_PLAIN | HPZ_POOL_EXPORT, ENOMEM},
                                         Failing{HPZ_POOL_PLAIN | HPZ_POOL_EXPORT, EAGAIN},
                                         Failing{HPZ_POOL_THP, ENOMEM}, Failing{0, ENOMEM}));

TEST_P(EveryCall, fails_once) {
  const Watchdog watchdog(150);
  failing_calls.no_memory = GetParam().no_memory;
  const Memory memory(5 * kSmallBytes);
  hpz_pool_options kind = small_options(0, GetParam().flags | HPZ_POOL_NO_FILLING);
  if (GetParam().flags == 0) {
    const auto begin = reinterpret_cast<uintptr_t>(memory.begin());
    kind.base = memory.begin() + (0 - begin) % kSmallBytes;
    kind.len = 4 * kSmallBytes;
  }
  fail_each_call(kind, [] {});
}

// What comes back while the pool grows is kept; if growing fails, it is too many after all.
TEST(PoolFailures, a_page_given_while_growth_fails) {
  static hpz_pool *growing;
  static hpz_page pages[3];
  const hpz_pool_options options = small_options(3, HPZ_POOL_PLAIN | HPZ_POOL_NO_FILLING);
  const PoolPointer pool = make_pool(options);
  for (hpz_page &page : pages) ASSERT_EQ(take(pool, page), 1);
  ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 1), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 3, 0}));
  growing = pool.get();
  failing_calls.no_memory = ENOMEM;
  failing_calls.before_failing = [] { EXPECT_EQ(hpz_pool_give(growing, pages, 1, 0), 0); };
  failing_calls.left = 0;
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 5), -ENOMEM);
  failing_calls.left = -1;
  EXPECT_EQ(failing_calls.before_failing, nullptr) << "nothing has failed";
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 2, 0}));
}

// A filler of the idle class ends its chunk, and would sink again, between a taker's word that it
// lifts it and the deed: it would be an ordinary thread from then on.
TEST(PoolFailures, a_filler_that_sinks_while_it_is_lifted) {
  if (!idle_class().has_way_out) {
    GTEST_SKIP() << "NOT TESTED HERE: SCHED_IDLE is refused, or the way out of it";
  }
  const Watchdog watchdog;
  const HeldMemory memory(1);
  const PoolPointer pool = memory.pool(HPZ_POOL_IDLE | HPZ_POOL_NO_FILLING);
  memory.hold(0, 0);
  ASSERT_EQ(hpz_pool_set_filling(pool.get(), -1, 1), 0);
  wait_until([] { return HeldMemory::reached() == 1; });
  EXPECT_EQ(stats_of(pool).flags & (HPZ_POOL_NO_IDLE | HPZ_POOL_NO_LIFT), 0u);
  const std::vector<pid_t> fillers = threads_named("hpzero-fill");
  ASSERT_EQ(fillers.size(), 1u);
  failing_calls.lifters_stop = true;
  hpz_page page;
  std::thread taker([&] { EXPECT_EQ(take(pool, page), 1); });
  wait_until([] { return failing_calls.has_stopped.load(); });
  HeldMemory::release();
  wait_until(
      [&] { return stats_of(pool).filled_bytes == kPoolChunkBytes && is_asleep(fillers[0]); });
  failing_calls.lifters_stop = false;
  taker.join();
  spoil(page);
  memory.hold(0, 0);
  ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
  wait_until([] { return HeldMemory::reached() == 2; });
  EXPECT_EQ(scheduler_of(fillers[0]), SCHED_IDLE);
  HeldMemory::release();
  wait_until([&] { return stats_of(pool).clean == 1; });
}

}  // namespace
}  // namespace hpz::test
