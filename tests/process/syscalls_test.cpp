// SPDX-License-Identifier: BSD-2-Clause
//
// Which system calls are made, and when: by the clearing calls none, the first one in the process
// included; by hpz_init a short list. And who reads the time-stamp counter: hpz_zero alone.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>

#include <set>

#include "tests/process/tracee.h"
#include "tests/support/machine.h"
#include "tests/support/program.h"

namespace hpz::test {
namespace {

class ClearingCall : public testing::TestWithParam<const char *> {};

// The first call, whichever it is, and the second.
TEST_P(ClearingCall, makes_no_system_call) {
  for (const std::string environment :
       {"X=", "HPZ_KERNEL=memset", "HPZ_KERNEL=nonsense", "HPZ_CPU_DISABLE=avx512f,avx2,nonsense",
        "HPZ_PROFILE=/etc/passwd"}) {
    SCOPED_TRACE(environment);
    // What the environment changes, it changes on a small range as on a large one.
    if (environment != "X=" && std::string(GetParam()).find("70000001") != std::string::npos) break;
    Tracee tracee({HPZERO_SUBJECT, "mark", GetParam(), "mark", GetParam(), "mark", "zero=300001",
                   "mark", "init", "mark", GetParam(), "mark"},
                  {environment});
    tracee.run_to_mark();
    EXPECT_EQ(tracee.run_to_mark(), std::vector<long>{}) << "first";
    EXPECT_EQ(tracee.run_to_mark(), std::vector<long>{}) << "second";
    EXPECT_EQ(tracee.run_to_mark(), std::vector<long>{}) << "hpz_zero behind it";
    tracee.run_to_mark();
    EXPECT_EQ(tracee.run_to_mark(), std::vector<long>{}) << "behind hpz_init";
    EXPECT_EQ(tracee.finish(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(, ClearingCall,
                         testing::Values("zero=100", "zero=5001", "zero=300001", "zero=70000001",
                                         "cached=5001", "cached=70000001", "stream=5001",
                                         "stream=70000001", "pages=20:4096", "pages=20:1001",
                                         "with=word64:5001", "with=sse2_nt:300001",
                                         "pages-with=memset:20:4096", "is-zero=5001",
                                         "is-zero=70000001"),
                         [](const auto &parameter) {
                           std::string name = parameter.param;
                           for (char &c : name) {
                             if (!isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name;
                         });

// Every system call of hpz_init is one of those that look: a sandbox that allows these allows it.
// What it must not do is among what is missing: threads, signals, affinity, output, network.
TEST(Init, looks_at_files_and_takes_memory_and_nothing_else) {
  const std::set<long> allowed = {
      SYS_openat,     SYS_open,   SYS_read,      SYS_pread64, SYS_close,      SYS_fstat,
      SYS_newfstatat, SYS_access, SYS_faccessat, SYS_lseek,   SYS_getdents64, SYS_readlink,
      SYS_mmap,       SYS_munmap, SYS_mprotect,  SYS_brk,     SYS_futex,      SYS_getrandom};
  const std::string profile = "init=/proc/self/maps";
  Tracee tracee({HPZERO_SUBJECT, "mark", "init", "mark", "init", "mark", profile, "mark",
                 "init-no-probe", "mark", "init=/nonexistent", "mark"},
                {"HPZ_PROFILE=/nonexistent/profile"});
  tracee.run_to_mark();
  for (int i = 0; i < 5; ++i) {
    for (const long number : tracee.run_to_mark()) {
      EXPECT_EQ(allowed.count(number), 1U) << "system call " << number << " in call " << i;
    }
  }
  EXPECT_EQ(tracee.finish(), 0);
}

// A thread that forbids RDTSC (PR_SET_TSC, strict seccomp) is served by everything but the probe of
// hpz_zero, and by that after HPZ_INIT_NO_PROBE.
TEST(Counter, is_read_by_the_probe_of_hpz_zero_alone) {
  for (const char *const command :
       {"cached=300001", "stream=300001", "pages=100:4096", "with=memset:300001", "is-zero=300001",
        "zero=5001", "plan", "kernels"}) {
    const Outcome outcome = run({HPZERO_SUBJECT, "forbid-tsc", command, command});
    EXPECT_EQ(outcome.status, 0) << command << ": " << outcome;
  }
  EXPECT_EQ(run({HPZERO_SUBJECT, "init-no-probe", "forbid-tsc", "zero=300001"}).status, 0);
  EXPECT_EQ(run({HPZERO_SUBJECT, "forbid-tsc", "init-no-probe", "zero=300001"}).status, 0);
  for (const char *const kernel : {"memset", "word64"}) {
    const Setting forced = {{std::string("HPZ_KERNEL=") + kernel}, {}};
    EXPECT_EQ(run({HPZERO_SUBJECT, "forbid-tsc", "zero=300001"}, forced).status, 0) << kernel;
  }
  // The test would tell: here it is read, by the subject, and by the plan where that probes.
  EXPECT_EQ(run({HPZERO_SUBJECT, "forbid-tsc", "read-tsc"}).status, -SIGSEGV);
  const Outcome plan = run({HPZERO_SUBJECT, "init", "plan"});
  EXPECT_EQ(plan.status, 0);
  const int expected = plan["probe_upto"] != "0" ? -SIGSEGV : 0;
  EXPECT_EQ(run({HPZERO_SUBJECT, "forbid-tsc", "zero=300001"}).status, expected);
}

}  // namespace
}  // namespace hpz::test
