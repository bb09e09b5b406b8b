// SPDX-License-Identifier: BSD-2-Clause
//
// Poor surroundings: no /sys, an empty /proc/cpuinfo, no /proc at all, one CPU, a program that runs
// with more rights than its caller, a library that is loaded late. Rows B5 and B7 of the field
// reports by recipe R-MSK.
#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>

#include <algorithm>
#include <stdexcept>

#include "tests/support/machine.h"
#include "tests/support/program.h"
#include "tests/support/sandbox.h"
#include "tests/support/scratch_folder.h"

namespace hpz::test {
namespace {

void require(bool ok, const char *what) {
  if (!ok) throw std::runtime_error(std::string(what) + ": " + strerror(errno));
}

struct Masked {
  const char *name;
  bool sys, cpuinfo_empty, cpuinfo_odd, proc;
};

class Masks : public testing::TestWithParam<Masked> {};

TEST_P(Masks, field_B5_B7_work_silently) {
  HPZERO_NEEDS_NAMESPACES();
  const Masked &masked = GetParam();
  const ScratchFolder folder;
  const std::string empty = folder.write("empty", "");
  const std::string odd = folder.write(
      "odd",
      "processor\t: 0\nmodel name\t: \xFF\xFE nothing\nflags\t\t: fpu\nprocessor\t: 99999\n");
  const auto mask = [&] {
    enter_own_mounts();
    if (masked.sys) hide_folder("/sys");
    for (const auto &[wanted, file] :
         {std::pair(masked.cpuinfo_empty, empty), std::pair(masked.cpuinfo_odd, odd)}) {
      if (!wanted) continue;
      require(mount(file.c_str(), "/proc/cpuinfo", nullptr, MS_BIND, nullptr) == 0,
              "a file over /proc/cpuinfo");
    }
    if (masked.proc) hide_folder("/proc");
  };
  const std::string usual = run({HPZERO_SUBJECT, "plan"})["features"];
  for (const std::vector<std::string> &commands :
       {std::vector<std::string>{"zero=300001", "stream=5001", "plan", "kernels"},
        std::vector<std::string>{"init", "zero=300001", "stream=5001", "plan", "kernels"},
        std::vector<std::string>{"race=4", "init", "pages=9:4096", "plan", "kernels"}}) {
    std::vector<std::string> arguments = {HPZERO_SUBJECT};
    arguments.insert(arguments.end(), commands.begin(), commands.end());
    const Outcome outcome = run(arguments, {{}, mask});
    EXPECT_EQ(outcome.status, 0) << outcome;
    EXPECT_EQ(outcome.err, "") << "a library prints nothing";
    // A worse plan at most: what may run is the CPU's to say, and no file's.
    for (const std::string &id : kernels_that_must_run()) {
      EXPECT_EQ(outcome["missing." + id], "") << id;
    }
    EXPECT_EQ(outcome["features"], usual);
  }
}

INSTANTIATE_TEST_SUITE_P(, Masks,
                         testing::Values(Masked{"no_sys", true, false, false, false},
                                         Masked{"empty_cpuinfo", false, true, false, false},
                                         Masked{"odd_cpuinfo", false, false, true, false},
                                         Masked{"no_sys_and_empty_cpuinfo", true, true, false,
                                                false},
                                         Masked{"no_sys_and_no_proc", true, false, false, true},
                                         Masked{"no_proc", false, false, false, true}),
                         [](const auto &parameter) { return std::string(parameter.param.name); });

TEST(Surroundings, one_cpu) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int tried = 0;
  for (size_t cpu = 0; cpu < CPU_SETSIZE && tried < 2; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    ++tried;
    const auto pin = [cpu] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      require(sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
    };
    for (const char *const first : {"race=8", "init"}) {
      const Outcome outcome =
          run({HPZERO_SUBJECT, first, "race=8", "zero=300001", "plan"}, {{}, pin});
      EXPECT_EQ(outcome.status, 0) << outcome;
      EXPECT_EQ(outcome.err, "");
    }
  }
  EXPECT_GE(tried, 1);
}

// A set-uid program is not steered by its caller: real and effective user differ.
TEST(Surroundings, environment_of_a_set_uid_program_is_ignored) {
  if (geteuid() != 0) GTEST_SKIP() << "NOT TESTED HERE: needs root, to become somebody else";
  const auto act_for_somebody = [] { require(setresuid(65534, 0, 0) == 0, "setresuid"); };
  const Outcome outcome = run(
      {HPZERO_SUBJECT, "init", "zero=5001", "plan"},
      {{"HPZ_KERNEL=word64", "HPZ_CPU_DISABLE=avx2", "HPZ_PROFILE=/etc/passwd"}, act_for_somebody});
  EXPECT_EQ(outcome.status, 0) << outcome;
  EXPECT_THAT(outcome["source"], testing::StartsWith("built-in"));
  EXPECT_THAT(outcome["source"], testing::Not(testing::HasSubstr("HPZ_")));
  EXPECT_THAT(outcome["source"], testing::Not(testing::HasSubstr("profile")));
}

// HPZ_INIT_CHECK_CPUS, and no thread to be had for it: what is not known to be alike is not relied
// on.
TEST(Surroundings, cpus_that_cannot_be_compared) {
  const std::string by_core = examples().by_core;
  const Outcome usual = run({HPZERO_SUBJECT, "init-check-cpus", "zero=300001", "plan", "kernels"});
  EXPECT_EQ(usual.status, 0) << usual;
  EXPECT_EQ(usual["init"], "0");
  EXPECT_THAT(usual["source"], testing::Not(testing::HasSubstr("alike")));
  EXPECT_EQ(usual["features"], run({HPZERO_SUBJECT, "init", "plan"})["features"]);
  const Outcome outcome = run({HPZERO_SUBJECT, "forbid-threads", "init-check-cpus", "zero=300001",
                               "stream=5001", "plan", "kernels"});
  EXPECT_EQ(outcome.status, 0) << outcome;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome["init"], "0");
  std::vector<std::string> left = split(usual["features"], ',');
  if (by_core.empty()) {
    EXPECT_EQ(outcome["source"], usual["source"]);
  } else {
    EXPECT_THAT(left, testing::Contains(by_core));
    left.erase(std::remove(left.begin(), left.end(), by_core), left.end());
    EXPECT_THAT(outcome["source"], testing::HasSubstr("CPUs not known to be alike"));
    EXPECT_EQ(outcome["missing." + std::string(examples().stream_by_it)], by_core);
  }
  EXPECT_EQ(split(outcome["features"], ','), left);
}

TEST(Surroundings, loaded_late_and_unloaded) {
  const Outcome outcome = run({HPZERO_LOADER, HPZERO_LIBRARY});
  EXPECT_EQ(outcome.status, 0) << outcome;
  EXPECT_EQ(outcome.err, "");
  // The smaller of the two, which needs nothing but the C library.
  const Outcome core = run({HPZERO_LOADER, HPZERO_CORE_LIBRARY});
  EXPECT_EQ(core.status, 0) << core;
  EXPECT_EQ(core.err, "");
}

}  // namespace
}  // namespace hpz::test
