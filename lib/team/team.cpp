// SPDX-License-Identifier: BSD-2-Clause
#include "lib/team/team.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <new>

#include "lib/team/clock.h"
#include "lib/team/mempolicy.h"
#include "lib/team/progress.h"
#include "lib/team/quota.h"
#include "lib/team/thread.h"
#include "lib/team/topology.h"

namespace hpz {
namespace {

// A job of less than this runs on the calling thread: to wake a worker and to be woken by it takes
// 10 to 50 us, in which one thread clears as much.
constexpr uint64_t kWorthWaking = 1 << 20;

class Lock {
 public:
  explicit Lock(pthread_mutex_t &mutex) noexcept : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

 private:
  pthread_mutex_t &mutex_;
};

// The machine as it was when the first team was created, and again whenever a thread may use a CPU
// that was not there. Never freed: it costs a few KiB, and a leak checker finds it here.
struct KnownTopology {
  Topology topology;
  const KnownTopology *before;
};
constinit std::atomic<const KnownTopology *> g_topology{nullptr};

bool knows_all(const Topology &topology, const CpuSet &cpus) noexcept {
  uint32_t known = 0;
  for (const Topology::Cpu &cpu : topology.cpus) {
    if (cpus.contains(cpu.cpu)) ++known;
  }
  return known == cpus.count();
}

const Topology *machine_topology(const CpuSet &allowed) noexcept {
  const KnownTopology *known = g_topology.load(std::memory_order_acquire);
  if (known != nullptr && knows_all(known->topology, allowed)) return &known->topology;
  void *const memory = malloc(sizeof(KnownTopology));
  if (memory == nullptr) return nullptr;
  auto *const loaded = new (memory) KnownTopology{{}, known};
  if (load_topology(allowed, loaded->topology) != 0) {
    loaded->~KnownTopology();
    free(loaded);
    return nullptr;
  }
  while (!g_topology.compare_exchange_weak(loaded->before, loaded, std::memory_order_acq_rel)) {
  }
  return &loaded->topology;
}

}  // namespace

// --- A job at work ------------------------------------------------------------------------------

struct Team::RunningJob {
  struct Share {  // of one node
    Climb climb;
    // Atomic, because workers look at them between chunks; changed under the team's mutex.
    std::atomic<uint32_t> limit, active;
    std::atomic<bool> climbs;
  };

