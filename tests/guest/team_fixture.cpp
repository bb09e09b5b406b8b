// SPDX-License-Identifier: BSD-2-Clause
#include "tests/guest/team_fixture.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace hpz::test {

Team make_team(const char *cpus, uint32_t threads) {
  hpz_team_options options = HPZ_TEAM_OPTIONS_INIT;
  options.cpus = cpus;
  options.threads = threads;
  hpz_team *team = nullptr;
  const int result = hpz_team_create(&options, &team);
  if (result != 0) throw std::runtime_error(std::string("hpz_team_create: ") + strerror(-result));
  return Team(team);
}

hpz_team_info info_of(const Team &team) {
  hpz_team_info info = HPZ_TEAM_INFO_INIT;
  EXPECT_EQ(hpz_team_info_get(team.get(), &info), 0);
  return info;
}

// The C library's own, which it sets with every action and shows to nobody else.
constexpr int kSaRestorer = 0x04000000;

CallerState CallerState::now() {
  CallerState state = {};
  const std::string status = read_text("/proc/thread-self/status");
  const size_t mask = status.find("Cpus_allowed:");
  state.allowed_cpus = status.substr(mask, status.find('\n', mask) - mask);
  EXPECT_EQ(syscall(SYS_get_mempolicy, &state.policy, &state.policy_nodes, 65UL, nullptr, 0UL), 0)
      << strerror(errno);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &state.blocked), 0);
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_EQ(sigaction(signal, nullptr, &state.actions[signal]), 0);
    state.actions[signal].sa_flags &= ~kSaRestorer;
  }
  state.priority = getpriority(PRIO_PROCESS, 0);
  state.scheduler = sched_getscheduler(0);
  return state;
}

void expect_same(const CallerState &before, const CallerState &after) {
  EXPECT_EQ(before.allowed_cpus, after.allowed_cpus);
  EXPECT_EQ(before.policy, after.policy);
  EXPECT_EQ(before.policy_nodes, after.policy_nodes);
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_EQ(sigismember(&before.blocked, signal), sigismember(&after.blocked, signal)) << signal;
    EXPECT_EQ(before.actions[signal].sa_sigaction, after.actions[signal].sa_sigaction) << signal;
    EXPECT_EQ(before.actions[signal].sa_flags, after.actions[signal].sa_flags) << signal;
  }
  EXPECT_EQ(before.priority, after.priority);
  EXPECT_EQ(before.scheduler, after.scheduler);
}

void Guest::TearDown() {
  // Put back what the test itself set.
  if (stays_) sched_setaffinity(0, sizeof before_stay_, &before_stay_);
  syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0UL);
  expect_same(begin_, CallerState::now());
}

Outcome Guest::run(Verb verb, const Mapping &mapping, const Team &team,
                   const hpz_job_options &options) {
  const hpz_range range = {mapping.at(0), mapping.bytes()};
  hpz_space *space = nullptr;
  if (hpz_space_direct(&range, 1, nullptr, &space) != 0) {
    throw std::runtime_error("hpz_space_direct");
  }
  Outcome outcome = {0, HPZ_JOB_REPORT_INIT};
  const CallerState before = CallerState::now();
  outcome.result = verb(space, team.get(), nullptr, 0, &options, &outcome.report);
  expect_same(before, CallerState::now());
  hpz_space_destroy(space);
  expect_consistent(outcome);
  return outcome;
}

hpz_job_options Guest::options(uint64_t chunk_bytes, int32_t node) {
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.chunk_bytes = chunk_bytes;
  options.node = node;
  return options;
}

void Guest::stay_on(const std::vector<int> &cpus) {
  if (!stays_) {
    ASSERT_EQ(sched_getaffinity(0, sizeof before_stay_, &before_stay_), 0) << strerror(errno);
    stays_ = true;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0) << strerror(errno);
}

void Guest::allocate_by(int policy, unsigned long nodes) {
  ASSERT_EQ(syscall(SYS_set_mempolicy, policy, &nodes, 65UL), 0) << strerror(errno);
}

void expect_consistent(const Outcome &outcome) {
  const hpz_job_report &report = outcome.report;
  if (outcome.result == -EINVAL) return;  // not filled in
  EXPECT_EQ(report.error, outcome.result);
  EXPECT_EQ(report.done_bytes,
            report.cleared_bytes + report.populated_bytes + report.skipped_bytes);
  EXPECT_EQ(report.flags, 0U);
  if (outcome.result == 0) {
    EXPECT_EQ(report.first_bad_offset, UINT64_MAX);
    // Nobody works on what is skipped or given back.
    EXPECT_EQ(report.local_bytes + report.remote_bytes, report.done_bytes - report.skipped_bytes);
  }
}

std::set<int> other_threads() {
  std::set<int> threads;
  for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task")) {
    threads.insert(std::stoi(entry.path().filename()));
  }
  threads.erase(gettid());
  return threads;
}

uint64_t faults_of_thread(int thread) {
  const std::string stat = read_text("/proc/self/task/" + std::to_string(thread) + "/stat");
  // Behind the name: state, five numbers, flags, minor faults, those of children, major faults.
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string field;
  uint64_t minor = 0, major = 0;
  for (int i = 0; i < 7; ++i) fields >> field;
  EXPECT_TRUE(bool(fields >> minor >> field >> major)) << stat;
  return minor + major;
}

uint64_t cpu_ns_of_thread(int thread) {
  return std::stoull(read_text("/proc/self/task/" + std::to_string(thread) + "/schedstat"));
}

cpu_set_t affinity_of_thread(int thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(thread, sizeof set, &set), 0) << strerror(errno);
  return set;
}

}  // namespace hpz::test
