// SPDX-License-Identifier: BSD-2-Clause
//
// The team through its public header: workers, callers, ends. What it does to memory is tested in
// tests/space; here a space is only what makes a job.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/settings.h"
#include "tests/support/threads.h"
#include "tests/support/watchdog.h"
#include "tests/support/workers.h"
#include "tests/team/work.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;

// Threads: 0 for as many as the team likes.
TeamPointer make_team_on(const char *cpus, uint32_t threads = 0) {
  hpz_team_options options = HPZ_TEAM_OPTIONS_INIT;
  options.cpus = cpus;
  options.threads = threads;
  hpz_team *team = nullptr;
  EXPECT_EQ(hpz_team_create(&options, &team), 0);
  return {team, hpz_team_destroy};
}

hpz_team_info info_of(const TeamPointer &team) {
  hpz_team_info info = HPZ_TEAM_INFO_INIT;
  EXPECT_EQ(hpz_team_info_get(team.get(), &info), 0);
  return info;
}

TEST(Team, bad_arguments) {
  hpz_team *team = nullptr;
  EXPECT_EQ(hpz_team_create(nullptr, nullptr), -EINVAL);
  const auto create = [&](uint32_t threads, uint32_t flags, const char *cpus, size_t size) {
    const hpz_team_options options = {size, threads, flags, cpus};
    return hpz_team_create(&options, &team);
  };
  constexpr size_t kSize = sizeof(hpz_team_options);
  EXPECT_EQ(create(0, 1, nullptr, kSize), -EINVAL);
  EXPECT_EQ(create(16385, 0, nullptr, kSize), -EINVAL);
  EXPECT_EQ(create(UINT32_MAX, 0, nullptr, kSize), -EINVAL);
  EXPECT_EQ(create(0, 0, nullptr, 4), -EINVAL);
  for (const char *const cpus :
       {"", "x", "0-", "-1", "3-1", "0,,1", "9999999999", "0-1048577", "100000"}) {
    EXPECT_EQ(create(0, 0, cpus, kSize), -EINVAL) << '"' << cpus << '"';
  }
  EXPECT_EQ(team, nullptr);
  hpz_team_destroy(nullptr);
  hpz_team_info info = HPZ_TEAM_INFO_INIT;
  EXPECT_EQ(hpz_team_info_get(nullptr, &info), -EINVAL);
  const TeamPointer good = make_team(1);
  EXPECT_EQ(hpz_team_info_get(good.get(), nullptr), -EINVAL);
  info.size = 4;
  EXPECT_EQ(hpz_team_info_get(good.get(), &info), -EINVAL);
}

TEST(Team, says_what_it_has) {
  for (const uint32_t threads : {1u, 2u, 7u}) {
    const TeamPointer team = make_team(threads);
    const hpz_team_info info = info_of(team);
    EXPECT_EQ(info.threads, threads);
    EXPECT_GE(info.nodes, 1u);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < info.nodes && i < 64; ++i) sum += info.node[i].threads;
    EXPECT_EQ(sum, threads);
    EXPECT_EQ(info.flags & HPZ_TEAM_FEWER, 0u);
  }
  const TeamPointer usual = make_team_on(nullptr);
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  EXPECT_GE(info_of(usual).threads, 1u);
  EXPECT_LE(info_of(usual).threads, static_cast<uint32_t>(CPU_COUNT(&allowed)));
}

// An older caller's struct is shorter.
TEST(Team, shorter_info) {
  const TeamPointer team = make_team(1);
  struct {
    hpz_team_info info;
  } old;
  memset(&old, 0x5A, sizeof old);
  old.info.size = offsetof(hpz_team_info, flags);
  ASSERT_EQ(hpz_team_info_get(team.get(), &old.info), 0);
  EXPECT_EQ(old.info.threads, 1u);
  EXPECT_EQ(old.info.flags, 0x5A5A5A5Au);
}

