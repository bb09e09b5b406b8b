// SPDX-License-Identifier: BSD-2-Clause
//
// The team: workers that sleep until there is a job, and the jobs that they share.
#ifndef HPZERO_LIB_TEAM_TEAM_H
#define HPZERO_LIB_TEAM_TEAM_H

#include <hpzero/team.h>
#include <pthread.h>

#include "lib/team/array.h"
#include "lib/team/futex.h"
#include "lib/team/job.h"
#include "lib/team/knee.h"
#include "lib/team/placement.h"
#include "lib/team/process.h"
#include "lib/team/progress.h"

namespace hpz {

class Team {
 public:
  static int create(const hpz_team_options &options, Team **out) noexcept;
  void destroy() noexcept;

  bool is_of_this_process() const noexcept { return process_.is_current(); }
  // Nodes to which tasks may be bound, by index; what a task's memory belongs to.
  const Placement &placement() const noexcept { return placement_; }
  uint32_t worker_count() const noexcept { return static_cast<uint32_t>(workers_.size()); }
  void describe(hpz_team_info &out) noexcept;

  // A call that uses the team: destroy() cancels its job and waits for its end.
  class Call {
   public:
    explicit Call(Team *team) noexcept;  // null: no team, nothing happens
    ~Call();
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

    // Runs the job and waits for it; without a team, on the calling thread. 0 or -ENOMEM: then
    // nothing was run. How the job itself went is in result.
    int run(const Job &job, JobResult &result) noexcept;

   private:
    friend class Team;
    Team *const team_;
    Progress progress_;
    Call *next_ = nullptr;
  };

 private:
  struct RunningJob;
  struct Worker {
    Team *team;
    uint32_t node;
    bool is_pinned;
    pthread_t thread;
  };
  struct NodeState {
    // Counts what may give the workers of this node something to do; they sleep on it.
    FutexWord epoch;
    Knee knees[4][2];  // by hpz_verb, and whether pages are huge
  };

  Team() noexcept = default;
  ~Team();
  int place(const hpz_team_options &options, CpuSet &allowed) noexcept;
  int start_workers(const CpuSet &allowed) noexcept;
  static void *worker_main(void *argument) noexcept;
  void work(Worker &worker) noexcept;
  RunningJob *pick(uint32_t node) noexcept;
  void serve(RunningJob &running, const Worker &worker) noexcept;
  void chunk_ended(RunningJob &running, uint32_t node, uint64_t bytes) noexcept;
  FutexWord *departed(RunningJob &running, uint32_t node) noexcept;
  int run(const Job &job, Progress &progress, JobResult &result) noexcept;
  int start(RunningJob &running) noexcept;
  void wait_for(RunningJob &running) noexcept;
  void finish(RunningJob &running) noexcept;
  void begin(Call &call) noexcept;
  void end(Call &call) noexcept;
  void stop_workers() noexcept;
  static void dispose(Team *team) noexcept;

  ProcessId process_;
  Placement placement_;
  Array<Worker> workers_;
  NodeState *nodes_ = nullptr;
  uint32_t flags_ = 0;

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;  // of what follows, and of the epochs
  RunningJob *jobs_ = nullptr;                         // the oldest first
  Call *calls_ = nullptr;                              // that have not returned
  bool is_closing_ = false;
  bool is_orphan_ = false;    // the last call disposes of it
  FutexWord calls_ended_{0};  // destroy() sleeps on it
};

}  // namespace hpz

#endif
