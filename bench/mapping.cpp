// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench mapping: what it costs to map memory in order to clear it. A file's memory, as that
// of a virtual machine, cleared piece by piece through temporary mappings and at an address that
// lasts; and the time until fresh memory is touched.
#include <hpzero/hpzero.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>

#include "bench/crew.h"
#include "bench/experiment.h"
#include "bench/file_memory.h"
#include "bench/jobs.h"
#include "bench/limits.h"
#include "bench/memory.h"
#include "bench/nodes.h"
#include "bench/plan.h"
#include "bench/progress.h"
#include "bench/published.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/text_file.h"
#include "bench/threads.h"
#include "bench/times.h"
#include "bench/walk.h"
#include "bench/ways.h"
#include "bench/ways_table.h"
#include "bench/workloads.h"

namespace hpz::bench {
namespace {

constexpr const char *kLegend =
    "Mean and standard deviation of the time for one piece of that size, cold: nobody touched it\n"
    "since all the others were cleared. saved: of the time of a temporary mapping for each 4 KiB,\n"
    "median over rounds. rate by space_direct: by that of hpz_space_direct. All rows clear by one\n"
    "kernel; the second column by REP STOSB, 4 KiB at a time, as operating system kernels do.\n"
    "One thread, but for rows of a team.\n";

// It aims at less than a minute; what the published report repeats 48 times is repeated so, too.
constexpr double kUsualSeconds = 20;
constexpr int kPublishedRounds = 48;

// More than four times the caches of large servers.
constexpr uint64_t kUsualSetBytes = 2 * kGiB;
// For holes, of which there are only two rows.
constexpr uint64_t kUsualSpareBytes = kGiB;

// 100 MB, as the published test has it, in whole huge pages.
constexpr uint64_t kAllocatedBytes = 96 * kMiB;
constexpr double kAllocateWeight = 5;

// Bytes of a sample.
uint64_t sample_bytes(uint64_t size) {
  return shape_sample(MemoryState::kCold, size, UINT64_MAX / 2, caches()).ranges * size;
}

class MappingCosts : public JobTour {
 public:
  MappingCosts(const Options &options, JobBook &book, const Crew &crew, std::string kernel,
               Progress &progress)
      : JobTour(options, book, kUsualSeconds),
        crew_(crew),
        kernel_(std::move(kernel)),
        progress_(progress) {}

  void plan() {
    plan_places();
    if (allocated_kinds().empty()) return;
    time().expect(kAllocateWeight);
  }

  void measure_all() {
    measure_places();
    if (!allocated_kinds().empty()) measure_allocation();
  }

 private:
  std::vector<PageKind> usual_kinds() const override { return {PageKind::kThp, PageKind::k2m}; }
  UsualSizes usual_sizes(PageKind kind) const override {
    // The set, and as much again for holes.
    constexpr uint64_t kCopies = 2;
    const uint64_t huge = std::max(page_bytes(kind), 2 * kMiB);
    if (kind == PageKind::k1g) return {{kGiB}, huge, kCopies};
    return {{2 * kMiB, kGiB}, huge, kCopies};
  }
  // Seconds, more or less.
  double weight(PageKind kind, uint64_t size) const override {
    const double gib = static_cast<double>(sample_bytes(size)) / static_cast<double>(kGiB);
    const double round = can_map_pieces(kind) ? 4 * gib : gib;
    return round * (size < sample_bytes(size) ? kPublishedRounds : 3);
  }

  void measure_place(const JobPlace &place) override {
    const NodeBinding binding(place.node);
    const uint64_t spare_bytes = plan_spare(place);
    const uint64_t set_bytes = plan_set(place, spare_bytes);
    const std::string title = place.title();
    progress_.show("reserving " + title);
    const std::unique_ptr<PageReservation> reservation =
        reserve_pages(place.kind, set_bytes + spare_bytes, place.node);
    const auto show = [&](uint64_t done) {
      progress_.show("warming " + format_size_rounded(done) + " on " + title);
    };
    JobPlace here = place;
    auto memory = std::make_unique<FileMemory>(place.kind, set_bytes, show);
    if (place.kind == PageKind::kThp && memory->huge_percent() < kEnoughHugePercent) {
      const std::string trouble = no_huge_pages(*memory);
      if (!options().pages.empty()) throw Refusal(trouble);
      book().note("measured on 4 KiB pages instead of " + trouble);
      here.kind = PageKind::k4k;
      memory.reset();
      memory = std::make_unique<FileMemory>(here.kind, set_bytes, show);
    }
    measure_memory(here, *memory, spare_bytes);
  }

