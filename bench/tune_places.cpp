// SPDX-License-Identifier: BSD-2-Clause
#include "bench/tune_places.h"

#include <sched.h>

#include <algorithm>
#include <memory>

#include "bench/best_memory.h"
#include "bench/bystander_rounds.h"
#include "bench/clock.h"
#include "bench/cpu_choice.h"
#include "bench/limits.h"
#include "bench/nodes.h"
#include "bench/refusal.h"
#include "bench/sizes.h"

namespace hpz::bench {
namespace {

// Ranges below are the C library's on all machines; a figure there is mostly the call.
constexpr uint64_t kSmallest = 256;
constexpr uint64_t kLargest = kGiB;
// A range that fits no core's share of a last-level cache is as cold after it was dirtied as
// before.
constexpr uint64_t kLargestRecycled = 256 * kMiB;
// Rounds of sizes up to 4 MiB take a few milliseconds, those of 1 GiB seconds.
constexpr double kPartForSmall = 0.5;

// The time that by-standers get of all.
constexpr double kBystanderPart = 0.25;
// Kernels whose cost is of interest: within this of the best at any size; twice what may decide.
constexpr double kNearTheBest = 0.90;
// Sizes at which that counts: less is no streaming.
constexpr uint64_t kSmallestStream = 64 * kKiB;

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

std::vector<Row *> near_the_best(const Rows &rows, const std::vector<CellResult> &cold) {
  std::vector<Row *> near;
  for (const auto &row : rows) {
    const bool is_near = std::any_of(cold.begin(), cold.end(), [&](const CellResult &at) {
      double best = 0, own = 0;
      for (const KernelRate &kernel : kernel_rates(at)) {
        best = std::max(best, kernel.gb_per_s);
        if (kernel.row->id == row->id()) own = kernel.gb_per_s;
      }
      return at.cell.size >= kSmallestStream && own > 0 && own >= best * kNearTheBest;
    });
    if (is_near) near.push_back(row.get());
  }
  return near;
}

std::unique_ptr<Arena> obtain(const JobPlace &place, const Options &options,
                              const Progress &progress) {
  BestMemory wanted{options.set_bytes.value_or(kUsualSetBytes), options.set_bytes.has_value()};
  wanted.node = place.node;
  return obtain_best_memory({place.kind}, wanted, progress);
}

void gather(std::vector<SizeSamples> &sizes, const CellResult &result, size_t place,
            size_t places) {
  const auto at = std::lower_bound(
      sizes.begin(), sizes.end(), result.cell.size,
      [](const SizeSamples &samples, uint64_t size) { return samples.size < size; });
  SizeSamples &samples = at != sizes.end() && at->size == result.cell.size
                             ? *at
                             : *sizes.insert(at, {result.cell.size, {}});
  samples.places.resize(places);
  for (const RowResult &row : result.rows) {
    if (row.kind == RowKind::kKernel) samples.places[place][row.id] = row.samples;
  }
}

}  // namespace

std::vector<JobPlace> tune_places(const std::vector<PageKind> &asked_for, const std::string &root) {
  std::vector<PageKind> kinds = asked_for;
  if (kinds.empty()) kinds.assign(std::begin(kAllPageKinds), std::end(kAllPageKinds));
  std::vector<JobPlace> places;
  for (const int node : nodes_with_memory(root)) {
    for (const PageKind kind : kinds) places.push_back({kind, node, {}});
  }
  return places;
}

PlaceSamples measure_tune_place(const JobPlace &place, const Options &options, const TuneTime &time,
                                const std::vector<int> &cpus, Rounds &rounds, Meter &meter,
                                const Progress &progress) {
  PlaceSamples samples;
  const NodeBinding binding(place.node);
  samples.cpu = choose_cpus(cpus, sched_getcpu(), place.node).taker;
  const OnCpu on(samples.cpu);
  progress.show("reserving " + place.title());
  const std::unique_ptr<Arena> arena = obtain(place, options, progress);
  samples.memory = arena->summary() + node_title(place.node);
  samples.shortfall = arena->shortfall();
  samples.set_bytes = arena->bytes();

  const Rows rows = kernel_rows();
  const uint64_t largest = std::min(kLargest, arena->bytes());
  const std::vector<uint64_t> sizes = powers_of_two(largest);
  const double seconds = time.seconds * (1 - kBystanderPart);
  const uint64_t begin = now_ns();
  size_t cells_left = 2 * sizes.size();
  for (const uint64_t size : sizes) {
    for (const MemoryState state : {MemoryState::kRecycled, MemoryState::kCold}) {
      const double spent = static_cast<double>(now_ns() - begin) / 1e9;
      const double share = std::max(0.0, seconds - spent) / static_cast<double>(cells_left--);
      if (state == MemoryState::kRecycled && size > kLargestRecycled) continue;
      // Small sizes leave something of their share to the large ones, which come last.
      const double part = size <= 4 * kMiB ? kPartForSmall : 1.0;
      Patience patience;
      patience.min_rounds =
          time.repetitions > 0 ? time.repetitions : static_cast<int>(kRoundsToTrust);
      patience.max_rounds = time.repetitions > 0 ? time.repetitions : 101;
      patience.deadline_ns = now_ns() + static_cast<uint64_t>(share * part * 1e9);
      progress.show("measuring " + format_size(size) + " " + std::string(state_id(state)) + " on " +
                    place.title());
      (state == MemoryState::kCold ? samples.cold : samples.recycled)
          .push_back(meter.measure(*arena, {arena->kind(), state, size}, rows, patience));
    }
  }

  const uint64_t cleared = largest_that_fits(largest);
  samples.sets = bystander_sizes(meter.caches(), cleared, memory_limit().bytes / 2, std::nullopt);
  samples.neighbour = find_neighbour(samples.cpu, cpus);
  Bystanders bystanders(samples.sets, samples.neighbour.cpu);
  JobTime bystander_time(time.repetitions > 0 ? 0 : time.seconds * kBystanderPart, time.repetitions,
                         1);
  samples.bystanders = measure_bystanders(rounds, bystander_time, *arena, cleared,
                                          near_the_best(rows, samples.cold), bystanders, progress)
                           .rows;
  return samples;
}

TuneSamples gather(const std::vector<JobPlace> &places, const std::vector<PlaceSamples> &samples) {
  TuneSamples gathered;
  for (size_t place = 0; place < places.size(); ++place) {
    gathered.places.push_back(places[place].title());
    for (const CellResult &result : samples[place].recycled) {
      gather(gathered.recycled, result, place, places.size());
    }
    for (const CellResult &result : samples[place].cold) {
      gather(gathered.cold, result, place, places.size());
    }
    gathered.bystanders.push_back(samples[place].bystanders);
  }
  return gathered;
}

}  // namespace hpz::bench
