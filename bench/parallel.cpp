// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench parallel: touched memory cleared by a team, against one thread, and against what
// programs do without one.
#include <hpzero/hpzero.h>

#include <algorithm>
#include <cstring>

#include "bench/calls.h"
#include "bench/ceiling.h"
#include "bench/clock.h"
#include "bench/crew.h"
#include "bench/experiment.h"
#include "bench/jobs.h"
#include "bench/limits.h"
#include "bench/nodes.h"
#include "bench/plan.h"
#include "bench/progress.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/threads.h"
#include "bench/workloads.h"

namespace hpz::bench {
namespace {

constexpr const char *kLegend =
    "Ratios are to hpz_zero_stream in one thread (scattered: hpz_zero_pages). Teams run\n"
    "hpz_space_zero. local and remote: bytes by where the thread and the memory were. limit: the\n"
    "fastest row; among them the fastest kernels, and mixes of two (every other 2 MiB by each).\n";

// It aims at less than 15 seconds, of which the calls and the search for the limit take some.
constexpr double kUsualSeconds = 7.5;

struct Setting {
  const Options *options;
  const Crew *crew;
  std::vector<uint32_t> counts;
};

std::vector<std::string> kernels_for(const Options &options, uint64_t size) {
  if (!options.kernels.empty()) return options.kernels;
  return {banded_kernel(plan_of(HPZ_POLICY_STREAM), size)};
}

void add_team_rows(std::vector<JobRow> &rows, const Setting &setting, const Space &space,
                   const std::vector<hpz_extent> *extents) {
  const auto add = [&](const std::string &id, const std::string &title, uint32_t threads) {
    const JobRequest job = {&kZeroVerb, space.get(), setting.crew->get(), extents, threads, 0};
    rows.push_back({id, title, [job] { return time_job(job); }});
  };
  for_each_count(setting.counts, "team", add);
}

void add_plain_rows(std::vector<JobRow> &rows, const Setting &setting, const std::string &id,
                    const std::string &title, uint64_t size, const SliceWork &work) {
  for (const uint32_t count : setting.counts) {
    rows.push_back({with_threads(id, count), title + ", " + std::to_string(count) + " plain",
                    [=] { return time_on_threads(count, size, kSliceGrain, work); }});
  }
}

std::vector<JobRow> touched_rows(const Arena &arena, uint64_t size, const Setting &setting,
                                 const Space &space) {
  char *const base = arena.base();
  std::vector<JobRow> rows = {
      {"hpz_zero_stream", "hpz_zero_stream",
       [=] { return time_alone(size, [=] { hpz_zero_stream(base, size); }); }},
      {"hpz_zero", "hpz_zero", [=] { return time_alone(size, [=] { hpz_zero(base, size); }); }},
  };
  add_team_rows(rows, setting, space, nullptr);
  for (const std::string &kernel : kernels_for(*setting.options, size)) {
    add_plain_rows(rows, setting, kernel, kernel, size, [=](const Slice &slice) {
      zero_with(kernel.c_str(), base + slice.begin, slice.bytes);
    });
  }
  add_plain_rows(rows, setting, "memset", "memset", size, [=](const Slice &slice) {
    // Not known to the compiler to be the last use of anything.
    std::memset(base + slice.begin, 0, slice.bytes);
  });
  if (has_kernel(kPerPieceKernel) && size % kPiece == 0) {
    const std::string kernel = kPerPieceKernel;
    add_plain_rows(rows, setting, kernel + "_per_4KiB", kernel + " per 4 KiB", size,
                   [=](const Slice &slice) {
                     zero_per_piece(kPerPieceKernel, base + slice.begin, slice.bytes);
                   });
  }
  if (size % page_bytes(arena.kind()) == 0 && can_release(arena.kind())) {
    rows.push_back({"release_populate", "kernel release+populate",
                    [=] { return time_alone(size, [=] { release_and_populate(base, size); }); }});
  }
  return rows;
}

// Every second page of the buffer.
struct Scattered {
  Scattered(char *base, uint64_t size) {
    for (uint64_t at = 0; at + kPiece <= size; at += 2 * kPiece) {
      extents.push_back({at, kPiece});
      pages.push_back(base + at);
    }
  }
  uint64_t bytes() const { return pages.size() * kPiece; }

