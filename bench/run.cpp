// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench run: the table.
#include <hpzero/hpzero.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

#include "bench/agenda.h"
#include "bench/atomic_file.h"
#include "bench/ceiling.h"
#include "bench/clock.h"
#include "bench/context.h"
#include "bench/experiment.h"
#include "bench/jobs.h"
#include "bench/json_schema.h"
#include "bench/measure.h"
#include "bench/peers.h"
#include "bench/progress.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/threads.h"
#include "bench/visits.h"
#include "bench/walk.h"
#include "bench/warnings.h"

namespace hpz::bench {
namespace {

constexpr const char *kLegend =
    "GB/s: decimal, 10^9 bytes a second; median of the rounds +- half the distance of the "
    "quartiles.\n"
    "* is the kernel that hpz_zero picks. All ratios are medians of ratios within a round.\n"
    "L2 after: how many times as long as warm the next pass over half a second-level cache takes.\n"
    "regret: the policy's rate by that of the best kernel of the table; 1.00 is nothing lost.\n"
    "limit: the most that any kernel, or two mixed (every other 2 MiB by each), writes.\n";

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

bool has_cold(const std::vector<CellResult> &results) {
  return std::any_of(results.begin(), results.end(), [](const CellResult &result) {
    return result.cell.state == MemoryState::kCold;
  });
}

// Beside cells of the table, whose weights are 1 and more.
constexpr double kCeilingWeight = 3;
constexpr uint64_t kCeilingBytes = 256 * kMiB;

// What hpz_zero reaches of the limit, in rounds of their own: the table is of one thread.
const std::vector<std::string> kJudged = {"hpz_zero", "hpz_zero_stream"};

JobResult measure_ceiling(Rounds &rounds, JobTime &time, const Arena &arena, size_t cpus) {
  const uint64_t begin = now_ns();
  Patience patience = time.next(kCeilingWeight);
  // Whatever the search has left: it is in vain without.
  patience.least_rounds = 1;
  const Windows windows(arena.base(), arena.bytes());
  const uint64_t size = std::min(kCeilingBytes, arena.bytes());
  const auto alone = [=](void (*zero)(void *, size_t)) {
    return [=] {
      char *const base = windows.next(size);
      return time_alone(size, [=] { zero(base, size); });
    };
  };
  std::vector<JobRow> rows = {{kJudged[0], kJudged[0], alone(hpz_zero)},
                              {kJudged[1], kJudged[1], alone(hpz_zero_stream)}};
  const auto most = static_cast<uint32_t>(std::max<size_t>(cpus, 1));
  add_ceiling_rows(rows, {windows, size, doubling_counts(most)});
  JobResult result =
      measure_jobs(rounds, {arena.kind(), kAnyNode, size, "limit", ""}, rows, patience);
  time.spent(kCeilingWeight, static_cast<double>(now_ns() - begin) / 1e9);
  return result;
}

// Samples of one more visit to the cell behind those there are.
void append(CellResult &result, CellResult more) {
  if (result.rows.empty()) {
    result = std::move(more);
    return;
  }
  for (RowResult &row : result.rows) {
    const auto same = std::find_if(more.rows.begin(), more.rows.end(),
                                   [&](const RowResult &other) { return other.id == row.id; });
    if (same == more.rows.end()) continue;
    std::move(same->samples.begin(), same->samples.end(), std::back_inserter(row.samples));
  }
}

// All cells that the memory is large enough for, in several visits to each.
std::vector<CellResult> measure_cells(Meter &meter, const Arena &arena,
                                      const std::vector<Cell> &cells, const Rows &rows,
                                      JobTime &time, int exact_rounds, Progress &progress) {
  std::vector<double> weights;
  for (const Cell &cell : cells) weights.push_back(time_weight(cell));
  Visits visits(time, weights, exact_rounds);
  std::vector<CellResult> results(cells.size());
  for (int visit = 0; visit < kVisits; ++visit) {
    for (size_t i = 0; i < cells.size(); ++i) {
      const Cell &cell = cells[i];
      // Fewer pages than wanted may be too few for this one.
      if (least_set_bytes(cell.state, cell.size, meter.caches()) > arena.bytes()) {
        visits.give_up(i);
        continue;
      }
      const uint64_t begin = now_ns();
      const std::optional<Patience> patience = visits.begin(i, visit, begin);
      if (!patience) continue;
      progress.show("measuring " + format_size(cell.size) + " " +
                    std::string(state_id(cell.state)) + " on " +
                    std::string(page_kind_title(arena.kind())));
      CellResult more =
          meter.measure(arena, cell, rows, *patience, static_cast<double>(visit) / kVisits);
      const size_t rounds = more.rows.empty() ? 0 : more.rows.front().samples.size();
      visits.end(i, rounds, static_cast<double>(now_ns() - begin) / 1e9);
      append(results[i], std::move(more));
    }
  }
  std::erase_if(results, [](const CellResult &result) { return result.rows.empty(); });
  return results;
}

int run(const Options &options) {
  const uint64_t begin_ns = now_ns();
  std::optional<AtomicFile> json;
  if (options.json) json.emplace(*options.json, "--json");
  hpz_init(nullptr);

  std::vector<std::string> ids = options.kernels;
  const std::string reference = options.reference.value_or("");
  if (!reference.empty()) make_rows({reference});  // refuses what does not exist
  if (!ids.empty() && !reference.empty()) ids.push_back(reference);
  Rows rows = ids.empty() ? make_rows() : make_rows(ids);
  Peers peers;
  if (options.has_peers) peers = make_peers();
  std::move(peers.rows.begin(), peers.rows.end(), std::back_inserter(rows));

  const std::vector<int> cpus = usable_cpu_numbers();
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
  ContextEntries limit;
  JobTime time(agenda.seconds, agenda.rounds, 0);
  for (const PageAgenda &kind : agenda.kinds) {
    for (const Cell &cell : kind.cells) time.expect(time_weight(cell));
  }
  // Once, of the first pages that memory is measured on; not where only some rows were asked for.
  bool has_ceiling = !options.kernels.empty();
  if (!has_ceiling) time.expect(kCeilingWeight);
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
      std::vector<CellResult> results =
          measure_cells(meter, *arena, kind.cells, rows, time, agenda.rounds, progress);
      if (has_cold(results)) {
        uint64_t &least = circumstances.smallest_cold_set_bytes;
        least = least == 0 ? arena->bytes() : std::min(least, arena->bytes());
      }
      std::optional<JobResult> ceiling;
      if (!has_ceiling && has_cold(results)) {
        progress.show("looking for the limit on " + title);
        const Unpinned unpinned(cpus, cpu);
        ceiling = measure_ceiling(rounds, time, *arena, cpus.size());
        has_ceiling = true;
      }
      progress.show("");
      if (!std::exchange(has_heading, true)) {
        std::printf("%s\n%s\n", render_context(context).c_str(), kLegend);
      }
      print_kind(*arena, results, reference);
      if (ceiling) {
        std::printf("%s of %s, touched before\n%s\n", format_size(ceiling->cell.size).c_str(),
                    title.c_str(), render_ceiling(*ceiling, kJudged).c_str());
        const ContextEntries entries = describe_ceiling(*ceiling, kJudged, "");
        limit.insert(limit.end(), entries.begin(), entries.end());
      }
      std::move(results.begin(), results.end(), std::back_inserter(all));
    }
  }
  if (all.empty())
    throw Refusal(got.empty() ? "nothing to measure: use other options" : got.back());

  circumstances.stolen_part = stolen_part_since(stolen_before);
  std::printf("%s\n", time_taken(time.used(), begin_ns).c_str());
  got.insert(got.end(), peers.notes.begin(), peers.notes.end());
  for (const auto &row : rows) {
    if (!row->trouble().empty()) got.push_back("not measured: " + row->trouble());
  }
  for (const std::string &line : got) std::printf("note: %s\n", line.c_str());
  const std::vector<std::string> warnings = find_warnings(all, circumstances);
  for (const std::string &line : warnings) std::printf("warning: %s\n", line.c_str());

  if (json) {
    for (const auto &[key, value] : context) rounds.add_context(key, value);
    for (const auto &[key, value] : memory) rounds.add_context(key, value);
    for (const auto &[key, value] : limit) rounds.add_context(key, value);
    rounds.add_context(std::string(kWarningsKey), joined_warnings(warnings));
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
    "--kernel --size --pages --memory --reference --peers --repetitions --seconds --set --json",
    "  pages 4k, thp, 2m and 1g; memory recycled and cold;\n"
    "  sizes 4KiB to 2MiB, on 2m to 32MiB, on 1g to 1GiB\n",
    run,
};

}  // namespace hpz::bench
