// SPDX-License-Identifier: BSD-2-Clause
//
// Sizes: what is read, what is refused, and that what is printed can be read again.
#include "bench/sizes.h"

#include <gmock/gmock.h>

#include "bench/refusal.h"

namespace hpz::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal_of(const std::string &text) {
  try {
    parse_size_list(text);
  } catch (const Refusal &refusal) {
    return refusal.what();
  }
  return "accepted";
}

TEST(Sizes, ReadsBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_size("1B"), 1u);
  EXPECT_EQ(parse_size("4KiB"), 4096u);
  EXPECT_EQ(parse_size("4kB"), 4000u);
  EXPECT_EQ(parse_size("3MiB"), 3u << 20);
  EXPECT_EQ(parse_size("3MB"), 3'000'000u);
  EXPECT_EQ(parse_size("2GiB"), uint64_t{2} << 30);
  EXPECT_EQ(parse_size("2GB"), 2'000'000'000u);
  EXPECT_EQ(parse_size("1024GiB"), uint64_t{1} << 40);
}

TEST(Sizes, RefusesWhatCouldMeanTwoThingsAndNamesBoth) {
  for (const char *const text : {"4K", "4k", "4kb", "4KB", "4Ki", "4kib"}) {
    EXPECT_THAT(refusal_of(text), HasSubstr("write 4KiB or 4kB")) << text;
  }
  EXPECT_THAT(refusal_of("2M"), HasSubstr("write 2MiB or 2MB"));
  EXPECT_THAT(refusal_of("2m"), HasSubstr("write 2MiB or 2MB"));
  EXPECT_THAT(refusal_of("1G"), HasSubstr("write 1GiB or 1GB"));
  EXPECT_THAT(refusal_of("4096"), HasSubstr("write 4096B"));
}

TEST(Sizes, RefusesWhatIsNoSize) {
  for (const char *const text : {"",
                                 "KiB",
                                 "-1KiB",
                                 "+1KiB",
                                 " 1KiB",
                                 "1 KiB",
                                 "1.5KiB",
                                 "0x10B",
                                 "0B",
                                 "1XiB",
                                 "1KiB ",
                                 "1025GiB",
                                 "18446744073709551615GiB",
                                 "99999999999999999999B",
                                 "1KiB,",
                                 ",1KiB",
                                 "1KiB..",
                                 "..1KiB",
                                 "2KiB..1KiB",
                                 "1KiB..2KiB..4KiB"}) {
    EXPECT_NE(refusal_of(text), "accepted") << text;
  }
}

TEST(Sizes, ReadsListsAndRanges) {
  EXPECT_THAT(parse_size_list("4KiB,64B,4KiB"), ElementsAre(64, 4096));
  EXPECT_THAT(parse_size_list("4KiB..64KiB"), ElementsAre(4096, 16384, 65536));
  // Both ends are included, also where the steps miss one.
  EXPECT_THAT(parse_size_list("4KiB..32KiB"), ElementsAre(4096, 16384, 32768));
  EXPECT_THAT(parse_size_list("1B..1B,1KiB"), ElementsAre(1, 1024));
}

TEST(Sizes, PrintsWhatItReads) {
  for (const uint64_t size : {uint64_t{1}, uint64_t{1023}, kKiB, 1536 * kKiB, kMiB, 48 * kMiB, kGiB,
                              1024 * kGiB, uint64_t{4000}}) {
    EXPECT_EQ(parse_size(format_size(size)), size) << format_size(size);
  }
  EXPECT_EQ(format_size(1536 * kKiB), "1536KiB");
  EXPECT_EQ(format_size_rounded(kGiB + kGiB / 2), "1.5 GiB");
}

}  // namespace
}  // namespace hpz::bench
