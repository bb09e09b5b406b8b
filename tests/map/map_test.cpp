// SPDX-License-Identifier: BSD-2-Clause
//
// The calls of map.h: arguments, structs, and what they are for.
#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <hpzero/hpzero.hpp>

#include <system_error>
#include <vector>

#include "tests/map/map_fixture.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/memory.h"
#include "tests/support/poisoned_file.h"
#include "tests/support/watchdog.h"
#include "tests/support/workers.h"

namespace hpz::test {
namespace {

constexpr uint64_t kMiB = 1 << 20, kGiB = 1 << 30;

using MapVerb = decltype(&hpz_map_zero);
constexpr MapVerb kVerbs[] = {hpz_map_zero, hpz_map_populate, hpz_map_release};

TEST(MapCreation, bad_arguments) {
  hpz_map *map = nullptr;
  hpz_map_options good = HPZ_MAP_OPTIONS_INIT;
  good.len = kGiB;
  EXPECT_EQ(hpz_map_create(nullptr, &map), -EINVAL);
  EXPECT_EQ(hpz_map_create(&good, nullptr), -EINVAL);
  const auto refuses = [&](auto change) {
    hpz_map_options options = good;
    change(options);
    return hpz_map_create(&options, &map) == -EINVAL;
  };
  EXPECT_TRUE(refuses([](auto &o) { o.size = 3; }));
  EXPECT_TRUE(refuses([](auto &o) { o.len = 0; }));
  EXPECT_TRUE(refuses([](auto &o) { o.len = (uint64_t{1} << 63) + 1; }));
  EXPECT_TRUE(refuses([](auto &o) { o.flags = 1; }));
  EXPECT_TRUE(refuses([](auto &o) { o.initial_state = 3; }));
  EXPECT_TRUE(refuses([](auto &o) { o.initial_state = -1; }));
  for (const uint64_t bad : {1ull, 32ull, 3000ull, 1ull << 22, 1ull << 63}) {
    EXPECT_TRUE(refuses([&](auto &o) { o.subpage_bytes = bad; })) << bad;
  }
  for (const uint64_t bad : {1ull, 32ull, 2048ull * 3}) {
    EXPECT_TRUE(refuses([&](auto &o) { o.page_bytes = bad; })) << bad;
  }
  EXPECT_TRUE(refuses([](auto &o) {
    o.page_bytes = 4096;
    o.subpage_bytes = 8192;
  }));
  EXPECT_TRUE(refuses([](auto &o) {
    o.len = (uint64_t{1} << 52) + 1;
    o.page_bytes = 4096;
  })) << "more than 2^40 pages";
  EXPECT_EQ(map, nullptr);
  hpz_map_destroy(nullptr);

  hpz_map_options small_pages = good;
  small_pages.page_bytes = 1024;
  ASSERT_EQ(hpz_map_create(&small_pages, &map), 0) << "subpages are no larger than pages";
  hpz_map_destroy(map);
}

TEST(MapCreation, the_largest) {
  hpz_map_options options = HPZ_MAP_OPTIONS_INIT;
  options.len = uint64_t{1} << 63;
  options.page_bytes = uint64_t{1} << 63;
  options.initial_state = HPZ_PAGE_ZERO;
  hpz_map *map = nullptr;
  ASSERT_EQ(hpz_map_create(&options, &map), 0);
  EXPECT_EQ(counts_of(map).zero_bytes, options.len);
  EXPECT_EQ(hpz_map_set(map, options.len - 1, 1, HPZ_PAGE_DIRTY), 0);
  EXPECT_EQ(counts_of(map).dirty_bytes, options.len) << "no memory for so much detail";
  hpz_map_destroy(map);
}

TEST(Map, bad_arguments_change_nothing) {
  const GuardedBuffer buffer(64 * 1024);
  const SpacePointer space = make_space(buffer.begin(), buffer.size());
  const MapPointer map = make_map(buffer.size(), 16384, 4096, HPZ_PAGE_DIRTY);
  const uint64_t len = buffer.size();
  EXPECT_EQ(hpz_map_set(nullptr, 0, 1, HPZ_PAGE_ZERO), -EINVAL);
  EXPECT_EQ(hpz_map_set(map.get(), 0, len + 1, HPZ_PAGE_ZERO), -EINVAL);
  EXPECT_EQ(hpz_map_set(map.get(), len + 1, 0, HPZ_PAGE_ZERO), -EINVAL);
  EXPECT_EQ(hpz_map_set(map.get(), 1, UINT64_MAX, HPZ_PAGE_ZERO), -EINVAL);
  EXPECT_EQ(hpz_map_set(map.get(), 0, len, static_cast<hpz_page_state>(3)), -EINVAL);
  for (const MapVerb verb : kVerbs) {
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    report.done_bytes = 77;
    const auto call = [&](hpz_map *which, hpz_space *what, uint64_t offset, uint64_t bytes,
                          const hpz_job_options *options) {
      return verb(which, what, nullptr, offset, bytes, options, &report);
    };
    EXPECT_EQ(call(nullptr, space.get(), 0, len, nullptr), -EINVAL);
    EXPECT_EQ(call(map.get(), nullptr, 0, len, nullptr), -EINVAL);
    EXPECT_EQ(call(map.get(), space.get(), 0, len + 1, nullptr), -EINVAL);
    EXPECT_EQ(call(map.get(), space.get(), 4096, UINT64_MAX, nullptr), -EINVAL);
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.flags = 1;
    EXPECT_EQ(call(map.get(), space.get(), 0, len, &options), -EINVAL);
    EXPECT_EQ(call(map.get(), space.get(), 0, 0, &options), -EINVAL) << "also for nothing";
    const SpacePointer shorter = make_space(buffer.begin(), len - 1);
    EXPECT_EQ(call(map.get(), shorter.get(), 0, len, nullptr), -EINVAL);
    EXPECT_EQ(report.done_bytes, 77u);
    report.size = 0;
    EXPECT_EQ(call(map.get(), space.get(), 0, len, nullptr), -EINVAL);
  }
  EXPECT_TRUE(buffer.only_cleared(buffer.begin(), 0));
  EXPECT_EQ(counts_of(map.get()).dirty_bytes, len);
  hpz_map_counts counts = HPZ_MAP_COUNTS_INIT;
  EXPECT_EQ(hpz_map_counts_get(nullptr, &counts), -EINVAL);
  EXPECT_EQ(hpz_map_counts_get(map.get(), nullptr), -EINVAL);
  counts.size = 4;
  EXPECT_EQ(hpz_map_counts_get(map.get(), &counts), -EINVAL);
}

// Where there is nothing to do, too: what is refused does not hang on what the map knows.
TEST(Map, a_node_that_is_not_there) {
  const Memory memory(64 * 1024);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  const MapPointer map = make_map(memory.bytes(), 16384, 4096, HPZ_PAGE_DIRTY);
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.node = 1 << 20;
  // Nobody tells in a sandbox, and the space then takes any.
  const int expected = hpz_space_populate(space.get(), nullptr, nullptr, 0, &options, nullptr);
  EXPECT_TRUE(expected == 0 || expected == -EINVAL) << expected;
  for (const uint64_t len : {memory.bytes(), size_t{0}}) {
    EXPECT_EQ(hpz_map_populate(map.get(), space.get(), nullptr, 0, len, &options, nullptr),
              expected);
    EXPECT_EQ(hpz_map_zero(map.get(), space.get(), nullptr, 0, len, &options, nullptr), 0);
  }
}

TEST(Map, bitmap_beyond_the_end) {
  const MapPointer map = make_map(10 * 4096 + 1, 16384, 4096, HPZ_PAGE_ZERO);  // 11 subpages
  std::vector<uint64_t> words = {0x7FF, 0, 0, 0};
  const auto set = [&](uint64_t offset, size_t bits) {
    return hpz_map_set_dirty_bitmap(map.get(), offset, words.data(), bits);
  };
  words[0] = 0xFFF;
  EXPECT_EQ(set(0, 12), -EINVAL);
  EXPECT_EQ(set(0, 200), -EINVAL);
  words = {0x7FF, 0, 0, 1};
  EXPECT_EQ(set(0, 193), -EINVAL);
  EXPECT_EQ(set(4096, 11), -EINVAL);
  EXPECT_EQ(set(1, 1), -EINVAL);
  EXPECT_EQ(set(11 * 4096, 0), -EINVAL);
  EXPECT_EQ(set(UINT64_MAX - 4095, 64), -EINVAL);
  EXPECT_EQ(hpz_map_set_dirty_bitmap(nullptr, 0, words.data(), 1), -EINVAL);
  EXPECT_EQ(hpz_map_set_dirty_bitmap(map.get(), 0, nullptr, 1), -EINVAL);
  EXPECT_EQ(counts_of(map.get()).dirty_bytes, 0u) << "nothing was marked";
  EXPECT_EQ(hpz_map_set_dirty_bitmap(map.get(), 0, nullptr, 0), 0);
  EXPECT_EQ(set(0, 192), 0) << "clear bits beyond the end are KVM's padding";
  EXPECT_EQ(counts_of(map.get()).dirty_bytes, 10 * 4096u + 1);
}

// KVM's bitmaps are bytes, whatever the CPU makes of words.
TEST(Map, bitmap_is_bytes) {
  for (const uint64_t page : {uint64_t{4096}, uint64_t{16384}}) {
    for (uint64_t bit = 0; bit < 128; ++bit) {
      const MapPointer map = make_map(128 * 4096, page, 4096, HPZ_PAGE_ZERO);
      uint64_t words[2] = {};
      reinterpret_cast<unsigned char *>(words)[bit / 8] = static_cast<unsigned char>(1 << bit % 8);
      ASSERT_EQ(hpz_map_set_dirty_bitmap(map.get(), 0, words, 128), 0);
      ASSERT_EQ(hpz_map_set(map.get(), bit * 4096, 4096, HPZ_PAGE_ZERO), 0);
      EXPECT_EQ(counts_of(map.get()).dirty_bytes, 0u) << bit << " was the only one";
    }
  }
}

// The beginning of this bitmap cannot be read at first: whoever does finds that all that is behind
// it has become ones.
class ChangingBitmap {
 public:
  ChangingBitmap() : half_(static_cast<size_t>(sysconf(_SC_PAGESIZE))), memory_(2 * half_) {
    at_ = this;
    struct sigaction action = {};
    action.sa_sigaction = change;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
    EXPECT_EQ(mprotect(memory_.begin(), half_, PROT_NONE), 0);
  }
  ~ChangingBitmap() { sigaction(SIGSEGV, &before_, nullptr); }
  ChangingBitmap(const ChangingBitmap &) = delete;
  ChangingBitmap &operator=(const ChangingBitmap &) = delete;

