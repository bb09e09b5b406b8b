// SPDX-License-Identifier: BSD-2-Clause
//
// Lengths that 32 bits do not hold. 5 GiB of address space are 80 views of one 64 MiB file, so that
// every machine has the memory; in each view one page is its own, so that a length cut to 32 bits
// is seen (all else would be cleared by the first view).
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/conformance/clearer.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/machine.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;

class Large : public testing::Test {
 protected:
  static constexpr size_t kView = 64 * kMiB;
  static constexpr size_t kViews = 80;
  static constexpr size_t kLength = kViews * kView;  // 5 GiB

  void SetUp() override {
    const int fd = memfd_create("hpzero_large_test", MFD_CLOEXEC);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(ftruncate(fd, kView), 0);
    // A page of address space more on both sides: what is around the range.
    void *const map = mmap(nullptr, kLength + 2 * kPageBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(map, MAP_FAILED);
    map_ = static_cast<unsigned char *>(map);
    begin_ = map_ + kPageBytes;
    for (size_t i = 0; i < kViews; ++i) {
      ASSERT_NE(mmap(begin_ + i * kView, kView, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0),
                MAP_FAILED);
      ASSERT_NE(mmap(own_page(i), kPageBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                MAP_FAILED);
    }
    close(fd);
  }
  void TearDown() override {
    if (map_ != nullptr) munmap(map_, kLength + 2 * kPageBytes);
  }

  // First page of the first view, last page of the last one, others in between.
  unsigned char *own_page(size_t view) const {
    const size_t page = (kView / kPageBytes - 1) * view / (kViews - 1);
    return begin_ + view * kView + page * kPageBytes;
  }
  void poison() const {
    memset(begin_ - kPageBytes, kPoison, kPageBytes + kView);
    memset(begin_ + kLength - kView, kPoison, kView + kPageBytes);
    for (size_t i = 0; i < kViews; ++i) memset(own_page(i), kPoison, kPageBytes);
  }
  // All but the given number of bytes at the beginning and at the end.
  void expect_cleared(size_t head, size_t tail) const {
    ASSERT_TRUE(all_are(map_, begin_ + head, kPoison, "before the range"));
    ASSERT_TRUE(all_are(begin_ + head, begin_ + kView, 0, "first view"));
    for (size_t i = 1; i + 1 < kViews; ++i) {
      ASSERT_TRUE(all_are(own_page(i), own_page(i) + kPageBytes, 0, "a view's own page")) << i;
    }
    const unsigned char *const end = begin_ + kLength;
    ASSERT_TRUE(all_are(end - kView, end - tail, 0, "last view"));
    ASSERT_TRUE(all_are(end - tail, end + kPageBytes, kPoison, "behind the range"));
  }

  unsigned char *map_ = nullptr;
  unsigned char *begin_ = nullptr;
};

TEST_F(Large, five_gib_by_every_kernel_and_policy) {
  int ran = 0;
  for (const Clearer &clearer : range_clearers()) {
    if (!clearer.usable()) continue;
    SCOPED_TRACE(clearer.name);
    // Within the own pages of the first and the last view, where nothing else writes.
    constexpr size_t kHead = 1029, kTail = 333;
    poison();
    ASSERT_EQ(clearer.range(begin_ + kHead, kLength - kHead - kTail), 0);
    ASSERT_NO_FATAL_FAILURE(expect_cleared(kHead, kTail));
    ++ran;
  }
  EXPECT_GE(ran, 3 + static_cast<int>(baseline_kernels()));
}

// Few pages that are each above 4 GiB are one page here; many pages are above 4 GiB together.
TEST_F(Large, pages_of_five_gib) {
  poison();
  void *page = begin_;
  hpz_zero_pages(&page, 1, kLength);
  ASSERT_NO_FATAL_FAILURE(expect_cleared(0, 0));
  poison();
  std::vector<void *> pages;
  for (size_t i = 0; i < kViews; ++i) pages.push_back(begin_ + i * kView);
  hpz_zero_pages(pages.data(), pages.size(), kView);
  ASSERT_NO_FATAL_FAILURE(expect_cleared(0, 0));
}

TEST_F(Large, is_zero_sees_one_bit_in_five_gib) {
  ASSERT_EQ(hpz_is_zero(begin_, kLength), 1);
  for (const size_t view : {size_t{0}, size_t{63}, size_t{64}, kViews - 1}) {
    unsigned char *const last = own_page(view) + kPageBytes - 1;
    *last = 0x80;
    EXPECT_EQ(hpz_is_zero(begin_, kLength), 0) << view;
    // ... and not one behind the length.
    if (view == kViews - 1) {
      EXPECT_EQ(hpz_is_zero(begin_, kLength - 1), 1);
    }
    *last = 0;
  }
  begin_[-1] = begin_[kLength] = 1;
  EXPECT_EQ(hpz_is_zero(begin_, kLength), 1);
}

}  // namespace
}  // namespace hpz::test
