// SPDX-License-Identifier: BSD-2-Clause
#include "bench/measure.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <optional>

#include "bench/clock.h"
#include "bench/nodes.h"
#include "bench/sizes.h"
#include "bench/working_set.h"

namespace hpz::bench {
namespace {

// A sample of several sections ends after this much timed work: streaming over recycled memory
// takes ten times as long as anything else, and would take ten times its share of the rounds.
constexpr double kLongEnoughNs = 400e3;

// Enough to take a kernel through its loop over lanes.
constexpr uint64_t kFirstUseBytes = 64 * kKiB;

struct Disturbance {
  uint64_t faults = 0, preempted = 0;
};

Disturbance disturbance_so_far() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return {static_cast<uint64_t>(usage.ru_minflt + usage.ru_majflt),
          static_cast<uint64_t>(usage.ru_nivcsw)};
}

// Whoever clears so much sweeps the caches, or does not: a pass over a working set of the second
// level is a detail beside it, and shows which.
constexpr uint64_t kSweepingBytes = kGiB;

Sample take_sample(Row &row, const Cell &cell, Walk &walk, const SampleShape &shape,
                   double clock_cost_ns, WorkingSet *bystander) {
  Sample sample;
  const size_t ranges = row.ranges(cell, shape.ranges);
  // Whatever the row allocates to prepare itself, it does now and not among the sections.
  const std::vector<void *> *next = &walk.next(ranges);
  row.prepare(*next, cell.size);
  // Hot means: as this row left it, which for a streaming kernel is not in cache.
  if (cell.state == MemoryState::kHot) row.clear(*next, cell.size);
  if (bystander != nullptr) {
    bystander->warm();
    sample.l2.warm_ns = bystander->timed_pass_ns();
  }
  double ns = 0;
  const Disturbance before = disturbance_so_far();
  for (size_t section = 0; section < shape.sections; ++section) {
    if (section > 0) {
      next = &walk.next(ranges);
      row.prepare(*next, cell.size);
    }
    const uint64_t begin = now_ns();
    row.clear(*next, cell.size);
    const uint64_t end = now_ns_all_stored();
    ns += static_cast<double>(end - begin);
    if (bystander != nullptr && section == 0) sample.l2.ns = bystander->timed_pass_ns();
    ++sample.sections;
    if (ns > kLongEnoughNs) break;
  }
  // Once for all sections: a system call between them would cost them cache lines.
  const Disturbance after = disturbance_so_far();
  walk.done();
  sample.faults = after.faults - before.faults;
  sample.preempted = after.preempted - before.preempted;
  sample.ranges = ranges * sample.sections;
  sample.bytes = sample.ranges * cell.size;
  sample.clock_ns = clock_cost_ns * static_cast<double>(sample.sections);
  // A correction that takes more than half away corrects nothing: keep what was read.
  const double corrected = ns - sample.clock_ns;
  if (corrected > ns / 2) {
    sample.ns = corrected;
  } else {
    sample.clock_ns = 0;
    sample.ns = std::max(ns, 1.0);
  }
  return sample;
}

std::string task_name(const Row &row, const Cell &cell, int node) {
  return row.id() + "/" + format_size(cell.size) + "/" + std::string(state_id(cell.state)) + "/" +
         std::string(page_kind_id(cell.pages)) + node_suffix(node);
}

}  // namespace

Meter::Meter(Rounds &rounds)
    : rounds_(rounds), clock_cost_ns_(measure_clock_cost_ns()), caches_(bench::caches()) {}

Sample Meter::take(Row &row, const Cell &cell, Walk &walk, const SampleShape &shape) const {
  return take_sample(row, cell, walk, shape, clock_cost_ns_, nullptr);
}

