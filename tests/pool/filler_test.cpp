// SPDX-License-Identifier: BSD-2-Clause
//
// Fillers, and takers that meet one. What depends on who comes first is held in the chunk in which
// it is wanted (held_memory.h).
#include <errno.h>
#include <gmock/gmock.h>
#include <hpzero/hpzero.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>

#include "tests/pool/held_memory.h"
#include "tests/pool/pools.h"
#include "tests/pool/taking_thread.h"
#include "tests/support/settings.h"
#include "tests/support/threads.h"
#include "tests/support/watchdog.h"

namespace hpz::test {
namespace {

std::vector<pid_t> fillers() {
  return threads_named("hpzero-fill");
}
// Names are set by the threads themselves, once they run.
pid_t wait_for_filler() {
  wait_until([] { return fillers().size() == 1; });
  return fillers()[0];
}
// Those of the test before may be a moment in the kernel yet.
class Filler : public testing::Test {
 protected:
  Filler() {
    wait_until([] { return fillers().empty(); });
  }

 private:
  const Watchdog watchdog_;
};

void set_filling(const PoolPointer &pool, bool on) {
  ASSERT_EQ(hpz_pool_set_filling(pool.get(), -1, on ? 1 : 0), 0);
}

TEST_F(Filler, clears_what_is_given) {
  const PoolPointer pool = make_pool(plain_options(4));
  EXPECT_EQ(stats_of(pool).flags & (HPZ_POOL_FILLS | HPZ_POOL_FEWER), HPZ_POOL_FILLS);
  const int rounds = quick() ? 2 : 8;
  for (int i = 0; i < rounds; ++i) {
    const std::vector<hpz_page> pages = take_all(pool);
    ASSERT_EQ(pages.size(), 4u);
    for (const hpz_page &page : pages) {
      EXPECT_TRUE(is_zero(page));
      spoil(page);
    }
    ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), pages.size(), 0), 0);
    wait_until([&] { return stats_of(pool).clean == 4; });
    EXPECT_EQ(counts_of(pool), (Counts{4, 0, 0, 0, 0}));
  }
  const hpz_pool_stats stats = stats_of(pool);
  EXPECT_EQ(stats.filled_bytes, static_cast<uint64_t>(rounds) * 4 * kPoolPageBytes);
  EXPECT_EQ(stats.cleared_bytes, 0u);
  EXPECT_EQ(stats.hits, static_cast<uint64_t>(rounds) * 4);
  EXPECT_GT(stats.filler_cpu_ns, 0u);
}

TEST_F(Filler, is_a_thread_that_bothers_nobody) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  {
    const PoolPointer pool = make_pool(plain_options(1));
    const pid_t filler = wait_for_filler();
    cpu_set_t cpus;
    ASSERT_EQ(sched_getaffinity(filler, sizeof cpus, &cpus), 0);
    CPU_AND(&after, &cpus, &before);
    EXPECT_TRUE(CPU_EQUAL(&after, &cpus)) << "inside of its creator's";
    // Row F25: all but the synchronous signals.
    const uint64_t blocked = strtoull(status_of(filler, "SigBlk").c_str(), nullptr, 16);
    for (const int signal : {SIGTERM, SIGALRM, SIGCHLD, SIGINT, SIGUSR1}) {
      EXPECT_NE(blocked >> (signal - 1) & 1, 0u) << signal;
    }
    for (const int signal : {SIGSEGV, SIGBUS}) {
      EXPECT_EQ(blocked >> (signal - 1) & 1, 0u) << signal;
    }
    EXPECT_EQ(scheduler_of(filler), SCHED_OTHER);
  }
  wait_until([] { return fillers().empty(); });
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&after, &before));
}

TEST_F(Filler, runs_where_it_is_told) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const int last = last_cpu();
  const std::string list = std::to_string(last);
  hpz_pool_options options = plain_options(1);
  options.cpus = list.c_str();
  const PoolPointer pool = make_pool(options);
  cpu_set_t cpus;
  ASSERT_EQ(sched_getaffinity(wait_for_filler(), sizeof cpus, &cpus), 0);
  const bool may_pin = sched_setaffinity(0, sizeof allowed, &allowed) == 0;  // as it is already
  EXPECT_EQ((stats_of(pool).flags & HPZ_POOL_UNPINNED) == 0, may_pin);
  if (!may_pin) GTEST_SKIP() << "NOT TESTED HERE: pinning is refused";
  EXPECT_EQ(CPU_COUNT(&cpus), 1);
  EXPECT_TRUE(CPU_ISSET(static_cast<size_t>(last), &cpus));
}

