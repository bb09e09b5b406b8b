// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench pool: pages from a pool that clears them in the background, against the kernel's
// fault path, in the columns that such a thing was published in; what taking a clean page costs;
// and what a filler costs the program beside it.
#include <hpzero/hpzero.h>

#include <sched.h>

#include <algorithm>
#include <memory>

#include "bench/beside_filler.h"
#include "bench/clean_pool.h"
#include "bench/cpu_choice.h"
#include "bench/experiment.h"
#include "bench/jobs.h"
#include "bench/limits.h"
#include "bench/memory.h"
#include "bench/nodes.h"
#include "bench/pairs.h"
#include "bench/plan.h"
#include "bench/progress.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/statistics.h"
#include "bench/table.h"
#include "bench/take_rows.h"
#include "bench/takes.h"
#include "bench/threads.h"
#include "bench/times.h"

namespace hpz::bench {
namespace {

constexpr const char *kLegend =
    "Time of one page: the take and the first store into it, reading the clock included. A line\n"
    "is one iteration, the one whose total is the median; ratios are medians of ratios within an\n"
    "iteration. hits: clean pages. misses: cleared by the taker, whom the filler helps. waits: "
    "the\n"
    "filler was at it already. All memory was used before, so that the host has backed it.\n";

// Both kinds of huge pages and the program beside a filler, in less than a minute, reserving and
// warming apart. The program's part is its own: large pages, slower than thought, do not take it.
constexpr double kUsualSeconds = 55;
constexpr double kBesideFillerPart = 0.2;

constexpr int kOnce = 1;
constexpr int kRounds = 16;

// Seconds of an iteration of all rows, more or less, by as many iterations as are wanted.
constexpr double kOnceSecondsPerGib = 0.3 * 9, kRoundsSecondsPerGib = 4.0 * 3;
constexpr double kPairsWeight = 1.5;

// What a filler at SCHED_IDLE clears while a giver pauses is a fraction of it.
constexpr uint64_t kBesideFillerBytes = 256 * kMiB;

double gib(uint64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(kGiB);
}

std::string ratio_text(double ratio) {
  return ratio > 0 ? format_part(ratio) : std::string("-");
}

// Median over iterations of a's figure by b's in the same one.
double figure_ratio(const TakeRow &a, const TakeRow &b, double TakeFigures::*figure) {
  return ratio_within_rounds(a.samples, b.samples,
                             [=](const Takes &takes) { return figures_of(takes.ns).*figure; });
}

double slowest(const TakeRow &row) {
  return figures_of(all_ns(row)).max;
}

std::string conclude_once(const TakeRows &rows) {
  return "a hit takes " + format_time(mean_ns(rows.filling_on())) + " on average (median " +
         format_time(median_ns(rows.filling_on())) + "); the kernel's fault takes " +
         ratio_text(mean_ratio(rows.kernel(), rows.filling_on())) + " times as long\n";
}

std::string conclude_rounds(const TakeRows &rows, size_t pages) {
  const auto by = [&](const TakeRow &row, size_t skipped) {
    return ratio_text(mean_ratio(row, rows.filling_on(), skipped));
  };
  const TakeRow &on = rows.filling_on(), &clearing = rows.clearing();
  return "on average the kernel takes " + by(rows.kernel(), 0) +
         " times as long, the pool without filling " + by(rows.filling_off(), 0) +
         "; but for the first round, which finds all clean, " + by(rows.kernel(), pages) + " and " +
         by(rows.filling_off(), pages) + "\n" + "the slowest take of all takes " +
         ratio_text(slowest(on) / slowest(clearing)) + " of the slowest clearing of a page, " +
         ratio_text(slowest(on) / median_ns(clearing)) +
         " of the median one; the 99.9th percentile " +
         ratio_text(figure_ratio(on, clearing, &TakeFigures::p999)) + " of that of clearing\n";
}

class Pool : public JobTour {
 public:
  Pool(const Options &options, JobBook &book, Progress &progress)
      : JobTour(options, book, kUsualSeconds * (1 - kBesideFillerPart)), progress_(progress) {}

 private:
  std::vector<PageKind> usual_kinds() const override { return {PageKind::k1g, PageKind::k2m}; }
  UsualSizes usual_sizes(PageKind kind) const override {
    // The pool's, and the kernel's.
    constexpr uint64_t kCopies = 2;
    return {{usual_size(kind)}, page_bytes(kind), kCopies};
  }
  static uint64_t usual_size(PageKind kind) {
    if (kind == PageKind::k1g) return 8 * kGiB;
    return kind == PageKind::k4k ? 64 * kMiB : 2 * kGiB;
  }
  double weight(PageKind, uint64_t size) const override {
    return once_weight(size) + rounds_weight(size) + kPairsWeight;
  }
  static double once_weight(uint64_t size) { return kOnceSecondsPerGib * gib(size); }
  static double rounds_weight(uint64_t size) { return kRoundsSecondsPerGib * gib(size); }