CellResult Meter::measure(const Arena &arena, const Cell &cell, const Rows &rows,
                          const Patience &patience, double part) {
  const SampleShape shape = shape_sample(cell.state, cell.size, arena.bytes(), caches_);
  char *const base =
      arena.base() + begin_of_walk(cell.state, cell.size, arena.bytes(), caches_, part);
  Walk walk(base, arena.kind(), cell.state, cell.size, shape, part);

  CellResult result;
  result.cell = cell;
  result.slots = walk.slots();
  std::optional<WorkingSet> bystander;
  if (cell.state == MemoryState::kCold && cell.size >= kSweepingBytes) {
    bystander.emplace(caches_.l2 / 2);
  }
  WorkingSet *const beside = bystander ? &*bystander : nullptr;
  std::vector<Task> tasks;
  for (const auto &row : rows) {
    if (!row->suits(cell) || !row->ready(cell)) continue;
    // A batch must not meet a page twice.
    if (cell.state == MemoryState::kCold && row->ranges(cell, shape.ranges) > walk.slots())
      continue;
    result.rows.push_back({row->id(), row->title(), row->kind(), {}});
    tasks.push_back({task_name(*row, cell, arena.node()), [&, r = row.get()] {
                       return r->takes_own_samples()
                                  ? r->take_own(cell)
                                  : take_sample(*r, cell, walk, shape, clock_cost_ns_, beside);
                     }});
  }
  if (tasks.empty()) return result;
  // The first use of a row's instructions is a page fault of the program itself.
  for (const auto &row : rows) {
    if (row->kind() == RowKind::kBaseline || !row->suits(cell)) continue;
    row->clear({arena.base()}, std::min({cell.size, kFirstUseBytes, arena.bytes()}));
  }

  std::vector<std::vector<Sample>> samples = run_rounds(rounds_, tasks, patience);
  for (size_t i = 0; i < samples.size(); ++i) result.rows[i].samples = std::move(samples[i]);
  return result;
}

std::vector<std::vector<Sample>> run_rounds(Rounds &rounds, const std::vector<Task> &tasks,
                                            const Patience &patience) {
  std::vector<std::vector<Sample>> by_task(tasks.size());
  rounds.begin_tasks();
  uint64_t longest_ns = 0;
  for (int round = 0; round < patience.max_rounds; ++round) {
    const uint64_t begin = now_ns();
    const uint64_t end = begin + longest_ns;
    const bool has_few = round < patience.min_rounds;
    // How long the first round takes is not known: it is begun while there is any time.
    const bool is_late = round == 0 ? begin >= patience.last_ns
                                    : end > (has_few ? patience.last_ns : patience.deadline_ns);
    if (is_late && round >= patience.least_rounds) break;
    const std::vector<Sample> samples = rounds.run_round(tasks);
    for (size_t i = 0; i < samples.size(); ++i) by_task[i].push_back(samples[i]);
    longest_ns = std::max(longest_ns, now_ns() - begin);
  }
  return by_task;
}

int pin_to_one_cpu() {
  const int cpu = sched_getcpu();
  if (cpu < 0) return -1;
  // The set of a kernel with more than 1024 CPUs does not fit cpu_set_t.
  cpu_set_t *const set = CPU_ALLOC(static_cast<size_t>(cpu) + 1);
  if (set == nullptr) return -1;
  const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpu) + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(static_cast<size_t>(cpu), bytes, set);
  const int refused = sched_setaffinity(0, bytes, set);
  CPU_FREE(set);
  return refused == 0 ? cpu : -1;
}

const RowResult *find_row(const CellResult &result, const std::string &id) {
  const auto found = std::find_if(result.rows.begin(), result.rows.end(),
                                  [&](const RowResult &row) { return row.id == id; });
  return found == result.rows.end() ? nullptr : &*found;
}

std::vector<KernelRate> kernel_rates(const CellResult &result) {
  std::vector<const std::vector<Sample> *> samples;
  std::vector<KernelRate> kernels;
  for (const RowResult &row : result.rows) {
    if (row.kind != RowKind::kKernel || row.samples.empty()) continue;
    samples.push_back(&row.samples);
    kernels.push_back({&row, 0});
  }
  const std::vector<double> levelled = levelled_rates(samples);
  for (size_t i = 0; i < kernels.size(); ++i) kernels[i].gb_per_s = levelled[i];
  return kernels;
}

const RowResult *best_kernel(const CellResult &result) {
  const std::vector<KernelRate> kernels = kernel_rates(result);
  const auto best = std::max_element(
      kernels.begin(), kernels.end(),
      [](const KernelRate &a, const KernelRate &b) { return a.gb_per_s < b.gb_per_s; });
  return best == kernels.end() ? nullptr : best->row;
}

}  // namespace hpz::bench
