// SPDX-License-Identifier: BSD-2-Clause
//
// Every kernel and policy across the borders of huge pages, transparent and reserved ones. A
// program of its own, because reserved ones are shared with the tests of hpzero-bench, which count
// them.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string>

#include "tests/conformance/clearer.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/huge_pool.h"

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

// Bytes of transparent huge pages in these mappings, as the kernel counts them.
size_t transparent_bytes(const void *map, size_t map_bytes) {
  // By stdio: what an uninstrumented std::ifstream reads is uninitialised to MemorySanitizer.
  FILE *const smaps = fopen("/proc/self/smaps", "re");
  if (smaps == nullptr) return 0;
  const auto first = reinterpret_cast<uintptr_t>(map), last = first + map_bytes;
  size_t sum = 0;
  bool is_ours = false;
  char line[8192];
  while (fgets(line, sizeof line, smaps) != nullptr) {
    unsigned long begin, end, kib;
    if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) is_ours = begin < last && first < end;
    if (is_ours && sscanf(line, "AnonHugePages: %lu", &kib) == 1) sum += kib * 1024;
  }
  fclose(smaps);
  return sum;
}

// What the machine's owner has chosen, of the words that are offered; "" where nothing is.
std::string chosen(const char *name) {
  FILE *const file =
      fopen((std::string("/sys/kernel/mm/transparent_hugepage/") + name).c_str(), "re");
  if (file == nullptr) return "";
  char text[64] = "";
  const bool is_read = fgets(text, sizeof text, file) != nullptr;
  fclose(file);
  const char *const begin = is_read ? strchr(text, '[') : nullptr;
  const char *const end = begin != nullptr ? strchr(begin, ']') : nullptr;
  return end != nullptr ? std::string(begin + 1, end) : "";
}

// Linux 6.8 has a switch for each size, which may leave it to the one for all.
std::string transparent_setting() {
  const std::string its = chosen("hugepages-2048kB/enabled");
  return its.empty() || its == "inherit" ? chosen("enabled") : its;
}

TEST(HugePages, transparent) {
  const std::string setting = transparent_setting();
  if (setting.empty() || setting == "never") {
    GTEST_SKIP() << "NOT TESTED HERE: transparent huge pages are switched off";
  }
  if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1) {
    GTEST_SKIP() << "NOT TESTED HERE: transparent huge pages are switched off for this process";
  }
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
  FAIL() << "no three transparent huge pages to be had, though they are switched on: " << setting;
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