TEST_F(Filler, there_is_none_before_it_is_asked_for) {
  const HeldMemory memory(1);
  const PoolPointer pool = memory.pool();
  EXPECT_TRUE(fillers().empty());
  set_filling(pool, false);
  EXPECT_TRUE(fillers().empty());
  EXPECT_EQ(stats_of(pool).flags & HPZ_POOL_FILLS, 0u);
  set_filling(pool, true);
  EXPECT_NE(stats_of(pool).flags & HPZ_POOL_FILLS, 0u);
  wait_until([&] { return stats_of(pool).clean == 1; });
  EXPECT_EQ(stats_of(pool).filled_bytes, kPoolPageBytes);
  hpz_page page;
  ASSERT_EQ(take(pool, page, HPZ_TAKE_CLEAN_ONLY), 1);
  EXPECT_TRUE(is_zero(page));
}

TEST_F(Filler, stops_within_a_chunk_and_goes_on_where_it_was) {
  const HeldMemory memory(1);
  const PoolPointer pool = memory.pool();
  memory.hold(0, 2);
  set_filling(pool, true);
  wait_until([] { return HeldMemory::reached() == 1; });
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 1, 0, 0}));
  set_filling(pool, false);
  memory.release();
  wait_until([&] { return stats_of(pool).busy == 0; });
  EXPECT_EQ(counts_of(pool), (Counts{0, 1, 0, 0, 0}));
  EXPECT_EQ(stats_of(pool).filled_bytes, 3 * kPoolChunkBytes);
  hpz_page page;
  ASSERT_EQ(take(pool, page), 1);
  EXPECT_TRUE(is_zero(page));
  EXPECT_EQ(stats_of(pool).cleared_bytes, kPoolPageBytes - 3 * kPoolChunkBytes)
      << "what is done is done";
}

// --- A taker meets it ----------------------------------------------------------------------------

TEST_F(Filler, a_taker_helps_and_waits_for_the_last_chunk) {
  for (const uint32_t flags : {0u, HPZ_TAKE_ANY_CONTENT}) {
    const HeldMemory memory(1);
    const PoolPointer pool = memory.pool();
    memory.hold(0, 0);
    set_filling(pool, true);
    wait_until([] { return HeldMemory::reached() == 1; });
    hpz_page none;
    EXPECT_EQ(take(pool, none, flags | HPZ_TAKE_CLEAN_ONLY), -EAGAIN);
    TakingThread taker(pool, flags);
    wait_until([&] { return stats_of(pool).cleared_bytes == kPoolPageBytes - kPoolChunkBytes; });
    taker.wait_until_asleep();
    EXPECT_FALSE(taker.is_back()) << "somebody is writing to it";
    EXPECT_EQ(counts_of(pool), (Counts{0, 0, 1, 0, 0}));
    EXPECT_EQ(take(pool, none), -ENOMEM) << "one page, and it is spoken for";
    memory.release();
    const hpz_page page = taker.page();
    EXPECT_EQ(page.outcome, unsigned{HPZ_TAKE_WAIT});
    EXPECT_TRUE(is_zero(page));
    const hpz_pool_stats stats = stats_of(pool);
    EXPECT_EQ(stats.waits, 1u);
    EXPECT_EQ(stats.misses, 0u);
    EXPECT_EQ(stats.filled_bytes, kPoolChunkBytes);
    EXPECT_GT(stats.latency[HPZ_TAKE_WAIT].max_ns, 0u);
    EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 1, 0}));
  }
}

TEST_F(Filler, a_taker_prefers_what_nobody_is_at) {
  const HeldMemory memory(2);
  const PoolPointer pool = memory.pool();
  memory.hold(0, 0);
  set_filling(pool, true);
  wait_until([] { return HeldMemory::reached() == 1; });
  hpz_page page;
  ASSERT_EQ(take(pool, page), 1);
  EXPECT_EQ(page.outcome, unsigned{HPZ_TAKE_MISS});
  EXPECT_TRUE(is_zero(page));
  memory.release();
}

