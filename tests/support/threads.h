// SPDX-License-Identifier: BSD-2-Clause
//
// The threads of this process, as the kernel lists them. Who waits here waits without end: for
// tests with a Watchdog.
#ifndef HPZERO_TESTS_SUPPORT_THREADS_H
#define HPZERO_TESTS_SUPPORT_THREADS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace hpz::test {

// Not those that have ended: one that was joined may be in the kernel for a moment yet.
std::vector<pid_t> threads_of_process();

// A field of /proc/self/task/N/status; "": the thread is gone.
std::string status_of(pid_t thread, const std::string &field);

// How long a thread was ready to run so far, and had no CPU, in ns; 0 where the kernel does not
// count it.
uint64_t waited_for_cpu_ns(pid_t thread);

// Threads name themselves, once they run.
std::vector<pid_t> threads_named(const std::string &name);

// It has no more to do until somebody or a clock wakes it, for all that can be seen.
bool is_asleep(pid_t thread);
pid_t this_thread();

// The highest of those on which the calling thread may run.
int last_cpu();

// SCHED_OTHER, SCHED_IDLE and so on.
int scheduler_of(pid_t thread);

// What the kernel grants a thread of this process: SCHED_IDLE, and the way out of it.
struct IdleClass {
  bool is_granted = false, has_way_out = false;
};
IdleClass idle_class();

// Those of teams, which have their name at the end of their start.
std::vector<pid_t> workers();
std::vector<pid_t> wait_for_workers(size_t count);

// How many there are, where at most so many are expected. An emulator says that a thread has ended
// before it does: there it is waited for.
size_t threads_left(size_t most);
size_t workers_left();

}  // namespace hpz::test

#endif
