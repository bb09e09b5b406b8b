// SPDX-License-Identifier: BSD-2-Clause
//
// What a job has come to, written by all who work on it; and the job on one thread.
#ifndef HPZERO_LIB_TEAM_PROGRESS_H
#define HPZERO_LIB_TEAM_PROGRESS_H

#include <atomic>

#include "lib/team/job.h"

namespace hpz {

// A progress callback that runs on this thread, and those around it; each of a job, a map ...
class Callback {
 public:
  explicit Callback(const void *of) noexcept : of_(of), outer_(innermost) { innermost = this; }
  ~Callback() { innermost = outer_; }
  Callback(const Callback &) = delete;
  Callback &operator=(const Callback &) = delete;

  static bool runs_for(const void *of) noexcept {
    for (const Callback *at = innermost; at != nullptr; at = at->outer_) {
      if (at->of_ == of) return true;
    }
    return false;
  }

 private:
  const void *const of_;
  const Callback *const outer_;
  static constinit thread_local const Callback *innermost [[gnu::tls_model("initial-exec")]];
};

class Progress {
 public:
  Progress() noexcept = default;
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  // Runs the task and takes down how it went; after an error no more tasks should be begun.
  void run(const Job &job, size_t task) noexcept;

  // Whether to begin another task: not after an error, cancel or the deadline.
  bool may_go_on(const Job &job) noexcept;
  void stop(int error) noexcept;  // the first reason counts
  bool is_stopped() const noexcept { return stopped_.load(std::memory_order_relaxed) != 0; }

  void add_cpu(uint64_t ns) noexcept;
  uint64_t done_bytes() const noexcept { return done_.load(std::memory_order_relaxed); }
  // Calls back on the calling thread, if more is done than at the last call.
  void report(const Job &job) noexcept;
  // Task after task on the calling thread.
  void run_all(const Job &job) noexcept;
  void result(const Job &job, JobResult &out) const noexcept;

 private:
  void fail(int error, uint64_t offset) noexcept;

  std::atomic<int> stopped_{0};
  std::atomic<uint64_t> done_{0}, cpu_ns_{0};
  uint64_t reported_ = 0;  // the calling thread's
  // The lowest offset that failed and why: two words that belong together.
  std::atomic_flag failing_ = ATOMIC_FLAG_INIT;
  int failure_ = 0;
  uint64_t bad_offset_ = kNoOffset;
};

}  // namespace hpz

#endif
