// SPDX-License-Identifier: BSD-2-Clause
//
// A caller who keeps count of the pool, in whose life any call may fail: after each error the
// counters are the truth, and what is handed out reads zero.
#ifndef HPZERO_TESTS_POOL_COUNTING_CALLER_H
#define HPZERO_TESTS_POOL_COUNTING_CALLER_H

#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/pool.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/pool/failing_calls.h"
#include "tests/pool/pools.h"
#include "tests/support/descriptors.h"

namespace hpz::test {

// Of memory of one kind; pages_per_node is the caller's to choose.
class CountingCaller {
 public:
  explicit CountingCaller(const hpz_pool_options &kind) : kind_(kind) {}

  int create(hpz_pool **out) const {
    hpz_pool_options options = kind_;
    if (!is_range()) options.pages_per_node = kFirst;
    return hpz_pool_create(&options, out);
  }
  void live() {
    hpz_pool *created = nullptr;
    const int error = create(&created);
    if (error != 0) {
      // What the kernel says of the caller's own memory may mean that it is not mapped.
      ASSERT_TRUE(is_shortage(error) || (is_range() && error == -EFAULT)) << error;
      ASSERT_EQ(created, nullptr);
      return;
    }
    pool_ = {created, hpz_pool_destroy};
    pages_ = kFirst;
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
    // Spoiled ones become holes of a region that stays, and are pages again.
    give_some(4, 0);
    resize(2);
    resize(5);
    take_some(5);
    give_some(6, 0);
    resize(0);
    if (!is_range()) {
      ASSERT_EQ(failing_calls.mapped_bytes, mapped_before_) << "nobody has a page of it";
    }
    resize(5);
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
  static constexpr uint64_t kFirst = 4;

  bool is_range() const { return kind_.base != nullptr; }
  bool is_shortage(int error) const {
    // A file of which nobody tells that it is of the mount is taken for one that is not.
    return error == -ENOMEM || error == -EMFILE || error == -ENOSPC ||
           (kind_.mount != nullptr && error == -ENOENT);
  }
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
    if (is_range()) {
      ASSERT_EQ(result, -EOPNOTSUPP);
    } else if (result == 0) {
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

  const hpz_pool_options kind_;
  const int64_t mapped_before_ = failing_calls.mapped_bytes;
  PoolPointer pool_{nullptr, hpz_pool_destroy};
  std::vector<hpz_page> held_;
  uint64_t pages_ = 0, target_ = 0, poisoned_ = 0;
};

// Lives with nothing failing, then with the first call of all that can fail, then with the second,
// and so on. Nothing is left of any pool. leaves(): something of the test's own that tells so.
template <class Leaves> void fail_each_call(const hpz_pool_options &kind, const Leaves &leaves) {
  FailingCalls &calls = failing_calls;
  hpz_pool *first = nullptr;  // ... and what is made once for the process
  ASSERT_EQ(CountingCaller(kind).create(&first), 0);
  hpz_pool_destroy(first);
  CountingCaller(kind).live();
  ASSERT_FALSE(testing::Test::HasFailure());
  const int next = next_descriptor();
  const int64_t mapped = calls.mapped_bytes;
  int64_t count = 0;
  do {
    SCOPED_TRACE("call " + std::to_string(count));
    calls.has_failed = false;
    calls.left = count++;
    CountingCaller(kind).live();
    calls.left = -1;
    ASSERT_FALSE(testing::Test::HasFailure());
    ASSERT_EQ(next_descriptor(), next) << "a descriptor is left";
    ASSERT_EQ(calls.mapped_bytes, mapped) << "a mapping is left";
    ASSERT_NO_FATAL_FAILURE(leaves());
  } while (calls.has_failed);
  // (A range of the caller's own takes less to be a pool.)
  EXPECT_GT(count, kind.base != nullptr ? 20 : 40)
      << "a run in which hardly anything failed says nothing";
  testing::Test::RecordProperty("calls", static_cast<int>(count));
}

}  // namespace hpz::test

#endif
