// SPDX-License-Identifier: BSD-2-Clause
//
// HPZ_CPU_DISABLE as text, the environment as read, and the texts that say why.
#include "lib/plan/env.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>

#include <iterator>
#include <string>

#include "lib/plan/text.h"

namespace hpz::test {
namespace {

// Names need not be those of this instruction set: the list is an argument.
constexpr const char *kNames[] = {"avx2", "avx512f", "erms", "clzero", "zen", "slow_nt"};

std::string list_of(FeatureSet features) {
  std::string list;
  for (size_t i = 0; i < 64; ++i) {
    if ((features >> i & 1) == 0) continue;
    if (!list.empty()) list += ',';
    list += i < std::size(kNames) ? kNames[i] : "?";
  }
  return list;
}

TEST(ParseFeatures, lists_of_all_kinds) {
  struct Case {
    const char *list, *features;
    bool unknown;
  };
  constexpr Case kCases[] = {
      {nullptr, "", false},
      {"", "", false},
      {"avx512f", "avx512f", false},
      {"avx512f,clzero", "avx512f,clzero", false},
      {",avx2,,erms,", "avx2,erms", false},
      {"avx2,avx2", "avx2", false},
      {"avx", "", true},
      {"avx22", "", true},
      {"AVX2", "", true},
      {" avx2", "", true},
      {"avx2,nonsense,erms", "avx2,erms", true},
      {"avx2;erms", "", true},
      {"slow_nt,zen", "zen,slow_nt", false},
  };
  for (const Case &c : kCases) {
    bool unknown = !c.unknown;
    EXPECT_EQ(list_of(parse_features(c.list, kNames, unknown)), c.features) << c.list;
    EXPECT_EQ(unknown, c.unknown) << c.list;
  }
}

TEST(ReadEnvironment, empty_counts_as_unset) {
  for (const char *const name : {"HPZ_KERNEL", "HPZ_CPU_DISABLE", "HPZ_PROFILE"}) {
    setenv(name, "", 1);
  }
  const Environment none = read_environment();
  EXPECT_EQ(none.kernel, nullptr);
  EXPECT_EQ(none.cpu_disable, nullptr);
  EXPECT_EQ(none.profile, nullptr);
  setenv("HPZ_KERNEL", "k", 1);
  setenv("HPZ_CPU_DISABLE", "d", 1);
  setenv("HPZ_PROFILE", "p", 1);
  const Environment all = read_environment();
  EXPECT_STREQ(all.kernel, "k");
  EXPECT_STREQ(all.cpu_disable, "d");
  EXPECT_STREQ(all.profile, "p");
  for (const char *const name : {"HPZ_KERNEL", "HPZ_CPU_DISABLE", "HPZ_PROFILE"}) unsetenv(name);
}

TEST(FixedText, truncates_and_stays_terminated) {
  FixedText<8> text;
  EXPECT_TRUE(text.empty());
  text << "ab" << uint64_t{0} << 'c';
  EXPECT_STREQ(text.c_str(), "ab0c");
  text << "defgh" << 'x' << UINT64_MAX;
  EXPECT_STREQ(text.c_str(), "ab0cdef");
  FixedText<32> number;
  number << UINT64_MAX;
  EXPECT_STREQ(number.c_str(), "18446744073709551615");
  // Equal texts are equal whatever they were made of: plans are compared by them.
  FixedText<8> same;
  same << "ab0cdef";
  EXPECT_EQ(text, same);
}

}  // namespace
}  // namespace hpz::test
