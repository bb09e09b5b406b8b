// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench tune: measures which kernel leads at which size on this machine, and writes the
// profile that hpz_init reads. The decisions are in bands.cpp.
#include <hpzero/hpzero.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>

#include "bench/atomic_file.h"
#include "bench/bands.h"
#include "bench/best_memory.h"
#include "bench/bystander_rounds.h"
#include "bench/clock.h"
#include "bench/context.h"
#include "bench/experiment.h"
#include "bench/json_schema.h"
#include "bench/limits.h"
#include "bench/measure.h"
#include "bench/progress.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/threads.h"
#include "bench/walk.h"
#include "bench/warnings.h"

namespace hpz::bench {
namespace {

constexpr double kDefaultSeconds = 60;
constexpr uint64_t kDefaultSetBytes = 4 * kGiB;

// Ranges below are the C library's on all machines; a figure there is mostly the call.
constexpr uint64_t kSmallest = 256;
constexpr uint64_t kLargest = kGiB;
// A range that fits no core's share of a last-level cache is as cold after it was dirtied as
// before.
constexpr uint64_t kLargestRecycled = 256 * kMiB;
// Rounds of sizes up to 4 MiB take a few milliseconds, those of 1 GiB seconds.
constexpr double kPartForSmall = 0.5;

std::vector<uint64_t> powers_of_two(uint64_t largest) {
  std::vector<uint64_t> sizes;
  for (uint64_t size = kSmallest; size <= largest; size *= 2) sizes.push_back(size);
  return sizes;
}

Rows kernel_rows() {
  Rows kernels;
  for (auto &row : make_rows()) {
    if (row->kind() == RowKind::kKernel) kernels.push_back(std::move(row));
  }
  return kernels;
}

SizeRates rates_of(const CellResult &result, const hpz_plan_info &usual) {
  SizeRates at;
  at.size = result.cell.size;
  at.usual = banded_kernel(usual, at.size);
  std::vector<double> errors;
  for (const KernelRate &kernel : kernel_rates(result)) {
    at.rates[kernel.row->id] = kernel.gb_per_s;
    errors.push_back(relative_error(rates(kernel.row->samples)));
  }
  at.noise = median(std::move(errors));
  for (const RowResult &row : result.rows) at.rounds = std::max(at.rounds, row.samples.size());
  return at;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[32] = "";
  std::tm calendar;
  if (gmtime_r(&now, &calendar) != nullptr) {
    std::strftime(text, sizeof text, "%Y-%m-%d", &calendar);
  }
  return text;
}

// The time that by-standers get of all.
constexpr double kBystanderPart = 0.25;
// Kernels whose cost is of interest: within this of the best at any size; twice what may decide.
constexpr double kNearTheBest = 0.90;
// Sizes at which that counts: less is no streaming.
constexpr uint64_t kSmallestStream = 64 * kKiB;

std::vector<Row *> near_the_best(const Rows &rows, const std::vector<SizeRates> &cold) {
  std::vector<Row *> near;
  for (const auto &row : rows) {
    const bool is_near = std::any_of(cold.begin(), cold.end(), [&](const SizeRates &at) {
      double best = 0;
      for (const auto &[kernel, rate] : at.rates) best = std::max(best, rate);
      const auto own = at.rates.find(row->id());
      return at.size >= kSmallestStream && own != at.rates.end() &&
             own->second >= best * kNearTheBest;
    });
    if (is_near) near.push_back(row.get());
  }
  return near;
}

// If working sets become this much slower while nothing is cleared, what kernels cost is drowned in
// what others do.
constexpr double kLoudControl = 1.5;

// Empty where there was no time for rounds enough, or where others use the caches.
KernelCosts costs_of(const std::vector<BystanderRow> &rows) {
  KernelCosts costs;
  for (const BystanderRow &row : rows) {
    if (row.id == kBystanderControl) {
      if (row.cost().together() > kLoudControl) return {};
      continue;
    }
    if (row.same.size() < kRoundsToTrust) return {};
    costs[row.id] = row.cost().together();
  }
  return costs;
}

// Rates of the kernels that got a band, per size: what the decision was made of.
std::string decision_table(const std::vector<SizeRates> &sizes, const std::vector<Band> &bands) {
  TextTable table;
  std::vector<std::string> heading{"size"};
  std::vector<std::string> kernels{"memset"};
  for (const Band &band : bands) {
    if (std::find(kernels.begin(), kernels.end(), band.kernel) == kernels.end()) {
      kernels.push_back(band.kernel);
    }
  }
  heading.insert(heading.end(), kernels.begin(), kernels.end());
  heading.push_back("chosen");
  table.add_row(heading);
  for (const SizeRates &at : sizes) {
    std::vector<std::string> line{format_size(at.size)};
    for (const std::string &kernel : kernels) {
      const auto found = at.rates.find(kernel);
      line.push_back(found == at.rates.end() ? "-" : format_rate(found->second));
    }
    line.push_back(band_kernel(bands, at.size));
    table.add_row(std::move(line));
  }
  return table.text();
}

int run(const Options &options) {
  std::optional<AtomicFile> output, json;
  if (options.output) output.emplace(*options.output, "--output");
  if (options.json) json.emplace(*options.json, "--json");
  // What is usual here is what the library does by itself, not what an older profile says.
  unsetenv("HPZ_PROFILE");
  unsetenv("HPZ_KERNEL");
  hpz_init(nullptr);
  const hpz_plan_info usual_cached = plan_of(HPZ_POLICY_CACHED);
  const hpz_plan_info usual_stream = plan_of(HPZ_POLICY_STREAM);
  // The profile goes to standard output if nowhere else: then all else goes to standard error.
  std::FILE *const out = output ? stdout : stderr;

  const std::vector<int> cpus = usable_cpu_numbers();
  const int cpu = pin_to_one_cpu();
  Rounds rounds;
  Meter meter(rounds);
  const Rows rows = kernel_rows();
  Progress progress;
  progress.show("reserving memory");
  const std::unique_ptr<Arena> arena = obtain_best_memory(
      options.pages, {options.set_bytes.value_or(kDefaultSetBytes), options.set_bytes.has_value()},
      progress);
  std::fprintf(out, "tuning for %s on %s\n\n", plan_of(HPZ_POLICY_AUTO).cpu,
               arena->summary().c_str());

  const uint64_t largest = std::min(kLargest, arena->bytes());
  const std::vector<uint64_t> sizes = powers_of_two(largest);
  const double all_seconds = options.seconds.value_or(kDefaultSeconds);
  const double seconds = all_seconds * (1 - kBystanderPart);
  const int repetitions = options.repetitions.value_or(0);
  const uint64_t begin = now_ns();
  std::vector<CellResult> results;
  std::vector<SizeRates> recycled, cold;
  size_t cells_left = 2 * sizes.size();
  for (const uint64_t size : sizes) {
    for (const MemoryState state : {MemoryState::kRecycled, MemoryState::kCold}) {
      const double spent = static_cast<double>(now_ns() - begin) / 1e9;
      const double share = std::max(0.0, seconds - spent) / static_cast<double>(cells_left--);
      if (state == MemoryState::kRecycled && size > kLargestRecycled) continue;
      // Small sizes leave something of their share to the large ones, which come last.
      const double part = size <= 4 * kMiB ? kPartForSmall : 1.0;
      Patience patience;
      patience.min_rounds = repetitions > 0 ? repetitions : 3;
      patience.max_rounds = repetitions > 0 ? repetitions : 101;
      patience.deadline_ns = now_ns() + static_cast<uint64_t>(share * part * 1e9);
      progress.show("measuring " + format_size(size) + " " + std::string(state_id(state)));
      results.push_back(meter.measure(*arena, {arena->kind(), state, size}, rows, patience));
      const bool is_cold = state == MemoryState::kCold;
      (is_cold ? cold : recycled)
          .push_back(rates_of(results.back(), is_cold ? usual_stream : usual_cached));
    }
  }
  const uint64_t cleared = largest_that_fits(largest);
  const BystanderSizes sets =
      bystander_sizes(meter.caches(), cleared, memory_limit().bytes / 2, std::nullopt);
  const Neighbour neighbour = find_neighbour(cpu, cpus);
  Bystanders bystanders(sets, neighbour.cpu);
  JobTime bystander_time(repetitions > 0 ? 0 : all_seconds * kBystanderPart, repetitions, 1);
  const BystanderResults others = measure_bystanders(
      rounds, bystander_time, *arena, cleared, near_the_best(rows, cold), bystanders, progress);
  const KernelCosts costs = costs_of(others.rows);
  progress.show("");

  Profile profile;
  profile.cpu = plan_of(HPZ_POLICY_AUTO).cpu;
  PolicyBands bands = build_bands(recycled, spare_bystanders(cold, costs));
  profile.cached = std::move(bands.cached);
  profile.stream = std::move(bands.stream);
  profile.probe = build_probe_range(recycled, cold, profile.cached, profile.stream);
  profile.comments = {
      "written by hpzero-bench tune of libhpzero " + std::string(hpz_version()) + ", " + today(),
      "on " + arena->summary(),
      "cached: recycled ranges; stream: cold ranges, within 5 % of the best rate the kernel that "
      "costs by-standers least",
      "hpz_zero asks the cache inside the probe range",
  };

  std::fprintf(out, "cached: recycled ranges, GB/s\n%s\n",
               decision_table(recycled, profile.cached).c_str());
  std::fprintf(out, "stream: cold ranges, GB/s\n%s\n",
               decision_table(cold, profile.stream).c_str());

  std::fprintf(
      out,
      "by-standers: times as long as warm, after and during %s; working sets %s and %s; "
      "other thread: %s\n%s%s\n",
      format_size(cleared).c_str(), format_size_rounded(sets.l2_bytes).c_str(),
      format_size_rounded(sets.llc_bytes).c_str(),
      neighbour.cpu < 0 ? "none" : neighbour.title.c_str(), render_bystanders(others.rows).c_str(),
      costs.empty() ? "less than 3 rounds, or caches that others use: nothing of it was used\n"
                    : "");

  Circumstances circumstances;
  circumstances.caches = meter.caches();
  circumstances.smallest_cold_set_bytes = arena->bytes();
  circumstances.governor = governor(cpu);
  circumstances.cpus = online_cpus();
  circumstances.is_pinned = cpu >= 0;
  if (!arena->shortfall().empty()) std::fprintf(out, "note: %s\n", arena->shortfall().c_str());
  std::vector<std::string> warnings = find_warnings(results, circumstances);
  // That recycled ranges show caches is the point here.
  std::erase_if(warnings, [](const std::string &line) {
    return line.find("show caches") != std::string::npos;
  });
  for (std::string &line : bystander_warnings(others.rows, kBystanderControl, sets)) {
    warnings.push_back(std::move(line));
  }
  std::string joined;
  for (const std::string &line : warnings) {
    std::fprintf(out, "warning: %s\n", line.c_str());
    joined += (joined.empty() ? "" : "; ") + line;
  }

  if (json) {
    for (const auto &[key, value] : describe_machine(cpu)) rounds.add_context(key, value);
    rounds.add_context(std::string(kClockCostKey), decimals(meter.clock_cost_ns(), 0));
    rounds.add_context("memory_" + std::string(page_kind_id(arena->kind())), arena->summary());
    rounds.add_context("warnings", joined);
    json->commit(rounds.json(options.command));
  }
  const std::string noise = find_too_noisy(recycled, cold);
  if (!noise.empty() && !options.is_forced) {
    throw Refusal("no profile is written, for this run was too noisy: " + noise +
                  "; stop other programs, give it a larger --seconds, or use --force");
  }
  const std::string text = format_profile(profile);
  if (output) {
    output->commit(text);
    std::fprintf(out,
                 "\nwrote %s; to use it, start programs that call hpz_init with\nHPZ_PROFILE=%s\n",
                 options.output->c_str(), options.output->c_str());
  } else {
    std::fputs(text.c_str(), stdout);
    std::fprintf(out,
                 "\nto use it, keep standard output in a FILE and start programs that call "
                 "hpz_init with\nHPZ_PROFILE=FILE\n");
  }
  return kExitOk;
}

}  // namespace

const Experiment kTune = {
    "tune",
    "",
    "measures bands on this machine and writes a profile",
    0,
    "--pages --set --seconds --repetitions --output --force --json",
    "  pages 2m, else thp, else 4k; all sizes up to 1GiB\n",
    run,
};

}  // namespace hpz::bench
