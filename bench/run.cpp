// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench run: the table.
#include <hpzero/hpzero.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "bench/agenda.h"
#include "bench/atomic_file.h"
#include "bench/clock.h"
#include "bench/context.h"
#include "bench/experiment.h"
#include "bench/jobs.h"
#include "bench/json_schema.h"
#include "bench/measure.h"
#include "bench/progress.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/walk.h"
#include "bench/warnings.h"

namespace hpz::bench {
namespace {

constexpr const char *kLegend =
    "GB/s: decimal, 10^9 bytes a second; median of the rounds +- half the distance of the "
    "quartiles.\n"
    "* is the kernel that hpz_zero picks. All ratios are medians of ratios within a round.\n"
    "regret: the policy's rate by that of the best kernel of the table; 1.00 is nothing lost.\n";

// Tables of one kind of pages, one per state, in the order of the cells.
void print_kind(const Arena &arena, const std::vector<CellResult> &results,
                const std::string &reference) {
  std::printf("== %s\n\n", arena.summary().c_str());
  for (size_t begin = 0; begin < results.size();) {
    const MemoryState state = results[begin].cell.state;
    std::vector<const CellResult *> cells;
    size_t least_rounds = SIZE_MAX, most_rounds = 0;
    size_t end = begin;
    for (; end < results.size() && results[end].cell.state == state; ++end) {
      cells.push_back(&results[end]);
      for (const RowResult &row : results[end].rows) {
        least_rounds = std::min(least_rounds, row.samples.size());
        most_rounds = std::max(most_rounds, row.samples.size());
      }
    }
    std::sort(cells.begin(), cells.end(),
              [](const CellResult *a, const CellResult *b) { return a->cell.size < b->cell.size; });
    std::printf("%s on %s: %s; %zu to %zu rounds\n", std::string(state_id(state)).c_str(),
                std::string(page_kind_title(arena.kind())).c_str(),
                std::string(state_meaning(state)).c_str(), std::min(least_rounds, most_rounds),
                most_rounds);
    std::printf("%s\n", render_results(cells, reference).c_str());
    begin = end;
  }
  std::fflush(stdout);
}

int run(const Options &options) {
  std::optional<AtomicFile> json;
  if (options.json) json.emplace(*options.json, "--json");
  hpz_init(nullptr);

  std::vector<std::string> ids = options.kernels;
  const std::string reference = options.reference.value_or("");
  if (!reference.empty()) make_rows({reference});  // refuses what does not exist
  if (!ids.empty() && !reference.empty()) ids.push_back(reference);
  const Rows rows = ids.empty() ? make_rows() : make_rows(ids);

  const int cpu = pin_to_one_cpu();
  Rounds rounds;
  Meter meter(rounds);
  const Agenda agenda = make_agenda(options, meter.caches());

  ContextEntries context = describe_machine(cpu);
  char clock_cost[32];
  std::snprintf(clock_cost, sizeof clock_cost, "%.0f", meter.clock_cost_ns());
  context.emplace_back(kClockCostKey, clock_cost);
  // Printed with the first table: a refusal comes alone.
  bool has_heading = false;

  Circumstances circumstances;
  circumstances.caches = meter.caches();
  circumstances.governor = governor(cpu);
  circumstances.cpus = online_cpus();
  circumstances.is_pinned = cpu >= 0;
  std::vector<std::string> got = agenda.left_out;
  std::vector<CellResult> all;
  ContextEntries memory;
  JobTime time(agenda.seconds, agenda.rounds, 0);
  for (const PageAgenda &kind : agenda.kinds) {
    for (const Cell &cell : kind.cells) time.expect(time_weight(cell));
  }
  const StolenTime stolen_before = stolen_time();
  {
    Progress progress;
    for (const PageAgenda &kind : agenda.kinds) {
      const std::string title(page_kind_title(kind.memory.kind));
      std::optional<Arena> arena;
      progress.show("reserving " + title);
      try {
        arena.emplace(kind.memory, [&](uint64_t done) {
          progress.show("warming " + format_size_rounded(done) + " on " + title);
        });
      } catch (const Refusal &refusal) {
        if (kind.memory.is_asked_for) throw;
        got.push_back(std::string("not measured: ") + refusal.what());
        for (const Cell &cell : kind.cells) time.spent(time_weight(cell), 0);
        continue;
      }
      if (!arena->shortfall().empty()) got.push_back(arena->shortfall());
      memory.emplace_back("memory_" + std::string(page_kind_id(arena->kind())), arena->summary());
      std::vector<CellResult> results;
      for (const Cell &cell : kind.cells) {
        // Fewer pages than wanted may be too few for this one.
        if (least_set_bytes(cell.state, cell.size, meter.caches()) > arena->bytes()) continue;
        progress.show("measuring " + format_size(cell.size) + " " +
                      std::string(state_id(cell.state)) + " on " + title);
        const uint64_t begin = now_ns();
        results.push_back(meter.measure(*arena, cell, rows, time.next(time_weight(cell))));
        time.spent(time_weight(cell), static_cast<double>(now_ns() - begin) / 1e9);
        if (cell.state == MemoryState::kCold) {
          uint64_t &least = circumstances.smallest_cold_set_bytes;
          least = least == 0 ? arena->bytes() : std::min(least, arena->bytes());
        }
      }
      progress.show("");
      if (!std::exchange(has_heading, true)) {
        std::printf("%s\n%s\n", render_context(context).c_str(), kLegend);
      }
      print_kind(*arena, results, reference);
      std::move(results.begin(), results.end(), std::back_inserter(all));
    }
  }
  if (all.empty())
    throw Refusal(got.empty() ? "nothing to measure: use other options" : got.back());

  circumstances.stolen_part = stolen_part_since(stolen_before);
  std::printf("measured for %.1f s, reserving and warming memory apart\n", time.used());
  for (const std::string &line : got) std::printf("note: %s\n", line.c_str());
  const std::vector<std::string> warnings = find_warnings(all, circumstances);
  for (const std::string &line : warnings) std::printf("warning: %s\n", line.c_str());

  if (json) {
    for (const auto &[key, value] : context) rounds.add_context(key, value);
    for (const auto &[key, value] : memory) rounds.add_context(key, value);
    std::string joined;
    for (const std::string &line : warnings) joined += (joined.empty() ? "" : "; ") + line;
    rounds.add_context("warnings", joined);
    json->commit(rounds.json(options.command));
    std::printf("wrote %s\n", options.json->c_str());
  }
  return kExitOk;
}

}  // namespace

const Experiment kRun = {
    "run",
    "",
    "measures kernels and policies against sizes (the default)",
    0,
    "--kernel --size --pages --memory --reference --repetitions --seconds --set --json",
    "  pages 4k, thp, 2m and 1g; memory recycled and cold;\n"
    "  sizes 4KiB to 2MiB, on 2m to 32MiB, on 1g to 1GiB\n",
    run,
};

}  // namespace hpz::bench