  explicit RunningJob(const Job &its_job) noexcept : job(its_job) {}
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
  Progress progress;
  TaskQueues queues;
  Share *shares = nullptr;
  FutexWord news{0};  // the calling thread sleeps on it
  // Under the team's mutex.
  uint32_t active = 0, most_active = 0;
  RunningJob *next = nullptr;
};

struct Team::Callback {
  const Team *team;
  const Callback *outer;
  static constinit thread_local const Callback *current [[gnu::tls_model("initial-exec")]];
};
// initial-exec: the general model would need the dynamic loader's __tls_get_addr.
constinit thread_local const Team::Callback *Team::Callback::current
    [[gnu::tls_model("initial-exec")]] = nullptr;

// --- Workers ------------------------------------------------------------------------------------

void *Team::worker_main(void *argument) noexcept {
  auto &worker = *static_cast<Worker *>(argument);
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
      left(*running, worker.node);
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
  if (worker.is_pinned) runner.pinned_to = placement_.nodes[worker.node].id;
  if (job.enter != nullptr) job.enter(job.context, runner);
  while (share.active.load(std::memory_order_relaxed) <=
             share.limit.load(std::memory_order_relaxed) &&
         running.progress.may_go_on(job)) {
    const size_t task = running.queues.take(worker.node);
    if (task == TaskQueues::kNone) break;
    running.progress.run(job, task, runner);
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
    const Lock lock(mutex_);
    const uint64_t now = monotonic_ns();
    const uint32_t active = share.active.load(std::memory_order_relaxed);
    if (!share.climb.chunk_ended(now, bytes, active)) return;
    share.limit.store(share.climb.limit(), std::memory_order_relaxed);
    if (share.climb.is_settled()) {
      share.climbs.store(false, std::memory_order_relaxed);
      nodes_[node].knees[running.job.verb] = {share.climb.limit(), now + Knee::kTrustedNs};
    }
    if (share.climb.limit() > active) {
      more = share.climb.limit() - active;
      nodes_[node].epoch.fetch_add(1, std::memory_order_relaxed);
    }
  }
  if (more != 0) futex_wake(nodes_[node].epoch, more);
}

// Under the mutex: a worker has left the job, for want of work or of room.
void Team::left(RunningJob &running, uint32_t node) noexcept {
  running.shares[node].active.fetch_sub(1, std::memory_order_relaxed);
  --running.active;
  if (running.is_over()) {
    // From here on, once the mutex is released, the job may be gone: its caller looks under the
    // mutex, and sleeps on a word that outlives nobody. Hence the wake under the mutex.
    running.news.fetch_add(1, std::memory_order_release);
    futex_wake(running.news, 1);
    return;
  }
  if (running.progress.is_stopped()) return;
  // Nodes whose workers came when there was no room (few threads asked for) would sleep on.
  for (uint32_t other = 0; other < placement_.nodes.size(); ++other) {
    if (running.shares[other].active.load(std::memory_order_relaxed) == 0 &&
        running.has_room(other) && running.queues.has_work(other)) {
      wake(other, 1);
    }
  }
}

// Under the mutex.
void Team::wake(uint32_t node, uint32_t workers) noexcept {
  nodes_[node].epoch.fetch_add(1, std::memory_order_relaxed);
  futex_wake(nodes_[node].epoch, workers);
}

// --- The calling thread's side ------------------------------------------------------------------

bool Team::enter() noexcept {
  const Lock lock(mutex_);
  if (is_closing_) return false;
  ++calls_;
  return true;
}

void Team::exit() noexcept {
  bool disposes = false;
  {
    const Lock lock(mutex_);
    if (--calls_ == 0 && is_closing_) {
      disposes = is_orphan_;
      calls_ended_.store(1, std::memory_order_release);
      if (!disposes) futex_wake(calls_ended_, 1);  // under the mutex: see left()
    }
  }
  if (disposes) dispose(this);
}

int Team::run(const Job &job, JobResult &result) noexcept {
  if (!enter()) {
    result.error = -ECANCELED;
    return 0;
  }
  const auto is_bound = [&] {
    for (const Task &task : *job.tasks) {
      if (task.bound) return true;
    }
    return false;
  };
  const size_t tasks = job.tasks->size();
  const bool is_small =
      job.total_bytes < kWorthWaking || (tasks <= 1 && placement_.nodes.size() == 1);
  int error = 0;
  if (workers_.empty() || (is_small && !is_bound())) {
    run_alone(job, result);
  } else {
    RunningJob running(job);
    error = start(running);
    if (error == 0) {
      wait_for(running);
      running.progress.result(result);
      result.threads = running.most_active;
    }
  }
  exit();
  return error;
}

int Team::start(RunningJob &running) noexcept {
  const Job &job = running.job;
  const size_t nodes = placement_.nodes.size();
  running.shares = static_cast<RunningJob::Share *>(malloc(nodes * sizeof(RunningJob::Share)));
  if (running.shares == nullptr || !running.queues.build(*job.tasks, job.last_task, placement_)) {
    return -ENOMEM;
  }
  const uint64_t now = monotonic_ns();
  const Lock lock(mutex_);
  for (uint32_t node = 0; node < nodes; ++node) {
    const uint32_t workers = placement_.nodes[node].workers;
    const Knee &knee = nodes_[node].knees[job.verb];
    const Climb climb(workers, knee.threads, knee.trusted(now) != 0);
    const bool climbs = job.threads == 0 && !climb.is_settled();
    const uint32_t limit = job.threads != 0 ? workers : workers == 0 ? 0 : climb.limit();
    new (&running.shares[node]) RunningJob::Share{climb, limit, 0, climbs};
  }
  if (is_closing_) running.progress.stop(-ECANCELED);
  RunningJob **end = &jobs_;
  while (*end != nullptr) end = &(*end)->next;
  *end = &running;
  for (uint32_t node = 0; node < nodes; ++node) {
    uint32_t wanted = running.shares[node].limit.load(std::memory_order_relaxed);
    if (job.threads != 0 && job.threads < wanted) wanted = job.threads;
    if (wanted != 0 && running.queues.has_work(node)) wake(node, wanted);
  }
  return 0;
}

void Team::wait_for(RunningJob &running) noexcept {
  const Job &job = running.job;
  const Callback callback = {this, Callback::current};
  for (;;) {
    const uint32_t news = running.news.load(std::memory_order_acquire);
    if (job.progress != nullptr) {
      Callback::current = &callback;
      running.progress.report(job);
      Callback::current = callback.outer;
    }
    {
      const Lock lock(mutex_);
      if (running.is_over()) {
        RunningJob **at = &jobs_;
        while (*at != &running) at = &(*at)->next;
        *at = running.next;
        break;
      }
    }
    const bool has_deadline = job.deadline_ns != 0 && !running.progress.is_stopped();
    if (has_deadline && monotonic_ns() >= job.deadline_ns) {
      running.progress.stop(-ETIMEDOUT);
      continue;
    }
    futex_wait(running.news, news, has_deadline ? job.deadline_ns : 0);
  }
  if (job.last_task < job.tasks->size() && running.progress.may_go_on(job)) {
    const uint64_t cpu_before = thread_cpu_ns();
    Runner runner;
    if (job.enter != nullptr) job.enter(job.context, runner);
    running.progress.run(job, job.last_task, runner);
    if (job.leave != nullptr) job.leave(job.context, runner);
    running.progress.add_cpu(thread_cpu_ns() - cpu_before);
    Callback::current = &callback;
    running.progress.report(job);
    Callback::current = callback.outer;
  }
}

// --- Creating and destroying --------------------------------------------------------------------

int Team::place(const hpz_team_options &options, CpuSet &allowed) noexcept {
  constexpr uint32_t kMostThreads = 16384;
  if (options.threads > kMostThreads) return -EINVAL;
  CpuSet affinity;
  if (read_affinity(affinity) == -ENOMEM) return -ENOMEM;
  CpuSet listed;
  if (options.cpus != nullptr) {
    const int error = parse_cpu_list(options.cpus, listed);
    if (error != 0) return error;
    // Where the mask cannot be read (seccomp), what the caller names is taken at its word.
    if (!affinity.empty()) listed.keep_only(affinity);
    if (listed.empty()) return -EINVAL;
  }
  allowed = options.cpus != nullptr ? std::move(listed) : std::move(affinity);

  const Topology *const topology = machine_topology(allowed);
  if (topology == nullptr) return -ENOMEM;
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
    const Lock lock(team->mutex_);
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
      const Lock lock(team->mutex_);
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
      running->progress.stop(-ECANCELED);
      running->news.fetch_add(1, std::memory_order_release);
      futex_wake(running->news, 1);
    }
    for (const Callback *at = Callback::current; at != nullptr; at = at->outer) {
      if (at->team == this) is_orphan_ = true;
    }
    const bool is_orphan = is_orphan_;
    while (!is_orphan && calls_ != 0) {
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
  const Lock lock(mutex_);
  out.threads = worker_count();
  out.nodes = static_cast<uint32_t>(placement_.nodes.size());
  out.flags = flags_;
  constexpr uint32_t kShown = sizeof(out.node) / sizeof(out.node[0]);
  for (uint32_t i = 0; i < out.nodes && i < kShown; ++i) {
    out.node[i].id = placement_.nodes[i].id;
    out.node[i].threads = placement_.nodes[i].workers;
    for (uint32_t verb = 0; verb < 4; ++verb) {
      out.node[i].knee[verb] = nodes_[i].knees[verb].trusted(now);
    }
  }
}

}  // namespace hpz
