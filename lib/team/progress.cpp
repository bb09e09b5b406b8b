// SPDX-License-Identifier: BSD-2-Clause
#include "lib/team/progress.h"

#include <errno.h>

#include "lib/team/clock.h"

namespace hpz {

void Progress::run(const Job &job, size_t task, const Runner &runner) noexcept {
  const TaskOutcome outcome = job.run(job.context, task, runner);
  done_.fetch_add(outcome.done_bytes, std::memory_order_relaxed);
  if (outcome.error != 0) fail(outcome.error, outcome.bad_offset);
}

bool Progress::may_go_on(const Job &job) noexcept {
  if (is_stopped()) return false;
  if (job.cancel != nullptr && __atomic_load_n(job.cancel, __ATOMIC_ACQUIRE) != 0) {
    stop(-ECANCELED);
    return false;
  }
  if (job.deadline_ns != 0 && monotonic_ns() >= job.deadline_ns) {
    stop(-ETIMEDOUT);
    return false;
  }
  return true;
}

void Progress::stop(int error) noexcept {
  int expected = 0;
  stopped_.compare_exchange_strong(expected, error, std::memory_order_relaxed);
}

void Progress::fail(int error, uint64_t offset) noexcept {
  while (failing_.test_and_set(std::memory_order_acquire)) {  // for two stores, on an error's path
  }
  if (offset < bad_offset_ || failure_ == 0) {
    bad_offset_ = offset;
    failure_ = error;
  }
  failing_.clear(std::memory_order_release);
  stop(error);
}

void Progress::add_cpu(uint64_t ns) noexcept {
  cpu_ns_.fetch_add(ns, std::memory_order_relaxed);
}

void Progress::report(const Job &job) noexcept {
  if (job.progress == nullptr) return;
  const uint64_t done = done_bytes();
  if (done == reported_) return;
  reported_ = done;
  if (job.progress(job.user, done, job.total_bytes) != 0) stop(-ECANCELED);
}

void Progress::result(JobResult &out) const noexcept {
  // A failure outranks what else may have stopped the job: the caller must hear of it.
  out.error = failure_ != 0 ? failure_ : stopped_.load(std::memory_order_relaxed);
  out.bad_offset = bad_offset_;
  out.done_bytes = done_bytes();
  out.cpu_ns = cpu_ns_.load(std::memory_order_relaxed);
}

void run_alone(const Job &job, JobResult &result) noexcept {
  Progress progress;
  const uint64_t cpu_before = thread_cpu_ns();
  Runner runner;
  if (job.enter != nullptr) job.enter(job.context, runner);
  for (size_t task = 0; task < job.tasks->size() && progress.may_go_on(job); ++task) {
    if (task == job.last_task) continue;
    progress.run(job, task, runner);
    progress.report(job);
  }
  if (job.last_task < job.tasks->size() && progress.may_go_on(job)) {
    progress.run(job, job.last_task, runner);
    progress.report(job);
  }
  if (job.leave != nullptr) job.leave(job.context, runner);
  progress.add_cpu(thread_cpu_ns() - cpu_before);
  progress.result(result);
  result.threads = 1;
}

}  // namespace hpz
