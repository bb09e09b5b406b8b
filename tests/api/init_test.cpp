// SPDX-License-Identifier: BSD-2-Clause
//
// hpz_init: profiles good and bad, repetition, and what it leaves behind.
#include <errno.h>
#include <gmock/gmock.h>
#include <hpzero/hpzero.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/descriptors.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/machine.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/settings.h"

namespace hpz::test {
namespace {

using testing::HasSubstr;
using testing::Not;

int init_with(const std::string &profile) {
  hpz_init_options options = HPZ_INIT_OPTIONS_INIT;
  options.profile = profile.c_str();
  return hpz_init(&options);
}

hpz_plan_info plan_of(hpz_policy policy) {
  hpz_plan_info plan = HPZ_PLAN_INFO_INIT;
  EXPECT_EQ(hpz_plan_info_get(policy, &plan), 0);
  return plan;
}

std::string bands_of(hpz_policy policy) {
  const hpz_plan_info plan = plan_of(policy);
  std::string text;
  for (uint32_t i = 0; i < plan.bands; ++i) {
    text += std::to_string(plan.band[i].upto_bytes) + ':' + plan.band[i].kernel + ' ';
  }
  return text;
}

void expect_correct_zeroing() {
  for (const size_t len : Sizes{100, 5000, 300000, 3 << 20}) {
    const GuardedBuffer buffer(len);
    hpz_zero(buffer.end() - len, len);
    ASSERT_TRUE(buffer.only_cleared(buffer.end() - len, len));
  }
}

const std::string kStream = examples().baseline_stream;

std::string good_profile() {
  return "hpzero-profile 1\ncpu " + std::string(plan_of(HPZ_POLICY_AUTO).cpu) +
         "\ncached 12345 word64\ncached max memset\nstream max " + kStream +
         "\nprobe 1048576 2097152\n";
}

class Init : public testing::Test {
 protected:
  Init() { EXPECT_EQ(hpz_init(nullptr), 0); }
  ~Init() override {
    unsetenv("HPZ_PROFILE");
    EXPECT_EQ(hpz_init(nullptr), 0);
  }
  ScratchFolder folder_;
};

TEST_F(Init, a_good_profile_decides) {
  const std::string path = folder_.write("profile", good_profile());
  ASSERT_EQ(init_with(path), 0);
  EXPECT_EQ(bands_of(HPZ_POLICY_CACHED), "12345:word64 18446744073709551615:memset ");
  EXPECT_EQ(bands_of(HPZ_POLICY_STREAM), "18446744073709551615:" + kStream + ' ');
  EXPECT_EQ(bands_of(HPZ_POLICY_AUTO),
            "12345:word64 2097152:memset 18446744073709551615:" + kStream + ' ');
  const hpz_plan_info plan = plan_of(HPZ_POLICY_AUTO);
  if (plan.probe_ticks != UINT64_MAX) {
    EXPECT_EQ(plan.probe_from_bytes, 1048576U);
    EXPECT_EQ(plan.probe_upto_bytes, 2097152U);
  }
  EXPECT_EQ(plan.source, "profile " + path);
  expect_correct_zeroing();
  // By the environment, and gone without it.
  ASSERT_EQ(hpz_init(nullptr), 0);
  EXPECT_THAT(plan_of(HPZ_POLICY_AUTO).source, Not(HasSubstr("profile")));
  setenv("HPZ_PROFILE", path.c_str(), 1);
  ASSERT_EQ(hpz_init(nullptr), 0);
  EXPECT_EQ(plan_of(HPZ_POLICY_AUTO).source, "profile " + path);
  // What the caller names comes before what the environment names.
  EXPECT_EQ(init_with("/nonexistent/other"), -ENOENT);
  EXPECT_THAT(plan_of(HPZ_POLICY_AUTO).source,
              HasSubstr("profile ignored (no such file): /nonexistent/other"));
}

TEST_F(Init, a_bad_profile_is_an_error_and_the_automatic_plan_is_in_force) {
  const std::string automatic = bands_of(HPZ_POLICY_AUTO);
  const std::string fifo = folder_.path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  struct Case {
    std::string path;
    int error;
    const char *reason;
  };
  const Case cases[] = {
      {folder_.path("none"), -ENOENT, "profile ignored ("},
      {"", -ENOENT, "profile ignored ("},
      {folder_.path(), -EBADMSG, "profile ignored ("},
      {fifo, -EBADMSG, "profile ignored ("},
      {"/dev/zero", -EBADMSG, "profile ignored ("},
      {folder_.write("large", std::string(64 * 1024 + 1, '#')), -EFBIG, "profile ignored ("},
      {folder_.write("empty", ""), -EBADMSG, "profile ignored (line 1 "},
      {folder_.write("binary", std::string("\x7F"
                                           "ELF\0\0\xFF",
                                           7)),
       -EBADMSG, "profile ignored (line 1 "},
      {folder_.write("endless_line", "hpzero-profile 1\n" + std::string(65000, 'x')), -EBADMSG,
       "profile ignored (line 2 unknown keyword"},
      {folder_.write("other_cpu", "hpzero-profile 1\ncpu Other-1-2-3\n"), -ENODEV,
       "profile ignored (line 2 is of another CPU"},
      {folder_.write("cut", good_profile().substr(0, good_profile().size() - 8)), -EBADMSG,
       "profile ignored (line "},
      {folder_.write("kernel", good_profile() + "stream max nonsense\n"), -EBADMSG,
       "profile ignored (line 7 "},
  };
  for (const bool by_environment : {false, true}) {
    for (const Case &c : cases) {
      SCOPED_TRACE(c.path);
      if (by_environment) {
        setenv("HPZ_PROFILE", c.path.c_str(), 1);
        EXPECT_EQ(hpz_init(nullptr), 0);
        if (c.path.empty()) continue;  // as if unset
      } else {
        EXPECT_EQ(init_with(c.path), c.error);
      }
      EXPECT_EQ(bands_of(HPZ_POLICY_AUTO), automatic);
      EXPECT_THAT(plan_of(HPZ_POLICY_AUTO).source, HasSubstr(c.reason));
      EXPECT_THAT(plan_of(HPZ_POLICY_AUTO).source, HasSubstr("built-in"));
      expect_correct_zeroing();
    }
  }
}

// The name of a file may be longer than the text that tells of it.
TEST_F(Init, a_profile_of_a_long_name) {
  const std::string path = folder_.path(std::string(200, 'n')) + std::string(4000, '/');
  EXPECT_LT(init_with(path), 0);
  EXPECT_LT(init_with(std::string(100000, 'p')), 0);
  EXPECT_THAT(plan_of(HPZ_POLICY_AUTO).source, HasSubstr("profile ignored (cannot be read)"));
  expect_correct_zeroing();
}

TEST_F(Init, a_refused_call_changes_nothing) {
  ASSERT_EQ(init_with(folder_.write("profile", good_profile())), 0);
  const hpz_plan_info before = plan_of(HPZ_POLICY_AUTO);
  hpz_init_options options = HPZ_INIT_OPTIONS_INIT;
  options.flags = ~uint32_t{0};
  EXPECT_EQ(hpz_init(&options), -EINVAL);
  options = HPZ_INIT_OPTIONS_INIT;
  options.size = 3;
  EXPECT_EQ(hpz_init(&options), -EINVAL);
  EXPECT_EQ(plan_of(HPZ_POLICY_AUTO).source, before.source);
}

TEST_F(Init, no_probe_by_option) {
  hpz_init_options options = HPZ_INIT_OPTIONS_INIT;
  options.flags = HPZ_INIT_NO_PROBE;
  ASSERT_EQ(hpz_init(&options), 0);
  EXPECT_EQ(plan_of(HPZ_POLICY_AUTO).probe_from_bytes, 0U);
  EXPECT_EQ(plan_of(HPZ_POLICY_AUTO).probe_upto_bytes, 0U);
  expect_correct_zeroing();
}

// The last plan wins, and every earlier string stays readable: a reader may have kept it.
TEST_F(Init, strings_of_earlier_plans_stay) {
  const hpz_plan_info automatic = plan_of(HPZ_POLICY_AUTO);
  const std::string source = automatic.source, features = automatic.features, cpu = automatic.cpu;
  ASSERT_EQ(init_with(folder_.write("profile", good_profile())), 0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_LT(init_with(folder_.path("none" + std::to_string(i))), 0);
  }
  EXPECT_EQ(automatic.source, source);
  EXPECT_EQ(automatic.features, features);
  EXPECT_EQ(automatic.cpu, cpu);
}

// Equal plans are stored once: a host that calls it before each job does not grow.
TEST_F(Init, repeated_does_not_grow) {
  const std::string good = folder_.write("good", good_profile());
  const std::string bad = folder_.write("bad", "nonsense");
  const auto round = [&] {
    ASSERT_EQ(hpz_init(nullptr), 0);
    ASSERT_EQ(init_with(good), 0);
    ASSERT_EQ(init_with(bad), -EBADMSG);
    ASSERT_EQ(init_with("/nonexistent"), -ENOENT);
    ASSERT_EQ(hpz_plan_info_get(HPZ_POLICY_AUTO, nullptr), -EINVAL);
    plan_of(HPZ_POLICY_CACHED);
    kernel_infos();
  };
  ASSERT_NO_FATAL_FAILURE(round());
  const size_t descriptors = open_descriptors();
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < (quick() ? 50 : 250); ++i) ASSERT_NO_FATAL_FAILURE(round());
  EXPECT_LE(mallinfo2().uordblks, before + 1024);
  EXPECT_EQ(open_descriptors(), descriptors);
}

}  // namespace
}  // namespace hpz::test
