// SPDX-License-Identifier: BSD-2-Clause
#include "lib/team/progress.h"

#include <errno.h>

#include "lib/team/clock.h"

namespace hpz {

// initial-exec: the general model would need the dynamic loader's __tls_get_addr.
constinit thread_local const Callback *Callback::innermost [[gnu::tls_model("initial-exec")]] =
    nullptr;

void Progress::run(const Job &job, size_t task) noexcept {
  const TaskOutcome outcome = job.run(job.context, task);
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
  const Callback callback(this);
  if (job.progress(job.user, done, job.total_bytes) != 0) stop(-ECANCELED);
}

void Progress::result(const Job &job, JobResult &out) const noexcept {
  // A failure outranks what else may have stopped the job: the caller must hear of it.
  out.error = failure_ != 0 ? failure_ : stopped_.load(std::memory_order_relaxed);
  out.bad_offset = bad_offset_;
  out.done_bytes = done_bytes();
  // A deadline or a cancel that came while the last chunks were finished has come too late.
  if (failure_ == 0 && out.done_bytes == job.total_bytes) out.error = 0;
  out.cpu_ns = cpu_ns_.load(std::memory_order_relaxed);
}

// Between tasks the thread is as the host knows it: the callback is the host's.
void Progress::run_all(const Job &job) noexcept {
  const auto run_one = [&](size_t task) {
    Runner runner;
    if (job.enter != nullptr) job.enter(job.context, runner);
    run(job, task);
    if (job.leave != nullptr) job.leave(job.context, runner);
    report(job);
  };
  for (size_t task = 0; task < job.tasks->size() && may_go_on(job); ++task) {
    if (task != job.last_task) run_one(task);
  }
  if (job.last_task < job.tasks->size() && may_go_on(job)) run_one(job.last_task);
}

}  // namespace hpz
