// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench twice: memory acquired by a program that clears what the kernel has cleared already,
// by one that knows, and from memory that is known to be zero.
#include <hpzero/hpzero.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>

#include "bench/crew.h"
#include "bench/experiment.h"
#include "bench/jobs.h"
#include "bench/memory.h"
#include "bench/nodes.h"
#include "bench/page_map.h"
#include "bench/progress.h"
#include "bench/published.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/threads.h"
#include "bench/times.h"

namespace hpz::bench {
namespace {

constexpr const char *kLegend =
    "Mean and standard deviation of the time for all of that memory. by twice: part of the time\n"
    "of clearing it twice, median over rounds. One thread. Fresh mappings were warmed before:\n"
    "each sample has a new one, of memory that the host has backed.\n";

// It aims at less than 15 seconds, warming apart.
constexpr double kUsualSeconds = 11;

constexpr const char *kClearedTwice = "cleared_twice";
constexpr const char *kPopulateAlone = "populate";
constexpr const char *kPopulateMap = "populate_map";
constexpr const char *kDirty = "map_zero_dirty";
constexpr const char *kKnown = "map_zero_known";

void expect_bytes(const char *call, const char *what, uint64_t bytes, uint64_t expected) {
  if (bytes == expected) return;
  throw std::runtime_error(std::string(call) + " says " + std::to_string(bytes) + " bytes " + what +
                           " instead of " + std::to_string(expected));
}

// A new mapping, acquired by acquire while the clock runs; given back after it has stopped.
template <class Acquire> Sample acquire_new(PageKind kind, uint64_t size, const Acquire &acquire) {
  std::optional<Mapping> mapping;
  return time_alone(size, [&] {
    mapping.emplace(kind, size);
    acquire(mapping->base());
  });
}

Sample take_populate_map(PageKind kind, uint64_t size) {
  hpz_job_report populated = HPZ_JOB_REPORT_INIT;
  hpz_job_report cleared = HPZ_JOB_REPORT_INIT;
  const Sample sample = acquire_new(kind, size, [&](char *base) {
    const Space space(base, size);
    PageMap map(size, page_bytes(kind), HPZ_PAGE_FRESH);
    populated = map.populate(space.get(), 0, size);
    cleared = map.zero(space.get(), 0, size);
  });
  expect_bytes("hpz_map_populate", "populated", populated.populated_bytes, size);
  expect_bytes("hpz_map_zero", "cleared", cleared.cleared_bytes, 0);
  return sample;
}

// Memory that stays, and the map of it.
class Kept {
 public:
  Kept(PageKind kind, uint64_t size)
      : mapping_(kind, size),
        space_(populated(mapping_), size),
        map_(size, page_bytes(kind), HPZ_PAGE_DIRTY) {}

  Sample zero(hpz_page_state state) {
    const uint64_t size = mapping_.bytes();
    map_.set(0, size, state);
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    const Sample sample = time_alone(size, [&] { report = map_.zero(space_.get(), 0, size); });
    expect_bytes("hpz_map_zero", "cleared", report.cleared_bytes,
                 state == HPZ_PAGE_ZERO ? 0 : size);
    return sample;
  }

 private:
  static char *populated(const Mapping &mapping) {
    populate_or_throw(mapping.base(), mapping.bytes());
    return mapping.base();
  }

  Mapping mapping_;
  Space space_;
  PageMap map_;
};

std::vector<JobRow> rows_of(PageKind kind, uint64_t size, Kept &kept) {
  return {
      {kClearedTwice, "populated, then hpz_zero_stream: cleared twice",
       [=] {
         return acquire_new(kind, size, [=](char *base) {
           populate_or_throw(base, size);
           hpz_zero_stream(base, size);
         });
       }},
      {kPopulateAlone, "hpz_space_populate alone",
       [=] {
         return acquire_new(kind, size, [=](char *base) {
           const Space space(base, size);
           time_job({&kPopulateVerb, space.get(), nullptr, nullptr, 0, 0});
         });
       }},
      {kPopulateMap, "hpz_map_populate, then hpz_map_zero",
       [=] { return take_populate_map(kind, size); }},
      {kDirty, "resident, hpz_map_zero of a dirty map",
       [&kept] { return kept.zero(HPZ_PAGE_DIRTY); }},
      {kKnown, "resident, hpz_map_zero of what is known",
       [&kept] { return kept.zero(HPZ_PAGE_ZERO); }},
  };
}

class Twice : public JobTour {
 public:
  Twice(const Options &options, JobBook &book, Progress &progress)
      : JobTour(options, book, kUsualSeconds), progress_(progress) {}

  void plan() {
    plan_places();
    book().smallest_buffer(smallest_size());
  }

 private:
  std::vector<PageKind> usual_kinds() const override { return {PageKind::k2m, PageKind::kThp}; }
  UsualSizes usual_sizes(PageKind kind) const override {
    // What stays, and what comes and goes.
    constexpr uint64_t kCopies = 2;
    const uint64_t usual = kind == PageKind::k4k ? 256 * kMiB : 2 * kGiB;
    return {{usual}, page_bytes(kind), kCopies};
  }
  double weight(PageKind kind, uint64_t size) const override {
    const double gib = static_cast<double>(size) / static_cast<double>(kGiB);
    return kind == PageKind::k4k ? 4 * gib : gib;
  }

  void measure_place(const JobPlace &place) override {
    const NodeBinding binding(place.node);
    for (const uint64_t size : place.sizes) measure_size(place, size);
  }

  void measure_size(const JobPlace &place, uint64_t size) {
    const std::string what = format_size(size) + " on " + place.title();
    progress_.show("reserving and warming " + what);
    const std::unique_ptr<PageReservation> reservation =
        reserve_pages(place.kind, 2 * size, place.node);
    Kept kept(place.kind, size);
    const std::vector<JobRow> rows = rows_of(place.kind, size, kept);
    for (const JobRow &row : rows) row.take();  // untimed: the host backs the memory
    progress_.show("measuring " + what);
    const JobCell cell = {place.kind, place.node, size, "acquired", ""};
    JobResult result = measure(cell, weight(place.kind, size), rows);
    progress_.show("");
    const std::string text = "== " + format_size(size) + " " + place_title(cell) + " acquired; " +
                             std::to_string(result.rounds()) + " rounds\n\n" +
                             render_times(result, {kClearedTwice, "twice", "", {}}) +
                             conclude(result) +
                             "published, kernel, 64 GiB: " + kPublishedTwice.words + "\n";
    book().print(text, kLegend);
    book().keep(std::move(result));
  }

  static std::string conclude(const JobResult &result) {
    const auto part = [&](const char *row, const char *other) {
      const JobRowResult *const a = measured_row(result, row);
      const JobRowResult *const b = measured_row(result, other);
      return a == nullptr || b == nullptr ? "-" : format_part(time_part(a->samples, b->samples));
    };
    return "populate and the map take " + std::string(part(kPopulateMap, kPopulateAlone)) +
           " of populate alone, known memory " + part(kKnown, kDirty) + " of clearing it\n";
  }

  Progress &progress_;
};

int run(const Options &options) {
  JobBook book(options);
  book.pin_thread();
  Progress progress;
  Twice twice(options, book, progress);
  twice.plan();
  twice.measure_places();
  book.finish(twice.seconds());
  return kExitOk;
}

}  // namespace

const Experiment kTwice = {
    "twice",
    "",
    "memory cleared twice, once, and not again where it is known to be zero",
    0,
    "--size --pages --repetitions --seconds --json",
    "  pages 2m and thp; 2GiB, on 4k 256MiB\n",
    run,
};

}  // namespace hpz::bench