  std::vector<hpz_extent> extents;
  std::vector<void *> pages;
};

std::vector<JobRow> scattered_rows(const Scattered &scattered, const Setting &setting,
                                   const Space &space) {
  const uint64_t bytes = scattered.bytes();
  const std::vector<void *> *const pages = &scattered.pages;
  std::vector<JobRow> rows = {
      {"hpz_zero_pages", "hpz_zero_pages",
       [=] {
         return time_alone(bytes, [=] { hpz_zero_pages(pages->data(), pages->size(), kPiece); });
       }},
      {"memset", "memset, page by page",
       [=] {
         return time_alone(bytes, [=] {
           for (void *const page : *pages) std::memset(page, 0, kPiece);
         });
       }},
  };
  add_team_rows(rows, setting, space, &scattered.extents);
  return rows;
}

class Parallel : public JobTour {
 public:
  Parallel(const Options &options, JobBook &book, const Crew &crew, std::vector<uint32_t> counts,
           Progress &progress)
      : JobTour(options, book, kUsualSeconds),
        setting_{&options, &crew, std::move(counts)},
        progress_(progress) {}

  void plan() {
    plan_places();
    book().smallest_buffer(smallest_size());
  }

 private:
  // Several rounds of all rows fit the time. The largest pages have no smaller size; the smallest
  // ones are given back and populated slowly.
  UsualSizes usual_sizes(PageKind kind) const override {
    if (kind == PageKind::k1g) return {{kGiB}};
    return {{kind == PageKind::k2m ? 512 * kMiB : 128 * kMiB}};
  }
  double weight(PageKind, uint64_t size) const override {
    return touched_weight(size) + scattered_weight(size);
  }
  static double touched_weight(uint64_t size) {
    return static_cast<double>(size) / static_cast<double>(kGiB);
  }
  // Fewer rows, half the bytes.
  static double scattered_weight(uint64_t size) { return touched_weight(size) / 4; }

  void measure_place(const JobPlace &place) override {
    const std::string title = place.title();
    const NodeBinding binding(place.node);
    ArenaRequest request;
    request.kind = place.kind;
    request.node = place.node;
    request.set_bytes = request.least_bytes = place.sizes.back();
    request.is_asked_for = !setting_.options->pages.empty();
    progress_.show("reserving " + title);
    const Arena arena(request, [&](uint64_t done) {
      progress_.show("warming " + format_size_rounded(done) + " on " + title);
    });
    if (!arena.shortfall().empty()) book().note(arena.shortfall());
    bool is_first = true;
    for (const uint64_t size : place.sizes) {
      progress_.show("measuring " + format_size(size) + " on " + title);
      measure_size(arena, place, size, is_first);
      is_first = false;
    }
  }

