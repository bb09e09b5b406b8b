// SPDX-License-Identifier: BSD-2-Clause
//
// By stdio: what an uninstrumented std::ifstream reads is uninitialised to MemorySanitizer.
#include "tests/support/threads.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "tests/support/settings.h"

namespace hpz::test {
namespace {

FILE *open_of(pid_t thread, const char *file) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", thread, file);
  return fopen(path, "re");
}

// The kernel sets the flag before it tells those who wait to join.
bool has_ended(pid_t thread) {
  constexpr unsigned long kExiting = 4;  // PF_EXITING of linux/sched.h
  FILE *const stat = open_of(thread, "stat");
  if (stat == nullptr) return true;
  char line[1024];
  const bool is_there = fgets(line, sizeof line, stat) != nullptr;
  fclose(stat);
  if (!is_there) return true;
  // Behind the name: state, parent, group, session, terminal, its group, flags.
  const char *at = strrchr(line, ')');
  for (int field = 0; field < 7 && at != nullptr; ++field) at = strchr(at + 1, ' ');
  return at == nullptr || (strtoul(at, nullptr, 10) & kExiting) != 0;
}

}  // namespace

std::vector<pid_t> threads_of_process() {
  std::vector<pid_t> threads;
  DIR *const folder = opendir("/proc/self/task");
  if (folder == nullptr) return threads;
  while (const dirent *const entry = readdir(folder)) {
    const pid_t thread = atoi(entry->d_name);  // 0: "." and ".."
    if (thread != 0 && !has_ended(thread)) threads.push_back(thread);
  }
  closedir(folder);
  return threads;
}

std::string status_of(pid_t thread, const std::string &field) {
  FILE *const status = open_of(thread, "status");
  if (status == nullptr) return "";
  char line[256];
  std::string value;
  while (fgets(line, sizeof line, status) != nullptr) {
    if (strncmp(line, field.c_str(), field.size()) != 0 || line[field.size()] != ':') continue;
    const char *const begin = line + field.size() + 1;
    const char *const from = begin + strspn(begin, " \t");
    value.assign(from, strcspn(from, "\n"));
    break;
  }
  fclose(status);
  return value;
}

uint64_t waited_for_cpu_ns(pid_t thread) {
  FILE *const schedstat = open_of(thread, "schedstat");
  if (schedstat == nullptr) return 0;
  unsigned long long ns = 0;
  if (fscanf(schedstat, "%*u %llu", &ns) != 1) ns = 0;
  fclose(schedstat);
  return ns;
}

std::vector<pid_t> threads_named(const std::string &name) {
  std::vector<pid_t> out;
  for (const pid_t thread : threads_of_process()) {
    if (status_of(thread, "Name") == name) out.push_back(thread);
  }
  return out;
}

bool is_asleep(pid_t thread) {
  return status_of(thread, "State").rfind('S', 0) == 0;
}

pid_t this_thread() {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

int last_cpu() {
  cpu_set_t allowed;
  EXPECT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int last = -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &allowed)) last = cpu;
  }
  return last;
}

int scheduler_of(pid_t thread) {
  return static_cast<int>(syscall(SYS_sched_getscheduler, thread));
}

IdleClass idle_class() {
  IdleClass granted;
  std::thread([&granted] {
    const sched_param none = {};
    granted.is_granted = syscall(SYS_sched_setscheduler, 0, SCHED_IDLE, &none) == 0;
    granted.has_way_out =
        granted.is_granted && syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none) == 0;
  }).join();
  return granted;
}

std::vector<pid_t> workers() {
  return threads_named("hpzero");
}

std::vector<pid_t> wait_for_workers(size_t count) {
  while (workers().size() != count) usleep(1000);
  return workers();
}

size_t threads_left(size_t most) {
  while (is_set("HPZERO_TEST_EMULATOR") && threads_of_process().size() > most) usleep(1000);
  return threads_of_process().size();
}

size_t workers_left() {
  while (is_set("HPZERO_TEST_EMULATOR") && !workers().empty()) usleep(1000);
  return workers().size();
}

}  // namespace hpz::test
