// SPDX-License-Identifier: BSD-2-Clause
//
// The environment variables, on the first call of a process and on hpz_init, seen through the query
// functions. Rows A4 and C4 of the field reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/machine.h"
#include "tests/support/program.h"
#include "tests/support/scratch_folder.h"

namespace hpz::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Outcome subject(const std::vector<std::string> &environment, std::vector<std::string> commands) {
  commands.insert(commands.begin(), HPZERO_SUBJECT);
  Outcome outcome = run(commands, {.environment = environment, .prepare = {}});
  EXPECT_EQ(outcome.status, 0) << outcome;
  EXPECT_EQ(outcome.err, "");
  return outcome;
}

const std::vector<std::string> kClearAndTell = {"zero=4097",    "cached=300000", "stream=300001",
                                                "pages=9:4096", "plan",          "kernels"};

std::string bands(const Outcome &outcome) {
  return outcome["auto"] + ' ' + outcome["cached"] + ' ' + outcome["stream"];
}

class ForcedKernel : public testing::TestWithParam<std::string> {};

TEST_P(ForcedKernel, is_the_whole_plan) {
  const std::string id = GetParam();
  const std::string automatic = bands(subject({}, {"plan"}));
  for (const bool init : {false, true}) {
    std::vector<std::string> commands = kClearAndTell;
    if (init) commands.insert(commands.begin(), "init");
    const Outcome outcome = subject({"HPZ_KERNEL=" + id}, commands);
    if (outcome["missing." + id].empty()) {
      EXPECT_EQ(bands(outcome), "max:" + id + " max:" + id + " max:" + id);
      EXPECT_EQ(outcome["source"], "HPZ_KERNEL=" + id);
      EXPECT_EQ(outcome["probe_upto"], "0");
    } else {
      EXPECT_EQ(bands(outcome), automatic);
      EXPECT_THAT(outcome["source"], HasSubstr("HPZ_KERNEL ignored (cannot run here): " + id));
    }
  }
}

std::vector<std::string> ids() {
  std::vector<std::string> result;
  for (const hpz_kernel_info &info : kernel_infos()) result.push_back(info.id);
  return result;
}
INSTANTIATE_TEST_SUITE_P(, ForcedKernel, testing::ValuesIn(ids()),
                         [](const auto &parameter) { return parameter.param; });

TEST(Environment, unknown_kernel_falls_back_to_the_automatic_plan) {
  const std::string automatic = bands(subject({}, {"plan"}));
  for (const std::string id : {"nonsense", "MEMSET", "memset ", "memset,word64", "%s%n%n"}) {
    const Outcome outcome = subject({"HPZ_KERNEL=" + id}, kClearAndTell);
    EXPECT_EQ(bands(outcome), automatic);
    EXPECT_THAT(outcome["source"], StartsWith("built-in"));
    EXPECT_THAT(outcome["source"], HasSubstr("HPZ_KERNEL ignored (names no kernel): " + id));
  }
  const Outcome endless = subject({"HPZ_KERNEL=" + std::string(100000, 'x')}, kClearAndTell);
  EXPECT_EQ(bands(endless), automatic);
  const Outcome empty = subject({"HPZ_KERNEL=", "HPZ_CPU_DISABLE=", "HPZ_PROFILE="}, {"plan"});
  EXPECT_EQ(empty.out, subject({}, {"plan"}).out);
}

TEST(Environment, disabled_features_are_not_used) {
  const std::vector<std::string> detected = split(subject({}, {"plan"})["features"], ',');
  ASSERT_FALSE(detected.empty());
  std::string all;
  for (const std::string &feature : detected) {
    SCOPED_TRACE(feature);
    all += all.empty() ? feature : ',' + feature;
    for (const bool init : {false, true}) {
      std::vector<std::string> commands = kClearAndTell;
      if (init) commands.insert(commands.begin(), "init");
      const Outcome outcome = subject({"HPZ_CPU_DISABLE=" + all}, commands);
      const std::vector<std::string> left = split(outcome["features"], ',');
      EXPECT_THAT(left, testing::Not(testing::Contains(feature)));
      EXPECT_THAT(outcome["source"], HasSubstr("HPZ_CPU_DISABLE: " + all));
    }
  }
  const Outcome nothing = subject({"HPZ_CPU_DISABLE=" + all}, kClearAndTell);
  EXPECT_EQ(nothing["features"], "");
  // Forcing what was taken away is refused.
  const std::string feature = examples().feature, kernel = examples().stream_by_it;
  const Outcome forced =
      subject({"HPZ_CPU_DISABLE=" + feature, "HPZ_KERNEL=" + kernel}, kClearAndTell);
  EXPECT_THAT(forced["source"], HasSubstr("HPZ_KERNEL ignored (cannot run here): " + kernel));
  const Outcome unknown = subject({"HPZ_CPU_DISABLE=nonsense," + feature}, kClearAndTell);
  EXPECT_THAT(unknown["source"], HasSubstr("unknown names in it ignored"));
}

// A profile belongs to hpz_init: the first call opens nothing.
TEST(Environment, profile_is_not_looked_at_by_the_first_call) {
  const ScratchFolder folder;
  const std::string path =
      folder.write("profile", "hpzero-profile 1\ncpu " + subject({}, {"plan"})["cpu"] +
                                  "\ncached max word64\nstream max word64\nprobe 65536 65536\n");
  const Outcome first = subject({"HPZ_PROFILE=" + path}, kClearAndTell);
  EXPECT_THAT(first["source"], StartsWith("built-in"));
  const Outcome init = subject({"HPZ_PROFILE=" + path}, {"init", "zero=100001", "plan"});
  EXPECT_EQ(init["source"], "profile " + path);
  EXPECT_EQ(init["auto"], "max:word64");
  // HPZ_KERNEL beats it.
  const Outcome forced =
      subject({"HPZ_PROFILE=" + path, "HPZ_KERNEL=memset"}, {"init", "zero=100001", "plan"});
  EXPECT_EQ(forced["auto"], "max:memset");
  // HPZ_CPU_DISABLE applies to what it names.
  const Examples &example = examples();
  const std::string needy =
      folder.write("needy", "hpzero-profile 1\ncpu " + subject({}, {"plan"})["cpu"] +
                                "\ncached max " + example.cached_by_it + "\nstream max " +
                                example.stream_by_it + "\nprobe 65536 65536\n");
  const Outcome disabled =
      subject({"HPZ_PROFILE=" + needy, "HPZ_CPU_DISABLE=" + std::string(example.feature)},
              {"init", "zero=100001", "plan"});
  EXPECT_THAT(disabled["source"], HasSubstr("ignored (line 3 kernel cannot run here)"));
}

// Row C4: the thresholds are the library's own, whatever the C library is told.
TEST(Environment, field_C4_tunables_of_the_C_library_change_nothing) {
  const std::string tunables =
      "GLIBC_TUNABLES=glibc.cpu.x86_rep_stosb_threshold=2048:glibc.cpu.x86_rep_movsb_threshold="
      "4096:"
      "glibc.cpu.x86_non_temporal_threshold=0x4040:glibc.cpu.x86_data_cache_size=4096:"
      "glibc.cpu.x86_shared_cache_size=8192:glibc.cpu.hwcaps=-AVX2,-ERMS,-AVX512F";
  const Outcome usual = subject({}, kClearAndTell), tuned = subject({tunables}, kClearAndTell);
  EXPECT_EQ(bands(tuned), bands(usual));
  EXPECT_EQ(tuned["features"], usual["features"]);
}

}  // namespace
}  // namespace hpz::test
