// SPDX-License-Identifier: BSD-2-Clause
//
// What a team says of the machine, where its workers are pinned, and CPUs that go offline before
// and in the middle of a job. Rows F5, F7 and F25 of the field reports.
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <ios>

#include "tests/guest/team_fixture.h"
#include "tests/guest/witness.h"
#include "tests/support/sandbox.h"

namespace hpz::test {
namespace {

constexpr uint64_t bit(int signal) {
  return uint64_t{1} << (signal - 1);
}
constexpr uint64_t kOrdinary = (uint64_t{1} << 31) - 1;  // no real-time ones
// The synchronous ones are let through, and two can be blocked by nobody.
constexpr uint64_t kBlockedByWorkers =
    kOrdinary & ~(bit(SIGSEGV) | bit(SIGBUS) | bit(SIGILL) | bit(SIGFPE) | bit(SIGTRAP) |
                  bit(SIGSYS) | bit(SIGKILL) | bit(SIGSTOP));

class Cpus : public Guest {
 protected:
  void TearDown() override {
    for (const int cpu : {1, 2, 3}) set_online(cpu, true);
    Guest::TearDown();
  }
  static void set_online(int cpu, bool online) {
    const std::string path = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online";
    if (read_number(path) != online) write_text(path, online ? "1" : "0");
  }
  static void expect_threads(const hpz_team_info &info, const std::vector<uint32_t> &threads) {
    EXPECT_EQ(info.nodes, kNodes);
    EXPECT_EQ(info.flags, 0U);
    uint32_t all = 0;
    for (size_t node = 0; node < kNodes; ++node) {
      EXPECT_EQ(info.node[node].id, static_cast<int32_t>(node));
      EXPECT_EQ(info.node[node].threads, threads[node]) << "node " << node;
      all += threads[node];
    }
    EXPECT_EQ(info.threads, all);
  }
  static uint64_t blocked_by(int thread) {
    const std::string status = read_text("/proc/self/task/" + std::to_string(thread) + "/status");
    return std::stoull(status.substr(status.find("SigBlk:") + 7), nullptr, 16) & kOrdinary;
  }
  // Memory on all nodes, cleared right.
  Outcome clear_in_stripes(const Team &team) {
    constexpr size_t kPages = 1152, kStripe = 64;
    Mapping mapping(Pages::kSmall, kPages);
    mapping.bind_in_stripes(kStripe);
    mapping.fill();
    const Outcome outcome = run(hpz_space_zero, mapping, team, options(kStripe * kSmallPage));
    EXPECT_EQ(outcome.result, 0);
    EXPECT_EQ(outcome.report.cleared_bytes, mapping.bytes());
    EXPECT_TRUE(mapping.reads(0, kPages, 0));
    count_checked(kPages);
    return outcome;
  }
};

TEST_F(Cpus, a_team_knows_the_machine) {
  expect_threads(info_of(make_team(nullptr)), {2, 2, 0});
  expect_threads(info_of(make_team("0-1")), {2, 0, 0});
  expect_threads(info_of(make_team("0,2")), {1, 1, 0});
  expect_threads(info_of(make_team("1-3")), {1, 2, 0});
  // The caller's own mask is the limit.
  stay_on({1, 2});
  expect_threads(info_of(make_team(nullptr)), {1, 1, 0});
  expect_threads(info_of(make_team("0-2")), {1, 1, 0});
}

// 0, or the number of what is wrong, in a process in which this call is refused from here on.
int without_placement(long call) {
  refuse({{call, EPERM}});
  const Team team = make_team(nullptr);
  hpz_team_info info = HPZ_TEAM_INFO_INIT;
  if (hpz_team_info_get(team.get(), &info) != 0) return 1;
  if (info.flags != HPZ_TEAM_NO_PLACEMENT) return 2;
  if (info.nodes != kNodes || info.threads != 4) return 3;
  Mapping mapping(Pages::kSmall, 1152);
  mapping.fill();
  const hpz_range range = {mapping.at(0), mapping.bytes()};
  hpz_space *space = nullptr;
  if (hpz_space_direct(&range, 1, nullptr, &space) != 0) return 4;
  const int result = hpz_space_zero(space, team.get(), nullptr, 0, nullptr, nullptr);
  hpz_space_destroy(space);
  if (result != 0) return 5;
  return mapping.reads(0, mapping.pages(), 0) ? 0 : 6;
}

// Row F12: the team says so, and works all the same.
TEST_F(Cpus, a_team_says_that_nobody_places_memory) {
  for (const long call : {SYS_get_mempolicy, SYS_set_mempolicy, SYS_move_pages}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int status = 125;  // something thrown
      try {
        status = without_placement(call);
      } catch (const std::exception &) {
      }
      _exit(status);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "without " << call << ": " << status;
  }
}

TEST_F(Cpus, workers_are_pinned_to_a_node_and_leave_signals_alone) {
  const std::set<int> before = other_threads();
  const Team team = make_team("0-1,3");
  std::set<int> workers = other_threads();
  for (const int thread : before) workers.erase(thread);
  ASSERT_EQ(workers.size(), 3U);
  size_t on[kNodes] = {};
  for (const int worker : workers) {
    const cpu_set_t cpus = affinity_of_thread(worker);
    EXPECT_FALSE(CPU_ISSET(2, &cpus)) << "not among the team's CPUs";
    const bool on_0 = CPU_ISSET(0, &cpus) || CPU_ISSET(1, &cpus);
    const bool on_1 = CPU_ISSET(3, &cpus);
    EXPECT_NE(on_0, on_1);
    ++on[on_0 ? 0 : 1];
    // At the end of its start it names itself.
    while (read_text("/proc/self/task/" + std::to_string(worker) + "/comm") != "hpzero\n") {
      usleep(10000);
    }
    const uint64_t blocked = blocked_by(worker);
    EXPECT_EQ(blocked, kBlockedByWorkers) << std::hex << blocked;
  }
  EXPECT_EQ(on[0], 2U);
  EXPECT_EQ(on[1], 1U);
}

TEST_F(Cpus, offline_before_the_team_is_created) {
  set_online(3, false);
  {
    const Team team = make_team(nullptr);
    expect_threads(info_of(team), {2, 1, 0});
    clear_in_stripes(team);
  }
  set_online(2, false);
  {
    // Now node 1 is memory without CPUs.
    const Team team = make_team(nullptr);
    expect_threads(info_of(team), {2, 0, 0});
    const Outcome outcome = clear_in_stripes(team);
    EXPECT_EQ(outcome.report.remote_bytes, 2 * outcome.report.local_bytes);
  }
  set_online(2, true);
  set_online(3, true);
  const Team team = make_team(nullptr);
  expect_threads(info_of(team), {2, 2, 0});
  clear_in_stripes(team);
}

TEST_F(Cpus, offline_between_two_jobs) {
  const Team team = make_team(nullptr);
  clear_in_stripes(team);
  set_online(3, false);
  clear_in_stripes(team);
  // The workers of node 1 have nowhere to be but on other nodes.
  set_online(2, false);
  clear_in_stripes(team);
  set_online(2, true);
  set_online(3, true);
  clear_in_stripes(team);
}

std::atomic<bool> went_offline;

TEST_F(Cpus, offline_in_the_middle_of_a_job) {
  for (const bool whole_node : {false, true}) {
    constexpr size_t kPages = 960, kStripe = 16;
    Mapping mapping(Pages::kSmall, kPages);
    mapping.bind_in_stripes(kStripe);
    mapping.fill();
    const Team team = make_team(nullptr);
    went_offline = false;
    struct Plan {
      bool whole_node;
      uint64_t calls;
    } plan = {whole_node, 0};
    hpz_job_options job = options(kStripe * kSmallPage);
    job.threads = 4;
    job.user = &plan;
    job.progress = [](void *user, uint64_t done, uint64_t total) {
      Plan &here = *static_cast<Plan *>(user);
      ++here.calls;
      if (done < total / 4 || went_offline) return 0;
      set_online(3, false);
      if (here.whole_node) set_online(2, false);
      went_offline = true;
      return 0;
    };
    // The second half of the job is done after the CPUs went: workers are held, some of them on
    // those very CPUs, until then.
    Witness witness(mapping, kStripe, [](const Witness &, const Witness::Begin &begin) {
      return begin.before >= kPages / kStripe / 2 && !went_offline;
    });
    const Outcome outcome = run(hpz_space_zero, mapping, team, job);
    EXPECT_TRUE(went_offline);
    EXPECT_FALSE(witness.gave_up());
    EXPECT_GE(plan.calls, 2U);
    EXPECT_EQ(outcome.result, 0);
    EXPECT_EQ(outcome.report.cleared_bytes, mapping.bytes());
    WrongPages unwritten("were written by nobody");
    for (size_t page = 0; page < kPages; ++page) {
      if (witness.node_that_wrote(page) < 0) unwritten.add(page, -1);
    }
    EXPECT_TRUE(mapping.reads(0, kPages, 0));
    count_checked(kPages);
    set_online(2, true);
    set_online(3, true);
  }
}

}  // namespace
}  // namespace hpz::test
