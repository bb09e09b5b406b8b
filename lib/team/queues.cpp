// SPDX-License-Identifier: BSD-2-Clause
#include "lib/team/queues.h"

#include <stdlib.h>

#include <algorithm>
#include <new>

#include "lib/team/placement.h"

namespace hpz {

TaskQueues::~TaskQueues() {
  free(queues_);
}

bool TaskQueues::build(const Array<Task> &tasks, size_t but, const Placement &placement) noexcept {
  const size_t nodes = placement.nodes.size();
  tasks_ = &tasks;
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

// left(node): how many tasks of that node's queue may be taken.
template <class Left> size_t TaskQueues::take_best(uint32_t node, const Left &left) noexcept {
  // How much worse a nearer queue may be.
  constexpr double kNearlyEqual = 0.9;
  // What is far is slower: begun with more workers, or it is what all wait for at the end.
  constexpr double kHeadStart = 1.5;
  const uint32_t *const order = placement_->order(node);
  const size_t nodes = placement_->nodes.size();
  const auto score = [&](uint32_t at) {
    const uint32_t busy = queues_[at].busy.load(std::memory_order_relaxed);
    return static_cast<double>(left(at)) / (busy + 1) * (at == node ? 1 : kHeadStart);
  };
  // Somebody may be faster: then look again, until nothing is left.
  for (;;) {
    double best = 0;
    for (size_t i = 0; i < nodes; ++i) best = std::max(best, score(order[i]));
    if (best == 0) return kNone;
    for (size_t i = 0; i < nodes; ++i) {
      const uint32_t at = order[i];
      if (left(at) == 0 || score(at) < kNearlyEqual * best) continue;
      Queue &queue = queues_[at];
      size_t task = kNone;
      if (placement_->nodes[at].server == node) task = take_from(queue.bound);
      if (task == kNone) task = take_from(queue.free);
      if (task == kNone) continue;
      queue.busy.fetch_add(1, std::memory_order_relaxed);
      return task;
    }
  }
}

size_t TaskQueues::take(uint32_t node) noexcept {
  const size_t task = take_best(node, [&](uint32_t at) -> size_t {
    if (placement_->nodes[at].server != node) return 0;
    return queues_[at].bound.left() + queues_[at].free.left();
  });
  if (task != kNone) return task;
  return take_best(node, [&](uint32_t at) { return queues_[at].free.left(); });
}

void TaskQueues::done(size_t task) noexcept {
  queues_[(*tasks_)[task].node].busy.fetch_sub(1, std::memory_order_relaxed);
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
