// SPDX-License-Identifier: BSD-2-Clause
//
// What all of the guest's tests have: teams, spaces and jobs in one line each, and a caller whose
// own state is looked at before and after.
#ifndef HPZERO_TESTS_GUEST_TEAM_FIXTURE_H
#define HPZERO_TESTS_GUEST_TEAM_FIXTURE_H

#include <gtest/gtest.h>
#include <hpzero/space.h>
#include <hpzero/team.h>
#include <sched.h>
#include <signal.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/guest/pages.h"

namespace hpz::test {

struct TeamDeleter {
  void operator()(hpz_team *team) const { hpz_team_destroy(team); }
};
using Team = std::unique_ptr<hpz_team, TeamDeleter>;
Team make_team(const char *cpus, uint32_t threads = 0);
hpz_team_info info_of(const Team &team);

// What a call must leave alone in the thread that makes it. Row F19 of the field reports.
struct CallerState {
  std::string allowed_cpus;  // also those that are offline
  int policy;
  unsigned long policy_nodes;
  sigset_t blocked;
  struct sigaction actions[32];
  int priority;
  int scheduler;
  static CallerState now();
};
void expect_same(const CallerState &before, const CallerState &after);

using Verb = decltype(&hpz_space_zero);

struct Outcome {
  int result;
  hpz_job_report report;
};

class Guest : public testing::Test {
 protected:
  void SetUp() override { begin_ = CallerState::now(); }
  void TearDown() override;

  // One verb on the whole of a mapping, and the caller's state around it.
  Outcome run(Verb verb, const Mapping &mapping, const Team &team, const hpz_job_options &options);
  static hpz_job_options options(uint64_t chunk_bytes, int32_t node = -1);
  // Stays on these CPUs until the test ends.
  void stay_on(const std::vector<int> &cpus);
  // Allocates by this policy of linux/mempolicy.h until the test ends.
  void allocate_by(int policy, unsigned long nodes);

  const Team alone_;  // none: the calling thread works alone

 private:
  CallerState begin_;
  bool stays_ = false;
  cpu_set_t before_stay_;
};

// What holds for every report, page by page or not.
void expect_consistent(const Outcome &outcome);

// Threads of this process other than the calling one, and what the kernel says of each so far: page
// faults, those in system calls included but for hugetlb's, and time on a CPU.
std::set<int> other_threads();
uint64_t faults_of_thread(int thread);
uint64_t cpu_ns_of_thread(int thread);
cpu_set_t affinity_of_thread(int thread);

}  // namespace hpz::test

#endif
