// SPDX-License-Identifier: BSD-2-Clause
#include "lib/team/team.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <new>

#include "lib/team/clock.h"
#include "lib/team/machine.h"
#include "lib/team/mempolicy.h"
#include "lib/team/mutex_lock.h"
#include "lib/team/quota.h"
#include "lib/team/thread.h"

namespace hpz {
namespace {

// A job of less than this runs on the calling thread: to wake a worker and to be woken by it takes
// 10 to 50 us, in which one thread clears as much.
constexpr uint64_t kWorthWakingBytes = 1 << 20;

}  // namespace

// --- A job at work ------------------------------------------------------------------------------

struct Team::RunningJob {
  struct Share {  // of one node
    Climb climb;
    // Atomic, because workers look at them between chunks; changed under the team's mutex.
    std::atomic<uint32_t> limit, active;
    std::atomic<bool> climbs;
  };

  RunningJob(const Job &its_job, Progress &its_progress) noexcept
      : job(its_job), progress(its_progress) {}
  ~RunningJob() { free(shares); }
  RunningJob(const RunningJob &) = delete;
  RunningJob &operator=(const RunningJob &) = delete;

  bool has_room(uint32_t node) const noexcept {
    const Share &share = shares[node];
    return share.active.load(std::memory_order_relaxed) <
               share.limit.load(std::memory_order_relaxed) &&
           (job.threads == 0 || active < job.threads);
  }
  bool is_over() const noexcept {
    return active == 0 && (progress.is_stopped() || queues.is_empty());
  }

