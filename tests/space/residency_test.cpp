// SPDX-License-Identifier: BSD-2-Clause
//
// What an absent page proves: by entries, and on this kernel.
#include "lib/space/residency.h"

#include <gtest/gtest.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <vector>

#include "lib/space/pages.h"
#include "tests/support/memory.h"

namespace hpz::test {
namespace {

constexpr uint64_t bit(int number) {
  return uint64_t{1} << number;
}

TEST(Entries, prove_only_what_is_sure) {
  EXPECT_EQ(judge_entry(0), PageProof::kZero);
  EXPECT_EQ(judge_entry(bit(55)), PageProof::kZero) << "soft-dirty, as fresh mappings are";
  EXPECT_EQ(judge_entry(bit(63)), PageProof::kResident);
  EXPECT_EQ(judge_entry(bit(63) | bit(56) | 12345), PageProof::kResident);
  EXPECT_EQ(judge_entry(bit(62)), PageProof::kElsewhere) << "swapped, poisoned, migrating";
  EXPECT_EQ(judge_entry(bit(62) | bit(58)), PageProof::kElsewhere) << "a guard page";
  EXPECT_EQ(judge_entry(bit(57)), PageProof::kElsewhere) << "write-protected by userfaultfd";
  EXPECT_EQ(judge_entry(bit(61)), PageProof::kElsewhere) << "of a file, or shared";
  EXPECT_EQ(judge_entry(1), PageProof::kElsewhere) << "whatever that is";
}

// Else the tests below, and those of the verb reset, would be of less than the kernel can tell.
TEST(Residency, finds_what_the_kernel_can_tell) {
  const Residency residency;
  EXPECT_EQ(residency.can_prove(), can_prove());
  EXPECT_EQ(residency.can_scan(), can_scan());
}

TEST(Residency, runs_of_touched_pages) {
  const Residency residency;
  if (!can_prove()) GTEST_SKIP() << "NOT TESTED HERE: no /proc/self/pagemap";
  const uintptr_t page = base_page_bytes();
  const size_t bytes = 64 * page;
  void *const map =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(map, MAP_FAILED);
  madvise(map, bytes, MADV_NOHUGEPAGE);
  auto *const begin = static_cast<volatile char *>(map);
  for (const size_t touched : {5u, 6u, 7u, 20u, 63u}) begin[touched * page] = 1;

  const auto at = reinterpret_cast<uintptr_t>(map);
  const uintptr_t end = at + bytes;
  DirtyRun run = {at, at, false};
  const size_t expected[][2] = {{5, 8}, {20, 21}, {63, 64}};
  DirtyRuns all(residency, at, end);
  for (const auto &[first, last] : expected) {
    ASSERT_EQ(all.next(run), 0);
    EXPECT_EQ(run.begin, at + first * page);
    EXPECT_EQ(run.end, at + last * page);
    EXPECT_TRUE(run.is_resident);
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(all.next(run), 0);
    EXPECT_EQ(run.begin, end) << "no more";
    EXPECT_EQ(run.end, end);
  }
  const auto is_clean = [&](size_t first, size_t last) {
    DirtyRuns some(residency, at + first * page, at + last * page);
    EXPECT_EQ(some.next(run), 0);
    return run.begin == at + last * page && run.end == run.begin;
  };
  EXPECT_TRUE(is_clean(8, 20)) << "nothing there";
  if (can_scan()) {
    // Reading maps the shared zero page, which is resident and reads zero.
    EXPECT_EQ(begin[10 * page], 0);
    EXPECT_TRUE(is_clean(8, 20)) << "the zero page would be inflated";
  }
  munmap(map, bytes);
}

// More runs, and longer ones, than one look at the kernel's answer brings.
TEST(Residency, many_runs) {
  const Residency residency;
  if (!can_prove()) GTEST_SKIP() << "NOT TESTED HERE: no /proc/self/pagemap";
  const uintptr_t page = base_page_bytes();
  const size_t pages = 4096;
  void *const map =
      mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(map, MAP_FAILED);
  madvise(map, pages * page, MADV_NOHUGEPAGE);
  auto *const begin = static_cast<volatile char *>(map);
  // Every third page of the first half, and from 2100 to 3300 all.
  const auto is_touched = [](size_t i) { return i < 2048 ? i % 3 == 0 : i >= 2100 && i < 3300; };
  for (size_t i = 0; i < pages; ++i) {
    if (is_touched(i)) begin[i * page] = 1;
  }
  const auto at = reinterpret_cast<uintptr_t>(map);
  DirtyRuns runs(residency, at, at + pages * page);
  std::vector<bool> dirty(pages, false);
  uintptr_t last_end = at;
  for (;;) {
    DirtyRun run = {};
    ASSERT_EQ(runs.next(run), 0);
    if (run.begin == run.end) break;
    EXPECT_GE(run.begin, last_end);
    last_end = run.end;
    for (uintptr_t here = run.begin; here < run.end; here += page) dirty[(here - at) / page] = true;
  }
  for (size_t i = 0; i < pages; ++i) ASSERT_EQ(dirty[i], is_touched(i)) << i;
  munmap(map, pages * page);
}

}  // namespace
}  // namespace hpz::test