  void measure_place(const JobPlace &place) override {
    const NodeBinding binding(place.node);
    for (const uint64_t size : place.sizes) {
      const double planned = weight(place.kind, size);
      double measured = 0;
      measure_size(place.kind, place.node, size, measured);
      // What was measured on less, or on other pages.
      if (measured < planned) time().spent(planned - measured, 0);
    }
  }

  // What is measured on: the kernel's memory, and pages for a pool of as much.
  struct Ground {
    PageKind kind;
    int node;
    uint64_t size;
    std::unique_ptr<PageReservation> reservation;  // outlives the mapping
    std::unique_ptr<Mapping> memory;

    std::string title() const {
      return format_size(size) + " on " + std::string(page_kind_title(kind)) + node_title(node);
    }
    void populate() {
      memory = std::make_unique<Mapping>(kind, size);
      if (bench::populate(memory->base(), size)) return;
      throw Refusal("cannot make " + title() +
                    " resident: somebody else took the memory; use a smaller --size");
    }
  };

  // Less says little of a pool: other pages are better.
  static uint64_t least_bytes(PageKind kind) {
    return std::max(2 * page_bytes(kind), usual_size(kind) / 8);
  }

  // Less of these pages, or others, where nobody has asked for them; the tables say which.
  void reserve(Ground &ground) {
    const std::string wanted = ground.title();
    const uint64_t wanted_bytes = ground.size;
    for (;;) {
      try {
        ground.reservation = reserve_pages(ground.kind, 2 * ground.size, ground.node);
        break;
      } catch (const Refusal &refusal) {
        if (options().sizes.empty() && ground.size >= 2 * least_bytes(ground.kind)) {
          ground.size /= 2;
          continue;
        }
        if (!options().pages.empty() || ground.kind != PageKind::k2m) throw;
        book().warn(std::string("measured on transparent huge pages instead: ") + refusal.what());
        ground.kind = PageKind::kThp;
        ground.size = wanted_bytes;
      }
    }
    if (is_pool_kind(ground.kind) && ground.title() != wanted) {
      book().note("measured " + ground.title() + " instead of " + wanted +
                  ", for no more of them can be had: reserve them soon after booting");
    }
  }

  Ground prepare(PageKind kind, int node, uint64_t size) {
    Ground ground = {kind, node, size, nullptr, nullptr};
    reserve(ground);
    ground.populate();
    if (ground.kind != PageKind::kThp ||
        huge_bytes(ground.memory->base(), ground.size) >= ground.size / 100 * kEnoughHugePercent) {
      return ground;
    }
    const std::string trouble =
        "transparent huge pages: the kernel gives too few of them: write madvise to "
        "/sys/kernel/mm/transparent_hugepage/enabled, and 1 to /proc/sys/vm/compact_memory";
    if (!options().pages.empty()) throw Refusal(trouble);
    book().warn("measured on 4 KiB pages instead of " + trouble);
    ground.kind = PageKind::k4k;
    ground.size = std::min(ground.size, usual_size(ground.kind));
    ground.populate();
    return ground;
  }

  void measure_size(PageKind kind, int node, uint64_t size, double &measured_weight) {
    progress_.show("reserving and warming " + format_size(size));
    const Ground ground = prepare(kind, node, size);
    const CpuChoice cpus = choose_cpus(usable_cpu_numbers(), sched_getcpu(), node);
    CleanPoolRequest request;
    request.kind = ground.kind;
    request.node = node;
    request.bytes = ground.size;
    request.filler_cpu = cpus.filler;
    const CleanPool pool(request);
    book().context("filler_" + std::string(page_kind_id(ground.kind)) + node_suffix(node),
                   describe(cpus));
    progress_.show("measuring " + ground.title());
    std::string text = "== " + ground.title() + ": a pool of " + count_of(pool.pages(), "page") +
                       "; " + describe(cpus) + "\n\n";
    const JobCell cell = {ground.kind, node, ground.size, "", ""};
    {
      const OnCpu taker(cpus.taker);
      text += measure_takes(cell, pool, *ground.memory);
    }
    text += measure_pairs(cell, pool);
    measured_weight = weight(ground.kind, ground.size);
    progress_.show("");
    book().print(text, kLegend);
  }