TEST_F(Filler, a_page_in_work_is_given_by_nobody) {
  const HeldMemory memory(1);
  const PoolPointer pool = memory.pool();
  hpz_page past, page;
  ASSERT_EQ(take(pool, past), 1);
  ASSERT_EQ(hpz_pool_give(pool.get(), &past, 1, 0), 0);
  memory.hold(0, 0);
  set_filling(pool, true);
  wait_until([] { return HeldMemory::reached() == 1; });
  for (const uint32_t how : {0u, HPZ_GIVE_CLEAR, HPZ_GIVE_UNWRITTEN}) {
    EXPECT_EQ(hpz_pool_give(pool.get(), &past, 1, how), -ESTALE);
  }
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 1, 0, 0}));
  // ... nor by who had it before its next taker, who waits for the chunk.
  TakingThread taker(pool);
  wait_until([&] { return stats_of(pool).cleared_bytes == 2 * kPoolPageBytes - kPoolChunkBytes; });
  EXPECT_EQ(hpz_pool_give(pool.get(), &past, 1, 0), -ESTALE);
  memory.release();
  page = taker.page();
  EXPECT_TRUE(is_zero(page));
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 1, 0}));
}

TEST_F(Filler, a_taker_that_runs_out_of_time) {
  const HeldMemory memory(1);
  const PoolPointer pool = memory.pool();
  memory.hold(0, 0);
  set_filling(pool, true);
  wait_until([] { return HeldMemory::reached() == 1; });
  hpz_page page;
  EXPECT_EQ(take(pool, page, 0, in_ms(20)), -ETIMEDOUT);
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 1, 0, 0}));
  memory.release();
  wait_until([&] { return stats_of(pool).clean == 1; });
  const hpz_pool_stats stats = stats_of(pool);
  EXPECT_EQ(stats.filled_bytes + stats.cleared_bytes, kPoolPageBytes);
  EXPECT_EQ(stats.waits, 0u);
  ASSERT_EQ(take(pool, page, HPZ_TAKE_CLEAN_ONLY), 1);
  EXPECT_TRUE(is_zero(page));
}

// One thread can fill the path to the memory: while a taker is at work, nobody begins another page.
TEST_F(Filler, helps_a_taker_that_clears) {
  const HeldMemory memory(2);
  const PoolPointer pool = memory.pool();
  memory.hold(0, 0);
  TakingThread taker(pool);
  wait_until([] { return HeldMemory::reached() == 1; });
  set_filling(pool, true);
  wait_until([&] { return stats_of(pool).filled_bytes == kPoolPageBytes - kPoolChunkBytes; });
  const pid_t filler = wait_for_filler();
  wait_until([&] { return is_asleep(filler); });  // in place of beginning another
  EXPECT_EQ(stats_of(pool).filled_bytes, kPoolPageBytes - kPoolChunkBytes);
  EXPECT_EQ(counts_of(pool), (Counts{0, 1, 1, 0, 0}));
  EXPECT_FALSE(taker.is_back());
  memory.release();
  const hpz_page page = taker.page();
  EXPECT_EQ(page.outcome, unsigned{HPZ_TAKE_MISS});
  EXPECT_TRUE(is_zero(page));
  EXPECT_EQ(stats_of(pool).cleared_bytes, kPoolChunkBytes);
  wait_until([&] { return stats_of(pool).clean == 1; });
}

TEST_F(Filler, a_taker_waits_for_the_chunk_of_its_helper) {
  const HeldMemory memory(1);
  const PoolPointer pool = memory.pool();
  memory.hold(0, 0);
  TakingThread taker(pool);
  wait_until([] { return HeldMemory::reached() == 1; });
  memory.hold(0, 1);  // the helper's first
  set_filling(pool, true);
  wait_until([] { return HeldMemory::reached() == 2; });
  memory.release(0);
  wait_until([&] { return stats_of(pool).cleared_bytes == kPoolPageBytes - kPoolChunkBytes; });
  taker.wait_until_asleep();
  EXPECT_FALSE(taker.is_back()) << "somebody is writing to it";
  memory.release(1);
  const hpz_page page = taker.page();
  EXPECT_TRUE(is_zero(page));
  EXPECT_EQ(stats_of(pool).misses, 1u);
}