  void measure_size(const Arena &arena, const JobPlace &place, uint64_t size, bool is_first) {
    const Crew &crew = *setting_.crew;
    const Space space(arena.base(), size);
    // Untimed: the team finds its knee, which then holds for a minute, and everybody's first use of
    // instructions is over.
    time_job({&kZeroVerb, space.get(), crew.get(), nullptr, 0, 0});

    const auto cell = [&](const char *state) {
      return JobCell{place.kind, place.node, size, state, ""};
    };
    std::vector<JobRow> rows = touched_rows(arena, size, setting_, space);
    if (options().kernels.empty()) {
      add_ceiling_rows(rows, {Windows(arena.base(), size), size, setting_.counts});
    }
    JobResult touched = measure(cell("touched"), touched_weight(size), rows);
    const Scattered scattered(arena.base(), size);
    JobResult pages = measure(cell("scattered"), scattered_weight(size),
                              scattered_rows(scattered, setting_, space));
    for (JobResult *const result : {&touched, &pages}) {
      mark_knee(*result, "team", crew.has_knee(HPZ_VERB_ZERO));
    }
    progress_.show("");
    std::string text;
    if (is_first) text += "== " + arena.summary() + node_title(place.node) + "\n\n";
    text += format_size(size) + " " + place_title(touched.cell) + ", touched before; " +
            std::to_string(touched.rounds()) + " rounds\n" +
            render_jobs(touched, "hpz_zero_stream");
    const std::vector<std::string> judged = judged_by_limit();
    text += render_ceiling(touched, judged);
    for (const auto &[key, value] :
         describe_ceiling(touched, judged,
                          "_" + format_size(size) + "_" + std::string(page_kind_id(place.kind)) +
                              node_suffix(place.node))) {
      book().context(key, value);
    }
    const std::string knee = crew.knee(HPZ_VERB_ZERO);
    text += "knee of zero: " + knee + "\n\n";
    text += "every second 4 KiB of them, " + std::to_string(scattered.extents.size()) +
            " extents in one job; " + std::to_string(pages.rounds()) + " rounds\n" +
            render_jobs(pages, "hpz_zero_pages");
    book().print(text, jobs_legend(kLegend));
    book().context("knee_zero_" + std::string(page_kind_id(place.kind)) + node_suffix(place.node),
                   knee);
    book().keep(std::move(touched));
    book().keep(std::move(pages));
  }

  // What the line of the limit says how much of it they reach.
  std::vector<std::string> judged_by_limit() const {
    std::vector<std::string> ids = {"hpz_zero", "hpz_zero_stream"};
    for_each_count(
        setting_.counts, "team",
        [&](const std::string &id, const std::string &, uint32_t) { ids.push_back(id); });
    return ids;
  }

  Setting setting_;
  Progress &progress_;
};

// Memory for the calls: huge pages if they are to be had, so that little of it is page walks.
std::unique_ptr<Arena> arena_for_calls() {
  ArenaRequest request;
  request.set_bytes = std::min(kCallsBytes, largest_that_fits(memory_limit().bytes));
  request.least_bytes = std::min(request.set_bytes, kLeastCallsBytes);
  for (const PageKind kind : {PageKind::kThp, PageKind::k4k}) {
    request.kind = kind;
    try {
      return std::make_unique<Arena>(request, [](uint64_t) {});
    } catch (const Refusal &) {
      if (kind == PageKind::k4k) throw;
    }
  }
  return nullptr;
}

int run(const Options &options) {
  check_kernels(options.kernels, "kernel that plain threads could run");
  refuse_more_than_cpus(options.threads);
  JobBook book(options);
  const uint32_t wanted = options.threads.empty() ? 0 : options.threads.back();
  const uint64_t before = now_ns();
  const Crew crew(wanted);
  const double first_create_us = static_cast<double>(now_ns() - before) / 1e3;
  const uint32_t workers = crew.info().threads;
  book.team(workers);
  book.context("team_first_create_us", std::to_string(first_create_us));

  Progress progress;
  Parallel parallel(options, book, crew, thread_counts(options.threads, workers), progress);
  parallel.plan();
  parallel.measure_places();
  progress.show("measuring calls");
  const std::unique_ptr<Arena> arena = arena_for_calls();
  const uint64_t begin = now_ns();
  const CallFigures calls = measure_calls(book, crew, *arena, options.repetitions.value_or(0));
  const double call_seconds = static_cast<double>(now_ns() - begin) / 1e9;
  progress.show("");
  book.print(render_calls(calls, first_create_us, workers), jobs_legend(kLegend));
  book.finish(parallel.seconds() + call_seconds);
  return kExitOk;
}

}  // namespace

const Experiment kParallel = {
    "parallel",
    "",
    "teams and threads against one thread, what a team's calls cost",
    0,
    "--kernel --size --pages --threads --repetitions --seconds --json",
    "  pages 4k, thp, 2m and 1g; 128MiB, on 2m 512MiB, on 1g 1GiB\n",
    run,
};

}  // namespace hpz::bench