  const uint64_t *words() const { return reinterpret_cast<const uint64_t *>(memory_.begin()); }
  size_t bits() const { return 16 * half_; }
  bool has_changed() const { return has_changed_ != 0; }

 private:
  static void change(int, siginfo_t *info, void *) {
    const auto *const at = static_cast<const unsigned char *>(info->si_addr);
    unsigned char *const begin = at_->memory_.begin();
    const size_t half = at_->half_;
    if (at_->has_changed_ != 0 || at < begin || at >= begin + half) _exit(77);
    if (mprotect(begin, half, PROT_READ | PROT_WRITE) != 0) _exit(78);
    memset(begin + half, 0xFF, half);
    at_->has_changed_ = 1;
  }

  static ChangingBitmap *at_;
  const size_t half_;
  const Memory memory_;
  struct sigaction before_;
  volatile sig_atomic_t has_changed_ = 0;
};
ChangingBitmap *ChangingBitmap::at_ = nullptr;

TEST(Map, bitmap_that_changes_between_the_check_and_the_marks) {
  for (const uint64_t page : {uint64_t{64}, uint64_t{1024}}) {
    SCOPED_TRACE(page);
    const Watchdog watchdog;
    const ChangingBitmap bitmap;
    const uint64_t subpages = bitmap.bits() / 2;
    const MapPointer map = make_map(subpages * 64, page, 64, HPZ_PAGE_ZERO);
    EXPECT_EQ(hpz_map_set_dirty_bitmap(map.get(), 0, bitmap.words(), bitmap.bits()), 0);
    EXPECT_TRUE(bitmap.has_changed());
    EXPECT_EQ(counts_of(map.get()).dirty_bytes, 0u) << "what is beyond the map is nobody's";
  }
}

TEST(Map, counts_of_other_versions) {
  const MapPointer map = make_map(kMiB, 0, 0, HPZ_PAGE_FRESH);
  struct {
    hpz_map_counts counts;
    uint64_t behind;
  } other;
  memset(&other, 0x5A, sizeof other);
  other.counts.size = offsetof(hpz_map_counts, fresh_bytes);
  ASSERT_EQ(hpz_map_counts_get(map.get(), &other.counts), 0);
  EXPECT_EQ(other.counts.fresh_bytes, 0x5A5A5A5A5A5A5A5Au) << "an older caller's ends before it";
  other.counts.size = sizeof other;
  ASSERT_EQ(hpz_map_counts_get(map.get(), &other.counts), 0);
  EXPECT_EQ(other.counts.fresh_bytes, kMiB);
  EXPECT_EQ(other.behind, 0u);
}

// Rows G of the background: 500 pages of 1 GiB have no 131 million subpages to be initialised.
TEST(Map, opens_without_detail) {
  const MapPointer map = make_map(500 * kGiB, kGiB, 4096, HPZ_PAGE_FRESH);
  EXPECT_EQ(counts_of(map.get()).fresh_bytes, 500 * kGiB);
  EXPECT_EQ(counts_of(map.get()).detail_bytes, 0u);
  EXPECT_LT(counts_of(map.get()).memory_bytes, 16'384u);
  ASSERT_EQ(hpz_map_set(map.get(), 7 * kGiB + 5, 1, HPZ_PAGE_DIRTY), 0);
  const hpz_map_counts counts = counts_of(map.get());
  EXPECT_EQ(counts.dirty_bytes, 4096u);
  EXPECT_EQ(counts.zero_bytes, kGiB - 4096) << "no longer fresh as a whole";
  EXPECT_EQ(counts.fresh_bytes, 499 * kGiB);
  EXPECT_GE(counts.detail_bytes, 2 * 262'144u / 8);
  EXPECT_LT(counts.memory_bytes, 100'000u);
}

TEST(Map, fresh_is_what_is_not_resident) {
  const Memory memory(4 * kMiB);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  const MapPointer map = make_map(memory.bytes(), kMiB, 4096, HPZ_PAGE_FRESH);
  EXPECT_EQ(hpz_map_zero(map.get(), space.get(), nullptr, 0, memory.bytes(), nullptr, nullptr), 0);
  EXPECT_EQ(memory.resident_bytes(), 0u);
  EXPECT_EQ(counts_of(map.get()).fresh_bytes, memory.bytes());
  ASSERT_EQ(hpz_map_populate(map.get(), space.get(), nullptr, 0, memory.bytes(), nullptr, nullptr),
            0);
  EXPECT_EQ(memory.resident_bytes(), memory.bytes());
  EXPECT_EQ(counts_of(map.get()).zero_bytes, memory.bytes());
  ASSERT_EQ(hpz_map_release(map.get(), space.get(), nullptr, 0, memory.bytes(), nullptr, nullptr),
            0);
  EXPECT_EQ(memory.resident_bytes(), 0u);
  EXPECT_EQ(counts_of(map.get()).fresh_bytes, memory.bytes());
}

TEST(Map, what_is_populated_is_not_punched) {
  for (const uint64_t window : {uint64_t{0}, uint64_t{64 * 1024}}) {
    SCOPED_TRACE(window);
    PoisonedFile file(memfd_create("file", MFD_CLOEXEC), 4 * kMiB);
    hpz_space_options options = HPZ_SPACE_OPTIONS_INIT;
    options.flags = HPZ_SPACE_PUNCH;
    options.window_bytes = window;
    hpz_space *made = nullptr;
    ASSERT_EQ(hpz_space_file(file.fd(), 0, file.bytes(), &options, &made), 0);
    const SpacePointer space(made, hpz_space_destroy);
    const MapPointer map = make_map(file.bytes(), kMiB, 4096, HPZ_PAGE_DIRTY);
    const auto call = [&](MapVerb verb, uint64_t offset, uint64_t len) {
      return verb(map.get(), space.get(), nullptr, offset, len, nullptr, nullptr);
    };
    ASSERT_EQ(call(hpz_map_release, 0, kMiB), 0);
    ASSERT_EQ(call(hpz_map_populate, 0, file.bytes()), 0);
    EXPECT_EQ(file.blocks_bytes(), file.bytes());
    EXPECT_EQ(counts_of(map.get()).zero_bytes, file.bytes());
    file.clear(0, file.bytes());
    EXPECT_TRUE(file.is_as_expected());
  }
}

TEST(Map, cxx) {
  std::vector<char> memory(4 * kMiB, 'x');
  hpzero::space space(memory.data(), memory.size());
  hpzero::map map(memory.size());
  EXPECT_EQ(map.counts().dirty_bytes, memory.size());
  EXPECT_EQ(map.zero(space, 0, memory.size()).cleared_bytes, memory.size());
  EXPECT_TRUE(hpzero::is_zero(memory.data(), memory.size()));
  EXPECT_EQ(map.zero(space, 0, memory.size()).skipped_bytes, memory.size());
  memory[5] = 'x';
  map.set(5, 1, HPZ_PAGE_DIRTY);
  const hpzero::team two(2);
  EXPECT_EQ(map.zero(space, 0, memory.size(), &two).cleared_bytes, 4096u);
  const uint64_t word = 2;
  map.set_dirty_bitmap(4096, &word, 64);
  EXPECT_EQ(map.counts().dirty_bytes, 4096u);
  EXPECT_EQ(map.populate(space, 0, memory.size()).done_bytes, memory.size());
  EXPECT_EQ(map.release(space, 0, memory.size()).done_bytes, memory.size());
  hpzero::map moved = std::move(map);
  EXPECT_EQ(moved.counts().fresh_bytes, memory.size());
  EXPECT_THROW(moved.set(memory.size(), 1, HPZ_PAGE_ZERO), std::system_error);
  EXPECT_THROW(hpzero::map(0), std::system_error);
}

}  // namespace
}  // namespace hpz::test
