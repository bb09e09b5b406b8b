// SPDX-License-Identifier: BSD-2-Clause
#include "bench/beside_filler.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <numeric>
#include <thread>

#include "bench/clock.h"
#include "bench/cpu_choice.h"
#include "bench/memory.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/times.h"

namespace hpz::bench {
namespace {

// A thread of the idle class weighs 3 where another weighs 1024: it has one turn, of a tick or so,
// in a second or more. A sample without one shows nothing of the filler, so it is waited for.
constexpr uint64_t kSampleNs = 300'000'000, kMostSampleNs = 3'000'000'000;
// So often that is asked for: the answer takes the node's lock.
constexpr uint64_t kLookNs = 20'000'000;

// Between two looks at the clock, some 50 us: next to nothing.
constexpr uint64_t kStepsAtOnce = 1 << 14;

// Pages are made dirty so often. In that time a filler that has the whole CPU clears some 50 MiB:
// the pool is larger, so that it never runs out of work.
constexpr long kGiveNs = 2'000'000;

constexpr uint64_t kLineBytes = 64;

// The compiler must not see that nobody wants the result.
void keep(uint64_t value) {
  asm volatile("" : : "r"(value));
}

// Makes pages dirty until its end.
class Giver {
 public:
  Giver(const CleanPool &pool, int cpu) : thread_([this, &pool, cpu] { give(pool, cpu); }) {}
  ~Giver() { is_over_.store(true, std::memory_order_relaxed); }
  Giver(const Giver &) = delete;
  Giver &operator=(const Giver &) = delete;

  // Throws what its thread could not.
  void end() {
    is_over_.store(true, std::memory_order_relaxed);
    thread_.join();
    if (trouble_) std::rethrow_exception(trouble_);
  }

 private:
  void give(const CleanPool &pool, int cpu) {
    try {
      run_on(cpu);
      const timespec pause = {0, kGiveNs};
      while (!is_over_.load(std::memory_order_relaxed)) {
        pool.make_dirty();
        nanosleep(&pause, nullptr);
      }
    } catch (...) {
      trouble_ = std::current_exception();
    }
  }

  std::atomic<bool> is_over_{false};
  std::exception_ptr trouble_;
  std::jthread thread_;
};

std::string alone(const std::string &id) {
  return id + "_alone";
}
std::string beside(const std::string &id) {
  return id + "_beside";
}

double sum_of(const std::vector<Sample> &samples, const char *figure) {
  double sum = 0;
  for (const Sample &sample : samples) {
    for (const auto &[name, value] : sample.more) {
      if (std::string_view(name) == figure) sum += value;
    }
  }
  return sum;
}

double ns_of(const std::vector<Sample> &samples) {
  double sum = 0;
  for (const Sample &sample : samples) sum += sample.ns;
  return sum;
}

}  // namespace

uint64_t scattering_step(uint64_t n) {
  // The golden section keeps any number of neighbours apart.
  auto step = static_cast<uint64_t>(static_cast<double>(n) * 0.6180339887498949);
  step = std::max<uint64_t>(step, 1);
  while (std::gcd(step, n) != 1) ++step;
  return step;
}

std::vector<WorkBesideFiller> works_beside_filler(const Caches &caches, uint64_t limit_bytes) {
  std::vector<WorkBesideFiller> works = {{"registers", "counts in registers", 0}};
  const auto add = [&](const char *id, const std::string &cache, uint64_t bytes) {
    const uint64_t set = bytes / 2 / kLineBytes * kLineBytes;
    if (set == 0 || set > limit_bytes) return;
    works.push_back({id, "reads " + format_size_rounded(set) + ", half of " + cache, set});
  };
  if (caches.l2 != caches.llc) add("half_l2", "L2", caches.l2);
  add("half_llc", "the last-level cache", caches.llc);
  return works;
}

class BesideFiller::Program {
 public:
  explicit Program(const WorkBesideFiller &work) : id(work.id), title(work.title) {
    if (work.set_bytes == 0) return;
    const uint64_t huge = page_bytes(PageKind::kThp);
    set_ = std::make_unique<Mapping>(PageKind::kThp, (work.set_bytes + huge - 1) / huge * huge);
    lines_ = work.set_bytes / kLineBytes;
    step_ = scattering_step(lines_);
    // Else what is read is the kernel's page of zeroes, which is in the caches whoever sweeps them.
    populate_or_throw(set_->base(), set_->bytes());
  }

