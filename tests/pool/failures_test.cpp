// SPDX-License-Identifier: BSD-2-Clause
//
// Everything that can fail, fails: the first call of it, the second, and so on. After each failure
// the counters are the truth, what is handed out reads zero, and when the pool is gone nothing is
// left of it. The library's objects are linked in, with their calls of the C library wrapped.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/pool/held_memory.h"
#include "tests/pool/pools.h"
#include "tests/support/settings.h"
#include "tests/support/threads.h"
#include "tests/support/watchdog.h"

namespace {

std::atomic<int64_t> calls_left{-1};  // negative: nothing fails
std::atomic<bool> has_failed{false};
// What mmap and madvise say: the latter for ENOMEM, too, and both of a program that locks its
// memory.
int no_memory = ENOMEM;
// What happens just then, once.
void (*before_failing)() = nullptr;

// Whoever lifts a filler out of its class stops on the way into the kernel, while that is wanted.
std::atomic<bool> lifters_stop{false}, has_stopped{false};

bool fails_now() {
  if (calls_left.load() < 0) return false;
  if (calls_left.fetch_sub(1) != 0) return false;
  has_failed = true;
  if (before_failing != nullptr) std::exchange(before_failing, nullptr)();
  return true;
}

}  // namespace

// The linker makes these of the names that the library's objects use (--wrap).
extern "C" {
#define HPZERO_WRAP(result, name, parameters) \
  result __real_##name parameters;            \
  result __wrap_##name parameters;            \
  result __wrap_##name parameters

HPZERO_WRAP(void *, malloc, (size_t size)) {
  return fails_now() ? nullptr : __real_malloc(size);
}
HPZERO_WRAP(void *, calloc, (size_t count, size_t size)) {
  return fails_now() ? nullptr : __real_calloc(count, size);
}
HPZERO_WRAP(void *, realloc, (void *memory, size_t size)) {
  return fails_now() ? nullptr : __real_realloc(memory, size);
}
HPZERO_WRAP(void *, aligned_alloc, (size_t alignment, size_t size)) {
  return fails_now() ? nullptr : __real_aligned_alloc(alignment, size);
}
HPZERO_WRAP(void *, mmap, (void *at, size_t len, int access, int flags, int fd, off_t offset)) {
  if (!fails_now()) return __real_mmap(at, len, access, flags, fd, offset);
  errno = no_memory;
  return MAP_FAILED;
}
HPZERO_WRAP(int, madvise, (void *at, size_t len, int advice)) {
  if (!fails_now()) return __real_madvise(at, len, advice);
  errno = no_memory;
  return -1;
}
HPZERO_WRAP(int, mincore, (void *at, size_t len, unsigned char *pages)) {
  if (!fails_now()) return __real_mincore(at, len, pages);
  errno = EAGAIN;
  return -1;
}
HPZERO_WRAP(int, ftruncate, (int fd, off_t size)) {
  if (!fails_now()) return __real_ftruncate(fd, size);
  errno = ENOSPC;
  return -1;
}
HPZERO_WRAP(int, eventfd, (unsigned value, int flags)) {
  if (!fails_now()) return __real_eventfd(value, flags);
  errno = EMFILE;
  return -1;
}
HPZERO_WRAP(int, pthread_create,
            (pthread_t * thread, const pthread_attr_t *attributes, void *(*entry)(void *),
             void *argument)) {
  return fails_now() ? EAGAIN : __real_pthread_create(thread, attributes, entry, argument);
}
HPZERO_WRAP(long, syscall, (long number, long a, long b, long c, long d, long e, long f)) {
  while (number == SYS_sched_setscheduler && a != 0 && lifters_stop) {
    has_stopped = true;
    usleep(200);
  }
  if (number != SYS_memfd_create || !fails_now()) {
    return __real_syscall(number, a, b, c, d, e, f);
  }
  errno = EMFILE;
  return -1;
}
}

