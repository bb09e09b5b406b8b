// SPDX-License-Identifier: BSD-2-Clause
//
// Every kernel and policy across the borders of huge pages, transparent and reserved ones. A
// program of its own, because reserved ones are shared with the tests of hpzero-bench, which count
// them.
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/conformance/clearer.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/huge_pool.h"
#include "tests/support/transparent_pages.h"

namespace hpz::test {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kHuge = kHugeBytes;

// Every kernel and policy across the borders of three huge pages; then the memory is given back.
void clear_huge_pages(void *map, size_t map_bytes) {
  auto *const begin =
      reinterpret_cast<unsigned char *>((uintptr_t(map) + kHuge - 1) & ~(kHuge - 1));
  auto *const end = begin + 3 * kHuge;
  memset(begin, kPoison, 3 * kHuge);
  for (const Clearer &clearer : range_clearers()) {
    if (!clearer.usable()) continue;
    SCOPED_TRACE(clearer.name);
    for (const size_t offset : Sizes{0, kPageBytes, kLine, 1}) {
      for (const size_t len : Sizes{kHuge, kHuge + 1, 2 * kHuge - 1}) {
        unsigned char *const dst = begin + offset;
        ASSERT_EQ(clearer.range(dst, len), 0);
        ASSERT_TRUE(all_are(begin, dst, kPoison, "before the range"));
        ASSERT_TRUE(all_are(dst, dst + len, 0, "inside the range"));
        ASSERT_TRUE(all_are(dst + len, end, kPoison, "behind the range"));
        memset(dst, kPoison, len);
      }
    }
  }
  munmap(map, map_bytes);
}

TEST(HugePages, transparent) {
  if (const std::string why = why_no_transparent_pages(); !why.empty()) GTEST_SKIP() << why;
  // Of memory in pieces the kernel makes some when it is asked again.
  for (int i = 0; i < 20; ++i) {
    void *const map =
        mmap(nullptr, 4 * kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(map, MAP_FAILED);
    ASSERT_EQ(madvise(map, 4 * kHuge, MADV_HUGEPAGE), 0);
    memset(map, kPoison, 4 * kHuge);
    if (transparent_bytes(map, 4 * kHuge) >= 3 * kHuge) return clear_huge_pages(map, 4 * kHuge);
    munmap(map, 4 * kHuge);
    usleep(50'000);
  }
  FAIL() << "no three transparent huge pages to be had, though they are switched on";
}

TEST(HugePages, reserved) {
  HugePool pool;
  if (const std::string why = pool.take(3); !why.empty()) GTEST_SKIP() << why;
  void *const map = mmap(nullptr, 3 * kHuge, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  ASSERT_NE(map, MAP_FAILED);
  clear_huge_pages(map, 3 * kHuge);
}

}  // namespace
}  // namespace hpz::test
