// SPDX-License-Identifier: BSD-2-Clause
//
// Event descriptors: readable on crossing, once, until armed again; closed by the caller at any
// time.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hpzero/pool.h>
#include <poll.h>
#include <unistd.h>

#include "tests/pool/pools.h"
#include "tests/support/descriptors.h"
#include "tests/support/settings.h"
#include "tests/support/watchdog.h"

namespace hpz::test {
namespace {

int event(const PoolPointer &pool, size_t clean_below) {
  const int fd = hpz_pool_event_fd(pool.get(), -1, clean_below);
  EXPECT_GE(fd, 0);
  return fd;
}

int rearm(const PoolPointer &pool, int fd) {
  return hpz_pool_event_rearm(pool.get(), fd);
}

TEST(PoolEvents, fewer_clean_pages) {
  const PoolPointer pool = make_pool(plain_options(3, HPZ_POOL_NO_FILLING));
  const int two = event(pool, 2), four = event(pool, 4);
  EXPECT_EQ(fcntl(two, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  EXPECT_EQ(fcntl(two, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_FALSE(is_readable(two));
  EXPECT_TRUE(is_readable(four)) << "so already when it was made";
  hpz_page pages[3];
  ASSERT_EQ(take(pool, pages[0]), 1);
  EXPECT_FALSE(is_readable(two));
  ASSERT_EQ(take(pool, pages[1]), 1);
  EXPECT_TRUE(is_readable(two));
  uint64_t count = 0;
  ASSERT_EQ(read(two, &count, sizeof count), static_cast<ssize_t>(sizeof count));
  EXPECT_EQ(count, 1u);
  ASSERT_EQ(take(pool, pages[2]), 1);
  EXPECT_FALSE(is_readable(two)) << "told once";
  EXPECT_EQ(rearm(pool, two), 1) << "so at present, which is told by the result";
  EXPECT_FALSE(is_readable(two));
  ASSERT_EQ(hpz_pool_give(pool.get(), pages, 3, HPZ_GIVE_UNWRITTEN), 0);
  EXPECT_FALSE(is_readable(two));
  EXPECT_EQ(rearm(pool, two), 0);
  ASSERT_EQ(take(pool, pages[0]), 1);
  ASSERT_EQ(take(pool, pages[1]), 1);
  EXPECT_TRUE(is_readable(two));
  EXPECT_EQ(rearm(pool, two), 1);
  EXPECT_FALSE(is_readable(two)) << "drained";
  EXPECT_EQ(rearm(pool, four), 1);
  close(two);
  close(four);
}

TEST(PoolEvents, all_clean) {
  const Watchdog watchdog;
  const PoolPointer pool = make_pool(plain_options(2, HPZ_POOL_NO_FILLING));
  const int fd = event(pool, 0);
  EXPECT_TRUE(is_readable(fd));
  EXPECT_EQ(rearm(pool, fd), 1);
  hpz_page pages[2];
  ASSERT_EQ(take(pool, pages[0]), 1);
  ASSERT_EQ(take(pool, pages[1]), 1);
  EXPECT_FALSE(is_readable(fd)) << "what is taken is not to be cleared: nothing was crossed";
  ASSERT_EQ(hpz_pool_give(pool.get(), pages, 2, 0), 0);
  EXPECT_EQ(rearm(pool, fd), 0);
  ASSERT_EQ(hpz_pool_fill(pool.get(), -1, 1), 1);
  EXPECT_FALSE(is_readable(fd));
  ASSERT_EQ(hpz_pool_set_filling(pool.get(), -1, 1), 0);
  pollfd state = {fd, POLLIN, 0};
  EXPECT_EQ(poll(&state, 1, -1), 1);
  EXPECT_EQ(counts_of(pool), (Counts{2, 0, 0, 0, 0}));
  close(fd);
}

TEST(PoolEvents, resizing_and_poison_cross_too) {
  const PoolPointer pool = make_pool(plain_options(4, HPZ_POOL_NO_FILLING));
  const int fd = event(pool, 3);
  ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 2), 0);
  EXPECT_TRUE(is_readable(fd));
  ASSERT_EQ(hpz_pool_resize(pool.get(), -1, 3), 0);
  ASSERT_GE(hpz_pool_fill(pool.get(), -1, 3), 0);  // an emulator's memory keeps what it held
  EXPECT_EQ(rearm(pool, fd), 0);
  const std::vector<hpz_page> pages = take_all(pool);
  ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), pages.size(), HPZ_GIVE_UNWRITTEN), 0);
  EXPECT_EQ(rearm(pool, fd), 0);
  ASSERT_EQ(hpz_pool_poison(pool.get(), pages[0].base), 0);
  EXPECT_TRUE(is_readable(fd));
  close(fd);
}

// Whoever waits by read() takes O_NONBLOCK away, of the pool's duplicate, too.
TEST(PoolEvents, a_caller_that_waits_by_reading) {
  if (is_set("HPZERO_TEST_EMULATOR")) {
    GTEST_SKIP() << "NOT TESTED HERE: the emulator knows no read that does not wait";
  }
  const Watchdog watchdog;
  const PoolPointer pool = make_pool(plain_options(1, HPZ_POOL_NO_FILLING));
  const int fd = event(pool, 1);
  ASSERT_EQ(fcntl(fd, F_SETFL, 0), 0);
  EXPECT_EQ(rearm(pool, fd), 0) << "nothing was told, and nobody waits for it";
  hpz_page page;
  ASSERT_EQ(take(pool, page), 1);
  EXPECT_EQ(rearm(pool, fd), 1) << "drained";
  EXPECT_FALSE(is_readable(fd));
  close(fd);
}

// The caller closes it, and the number becomes somebody else's: the pool never writes there.
TEST(PoolEvents, a_number_that_is_used_again) {
  const PoolPointer pool = make_pool(plain_options(2, HPZ_POOL_NO_FILLING));
  const int fd = event(pool, 2);
  close(fd);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  const int foreign = ends[0] == fd || ends[1] == fd ? fd : dup2(ends[1], fd);
  ASSERT_EQ(foreign, fd);
  hpz_page page;
  ASSERT_EQ(take(pool, page), 1);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), -1) << "somebody wrote into the pipe";
  EXPECT_EQ(rearm(pool, fd), 1) << "the pool's own duplicate, which nobody reads";
  close(ends[0]);
  close(ends[1]);
  if (fd != ends[0] && fd != ends[1]) close(fd);
  // A new one of the same number takes its place.
  const int again = event(pool, 1);
  ASSERT_EQ(again, fd);
  EXPECT_FALSE(is_readable(again));
  EXPECT_EQ(rearm(pool, again), 0);
  hpz_page last;
  ASSERT_EQ(take(pool, last), 1);
  EXPECT_TRUE(is_readable(again));
  close(again);
}

TEST(PoolEvents, no_descriptors_left) {
  const PoolPointer pool = make_pool(plain_options(1, HPZ_POOL_NO_FILLING));
  const int next = next_descriptor();
  for (const size_t more : {size_t{0}, size_t{1}}) {  // none, or only the caller's
    const ShortTable table(ShortTable::with_room_for(more));
    EXPECT_EQ(hpz_pool_event_fd(pool.get(), -1, 1), -EMFILE) << more;
  }
  const int fd = event(pool, 1);
  EXPECT_EQ(fd, next) << "nothing was kept";
  close(fd);
}

}  // namespace
}  // namespace hpz::test