  // Of what the set leaves, or may leave: the more, the colder are holes.
  uint64_t plan_spare(const JobPlace &place) const {
    const uint64_t page = page_bytes(place.kind);
    uint64_t least = page;
    for (const uint64_t size : place.sizes) least = std::max(least, sample_bytes(size));
    const uint64_t limit = limit_on_pages(place.kind, memory_limit(), place.node).bytes;
    const uint64_t set = options().set_bytes.value_or(kUsualSpareBytes);
    const uint64_t left = options().set_bytes ? limit - std::min(limit, set) : limit / 3;
    const uint64_t usual = std::min({kUsualSpareBytes, set, left});
    return std::max(least, round_down(usual, std::max(page, 2 * kMiB)));
  }

  uint64_t plan_set(const JobPlace &place, uint64_t spare_bytes) {
    const MemoryLimit limit = limit_on_pages(place.kind, memory_limit(), place.node);
    const uint64_t room = limit.bytes - std::min(limit.bytes, spare_bytes);
    const uint64_t least = std::max(place.sizes.back(), page_bytes(place.kind));
    const uint64_t wanted = options().set_bytes.value_or(std::min(kUsualSetBytes, room));
    const uint64_t set = round_down(options().set_bytes ? wanted : std::max(wanted, least),
                                    std::max(page_bytes(place.kind), 2 * kMiB));
    if (set < least) {
      throw Refusal("a set of " + format_size(wanted) + " has no piece of " +
                    format_size(place.sizes.back()) + ": use --set " + format_size(least) +
                    " or more");
    }
    if (set > room) {
      throw Refusal("a set of " + format_size(set) + ", and " + format_size(spare_bytes) +
                    " beside it, do not fit the " + format_size_rounded(limit.bytes) + " that " +
                    limit.reason + " leaves: use a smaller --set or --size, or " + limit.remedy);
    }
    return set;
  }

  static std::string no_huge_pages(const FileMemory &memory) {
    const std::string mode =
        read_text_file("/sys/kernel/mm/transparent_hugepage/shmem_enabled").value_or("not there");
    return "transparent huge pages of a file: the kernel gave " +
           std::to_string(memory.huge_percent()) +
           " % (shmem_enabled: " + mode.substr(0, mode.find('\n')) +
           "): write advise to /sys/kernel/mm/transparent_hugepage/shmem_enabled, or 1 to "
           "/proc/sys/vm/compact_memory";
  }

  void measure_memory(const JobPlace &place, const FileMemory &memory, uint64_t spare_bytes) {
    const std::string title = place.title();
    FileMemory spare(place.kind, spare_bytes, [](uint64_t) {});
    book().smallest_set(memory.bytes());
    book().context("memory_" + std::string(page_kind_id(place.kind)) + node_suffix(place.node),
                   memory.summary());
    bool is_first = true;
    for (const uint64_t size : place.sizes) {
      progress_.show("measuring " + format_size(size) + " on " + title);
      const SampleShape shape = shape_sample(MemoryState::kCold, size, memory.bytes(), caches());
      Walk walk(memory.base(), place.kind, MemoryState::kCold, size, shape);
      Walk spare_walk(spare.base(), place.kind, MemoryState::kCold, size,
                      shape_sample(MemoryState::kCold, size, spare.bytes(), caches()));
      const WaysRequest request = {place.kind, size,   shape.ranges, &memory,
                                   &walk,      &spare, &spare_walk};
      const JobCell cell = {place.kind, place.node, size, "cold", ""};
      const bool is_short = size < sample_bytes(size);
      JobResult result = measure(cell, weight(place.kind, size), way_rows(request),
                                 is_short ? kPublishedRounds : 0);
      progress_.show("");
      std::string text;
      if (is_first) {
        text = "== " + format_size(memory.bytes()) + " " + place_title(cell) + ", " +
               memory.summary() + "\n";
        if (!can_map_pieces(place.kind)) {
          text += "(these pages cannot be mapped in 4 KiB pieces: nothing to save against)\n";
        }
        text += "\n";
      }
      text += format_size(size) + " cleared, " + count_of(result.rounds(), "iteration") + " of " +
              count_of(shape.ranges, "piece") + "\n" + render_ways(result, kernel_) +
              conclude_ways(result);
      if (size == 2 * kMiB && can_map_pieces(place.kind)) {
        text += std::string("published, arm64 kernel: ") + kPublishedClear.words + "\n";
      }
      book().print(text, kLegend);
      book().keep(std::move(result));
      is_first = false;
    }
  }

  // --- The time until fresh memory is touched ----------------------------------------------------

  // Anonymous memory: not where only the pools' pages were asked for.
  std::vector<PageKind> allocated_kinds() const {
    std::vector<PageKind> kinds = options().pages;
    if (kinds.empty()) kinds = {PageKind::k4k, PageKind::kThp};
    std::erase_if(kinds, is_pool_kind);
    return kinds;
  }

  template <class Prepare> static Sample allocate(PageKind kind, const Prepare &prepare) {
    std::optional<Mapping> mapping;  // unmapped after the clock has stopped
    return time_alone(kAllocatedBytes, [&] {
      mapping.emplace(kind, kAllocatedBytes);
      prepare(*mapping);
      touch(mapping->base(), kAllocatedBytes, page_bytes(PageKind::k4k));
    });
  }

