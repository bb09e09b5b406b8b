// SPDX-License-Identifier: BSD-2-Clause
#include "lib/team/thread.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "lib/plan/signals.h"

namespace hpz {
namespace {

// Room for the host's fault handlers, which run on it. (The default of 8 MiB would show in the
// host's address space limit, and in its locked memory after mlockall.)
constexpr size_t kStackBytes = 256 * 1024;

size_t stack_bytes() noexcept {
  const long smallest = sysconf(_SC_THREAD_STACK_MIN);  // grows with the CPU's register file
  return smallest > 0 ? kStackBytes + static_cast<size_t>(smallest) : kStackBytes;
}

}  // namespace

ThreadStart start_thread(void *(*entry)(void *), void *argument, const CpuSet &cpus) noexcept {
  ThreadStart start = {};
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return {{}, -ENOMEM, false};
  pthread_attr_setstacksize(&attributes, stack_bytes());
  const sigset_t blocked = host_signals();
  if (pthread_attr_setsigmask_np(&attributes, &blocked) != 0) {
    pthread_attr_destroy(&attributes);
    return {{}, -ENOMEM, false};  // rather none than one that takes the host's signals
  }

  if (!cpus.empty() &&
      pthread_attr_setaffinity_np(&attributes, cpus.bytes(),
                                  reinterpret_cast<const cpu_set_t *>(cpus.data())) == 0) {
    start.error = -pthread_create(&start.thread, &attributes, entry, argument);
    start.is_pinned = start.error == 0;
  }
  // -EAGAIN is about threads, not about CPUs.
  if (!start.is_pinned && start.error != -EAGAIN) {
    // The mask was refused: by seccomp, or the CPUs have gone offline since they were looked up.
    // A size of 0 means none again.
    if (!cpus.empty())
      pthread_attr_setaffinity_np(&attributes, 0, reinterpret_cast<const cpu_set_t *>(cpus.data()));
    start.error = -pthread_create(&start.thread, &attributes, entry, argument);
  }
  pthread_attr_destroy(&attributes);
  return start;
}

void block_host_signals() noexcept {
  const sigset_t blocked = host_signals();
  pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
}

}  // namespace hpz
