// SPDX-License-Identifier: BSD-2-Clause
//
// A job: tasks that are to be run, by whom does not matter to them. What they do to which memory is
// the business of the rooms above.
#ifndef HPZERO_LIB_TEAM_JOB_H
#define HPZERO_LIB_TEAM_JOB_H

#include <hpzero/team.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/team/array.h"
#include "lib/team/mempolicy.h"
#include "lib/team/queues.h"

namespace hpz {

inline constexpr uint64_t kNoOffset = UINT64_MAX;

// Who runs a task: what enter() changed of the thread, for leave() to put back.
struct Runner {
  bool has_changed_policy = false;
  MemoryPolicy policy_before;
};

struct TaskOutcome {
  uint64_t done_bytes = 0;
  int error = 0;                    // 0 or a negative errno value: stops the job
  uint64_t bad_offset = kNoOffset;  // where it failed
};

struct Job {
  // Runs task `index`; called by several threads at once, each index at most once.
  TaskOutcome (*run)(void *context, size_t index) noexcept;
  // By each thread before its first task and after its last one. May be null.
  void (*enter)(void *context, Runner &runner) noexcept;
  void (*leave)(void *context, Runner &runner) noexcept;
  void *context;

  const Array<Task> *tasks;
  uint64_t total_bytes;
  // Run by the calling thread when all others have succeeded; tasks->size(): none.
  size_t last_task;
  hpz_verb verb;  // whose knee counts, by
  bool is_huge;   // ... whether its pages are huge ones: their faults scale otherwise

  uint32_t threads;  // at most so many; 0: up to the knee
  int (*progress)(void *user, uint64_t done_bytes, uint64_t total_bytes);
  void *user;
  const uint32_t *cancel;
  uint64_t deadline_ns;
};

// What a job has come to.
struct JobResult {
  int error = 0;
  uint64_t bad_offset = kNoOffset;  // the lowest that failed
  uint64_t done_bytes = 0;
  uint64_t cpu_ns = 0;  // of the workers; the calling thread's is its own to measure
  uint32_t threads = 0;
};

}  // namespace hpz

#endif
