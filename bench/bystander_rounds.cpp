// SPDX-License-Identifier: BSD-2-Clause
#include "bench/bystander_rounds.h"

#include "bench/clock.h"

namespace hpz::bench {
namespace {

using Take = Sample (Bystanders::*)(uint64_t, const Bystanders::Clear &);

struct Kind {
  const char *state, *title;
  bool is_other;
  Take take;
  std::vector<Sample> BystanderRow::*samples;
  double weight;
};
constexpr Kind kKinds[] = {
    {"same_thread", "the same thread", false, &Bystanders::same_thread, &BystanderRow::same, 2},
    {"other_thread_l2", "another thread's L2", true, &Bystanders::other_thread_l2,
     &BystanderRow::other_l2, 1},
    {"other_thread_llc", "another thread's last level", true, &Bystanders::other_thread_llc,
     &BystanderRow::other_llc, 1.5},
};

// Before anything was cleared: as long as 1 GiB takes.
constexpr double kFirstWaitNs = 1e8;

void wait(double ns) {
  const uint64_t end = now_ns() + static_cast<uint64_t>(ns);
  while (now_ns() < end) continue;
}

}  // namespace

BystanderResults measure_bystanders(Rounds &rounds, JobTime &time, const Arena &arena,
                                    uint64_t size, const std::vector<Row *> &rows,
                                    Bystanders &bystanders, const Progress &progress) {
  BystanderResults results;
  double last_ns = kFirstWaitNs;
  const auto is_left_out = [&](const Kind &kind) {
    return kind.is_other && !bystanders.has_other();
  };
  for (const Kind &kind : kKinds) {
    if (!is_left_out(kind)) time.expect(kind.weight);
  }
  const std::vector<void *> ranges = {arena.base()};
  for (const Kind &kind : kKinds) {
    if (is_left_out(kind)) continue;
    progress.show("measuring by-standers: " + std::string(kind.title));
    std::vector<JobRow> jobs;
    for (Row *const row : rows) {
      jobs.push_back({row->id(), row->title(), [&, row, take = kind.take] {
                        row->prepare(ranges, size);
                        Sample sample = (bystanders.*take)(size, [&] { row->clear(ranges, size); });
                        last_ns = sample.ns;
                        return sample;
                      }});
    }
    jobs.push_back({kBystanderControl, "(nothing, for as long)", [&, take = kind.take] {
                      return (bystanders.*take)(0, [&] { wait(last_ns); });
                    }});
    const JobCell cell = {arena.kind(), arena.node(), size, kind.state, ""};
    JobResult result = measure_cell(rounds, time, cell, kind.weight, jobs);
    results.rows.resize(result.rows.size());
    for (size_t i = 0; i < result.rows.size(); ++i) {
      results.rows[i].id = result.rows[i].id;
      results.rows[i].title = result.rows[i].title;
      results.rows[i].*kind.samples = result.rows[i].samples;
    }
    results.cells.push_back(std::move(result));
  }
  progress.show("");
  return results;
}

}  // namespace hpz::bench
