// SPDX-License-Identifier: BSD-2-Clause
//
// Teams and verbs where the kernel refuses: seccomp, old kernels, no more threads, no /proc.
#include <errno.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "tests/support/program.h"
#include "tests/support/sandbox.h"

namespace hpz::test {
namespace {

constexpr Refusal kNoPopulate = {SYS_madvise, EINVAL, 2, 23};

Outcome run_inside(const std::string &test, const std::function<void()> &prepare) {
  Setting setting;
  setting.prepare = prepare;
  return run({HPZERO_IN_SANDBOX, "--gtest_filter=InSandbox." + test}, setting);
}

void expect_passed(const Outcome &outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome;
  EXPECT_EQ(outcome.err, "") << "a library prints nothing";
  EXPECT_NE(outcome.out.find("[  PASSED  ] 1 test"), std::string::npos) << outcome;
}

TEST(Sandbox, nothing_is_refused) {
  expect_passed(run_inside("everything", [] {}));
}

// Row D7: a kernel before 5.14.
TEST(Sandbox, field_D7_old_kernel) {
  expect_passed(run_inside("everything", [] { refuse({kNoPopulate}); }));
}

TEST(Sandbox, field_D1_old_kernel_bad_memory) {
  expect_passed(run_inside("bad_memory", [] { refuse({kNoPopulate}); }));
}

// Row F12: containers.
TEST(Sandbox, field_F12_no_memory_policies) {
  for (const int error : {EPERM, ENOSYS}) {
    expect_passed(run_inside("everything_with_any_flag", [error] {
      refuse({{SYS_get_mempolicy, error},
              {SYS_set_mempolicy, error},
              {SYS_mbind, error},
              {SYS_move_pages, error}});
    }));
  }
}

TEST(Sandbox, no_pinning) {
  for (const int error : {EPERM, EINVAL, ENOSYS}) {
    expect_passed(run_inside("everything_unpinned", [error] {
      refuse({{SYS_sched_setaffinity, error}});
    }));
  }
}

TEST(Sandbox, affinity_cannot_be_read) {
  expect_passed(run_inside("everything_with_any_flag", [] {
    refuse({{SYS_sched_getaffinity, EPERM}, {SYS_sched_setaffinity, EPERM}});
  }));
}

// Row F21: fewer threads, down to the caller alone.
TEST(Sandbox, field_F21_no_threads) {
  expect_passed(run_inside("everything_alone", [] {
    // glibc asks by clone3 first; what has no argument in registers cannot be told from fork.
    refuse({{SYS_clone3, EAGAIN}, {SYS_clone, EAGAIN}});
  }));
}

TEST(Sandbox, no_madvise_at_all) {
  for (const int error : {EPERM, ENOSYS}) {
    expect_passed(run_inside("everything", [error] { refuse({{SYS_madvise, error}}); }));
  }
}

TEST(Sandbox, no_ioctl) {
  expect_passed(run_inside("everything", [] {
    refuse({{SYS_ioctl, EPERM}, {SYS_getcpu, EPERM}});
  }));
}

TEST(Sandbox, no_proc_and_no_sys) {
  const Outcome outcome = run_inside("everything_with_any_flag", [] {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      throw std::runtime_error("no mount namespace");
    }
    for (const char *const path : {"/sys", "/proc"}) {
      if (mount("none", path, "tmpfs", 0, "size=64k") != 0) throw std::runtime_error("no tmpfs");
    }
  });
  if (outcome.status == 125) GTEST_SKIP() << "NOT TESTED HERE: " << outcome.err;
  expect_passed(outcome);
}

}  // namespace
}  // namespace hpz::test
