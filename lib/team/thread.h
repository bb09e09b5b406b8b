// SPDX-License-Identifier: BSD-2-Clause
//
// Starting a library thread: pinned, deaf to the host's signals, on a small stack.
#ifndef HPZERO_LIB_TEAM_THREAD_H
#define HPZERO_LIB_TEAM_THREAD_H

#include <pthread.h>

#include "lib/team/cpu_set.h"

namespace hpz {

struct ThreadStart {
  pthread_t thread;
  int error;       // 0, or a negative errno value: no thread
  bool is_pinned;  // false: pinning to cpus was refused, the thread runs where its creator may
};

// The calling thread's affinity and mask are untouched throughout. cpus empty: not pinned.
// The thread's first act should be block_host_signals(): whoever wraps pthread_create (sanitizers,
// preloaded libraries) may have put its creator's mask in place of the one it was started with.
ThreadStart start_thread(void *(*entry)(void *), void *argument, const CpuSet &cpus) noexcept;

void block_host_signals() noexcept;

}  // namespace hpz

#endif