  const Job &job;
  Progress &progress;
  TaskQueues queues;
  Share *shares = nullptr;
  FutexWord news{0};  // the calling thread sleeps on it
  // Under the team's mutex.
  uint32_t active = 0, most_active = 0;
  RunningJob *next = nullptr;
};

// --- Workers ------------------------------------------------------------------------------------

void *Team::worker_main(void *argument) noexcept {
  auto &worker = *static_cast<Worker *>(argument);
  block_host_signals();
  prctl(PR_SET_NAME, "hpzero");
  worker.team->work(worker);
  return nullptr;
}

void Team::work(Worker &worker) noexcept {
  pthread_mutex_lock(&mutex_);
  for (;;) {
    if (RunningJob *const running = pick(worker.node); running != nullptr) {
      running->shares[worker.node].active.fetch_add(1, std::memory_order_relaxed);
      if (++running->active > running->most_active) running->most_active = running->active;
      pthread_mutex_unlock(&mutex_);
      serve(*running, worker);
      pthread_mutex_lock(&mutex_);
      FutexWord *const news = departed(*running, worker.node);
      pthread_mutex_unlock(&mutex_);
      // Perhaps the job is gone by now, and this wakes somebody at that address for nothing once
      // more, which futexes permit; under the mutex the caller would wake only to wait for it.
      if (news != nullptr) futex_wake(*news, 1);
      pthread_mutex_lock(&mutex_);
      continue;
    }
    if (is_closing_ && jobs_ == nullptr) break;
    FutexWord &epoch = nodes_[worker.node].epoch;
    const uint32_t now = epoch.load(std::memory_order_relaxed);
    pthread_mutex_unlock(&mutex_);
    futex_wait(epoch, now, 0);
    pthread_mutex_lock(&mutex_);
  }
  pthread_mutex_unlock(&mutex_);
}

Team::RunningJob *Team::pick(uint32_t node) noexcept {
  for (RunningJob *running = jobs_; running != nullptr; running = running->next) {
    if (running->has_room(node) && !running->progress.is_stopped() &&
        running->queues.has_work(node)) {
      return running;
    }
  }
  return nullptr;
}

void Team::serve(RunningJob &running, const Worker &worker) noexcept {
  const Job &job = running.job;
  const RunningJob::Share &share = running.shares[worker.node];
  const uint64_t cpu_before = thread_cpu_ns();
  Runner runner;
  if (job.enter != nullptr) job.enter(job.context, runner);
  while (share.active.load(std::memory_order_relaxed) <=
             share.limit.load(std::memory_order_relaxed) &&
         running.progress.may_go_on(job)) {
    const size_t task = running.queues.take(worker.node);
    if (task == TaskQueues::kNone) break;
    running.progress.run(job, task);
    running.queues.done(task);
    if (share.climbs.load(std::memory_order_relaxed)) {
      chunk_ended(running, worker.node, (*job.tasks)[task].bytes);
    }
    if (job.progress != nullptr) {
      running.news.fetch_add(1, std::memory_order_release);
      futex_wake(running.news, 1);
    }
  }
  if (job.leave != nullptr) job.leave(job.context, runner);
  running.progress.add_cpu(thread_cpu_ns() - cpu_before);
}

void Team::chunk_ended(RunningJob &running, uint32_t node, uint64_t bytes) noexcept {
  RunningJob::Share &share = running.shares[node];
  uint32_t more = 0;
  {
    const MutexLock lock(mutex_);
    const uint64_t now = monotonic_ns();
    const uint32_t active = share.active.load(std::memory_order_relaxed);
    if (!share.climb.chunk_ended(now, bytes, active)) return;
    share.limit.store(share.climb.limit(), std::memory_order_relaxed);
    if (share.climb.is_settled()) {
      share.climbs.store(false, std::memory_order_relaxed);
      nodes_[node].knees[running.job.verb][running.job.is_huge] = {share.climb.limit(),
                                                                   now + Knee::kTrustedNs};
    }
    if (share.climb.limit() > active) {
      more = share.climb.limit() - active;
      nodes_[node].epoch.fetch_add(1, std::memory_order_relaxed);
    }
  }
  if (more != 0) futex_wake(nodes_[node].epoch, more);
}

// Under the mutex: a worker has left the job, for want of work or of room. The word to wake when it
// is released; null: none.
FutexWord *Team::departed(RunningJob &running, uint32_t node) noexcept {
  running.shares[node].active.fetch_sub(1, std::memory_order_relaxed);
  --running.active;
  if (running.is_over()) {
    running.news.fetch_add(1, std::memory_order_release);
    return &running.news;
  }
  if (running.progress.is_stopped()) return nullptr;
  // Workers that came when there was no room (few threads asked for) would sleep on.
  for (uint32_t other = 0; other < placement_.nodes.size(); ++other) {
    if (!running.has_room(other) || !running.queues.has_work(other)) continue;
    nodes_[other].epoch.fetch_add(1, std::memory_order_relaxed);
    futex_wake(nodes_[other].epoch, 1);
  }
  return nullptr;
}

// --- The calling thread's side ------------------------------------------------------------------

Team::Call::Call(Team *team) noexcept : team_(team) {
  if (team_ != nullptr) team_->begin(*this);
}

Team::Call::~Call() {
  if (team_ != nullptr) team_->end(*this);
}

void Team::begin(Call &call) noexcept {
  const MutexLock lock(mutex_);
  if (is_closing_) call.progress_.stop(-ECANCELED);
  call.next_ = calls_;
  calls_ = &call;
}

void Team::end(Call &call) noexcept {
  // A child that a callback has forked returns from it with a copy of all this, and of the mutex in
  // whatever state.
  if (!is_of_this_process()) return;
  bool disposes = false;
  {
    const MutexLock lock(mutex_);
    Call **at = &calls_;
    while (*at != &call) at = &(*at)->next_;
    *at = call.next_;
    if (calls_ == nullptr && is_closing_) {
      disposes = is_orphan_;
      calls_ended_.store(1, std::memory_order_release);
      // Under the mutex, which destroy() takes before it frees the word.
      if (!disposes) futex_wake(calls_ended_, 1);
    }
  }
  if (disposes) dispose(this);
}

int Team::Call::run(const Job &job, JobResult &result) noexcept {
  if (team_ != nullptr) return team_->run(job, progress_, result);
  progress_.run_all(job);
  progress_.result(job, result);
  result.threads = 1;
  return 0;
}

int Team::run(const Job &job, Progress &progress, JobResult &result) noexcept {
  const auto is_bound = [&] {
    for (const Task &task : *job.tasks) {
      if (task.bound) return true;
    }
    return false;
  };
  const bool is_small = job.total_bytes < kWorthWakingBytes ||
                        (job.tasks->size() <= 1 && placement_.nodes.size() == 1);
  if (workers_.empty() || (is_small && !is_bound())) {
    progress.run_all(job);
    progress.result(job, result);
    result.threads = 1;
    return 0;
  }
  RunningJob running(job, progress);
  const int error = start(running);
  if (error != 0) return error;
  wait_for(running);
  progress.result(job, result);
  result.threads = running.most_active;
  if (!is_of_this_process()) result.error = -ECHILD;
  return 0;
}

int Team::start(RunningJob &running) noexcept {
  const Job &job = running.job;
  const size_t nodes = placement_.nodes.size();
  running.shares = static_cast<RunningJob::Share *>(malloc(nodes * sizeof(RunningJob::Share)));
  if (running.shares == nullptr || !running.queues.build(*job.tasks, job.last_task, placement_)) {
    return -ENOMEM;
  }
  const uint64_t now = monotonic_ns();
  const auto wanted = [&](uint32_t node) {
    const uint32_t limit = running.shares[node].limit.load(std::memory_order_relaxed);
    return job.threads != 0 && job.threads < limit ? job.threads : limit;
  };
  {
    const MutexLock lock(mutex_);
    for (uint32_t node = 0; node < nodes; ++node) {
      const uint32_t workers = placement_.nodes[node].workers;
      const Knee &knee = nodes_[node].knees[job.verb][job.is_huge];
      const Climb climb(workers, knee.threads, knee.trusted(now) != 0);
      const bool climbs = job.threads == 0 && !climb.is_settled();
      const uint32_t limit = job.threads != 0 ? workers : workers == 0 ? 0 : climb.limit();
      new (&running.shares[node]) RunningJob::Share{climb, limit, 0, climbs};
    }
    RunningJob **end = &jobs_;
    while (*end != nullptr) end = &(*end)->next;
    *end = &running;
    for (uint32_t node = 0; node < nodes; ++node) {
      if (wanted(node) != 0 && running.queues.has_work(node)) {
        nodes_[node].epoch.fetch_add(1, std::memory_order_relaxed);
      }
    }
  }
  // Not under the mutex, for which the woken would wait at once. Limits may have grown meanwhile:
  // then somebody has woken the others.
  for (uint32_t node = 0; node < nodes; ++node) {
    if (wanted(node) != 0) futex_wake(nodes_[node].epoch, wanted(node));
  }
  return 0;
}

void Team::wait_for(RunningJob &running) noexcept {
  // How long a job that no worker has come to yet leaves the caller's cancel unread.
  constexpr uint64_t kLookAtCancelNs = 10'000'000;
  const Job &job = running.job;
  Progress &progress = running.progress;
  for (;;) {
    const uint32_t news = running.news.load(std::memory_order_acquire);
    progress.report(job);
    if (job.progress != nullptr && !is_of_this_process()) return;  // forked by the callback
    {
      const MutexLock lock(mutex_);
      if (running.is_over()) {
        finish(running);
        break;
      }
    }
    uint64_t until = 0;
    if (!progress.is_stopped()) {
      if (!progress.may_go_on(job)) continue;  // whoever is at work sees it at its chunk's end
      until = job.deadline_ns;
      if (job.cancel != nullptr) {
        const uint64_t soon = monotonic_ns() + kLookAtCancelNs;
        if (until == 0 || soon < until) until = soon;
      }
    }
    futex_wait(running.news, news, until);
  }
  progress.report(job);  // of what ended during the last callback
  if (job.last_task < job.tasks->size() && progress.may_go_on(job)) {
    Runner runner;
    if (job.enter != nullptr) job.enter(job.context, runner);
    progress.run(job, job.last_task);
    if (job.leave != nullptr) job.leave(job.context, runner);
    progress.report(job);
  }
}

// Under the mutex: takes the job off the list.
void Team::finish(RunningJob &running) noexcept {
  RunningJob **at = &jobs_;
  while (*at != &running) at = &(*at)->next;
  *at = running.next;
  // A climb that did not end is gone on with by the next job.
  for (uint32_t node = 0; node < placement_.nodes.size(); ++node) {
    const RunningJob::Share &share = running.shares[node];
    if (!share.climbs.load(std::memory_order_relaxed) || share.climb.best() == 0) continue;
    nodes_[node].knees[running.job.verb][running.job.is_huge] = {share.climb.best(), 0};
  }
}

// --- Creating and destroying --------------------------------------------------------------------

int Team::place(const hpz_team_options &options, CpuSet &allowed) noexcept {
  constexpr uint32_t kMostThreads = 16384;
  if (options.threads > kMostThreads) return -EINVAL;
  const Topology *topology = nullptr;
  const int error = usable_cpus(options.cpus, allowed, topology);
  if (error != 0) return error;
  const uint32_t quota = options.threads == 0 ? read_cpu_quota("") : 0;
  return place_workers({*topology, allowed, quota, options.threads}, placement_);
}

// Those that can be started; none at all is no error.
int Team::start_workers(const CpuSet &allowed) noexcept {
  const Topology *const topology = machine_topology(allowed);
  const size_t planned = placement_.worker_nodes.size();
  if (topology == nullptr || !workers_.resize(planned)) return -ENOMEM;
  CpuSet cpus;
  uint32_t cpus_node = Placement::kNobody;
  size_t started = 0;
  for (; started < planned; ++started) {
    const uint32_t node = placement_.worker_nodes[started];
    if (node != cpus_node) {
      CpuSet its_cpus;
      if (!cpus_of_node(*topology, node, allowed, its_cpus)) break;
      cpus = std::move(its_cpus);
      cpus_node = node;
    }
    Worker &worker = workers_[started];
    worker.team = this;
    worker.node = node;
    // The worker reads this only after it has the mutex, which is held here.
    const ThreadStart start = start_thread(worker_main, &worker, cpus);
    if (start.error != 0) break;
    worker.thread = start.thread;
    worker.is_pinned = start.is_pinned;
    if (!start.is_pinned) flags_ |= HPZ_TEAM_UNPINNED;
  }
  if (started == planned) return 0;
  flags_ |= HPZ_TEAM_FEWER;
  (void)workers_.resize(started);
  placement_.keep_workers(*topology, static_cast<uint32_t>(started));
  return 0;
}

int Team::create(const hpz_team_options &options, Team **out) noexcept {
  void *const memory = malloc(sizeof(Team));
  if (memory == nullptr) return -ENOMEM;
  auto *const team = new (memory) Team;
  CpuSet allowed;
  int error = team->place(options, allowed);
  const size_t nodes = team->placement_.nodes.size();
  if (error == 0) {
    team->nodes_ = static_cast<NodeState *>(calloc(nodes, sizeof(NodeState)));
    if (team->nodes_ == nullptr) error = -ENOMEM;
  }
  if (error == 0) {
    if (nodes > 1 && !can_place_memory()) team->flags_ |= HPZ_TEAM_NO_PLACEMENT;
    const MutexLock lock(team->mutex_);
    error = team->start_workers(allowed);
  }
  if (error != 0) {
    dispose(team);
    return error;
  }
  *out = team;
  return 0;
}

Team::~Team() {
  free(nodes_);
}

void Team::stop_workers() noexcept {
  for (uint32_t node = 0; node < placement_.nodes.size() && nodes_ != nullptr; ++node) {
    nodes_[node].epoch.fetch_add(1, std::memory_order_relaxed);
    futex_wake(nodes_[node].epoch, UINT32_MAX);
  }
}

// Nobody else uses it.
void Team::dispose(Team *team) noexcept {
  if (team->is_of_this_process()) {
    {
      const MutexLock lock(team->mutex_);
      team->is_closing_ = true;
      team->stop_workers();
    }
    for (const Worker &worker : team->workers_) pthread_join(worker.thread, nullptr);
    pthread_mutex_destroy(&team->mutex_);
  }
  team->~Team();
  free(team);
}

void Team::destroy() noexcept {
  if (is_of_this_process()) {
    pthread_mutex_lock(&mutex_);
    is_closing_ = true;
    for (RunningJob *running = jobs_; running != nullptr; running = running->next) {
      running->news.fetch_add(1, std::memory_order_release);
      futex_wake(running->news, 1);
    }
    for (Call *call = calls_; call != nullptr; call = call->next_) {
      call->progress_.stop(-ECANCELED);
      // One of its own callers: the last of them disposes of it.
      if (Callback::runs_for(&call->progress_)) is_orphan_ = true;
    }
    const bool is_orphan = is_orphan_;
    while (!is_orphan && calls_ != nullptr) {
      pthread_mutex_unlock(&mutex_);
      futex_wait(calls_ended_, 0, 0);
      pthread_mutex_lock(&mutex_);
    }
    pthread_mutex_unlock(&mutex_);
    if (is_orphan) return;
  }
  dispose(this);
}

void Team::describe(hpz_team_info &out) noexcept {
  const uint64_t now = monotonic_ns();
  const MutexLock lock(mutex_);
  out.threads = worker_count();
  out.nodes = static_cast<uint32_t>(placement_.nodes.size());
  out.flags = flags_;
  constexpr uint32_t kShown = sizeof(out.node) / sizeof(out.node[0]);
  for (uint32_t i = 0; i < out.nodes && i < kShown; ++i) {
    out.node[i].id = placement_.nodes[i].id;
    out.node[i].threads = placement_.nodes[i].workers;
    for (uint32_t verb = 0; verb < 4; ++verb) {
      const Knee(&knees)[2] = nodes_[i].knees[verb];
      const Knee &latest = knees[knees[1].expires_ns > knees[0].expires_ns ? 1 : 0];
      out.node[i].knee[verb] = latest.trusted(now);
    }
  }
}

}  // namespace hpz