  static void populate_by(hpz_team *team, const Mapping &mapping) {
    const Space space(mapping.base(), mapping.bytes());
    time_job({&kPopulateVerb, space.get(), team, nullptr, 0, 0});
  }

  // Like by like: huge pages are not divided by small ones.
  std::string conclude_allocation(const JobResult &result) const {
    std::string text;
    for (const PageKind kind : allocated_kinds()) {
      const std::string id = "_" + std::string(page_kind_id(kind));
      const auto saved = [&](const char *row) {
        const JobRowResult *const a = measured_row(result, row + id);
        const JobRowResult *const b = measured_row(result, "touch" + id);
        return a == nullptr || b == nullptr ? "-" : format_saved(time_part(a->samples, b->samples));
      };
      text += std::string(page_kind_title(kind)) + ": hpz_space_populate between saves " +
              saved("populate") + " of touching alone, by a team " + saved("populate_team") + "\n";
    }
    return text;
  }

  void measure_allocation() {
    const MemoryLimit limit = memory_limit();
    if (limit.bytes < kAllocatedBytes) {
      book().note("not measured: " + format_size(kAllocatedBytes) + " allocated and touched, for " +
                  limit.reason + " leaves " + format_size_rounded(limit.bytes) + ": " +
                  limit.remedy);
      time().spent(kAllocateWeight, 0);
      return;
    }
    std::vector<JobRow> rows;
    for (const PageKind kind : allocated_kinds()) {
      const std::string id = "_" + std::string(page_kind_id(kind));
      const std::string title = ", " + std::string(page_kind_title(kind));
      rows.push_back({"touch" + id, "mapped and touched" + title,
                      [=] { return allocate(kind, [](const Mapping &) {}); }});
      rows.push_back({"populate" + id, "... hpz_space_populate between" + title, [=] {
                        return allocate(kind, [](const Mapping &m) { populate_by(nullptr, m); });
                      }});
      rows.push_back({"populate_team" + id, "... by a team" + title, [kind, team = crew_.get()] {
                        return allocate(kind, [team](const Mapping &m) { populate_by(team, m); });
                      }});
    }
    progress_.show("measuring " + format_size(kAllocatedBytes) + " allocated and touched");
    for (const JobRow &row : rows) row.take();  // untimed: the host backs the memory
    const PageKind first = allocated_kinds().front();
    const std::string reference = "touch_" + std::string(page_kind_id(first));
    JobResult result = measure({first, kAnyNode, kAllocatedBytes, "allocated", "anonymous"},
                               kAllocateWeight, rows, kPublishedRounds);
    progress_.show("");
    const std::string text =
        "== " + format_size(kAllocatedBytes) +
        " (100 MB) allocated and touched once per 4 KiB: " + "THE KERNEL CLEARS; " +
        count_of(result.rounds(), "iteration") + "\n\n" +
        render_times(result,
                     {reference, "touched, " + std::string(page_kind_title(first)), "", {}}) +
        conclude_allocation(result) + "published, arm64 kernel: " + kPublishedAllocate.words + "\n";
    book().print(text, kLegend);
    book().keep(std::move(result));
  }

  const Crew &crew_;
  std::string kernel_;
  Progress &progress_;
};

// One kernel for everything that the library clears from now on, by name or by itself.
std::string force_kernel(const Options &options) {
  if (options.kernels.size() > 1) {
    throw Refusal("'mapping' compares ways to clear by one kernel: write --kernel " +
                  options.kernels.front());
  }
  check_kernels(options.kernels, "kernel");
  const std::string kernel = options.kernels.empty()
                                 ? banded_kernel(plan_of(HPZ_POLICY_STREAM), 2 * kMiB)
                                 : options.kernels.front();
  setenv("HPZ_KERNEL", kernel.c_str(), 1);
  hpz_init(nullptr);
  if (banded_kernel(plan_of(HPZ_POLICY_STREAM), kPiece) != kernel) {
    throw std::runtime_error("the library does not obey HPZ_KERNEL=" + kernel);
  }
  return kernel;
}

int run(const Options &options) {
  const std::string kernel = force_kernel(options);
  JobBook book(options);
  book.context("mapping_kernel", kernel);
  const Crew crew(0);
  book.team(crew.info().threads);
  Progress progress;
  MappingCosts costs(options, book, crew, kernel, progress);
  costs.plan();
  costs.measure_all();
  book.finish(costs.seconds());
  return kExitOk;
}

}  // namespace

const Experiment kMapping = {
    "mapping",
    "",
    "what mapping memory costs in order to clear it",
    0,
    "--kernel --size --pages --set --repetitions --seconds --json",
    "  pages thp and 2m; 2MiB and 1GiB, on 1g only 1GiB;\n"
    "  96MiB on 4k and thp, allocated and touched\n",
    run,
};

}  // namespace hpz::bench
