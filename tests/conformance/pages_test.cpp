// SPDX-License-Identifier: BSD-2-Clause
//
// Every kernel and hpz_zero_pages on batches: any size of page, any alignment, any number, in any
// order, with repetitions.
#include <algorithm>
#include <random>

#include "tests/conformance/clearer.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/settings.h"

namespace hpz::test {
namespace {

enum class Alignment {
  kLines,   // all pages on 64-byte boundaries
  kEqual,   // all equally far from one
  kOneOff,  // all but one on them
  kAny,
};

class Pages : public ClearerTest {
 protected:
  // count distinct pages, not touching each other, in random order; the first at the very beginning
  // of the buffer and the last at its very end where their alignment allows that.
  void scatter(size_t count, size_t page_bytes, Alignment alignment) {
    SCOPED_TRACE(std::to_string(count) + " pages of " + std::to_string(page_bytes) +
                 " bytes, alignment " + std::to_string(static_cast<int>(alignment)));
    const size_t slot = (page_bytes + 63) / 64 * 64 + 256;
    const GuardedBuffer buffer(count * slot);
    const size_t equal = alignment == Alignment::kEqual ? 1 + random_() % 63 : 0;
    const size_t odd = random_() % (count + 1);
    std::vector<void *> pages(count);
    for (size_t i = 0; i < count; ++i) {
      size_t shift = 64 * (random_() % 3) + equal;
      if (alignment == Alignment::kAny || (alignment == Alignment::kOneOff && i == odd)) {
        shift += 1 + random_() % 63;
      }
      pages[i] = buffer.begin() + i * slot + shift;
    }
    if (count != 0 && alignment == Alignment::kAny) {
      pages.front() = buffer.begin();
      pages.back() = buffer.end() - page_bytes;
    }
    std::shuffle(pages.begin(), pages.end(), random_);
    ASSERT_EQ(GetParam().pages(pages.data(), count, page_bytes), 0);
    ASSERT_TRUE(buffer.only_cleared(pages, page_bytes));
  }

  std::mt19937_64 random_{seed()};
};

constexpr Alignment kAlignments[] = {Alignment::kLines, Alignment::kEqual, Alignment::kOneOff,
                                     Alignment::kAny};

TEST_P(Pages, every_count_of_small_pages) {
  for (const size_t page_bytes : Sizes{1, 2, 7, 63, 64, 65, 126, 127, 128, 129, 191, 192, 193, 1000,
                                       2048, 4095, 4096, 4097}) {
    if (quick() && page_bytes % 64 > 1 && page_bytes != 127) continue;
    for (size_t count = 0; count <= 40; count += quick() && count > 8 ? size_t{7} : 1) {
      for (const Alignment alignment : kAlignments) {
        ASSERT_NO_FATAL_FAILURE(scatter(count, page_bytes, alignment));
      }
    }
  }
}

TEST_P(Pages, large_batches) {
  for (const size_t count : Sizes{63, 64, 65, 128, 129, 300}) {
    for (const Alignment alignment : kAlignments) {
      ASSERT_NO_FATAL_FAILURE(scatter(count, 4096, alignment));
      ASSERT_NO_FATAL_FAILURE(scatter(count, 129, alignment));
    }
  }
}

TEST_P(Pages, large_pages) {
  constexpr size_t kHuge = 2 << 20;
  for (const size_t page_bytes : Sizes{65536, kHuge, kHuge + 65}) {
    for (const size_t count : Sizes{1, 2, 7, 8, 9, 17, 40}) {
      if (quick() && count > 9) continue;
      ASSERT_NO_FATAL_FAILURE(scatter(count, page_bytes, Alignment::kLines));
      ASSERT_NO_FATAL_FAILURE(scatter(count, page_bytes, Alignment::kAny));
    }
  }
}

TEST_P(Pages, repeated_pages) {
  for (const size_t page_bytes : Sizes{64, 100, 4096, 4097}) {
    for (const size_t offset : Sizes{64, 67}) {
      for (const size_t distinct : Sizes{1, 2, 5}) {
        for (const size_t count : Sizes{2, 3, 8, 16, 40}) {
          SCOPED_TRACE(std::to_string(count) + " of " + std::to_string(page_bytes) + " bytes, " +
                       std::to_string(distinct) + " distinct");
          const GuardedBuffer buffer(distinct * 8192);
          std::vector<void *> once;
          for (size_t i = 0; i < distinct; ++i) {
            once.push_back(buffer.begin() + i * 8192 + offset);
          }
          std::vector<void *> pages = once;
          while (pages.size() < count) pages.push_back(once[random_() % distinct]);
          ASSERT_EQ(GetParam().pages(pages.data(), pages.size(), page_bytes), 0);
          ASSERT_TRUE(buffer.only_cleared(once, page_bytes));
        }
      }
    }
  }
}

TEST_P(Pages, field_C7_no_pages_and_empty_pages) {
  const GuardedBuffer buffer(4096);
  void *pages[] = {buffer.begin(), nullptr, reinterpret_cast<void *>(UINTPTR_MAX)};
  EXPECT_EQ(GetParam().pages(nullptr, 0, 4096), 0);
  EXPECT_EQ(GetParam().pages(pages, 0, 4096), 0);
  EXPECT_EQ(GetParam().pages(pages, 3, 0), 0);
  EXPECT_EQ(GetParam().pages(nullptr, 0, SIZE_MAX), 0);
  EXPECT_EQ(GetParam().pages(nullptr, SIZE_MAX, 0), 0);
  EXPECT_TRUE(buffer.only_cleared(buffer.begin(), 0));
}

INSTANTIATE_TEST_SUITE_P(, Pages, testing::ValuesIn(page_clearers()), name_of);

}  // namespace
}  // namespace hpz::test
