// SPDX-License-Identifier: BSD-2-Clause
//
// Teams and verbs where the kernel refuses: seccomp, old kernels, no more threads, no /proc.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/program.h"
#include "tests/support/sandbox.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/threads.h"

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
    expect_passed(run_inside("everything_without_placement", [error] {
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
  expect_passed(run_inside("everything_unpinned", [] {
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

TEST(Sandbox, no_threads_destroy_from_a_callback) {
  expect_passed(run_inside("destroy_from_a_callback", [] {
    refuse({{SYS_clone3, EAGAIN}, {SYS_clone, EAGAIN}});
  }));
}

TEST(Sandbox, populate_of_pages_that_are_said_to_be_larger) {
  bool is_without_huge_pages = false;
  for (const bool is_old : {false, true}) {
    const Outcome outcome = run_inside("populate_of_pages_that_are_said_to_be_larger", [is_old] {
      if (is_old) refuse({kNoPopulate});
    });
    expect_passed(outcome);
    is_without_huge_pages |= outcome.out.find("NOT TESTED HERE") != std::string::npos;
  }
  if (is_without_huge_pages) {
    GTEST_SKIP() << "NOT TESTED HERE: beside huge pages, which this kernel does not have";
  }
}

TEST(Sandbox, no_madvise_at_all) {
  expect_passed(run_inside("everything_but_release_is_permitted", [] {
    refuse({{SYS_madvise, EPERM}});
  }));
  expect_passed(run_inside("everything_but_release_is_supported", [] {
    refuse({{SYS_madvise, ENOSYS}});
  }));
}

TEST(Sandbox, no_ioctl) {
  expect_passed(run_inside("everything", [] {
    refuse({{SYS_ioctl, EPERM}, {SYS_getcpu, EPERM}});
  }));
}

// --- Row F15: the documented calls and no others -------------------------------------------------

struct Call {
  const char *name;
  long number;
};
constexpr Call kCalls[] = {{"clock_gettime", SYS_clock_gettime},
                           {"close", SYS_close},
                           {"brk", SYS_brk},
                           {"fstat", SYS_fstat},
                           {"futex", SYS_futex},
                           {"get_mempolicy", SYS_get_mempolicy},
                           {"getcpu", SYS_getcpu},
                           {"getpid", SYS_getpid},
                           {"gettid", SYS_gettid},
                           {"ioctl", SYS_ioctl},
                           {"lseek", SYS_lseek},
                           {"madvise", SYS_madvise},
                           {"memfd_create", SYS_memfd_create},
                           {"mincore", SYS_mincore},
                           {"mmap", SYS_mmap},
                           {"move_pages", SYS_move_pages},
                           {"mprotect", SYS_mprotect},
                           {"mremap", SYS_mremap},
                           {"munmap", SYS_munmap},
                           {"newfstatat", SYS_newfstatat},
                           {"openat", SYS_openat},
                           {"pread64", SYS_pread64},
                           {"process_madvise", SYS_process_madvise},
                           {"read", SYS_read},
                           {"sched_getaffinity", SYS_sched_getaffinity},
                           {"set_mempolicy", SYS_set_mempolicy},
                           {"statx", SYS_statx}};

// The calls that a header lists behind " *   NAME: ", and in the lines that go on.
std::vector<long> listed(const char *header, const std::string &name) {
  std::istringstream lines(read_file(std::string(HPZERO_HEADERS "/") + header));
  std::vector<long> numbers;
  const std::string start = " *   " + name + ": ", more = " *     ";
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    const bool begins = line.rfind(start, 0) == 0;
    is_inside = begins || (is_inside && line.rfind(more, 0) == 0);
    if (!is_inside) continue;
    std::istringstream words(line.substr(begins ? start.size() : more.size()));
    for (std::string word; words >> word;) {
      const auto *const call = std::find_if(std::begin(kCalls), std::end(kCalls),
                                            [&](const Call &one) { return word == one.name; });
      EXPECT_NE(call, std::end(kCalls)) << word << ": to be added to this test's list";
      if (call != std::end(kCalls)) numbers.push_back(call->number);
    }
  }
  EXPECT_FALSE(numbers.empty()) << name;
  return numbers;
}

// A team that is there before the sandbox closes works on in it.
TEST(Sandbox, field_F15_killed_for_all_but_the_listed_calls) {
  using Verb = decltype(&hpz_space_zero);
  const struct {
    const char *name;
    Verb verb;
  } verbs[] = {{"zero", hpz_space_zero},
               {"populate", hpz_space_populate},
               {"reset", hpz_space_reset},
               {"release", hpz_space_release}};
  constexpr size_t kBytes = 24 << 20;
  for (const auto &verb : verbs) {
    for (const bool has_team : {true, false}) {
      std::vector<long> allowed = {SYS_exit_group};
      const std::vector<long> lists[] = {listed("team.h", "a worker between chunks"),
                                         listed("space.h", "calling"),
                                         listed("space.h", verb.name)};
      for (const std::vector<long> &list : lists) {
        allowed.insert(allowed.end(), list.begin(), list.end());
      }
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        alarm(60);
        hpz_team_options options = HPZ_TEAM_OPTIONS_INIT;
        options.threads = 2;
        hpz_team *team = nullptr;
        if (has_team && hpz_team_create(&options, &team) != 0) _exit(1);
        void *const map =
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        const hpz_range range = {map, kBytes};
        hpz_space *space = nullptr;
        if (map == MAP_FAILED || hpz_space_direct(&range, 1, nullptr, &space) != 0) _exit(2);
        if (verb.verb != hpz_space_populate) memset(map, 1, kBytes);
        hpz_init(nullptr);  // as its documentation wants before a sandbox closes
        if (has_team) wait_for_workers(2);
        try {
          allow_only(allowed);
        } catch (const std::runtime_error &) {
          _exit(3);
        }
        if (verb.verb(space, team, nullptr, 0, nullptr, nullptr) != 0) _exit(4);
        if (!hpz_is_zero(map, kBytes)) _exit(5);
        _exit(0);
      }
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
          << verb.name << (has_team ? " by a team: " : ": ") << status << " (31: SIGSYS)";
    }
  }
}

TEST(Sandbox, no_proc_and_no_sys) {
  HPZERO_NEEDS_NAMESPACES();
  // Without /proc nobody can say that no mapping is locked, or a device's.
  expect_passed(run_inside("everything_but_release_is_supported", [] {
    enter_own_mounts();
    for (const char *const path : {"/sys", "/proc"}) hide_folder(path);
  }));
}

}  // namespace
}  // namespace hpz::test