  void run_steps(uint64_t steps) const {
    if (set_) {
      read(steps);
    } else {
      count(steps);
    }
  }
  // Until its set is in the caches, if it has one.
  void warm_up() const { run_steps(2 * lines_); }

  const std::string id, title;

 private:
  static void count(uint64_t steps) {
    uint64_t value = steps;
    for (uint64_t i = 0; i < steps; ++i) {
      value = value * 6364136223846793005u + 1442695040888963407u;
      keep(value);
    }
  }
  // Addresses do not depend on what is read: as many reads are under way as the CPU can have.
  void read(uint64_t steps) const {
    const volatile char *const base = set_->base();
    uint64_t line = at_;
    for (uint64_t i = 0; i < steps; ++i) {
      keep(static_cast<uint64_t>(base[line * kLineBytes]));
      line += step_;
      if (line >= lines_) line -= lines_;
    }
    at_ = line;
  }

  std::unique_ptr<Mapping> set_;
  uint64_t lines_ = 0, step_ = 0;
  mutable uint64_t at_ = 0;
};

BesideFiller::BesideFiller(const CleanPool &pool, const std::vector<WorkBesideFiller> &works,
                           int cpu, int other_cpu)
    : pool_(pool), cpu_(cpu), other_cpu_(other_cpu) {
  for (const WorkBesideFiller &work : works) programs_.push_back(std::make_unique<Program>(work));
}
BesideFiller::~BesideFiller() = default;

Sample BesideFiller::run(const Program &program, bool is_filling) const {
  pool_.dirty_all();
  const OnCpu here(cpu_);
  program.warm_up();
  // In both cases alike.
  Giver giver(pool_, other_cpu_);
  pool_.set_filling(is_filling);
  const hpz_pool_stats before = pool_.stats();
  Sample sample;
  const uint64_t begin = now_ns();
  uint64_t end = begin, look = begin + kSampleNs;
  hpz_pool_stats after = before;
  do {
    while (end < look) {
      program.run_steps(kStepsAtOnce);
      sample.ranges += kStepsAtOnce;
      end = now_ns();
    }
    look = end + kLookNs;
    after = pool_.stats();
  } while (is_filling && after.filler_cpu_ns == before.filler_cpu_ns &&
           end - begin < kMostSampleNs);
  pool_.set_filling(false);
  giver.end();
  sample.ns = static_cast<double>(end - begin);
  sample.sections = 1;
  sample.more = {{"filled_bytes", static_cast<double>(after.filled_bytes - before.filled_bytes)},
                 {"filler_cpu_ns", static_cast<double>(after.filler_cpu_ns - before.filler_cpu_ns)},
                 {"dirty_pages_left", static_cast<double>(after.dirty + after.busy)}};
  return sample;
}

std::vector<JobRow> BesideFiller::rows() const {
  std::vector<JobRow> rows;
  for (const auto &program : programs_) {
    for (const bool is_filling : {false, true}) {
      rows.push_back({is_filling ? beside(program->id) : alone(program->id), program->title,
                      [this, &program, is_filling] { return run(*program, is_filling); }});
    }
  }
  return rows;
}

double slowdown(const JobResult &result, const std::string &id) {
  const JobRowResult *const without = measured_row(result, alone(id));
  const JobRowResult *const with = measured_row(result, beside(id));
  if (without == nullptr || with == nullptr) return 0;
  const double ratio = ratio_within_rounds(with->samples, without->samples, ns_per_range);
  return ratio > 0 ? ratio - 1 : 0;
}

std::string render_beside_filler(const JobResult &result,
                                 const std::vector<WorkBesideFiller> &works) {
  TextTable table;
  table.add_row({"", "step alone", "beside it", "slower by", "filler's part", "it cleared"});
  for (const WorkBesideFiller &work : works) {
    const JobRowResult *const without = measured_row(result, alone(work.id));
    const JobRowResult *const with = measured_row(result, beside(work.id));
    if (without == nullptr || with == nullptr) continue;
    const auto step = [](const JobRowResult &row) {
      std::vector<double> values;
      for (const Sample &sample : row.samples) values.push_back(ns_per_range(sample));
      return decimals(median(std::move(values)), 2) + " ns";
    };
    const double ns = ns_of(with->samples);
    table.add_row({work.title, step(*without), step(*with),
                   decimals(slowdown(result, work.id) * 100, 1) + " %",
                   decimals(sum_of(with->samples, "filler_cpu_ns") / ns * 100, 1) + " %",
                   format_rate(sum_of(with->samples, "filled_bytes") / ns) + " GB/s"});
  }
  return table.text();
}

}  // namespace hpz::bench