TEST_F(Filler, is_of_no_real_time_class) {
  std::thread creator([] {
    const sched_param parameter = {1};
    if (sched_setscheduler(0, SCHED_RR, &parameter) != 0) {
      GTEST_SKIP() << "NOT TESTED HERE: this process may not have a real-time class";
    }
    const PoolPointer pool = make_pool(plain_options(1));
    const pid_t filler = wait_for_filler();
    wait_until([&] { return scheduler_of(filler) == SCHED_OTHER; });
    EXPECT_EQ(scheduler_of(0), SCHED_RR) << "the creator's own";
  });
  creator.join();
}

// One of the idle class might keep its taker waiting.
TEST_F(Filler, of_the_idle_class_rests_while_a_taker_clears) {
  const HeldMemory memory(2);
  const PoolPointer pool = memory.pool(HPZ_POOL_IDLE | HPZ_POOL_NO_FILLING);
  memory.hold(0, 0);
  TakingThread taker(pool);
  wait_until([] { return HeldMemory::reached() == 1; });
  set_filling(pool, true);
  const pid_t filler = wait_for_filler();
  wait_until([&] { return is_asleep(filler); });  // in place of beginning one
  EXPECT_EQ(stats_of(pool).filled_bytes, 0u);
  EXPECT_EQ(counts_of(pool), (Counts{0, 1, 1, 0, 0}));
  memory.release();
  EXPECT_TRUE(is_zero(taker.page()));
  wait_until([&] { return stats_of(pool).clean == 1; });
}

TEST_F(Filler, leaves_a_page_to_shrinking) {
  const PoolPointer pool = make_pool(plain_options(3));
  for (int i = 0; i < (quick() ? 3 : 20); ++i) {
    const std::vector<hpz_page> pages = take_all(pool);
    ASSERT_EQ(pages.size(), 3u);
    for (const hpz_page &page : pages) ASSERT_TRUE(is_zero(page));
    ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), 3, 0), 0);
    usleep(static_cast<unsigned>(i) * 100);
    ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 0), 0);
    ASSERT_EQ(counts_of(pool), (Counts{0, 0, 0, 0, 0})) << "also the one that was busy";
    ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 3), 0);
  }
}

// A page that is being cleared when the pool shrinks, by somebody who does not take it.
void leave_after_shrinking(const std::function<void(const PoolPointer &, hpz_page)> &clear,
                           bool is_taken) {
  const HeldMemory memory(1);
  const PoolPointer pool = make_pool(plain_options(1, HPZ_POOL_NO_FILLING));
  hpz_page page;
  ASSERT_EQ(take(pool, page), 1);
  if (!is_taken) {
    ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
  }
  HeldMemory::hold_at(bytes_of(page));
  std::thread worker([&] { clear(pool, page); });
  wait_until([] { return HeldMemory::reached() == 1; });
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 0), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 1, 0, 0}));
  HeldMemory::release();
  worker.join();
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 0, 0})) << "it has come back";
}
TEST_F(Filler, whoever_leaves_a_page_after_shrinking_gives_it_back) {
  leave_after_shrinking(
      [](const PoolPointer &pool, hpz_page page) {
        EXPECT_EQ(take(pool, page, 0, 1), -ETIMEDOUT) << "after one chunk";
      },
      false);
  leave_after_shrinking([](const PoolPointer &pool,
                           const hpz_page &) { EXPECT_EQ(hpz_pool_fill(pool.get(), -1, 1), 1); },
                        false);
  leave_after_shrinking(
      [](const PoolPointer &pool, const hpz_page &page) {
        EXPECT_EQ(hpz_pool_give(pool.get(), &page, 1, HPZ_GIVE_CLEAR), 0);
      },
      true);
}

TEST_F(Filler, poison_of_the_page_in_work) {
  const HeldMemory memory(2);
  const PoolPointer pool = memory.pool();
  memory.hold(0, 1);
  set_filling(pool, true);
  wait_until([] { return HeldMemory::reached() == 1; });
  EXPECT_EQ(hpz_pool_poison(pool.get(), memory.begin() + 7), 0);
  memory.release();
  wait_until([&] { return stats_of(pool).clean == 1; });
  EXPECT_EQ(counts_of(pool), (Counts{1, 0, 0, 0, 1}));
  EXPECT_TRUE(all_are(memory.begin() + 2 * kPoolChunkBytes, memory.begin() + kPoolPageBytes,
                      kPoison, "behind the chunk that was in work"));
}