namespace hpz::test {
namespace {

constexpr size_t kSmallBytes = size_t{64} << 10;

hpz_pool_options small_options(uint64_t pages, uint32_t flags) {
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.page_bytes = kSmallBytes;
  options.pages_per_node = pages;
  options.flags = HPZ_POOL_PLAIN | flags;
  return options;
}

bool is_shortage(int error) {
  return error == -ENOMEM || error == -EMFILE || error == -ENOSPC;
}

// What a caller does, who keeps count.
class Caller {
 public:
  explicit Caller(uint32_t flags) : flags_(flags) {}

  void live() {
    const hpz_pool_options options = small_options(4, flags_ | HPZ_POOL_NO_FILLING);
    hpz_pool *created = nullptr;
    const int error = hpz_pool_create(&options, &created);
    if (error != 0) {
      ASSERT_TRUE(is_shortage(error)) << error;
      ASSERT_EQ(created, nullptr);
      return;
    }
    pool_ = {created, hpz_pool_destroy};
    pages_ = 4;
    check();
    take_some(2);
    give_some(1, 0);
    resize(6);
    take_some(6);
    give_some(3, HPZ_GIVE_CLEAR);
    give_some(2, 0);
    resize(2);
    resize(5);
    take_some(5);
    give_some(5, 0);
    fill();
    const int fd = hpz_pool_event_fd(pool_.get(), -1, 2);
    ASSERT_TRUE(fd >= 0 || is_shortage(fd)) << fd;
    if (fd >= 0) close(fd);
    take_some(1);
    poison();
    resize(0);
    resize(2);
    take_some(2);
    give_some(2, 0);
    const int filling = hpz_pool_set_filling(pool_.get(), -1, 1);
    ASSERT_TRUE(filling == 0 || filling == -EAGAIN || is_shortage(filling)) << filling;
  }

 private:
  void check() {
    const hpz_pool_stats stats = stats_of(pool_);
    ASSERT_EQ(stats.taken, held_.size());
    ASSERT_EQ(stats.busy, 0u);
    ASSERT_EQ(stats.poisoned, poisoned_);
    ASSERT_EQ(stats.clean + stats.dirty + stats.taken, pages_);
  }
  void take_some(size_t count) {
    for (size_t i = 0; i < count && held_.size() < pages_; ++i) {
      hpz_page page;
      const int result = take(pool_, page);
      if (result != 1) {
        ASSERT_TRUE(is_shortage(result)) << result;
      } else {
        ASSERT_TRUE(is_zero(page));
        spoil(page);
        held_.push_back(page);
      }
      check();
    }
  }
  void give_some(size_t count, uint32_t how) {
    for (size_t i = 0; i < count && !held_.empty(); ++i) {
      ASSERT_EQ(hpz_pool_give(pool_.get(), &held_.back(), 1, how), 0);
      held_.pop_back();
      if (pages_ > target_ && target_ != 0) --pages_;
      check();
    }
  }
  void resize(size_t pages) {
    const int result = hpz_pool_resize(pool_.get(), -1, pages);
    if (result == 0) {
      pages_ = pages > held_.size() ? pages : held_.size();
      target_ = pages;
    } else {
      ASSERT_TRUE(is_shortage(result)) << result;
      ASSERT_GT(pages, pages_) << "shrinking cannot fail";
    }
    check();
  }
  void fill() {
    const int result = hpz_pool_fill(pool_.get(), -1, 3);
    ASSERT_TRUE(result >= 0 || is_shortage(result)) << result;
    check();
  }
  void poison() {
    if (held_.empty()) return;
    ASSERT_EQ(hpz_pool_poison(pool_.get(), held_.back().base), 0);
    ASSERT_EQ(hpz_pool_give(pool_.get(), &held_.back(), 1, 0), 0);
    held_.pop_back();
    ++poisoned_;
    --pages_;
    check();
  }