// Row F1: workers stay inside the caller's affinity; row F25: the host's signals are not theirs.
TEST(Workers, field_F1_F25_pinned_inside_and_deaf) {
  const Watchdog watchdog;
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  unsigned last = 0;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) last = cpu;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  {
    // qemu-user has taken the first ones for itself and moved the others.
    const int real_time = is_set("HPZERO_TEST_EMULATOR") ? SIGRTMIN + 5 : SIGRTMIN;
    const TeamPointer team = make_team(3);
    for (const pid_t worker : wait_for_workers(3)) {
      cpu_set_t its;
      ASSERT_EQ(sched_getaffinity(worker, sizeof its, &its), 0);
      EXPECT_TRUE(CPU_EQUAL(&its, &one));
      const uint64_t blocked = std::stoull(status_of(worker, "SigBlk"), nullptr, 16);
      for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS}) {
        EXPECT_EQ(blocked >> (signal - 1) & 1, 0u) << "signal " << signal;
      }
      for (const int signal : {SIGTERM, SIGINT, SIGCHLD, SIGALRM, SIGUSR1, SIGHUP, real_time}) {
        EXPECT_EQ(blocked >> (signal - 1) & 1, 1u) << "signal " << signal;
      }
    }
    EXPECT_EQ(workers().size(), 3u);
  }
  EXPECT_EQ(workers_left(), 0u) << "gone when destroy returns";
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Workers, of_listed_cpus) {
  const Watchdog watchdog;
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const TeamPointer team = make_team_on((std::to_string(cpu) + ",1000000").c_str());
    ASSERT_NE(team, nullptr);
    EXPECT_EQ(info_of(team).threads, 1u);
    const std::vector<pid_t> found = wait_for_workers(1);
    ASSERT_EQ(found.size(), 1u);
    for (const pid_t worker : found) {
      cpu_set_t its;
      ASSERT_EQ(sched_getaffinity(worker, sizeof its, &its), 0);
      EXPECT_EQ(CPU_COUNT(&its), 1);
      EXPECT_TRUE(CPU_ISSET(cpu, &its));
    }
  }
}

struct CallerState {
  cpu_set_t affinity;
  sigset_t mask;
  int policy, priority, mempolicy = -1;
  sched_param parameter;
  std::vector<uintptr_t> handlers;

  CallerState() {
    CPU_ZERO(&affinity);
    sched_getaffinity(0, sizeof affinity, &affinity);
    sigemptyset(&mask);
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    policy = sched_getscheduler(0);
    memset(&parameter, 0, sizeof parameter);
    sched_getparam(0, &parameter);
    priority = static_cast<int>(syscall(SYS_getpriority, 0, 0));
    syscall(SYS_get_mempolicy, &mempolicy, nullptr, 0, nullptr, 0);
    for (int signal = 1; signal < 32; ++signal) {
      struct sigaction action = {};
      sigaction(signal, nullptr, &action);
      handlers.push_back(reinterpret_cast<uintptr_t>(action.sa_sigaction));
    }
  }
  bool operator==(const CallerState &other) const {
    return CPU_EQUAL(&affinity, &other.affinity) && memcmp(&mask, &other.mask, 8) == 0 &&
           policy == other.policy && priority == other.priority && mempolicy == other.mempolicy &&
           parameter.sched_priority == other.parameter.sched_priority && handlers == other.handlers;
  }
};

// Row F19.
TEST(Caller, field_F19_is_as_before) {
  const CallerState before;
  {
    const TeamPointer team = make_team(2);
    EXPECT_TRUE(CallerState() == before) << "after create";
    Work work(8 * kMiB);
    EXPECT_EQ(work.zero(team.get()), 0);
    EXPECT_EQ(work.zero(nullptr), 0);
    EXPECT_TRUE(CallerState() == before) << "after jobs";
  }
  EXPECT_TRUE(CallerState() == before) << "after destroy";
}

// Row F29: many callers share the workers.
TEST(Callers, field_F29_several_at_once) {
  const TeamPointer team = make_team(2);
  const size_t before = threads_of_process().size();
  std::atomic<size_t> most{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      Work work(6 * kMiB);
      hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
      options.chunk_bytes = 64 * 1024;
      for (int round = 0; round < (quick() ? 3 : 10); ++round) {
        work.fill();
        EXPECT_EQ(work.zero(team.get(), &options), 0);
        EXPECT_TRUE(work.is_zero());
        const size_t now = threads_of_process().size();
        size_t known = most.load();
        while (now > known && !most.compare_exchange_weak(known, now)) {
        }
      }
    });
  }
  for (std::thread &caller : callers) caller.join();
  EXPECT_LE(most, before + 8) << "no threads but the callers' own were added";
}

TEST(Callers, each_gets_its_own_result) {
  const TeamPointer team = make_team(2);
  std::thread other([&] {
    Work work(16 * kMiB);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(work.zero(team.get()), 0);
  });
  Work work(16 * kMiB);
  const uint32_t cancel = 1;
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.cancel = &cancel;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(work.zero(team.get(), &options), -ECANCELED);
  other.join();
}

// With few threads asked for, and most workers asleep, nothing is left lying.
TEST(Jobs, of_one_thread_end) {
  const TeamPointer team = make_team(5);
  Work work(8 * kMiB);
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.threads = 1;
  options.chunk_bytes = 64 * 1024;
  for (int i = 0; i < 50; ++i) ASSERT_EQ(work.zero(team.get(), &options), 0);
}