  std::string measure_takes(JobCell cell, const CleanPool &pool, const Mapping &memory) {
    TakeRows once(pool, memory, kOnce);
    for (const JobRow &row : once.rows_from_now()) row.take();  // untimed
    cell.state = "once";
    JobResult result = measure(cell, once_weight(cell.size), once.rows_from_now());
    std::string text = "every page taken and touched once, " +
                       count_of(result.rounds(), "iteration") + "\n" +
                       render_takes(rows_of(once), published_once()) + conclude_once(once) + "\n";
    book().keep(std::move(result));
    TakeRows rounds(pool, memory, kRounds);
    cell.state = "sixteen_rounds";
    result = measure(cell, rounds_weight(cell.size), rounds.rows_from_now());
    text += "sixteen rounds back to back, " + count_of(result.rounds(), "iteration") + "\n" +
            render_takes(rows_of(rounds), published_rounds()) +
            conclude_rounds(rounds, pool.pages()) + "\n";
    book().keep(std::move(result));
    return text;
  }

  static std::vector<const TakeRow *> rows_of(const TakeRows &rows) {
    return {&rows.kernel(), &rows.filling_off(), &rows.filling_on(), &rows.clearing()};
  }

  std::string measure_pairs(JobCell cell, const CleanPool &pool) {
    pool.fill_all();
    pool.set_filling(false);
    cell.state = "pairs";
    JobResult result =
        measure(cell, kPairsWeight, pair_rows(pool, taker_counts(usable_cpus(), pool.pages())));
    std::string text = "clean pages taken and given back unwritten, " +
                       count_of(result.rounds(), "round") + ", on " +
                       count_of(usable_cpus(), "CPU") + "\n" + render_pairs(result);
    book().keep(std::move(result));
    return text;
  }

  Progress &progress_;
};

std::string why_no_cache_bound(const MemoryLimit &limit) {
  const uint64_t llc = caches().llc;
  return llc == 0 ? std::string("nobody tells how large that is")
                  : format_size(llc / 2) + " do not fit what " + limit.reason + " leaves, " +
                        limit.remedy;
}

// A program beside a filler: how long that took. On one node: what a filler costs a program is no
// matter of how many there are.
double measure_beside_filler(const Options &options, JobBook &book, Progress &progress) {
  CleanPoolRequest request;
  request.kind = PageKind::kThp;
  request.node = nodes_with_memory().front();
  const NodeBinding binding(request.node);
  const MemoryLimit limit = limit_on_pages(request.kind, memory_limit(), request.node);
  request.bytes = std::max(std::min(kBesideFillerBytes, largest_that_fits(limit.bytes / 4)),
                           page_bytes(request.kind));
  request.flags = HPZ_POOL_IDLE;
  const CpuChoice cpus = choose_cpus(usable_cpu_numbers(), sched_getcpu(), request.node);
  request.filler_cpu = cpus.filler;
  progress.show("measuring a program beside a filler");
  const std::vector<WorkBesideFiller> works = works_beside_filler(caches(), limit.bytes / 2);
  if (works.back().id != "half_llc") {
    book.note("a program that reads half of the last-level cache was not measured: " +
              why_no_cache_bound(limit));
  }
  const CleanPool pool(request);
  const BesideFiller beside_filler(pool, works, cpus.filler, cpus.taker);
  const JobCell cell = {request.kind, request.node, request.bytes, "beside_filler", ""};
  JobTime time(options, kUsualSeconds * kBesideFillerPart);
  JobResult result = measure_cell(book.rounds(), time, cell, 1, beside_filler.rows());
  if ((pool.stats().flags & HPZ_POOL_NO_IDLE) != 0) {
    book.warn(
        "the filler runs in the ordinary class, for SCHED_IDLE was refused: allow "
        "sched_setscheduler");
  }
  progress.show("");
  book.print("== a program on the CPU of a filler at SCHED_IDLE that always has pages to clear, " +
                 count_of(result.rounds(), "round") + "\n\n" + render_beside_filler(result, works),
             kLegend);
  book.keep(std::move(result));
  return time.used();
}

// The same, with that part of the time that was asked for, if any was.
Options with_part_of_time(const Options &options, double part) {
  Options own = options;
  if (own.seconds) *own.seconds *= part;
  return own;
}

int run(const Options &options) {
  JobBook book(options);
  Progress progress;
  const Options for_takes = with_part_of_time(options, 1 - kBesideFillerPart);
  Pool pool(for_takes, book, progress);
  pool.plan_places();
  pool.measure_places();
  double seconds = pool.seconds();
  try {
    seconds += measure_beside_filler(with_part_of_time(options, kBesideFillerPart), book, progress);
  } catch (const Refusal &refusal) {
    book.note(std::string("a program beside a filler was not measured: ") + refusal.what());
  }
  book.finish(seconds);
  return kExitOk;
}

}  // namespace

const Experiment kPool = {
    "pool",
    "",
    "pages that are zero before they are asked for, against the kernel's faults",
    0,
    "--size --pages --repetitions --seconds --json",
    "  pages 1g and 2m (else thp, else 4k); 8GiB, on 2m 2GiB, on 4k 64MiB\n",
    run,
};

}  // namespace hpz::bench