// Faults of a range that is no longer there, given to the library: no page of it is handed out.
TEST_F(Filler, memory_that_is_gone) {
  const HeldMemory memory(3);
  const PoolPointer pool = memory.pool();
  ASSERT_EQ(mprotect(memory.begin() + 3 * kPoolChunkBytes, kPageBytes, PROT_READ), 0);
  ASSERT_EQ(mprotect(memory.begin() + kPoolPageBytes, kPageBytes, PROT_READ), 0);
  hpz_page page;
  ASSERT_EQ(take(pool, page), 1) << "the taker gets another one";
  EXPECT_EQ(page.base, memory.begin() + 2 * kPoolPageBytes);
  EXPECT_TRUE(is_zero(page));
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 1, 2}));
  EXPECT_EQ(stats_of(pool).misses, 1u);
  EXPECT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
  ASSERT_EQ(mprotect(memory.begin() + 2 * kPoolPageBytes, kPageBytes, PROT_READ), 0);
  set_filling(pool, true);
  wait_until([&] { return stats_of(pool).poisoned == 3; });
  EXPECT_EQ(take(pool, page), -ENOMEM);
}

TEST_F(Filler, what_faults_is_not_filled) {
  const HeldMemory memory(3);
  const PoolPointer pool = memory.pool();
  ASSERT_EQ(mprotect(memory.begin() + kPoolPageBytes, kPageBytes, PROT_READ), 0);
  EXPECT_EQ(hpz_pool_fill(pool.get(), -1, 3), 2);
  EXPECT_EQ(counts_of(pool), (Counts{2, 0, 0, 0, 1}));
}

// --- Politeness ----------------------------------------------------------------------------------

TEST_F(Filler, rate_limit) {
  constexpr uint64_t kRate = 20 * kPoolChunkBytes;
  hpz_pool_options options = plain_options(2, HPZ_POOL_NO_FILLING);
  options.fill_bytes_per_s = kRate;
  const PoolPointer pool = make_pool(options);
  const std::vector<hpz_page> pages = take_all(pool);
  ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), 2, 0), 0);
  const uint64_t begin_ns = in_ms(0);
  set_filling(pool, true);
  uint64_t filled = 0;
  while (filled < 6 * kPoolChunkBytes) {
    filled = stats_of(pool).filled_bytes;
    const double seconds = static_cast<double>(in_ms(0) - begin_ns) / 1e9;
    // A chunk is cleared, then paid for.
    ASSERT_LE(static_cast<double>(filled), kPoolChunkBytes + seconds * kRate);
    usleep(500);
  }
  // What a taker needs it gets at once.
  hpz_page page;
  ASSERT_EQ(take(pool, page), 1);
  EXPECT_TRUE(is_zero(page));
}

TEST_F(Filler, idle_class_and_the_way_out_of_it) {
  const IdleClass kernel = idle_class();
  if (!kernel.is_granted) GTEST_SKIP() << "NOT TESTED HERE: SCHED_IDLE is refused";
  const HeldMemory memory(1);
  const PoolPointer pool = memory.pool(HPZ_POOL_IDLE | HPZ_POOL_NO_FILLING);
  memory.hold(0, 0);
  set_filling(pool, true);
  const pid_t filler = wait_for_filler();
  wait_until([] { return HeldMemory::reached() == 1; });
  const uint32_t flags = stats_of(pool).flags;
  EXPECT_EQ(flags & HPZ_POOL_NO_IDLE, 0u);
  EXPECT_EQ((flags & HPZ_POOL_NO_LIFT) == 0, kernel.has_way_out);
  EXPECT_EQ(scheduler_of(filler), SCHED_IDLE);
  TakingThread taker(pool);
  if (kernel.has_way_out) {
    wait_until([&] { return scheduler_of(filler) == SCHED_OTHER; });
  }
  memory.release();
  const hpz_page page = taker.page();
  EXPECT_TRUE(is_zero(page));
  EXPECT_EQ(page.outcome, unsigned{HPZ_TAKE_WAIT});
  ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
  wait_until([&] { return stats_of(pool).clean == 1; });
  wait_until([&] { return scheduler_of(filler) == SCHED_IDLE; });
  if (!kernel.has_way_out) {
    GTEST_SKIP() << "NOT TESTED HERE: the kernel allows no way out of SCHED_IDLE";
  }
}

}  // namespace
}  // namespace hpz::test