TEST(Jobs, remember_the_knee) {
  const Watchdog watchdog;
  // Both on one CPU, and so on one node: a node with one worker has nothing to climb.
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int cpu = 0;
  while (!CPU_ISSET(static_cast<size_t>(cpu), &allowed)) ++cpu;
  const TeamPointer team = make_team_on(std::to_string(cpu).c_str(), 2);
  Work work(64 * kMiB);
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.chunk_bytes = kMiB;
  uint32_t knee = 0;
  while (knee == 0) {
    ASSERT_EQ(work.zero(team.get(), &options), 0);
    const hpz_team_info info = info_of(team);
    for (uint32_t node = 0; node < info.nodes && node < 64; ++node) {
      knee = std::max(knee, info.node[node].knee[HPZ_VERB_ZERO]);
      EXPECT_EQ(info.node[node].knee[HPZ_VERB_POPULATE], 0u) << "never measured";
    }
  }
  EXPECT_LE(knee, 2u);
}

// --- Ends ---------------------------------------------------------------------------------------

TEST(Destroy, while_jobs_run) {
  const Watchdog watchdog(120);
  // On a busy machine the workers may be through before a callback comes to its first turn: rounds
  // until some jobs were cut short.
  const int enough = is_set("HPZERO_TEST_EMULATOR") ? 0 : 3;
  std::atomic<int> cancelled{0};
  for (int round = 0; round < (quick() ? 20 : 100) || cancelled < enough; ++round) {
    TeamPointer team = make_team(2);
    std::atomic<int> running{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 3; ++i) {
      callers.emplace_back([&, handle = team.get()] {
        Work work(16 * kMiB);
        hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
        options.chunk_bytes = 64 * 1024;
        struct User {
          std::atomic<int> *running;
          bool first = true;
        } user = {&running};
        options.user = &user;
        options.progress = [](void *argument, uint64_t, uint64_t) {
          auto &self = *static_cast<User *>(argument);
          if (self.first) self.running->fetch_add(1);
          self.first = false;
          usleep(200);
          return 0;
        };
        // Either way it returns, and the team is not touched after that.
        const int result = work.zero(handle, &options);
        EXPECT_TRUE(result == 0 || result == -ECANCELED) << result;
        if (result == -ECANCELED) cancelled.fetch_add(1);
        if (user.first) running.fetch_add(1);
      });
    }
    while (running < 3) std::this_thread::yield();
    usleep(static_cast<useconds_t>(round * 37 % 900));
    team.reset();
    EXPECT_EQ(workers_left(), 0u);
    for (std::thread &caller : callers) caller.join();
  }
}

// Row F23.
TEST(Fork, field_F23_child_has_no_team) {
  const TeamPointer team = make_team(2);
  Work work(8 * kMiB);
  ASSERT_EQ(work.zero(team.get()), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    hpz_team_info info = HPZ_TEAM_INFO_INIT;
    int failed = 0;
    failed |= work.zero(team.get()) != -ECHILD ? 1 : 0;
    failed |= hpz_team_info_get(team.get(), &info) != -ECHILD ? 2 : 0;
    work.fill();
    failed |= work.zero(nullptr) != 0 || !work.is_zero() ? 4 : 0;
    hpz_team_destroy(team.get());
    // qemu-user 7.2 dies of it, and ThreadSanitizer ends a process that does.
    if (!kThreadSanitizer && !is_set("HPZERO_TEST_EMULATOR")) {
      hpz_team *own = nullptr;
      failed |= hpz_team_create(nullptr, &own) != 0 ? 8 : 0;
      work.fill();
      failed |= work.zero(own) != 0 || !work.is_zero() ? 16 : 0;
      hpz_team_destroy(own);
    }
    _exit(failed);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(work.zero(team.get()), 0) << "the parent's goes on";
}

// One thread ends the process while workers and callers are in mid-job.
void end_in_mid_job(void (*end)(int)) {
  fflush(stdout);  // exit() in a child writes what is there
  for (int round = 0; round < (quick() ? 3 : 20); ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);
      hpz_team *team = nullptr;
      if (hpz_team_create(nullptr, &team) != 0) _exit(1);
      static Work *work = new Work(64 * kMiB);
      std::thread([team] {
        for (;;) work->zero(team);
      }).detach();
      usleep(static_cast<useconds_t>(1000 + round * 500));
      end(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

TEST(Exit, in_mid_job) {
  end_in_mid_job(exit);
}

TEST(Exit, quick_in_mid_job) {
  end_in_mid_job(quick_exit);
}

}  // namespace
}  // namespace hpz::test
