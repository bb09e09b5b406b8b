// SPDX-License-Identifier: BSD-2-Clause
//
// The pool of hpzero.hpp: the same calls, errors thrown.
#include <errno.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <hpzero/hpzero.hpp>

#include <algorithm>
#include <functional>
#include <utility>

#include "tests/pool/pools.h"

namespace hpz::test {
namespace {

int thrown_by(const std::function<void()> &call) {
  try {
    call();
  } catch (const std::system_error &e) {
    return e.code().value();
  }
  return 0;
}

TEST(PoolCxx, life_of_a_page) {
  hpzero::pool made(plain_options(3, HPZ_POOL_NO_FILLING));
  hpzero::pool pool = std::move(made);
  EXPECT_EQ(made.get(), nullptr);
  const hpz_page page = pool.take();
  EXPECT_TRUE(is_zero(page));
  spoil(page);
  const std::vector<hpz_page> others = pool.take(5);
  EXPECT_EQ(others.size(), 2u);
  EXPECT_EQ(thrown_by([&] { (void)pool.take(); }), ENOMEM);
  const int fd = pool.event_fd(1);
  EXPECT_TRUE(pool.rearm(fd));
  pool.give(page);
  EXPECT_EQ(thrown_by([&] { pool.give(page); }), ESTALE);
  EXPECT_EQ(pool.fill(9), 1u);
  EXPECT_FALSE(pool.rearm(fd));
  close(fd);
  pool.give(others, HPZ_GIVE_UNWRITTEN);
  EXPECT_EQ(pool.stats().clean, 3u);
  const std::vector<int32_t> nodes = pool.nodes();
  EXPECT_EQ(std::count(nodes.begin(), nodes.end(), page.node), 1);
  pool.resize(4);
  pool.poison(page.base);
  EXPECT_EQ(pool.stats().poisoned, 1u);
  pool.set_filling(true);
  EXPECT_NE(pool.stats().flags & HPZ_POOL_FILLS, 0u);
}

TEST(PoolCxx, what_fails_throws) {
  hpz_pool_options options = plain_options(1);
  options.page_bytes = 3;
  EXPECT_EQ(thrown_by([&] { const hpzero::pool pool(options); }), EINVAL);
  hpzero::pool pool(plain_options(1, HPZ_POOL_NO_FILLING));
  EXPECT_EQ(thrown_by([&] { pool.poison(&options); }), ENOENT);
  EXPECT_EQ(thrown_by([&] { pool.resize(1, 999); }), EINVAL);
  EXPECT_EQ(thrown_by([&] { pool.rearm(0); }), EBADF);
}

}  // namespace
}  // namespace hpz::test
