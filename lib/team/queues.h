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

  // Queues the tasks in their order, all but number `but` (kNone: all). Both lists must live as
  // long as this. False: no memory.
  [[nodiscard]] bool build(const Array<Task> &tasks, size_t but,
                           const Placement &placement) noexcept;

  // The next task for a worker of this node: from the queues that it serves; if these are empty, by
  // stealing. Of several queues the one with the most left for each worker that is busy with it:
  // slow memory is begun early and gets as many as it keeps busy, instead of all of them at the
  // end. Among nearly equal ones the nearest. kNone: nothing is left for it.
  size_t take(uint32_t node) noexcept;
  void done(size_t task) noexcept;  // what was taken is over

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
    std::atomic<uint32_t> busy;  // tasks that are taken and not done
  };
  size_t take_from(Run &run) noexcept;
  template <class Left> size_t take_best(uint32_t node, const Left &left) noexcept;

  const Array<Task> *tasks_ = nullptr;
  const Placement *placement_ = nullptr;
  Queue *queues_ = nullptr;
  Array<size_t> indices_;  // tasks, sorted by node, bound ones first
};

}  // namespace hpz

#endif
