// SPDX-License-Identifier: BSD-2-Clause
//
// hpz_is_zero: one bit anywhere is seen, nothing outside is looked at.
#include <hpzero/zero.h>
#include <string.h>

#include <random>

#include "tests/support/guarded_buffer.h"
#include "tests/support/settings.h"

namespace hpz::test {
namespace {

// Ranges at every distance to the guard page behind them, between bytes that are not zero.
TEST(IsZero, one_bit_at_every_position) {
  constexpr size_t kUpto = 2100;
  const GuardedBuffer buffer(kUpto + 128);
  // Also tells ranges shorter than anything the scan does at once from longer ones: 512 and 8
  // bytes.
  for (size_t len = 0; len <= kUpto; ++len) {
    const bool thorough = !quick() || len < 40 || (len > 500 && len < 530);
    if (!thorough && len % 64 > 1) continue;
    for (size_t behind = 0; behind < 64; behind += thorough ? 1 + len / 130 : 31) {
      unsigned char *const src = buffer.end() - behind - len;
      if (len != 0) memset(src, 0, len);
      ASSERT_EQ(hpz_is_zero(src, len), 1) << len << " bytes, " << behind << " before the guard";
      for (size_t at = 0; at < len; ++at) {
        src[at] = static_cast<unsigned char>(1U << at % 8);
        ASSERT_EQ(hpz_is_zero(src, len), 0)
            << len << " bytes, " << behind << " before the guard, bit in byte " << at;
        src[at] = 0;
      }
      if (len != 0) memset(src, kPoison, len);
    }
  }
}

TEST(IsZero, every_bit_of_a_byte) {
  unsigned char bytes[600] = {};
  for (const size_t at : Sizes{0, 7, 8, 511, 512, 519, 599}) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      bytes[at] = static_cast<unsigned char>(1U << bit);
      EXPECT_EQ(hpz_is_zero(bytes, sizeof bytes), 0) << at << ' ' << bit;
    }
    bytes[at] = 0;
  }
  // Bits that would cancel each other if they were added or xored.
  bytes[10] = bytes[74] = 0x80;
  EXPECT_EQ(hpz_is_zero(bytes, sizeof bytes), 0);
}

TEST(IsZero, flush_after_the_guard_page) {
  const GuardedBuffer buffer(8192);
  for (size_t len = 0; len <= 1300; ++len) {
    memset(buffer.begin(), 0, len);
    ASSERT_EQ(hpz_is_zero(buffer.begin(), len), 1) << len;
    ASSERT_EQ(hpz_is_zero(buffer.begin(), len + 1), 0) << len;
  }
}

TEST(IsZero, megabytes) {
  const GuardedBuffer buffer(8 << 20);
  memset(buffer.begin(), 0, buffer.size());
  ASSERT_EQ(hpz_is_zero(buffer.begin(), buffer.size()), 1);
  std::mt19937_64 random(seed());
  SCOPED_TRACE("HPZERO_TEST_SEED=" + std::to_string(seed()));
  for (int round = 0; round < (quick() ? 10 : 300); ++round) {
    const size_t at = random() % buffer.size(), from = random() % 4096;
    buffer.begin()[at] = static_cast<unsigned char>(1U << random() % 8);
    ASSERT_EQ(hpz_is_zero(buffer.begin() + from, buffer.size() - from), at < from) << at;
    ASSERT_EQ(hpz_is_zero(buffer.begin(), at), 1) << at;
    buffer.begin()[at] = 0;
  }
}

TEST(IsZero, field_C7_nothing_is_zero) {
  const GuardedBuffer buffer(1);
  EXPECT_EQ(hpz_is_zero(nullptr, 0), 1);
  EXPECT_EQ(hpz_is_zero(reinterpret_cast<void *>(UINTPTR_MAX), 0), 1);
  EXPECT_EQ(hpz_is_zero(buffer.end(), 0), 1);
  EXPECT_EQ(hpz_is_zero(buffer.begin() - 1, 0), 1);
}

// Early exit: pages behind the first byte that is not zero are not reached (zero.h promises
// "soon").
TEST(IsZero, stops_soon) {
  const GuardedBuffer buffer(8192);
  memset(buffer.begin(), 0, buffer.size());
  buffer.end()[-4096] = 1;
  // Would run into the guard page if it went on.
  EXPECT_EQ(hpz_is_zero(buffer.begin(), buffer.size() + (size_t{1} << 30)), 0);
}

}  // namespace
}  // namespace hpz::test
