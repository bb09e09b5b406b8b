// SPDX-License-Identifier: BSD-2-Clause
//
// The tasks of a job, queued at the nodes that own their memory, and who takes which next.
// Lock-free for takers; knows no threads and no time, so that a simulation can drive it.
#ifndef HPZERO_LIB_TEAM_QUEUES_H
#define HPZERO_LIB_TEAM_QUEUES_H

#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "lib/team/array.h"

namespace hpz {

struct Placement;

struct Task {
  uint64_t bytes;
  uint32_t node;  // index: at whose queue it waits
  bool bound;     // worked on by those who serve that queue alone, never stolen
};

class TaskQueues {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  TaskQueues() noexcept = default;
  ~TaskQueues();
  TaskQueues(const TaskQueues &) = delete;
  TaskQueues &operator=(const TaskQueues &) = delete;

  // Queues the tasks in their order, all but number `but` (kNone: all). The placement must live as
  // long as this. False: no memory.
  [[nodiscard]] bool build(const Array<Task> &tasks, size_t but,
                           const Placement &placement) noexcept;

  // The next task for a worker of this node: of the queues that it serves, own one first; then, by
  // stealing, of the nearest among those with at least half as much left as the fullest one. kNone:
  // nothing is left for it.
  size_t take(uint32_t node) noexcept;

  // Whether take() would find something, and whether any take() would; stale when they return.
  bool has_work(uint32_t node) const noexcept;
  bool is_empty() const noexcept;

 private:
  // A run of indices_ and how much of it is taken; alone on its cache line, as all workers of a
  // node write to it.
  struct alignas(64) Run {
    std::atomic<size_t> next;
    size_t end;
    size_t left() const noexcept {
      const size_t at = next.load(std::memory_order_relaxed);
      return at < end ? end - at : 0;
    }
  };
  struct Queue {
    Run bound, free;
  };
  size_t take_from(Run &run) noexcept;

  const Placement *placement_ = nullptr;
  Queue *queues_ = nullptr;
  Array<size_t> indices_;  // tasks, sorted by node, bound ones first
};

}  // namespace hpz

#endif
