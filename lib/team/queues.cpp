// SPDX-License-Identifier: BSD-2-Clause
#include "lib/team/queues.h"

#include <stdlib.h>

#include <new>

#include "lib/team/placement.h"

namespace hpz {

TaskQueues::~TaskQueues() {
  free(queues_);
}

bool TaskQueues::build(const Array<Task> &tasks, size_t but, const Placement &placement) noexcept {
  const size_t nodes = placement.nodes.size();
  placement_ = &placement;
  queues_ = static_cast<Queue *>(aligned_alloc(alignof(Queue), nodes * sizeof(Queue)));
  if (queues_ == nullptr || !indices_.resize(tasks.size())) return false;
  for (size_t node = 0; node < nodes; ++node) new (&queues_[node]) Queue{};

  // A counting sort; it keeps the order of the tasks within a run.
  const auto run_of = [&](const Task &task) -> Run & {
    Queue &queue = queues_[task.node];
    return task.bound ? queue.bound : queue.free;
  };
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (i != but) ++run_of(tasks[i]).end;
  }
  size_t begin = 0;
  for (size_t node = 0; node < nodes; ++node) {
    for (Run *run : {&queues_[node].bound, &queues_[node].free}) {
      const size_t count = run->end;
      run->end = begin;
      run->next.store(begin, std::memory_order_relaxed);
      begin += count;
    }
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (i != but) indices_[run_of(tasks[i]).end++] = i;
  }
  return true;
}

size_t TaskQueues::take_from(Run &run) noexcept {
  if (run.left() == 0) return kNone;  // keeps next from running away while workers look in vain
  const size_t at = run.next.fetch_add(1, std::memory_order_relaxed);
  return at < run.end ? indices_[at] : kNone;
}

size_t TaskQueues::take(uint32_t node) noexcept {
  const uint32_t *const order = placement_->order(node);
  const size_t nodes = placement_->nodes.size();
  for (size_t i = 0; i < nodes; ++i) {
    const uint32_t at = order[i];
    if (placement_->nodes[at].server != node) continue;
    for (Run *run : {&queues_[at].bound, &queues_[at].free}) {
      const size_t task = take_from(*run);
      if (task != kNone) return task;
    }
  }
  // Somebody may be faster: then look again, until nobody has anything to steal.
  for (;;) {
    size_t most = 0;
    for (size_t i = 0; i < nodes; ++i) {
      const size_t left = queues_[i].free.left();
      if (left > most) most = left;
    }
    if (most == 0) return kNone;
    for (size_t i = 0; i < nodes; ++i) {
      Run &run = queues_[order[i]].free;
      if (run.left() < (most + 1) / 2) continue;
      const size_t task = take_from(run);
      if (task != kNone) return task;
    }
  }
}

bool TaskQueues::has_work(uint32_t node) const noexcept {
  for (size_t at = 0; at < placement_->nodes.size(); ++at) {
    if (queues_[at].free.left() != 0) return true;
    if (placement_->nodes[at].server == node && queues_[at].bound.left() != 0) return true;
  }
  return false;
}

bool TaskQueues::is_empty() const noexcept {
  for (size_t at = 0; at < placement_->nodes.size(); ++at) {
    if (queues_[at].free.left() != 0 || queues_[at].bound.left() != 0) return false;
  }
  return true;
}

}  // namespace hpz