  const uint32_t flags_;
  PoolPointer pool_{nullptr, hpz_pool_destroy};
  std::vector<hpz_page> held_;
  uint64_t pages_ = 0, target_ = 0, poisoned_ = 0;
};

struct Failing {
  uint32_t flags;
  int no_memory;
};
// Short: what the C++ library allocates for a longer text MemorySanitizer does not see written.
void PrintTo(const Failing &failing, std::ostream *out) {
  *out << failing.flags << ' ' << failing.no_memory;
}
class EveryCall : public testing::TestWithParam<Failing> {};
INSTANTIATE_TEST_SUITE_P(Pool, EveryCall,
                         testing::Values(Failing{0, ENOMEM}, Failing{HPZ_POOL_EXPORT, ENOMEM},
                                         Failing{HPZ_POOL_EXPORT, EAGAIN}));

TEST_P(EveryCall, fails_once) {
  const Watchdog watchdog(150);
  no_memory = GetParam().no_memory;
  Caller(GetParam().flags).live();  // what is made once for the process
  ASSERT_FALSE(HasFailure());
  const int next = dup(0);
  close(next);
  const size_t mappings = pools_mappings();
  int64_t calls = 0;
  do {
    SCOPED_TRACE("call " + std::to_string(calls));
    has_failed = false;
    calls_left = calls++;
    Caller(GetParam().flags).live();
    calls_left = -1;
    ASSERT_FALSE(HasFailure());
    const int next_now = dup(0);
    close(next_now);
    ASSERT_EQ(next_now, next) << "a descriptor is left";
    ASSERT_EQ(pools_mappings(), mappings) << "a mapping is left";
  } while (has_failed);
  EXPECT_GT(calls, 40) << "a run in which hardly anything failed says nothing";
  RecordProperty("calls", static_cast<int>(calls));
}

// What comes back while the pool grows is kept; if growing fails, it is too many after all.
TEST(PoolFailures, a_page_given_while_growth_fails) {
  static hpz_pool *growing;
  static hpz_page pages[3];
  const hpz_pool_options options = small_options(3, HPZ_POOL_NO_FILLING);
  const PoolPointer pool = make_pool(options);
  for (hpz_page &page : pages) ASSERT_EQ(take(pool, page), 1);
  ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 1), 0);
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 3, 0}));
  growing = pool.get();
  no_memory = ENOMEM;
  before_failing = [] { EXPECT_EQ(hpz_pool_give(growing, pages, 1, 0), 0); };
  calls_left = 0;
  EXPECT_EQ(hpz_pool_resize(pool.get(), -1, 5), -ENOMEM);
  calls_left = -1;
  EXPECT_EQ(before_failing, nullptr) << "nothing has failed";
  EXPECT_EQ(counts_of(pool), (Counts{0, 0, 0, 2, 0}));
}

// A filler of the idle class ends its chunk, and would sink again, between a taker's word that it
// lifts it and the deed: it would be an ordinary thread from then on.
TEST(PoolFailures, a_filler_that_sinks_while_it_is_lifted) {
  const Watchdog watchdog;
  const HeldMemory memory(1);
  const PoolPointer pool = memory.pool(HPZ_POOL_IDLE | HPZ_POOL_NO_FILLING);
  memory.hold(0, 0);
  ASSERT_EQ(hpz_pool_set_filling(pool.get(), -1, 1), 0);
  wait_until([] { return HeldMemory::reached() == 1; });
  if ((stats_of(pool).flags & (HPZ_POOL_NO_IDLE | HPZ_POOL_NO_LIFT)) != 0) {
    GTEST_SKIP() << "NOT TESTED HERE: SCHED_IDLE is refused, or the way out of it";
  }
  const std::vector<pid_t> fillers = threads_named("hpzero-fill");
  ASSERT_EQ(fillers.size(), 1u);
  lifters_stop = true;
  hpz_page page;
  std::thread taker([&] { EXPECT_EQ(take(pool, page), 1); });
  wait_until([] { return has_stopped.load(); });
  HeldMemory::release();
  wait_until([&] {
    return stats_of(pool).filled_bytes == kPoolChunkBytes &&
           status_of(fillers[0], "State").rfind('S', 0) == 0;
  });
  lifters_stop = false;
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
