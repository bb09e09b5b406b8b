// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench populate: fresh mappings made resident by a team, against what programs do without
// one; giving them back; and reset of memory of which little was touched.
#include <hpzero/hpzero.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "bench/crew.h"
#include "bench/experiment.h"
#include "bench/jobs.h"
#include "bench/limits.h"
#include "bench/memory.h"
#include "bench/nodes.h"
#include "bench/progress.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/sparse.h"
#include "bench/threads.h"

namespace hpz::bench {
namespace {

constexpr const char *kLegend =
    "Ratios are to MADV_POPULATE_WRITE in one call, to MADV_DONTNEED in one call, to zero of the\n"
    "whole in one thread. Teams run hpz_space_populate, hpz_space_release, hpz_space_reset.\n"
    "Every sample has a new mapping. The memory behind it was populated and given back before\n"
    "anything is timed; a host that takes free memory back can make single samples slow still.\n";

// It aims at less than 15 seconds, warming included where the memory is warm.
constexpr double kUsualSeconds = 11.5;
constexpr uint64_t kUsualSparseBytes = 8 * kGiB;

constexpr uint64_t kSmallestPage = 4 * kKiB;

double fresh_weight(PageKind kind, uint64_t size) {
  const double gib = static_cast<double>(size) / static_cast<double>(kGiB);
  return kind == PageKind::k4k ? 5 * gib : gib;
}
double release_weight(PageKind kind, uint64_t size) {
  return fresh_weight(kind, size) / 2;
}
constexpr double kSparseWeight = 2;

struct Setting {
  const Crew *crew;
  std::vector<uint32_t> counts;
};

std::vector<JobRow> fresh_rows(PageKind kind, uint64_t size, const Setting &setting,
                               bool is_brief) {
  std::vector<JobRow> rows;
  for_each_count(
      setting.counts, "populate",
      [&](const std::string &id, const std::string &title, uint32_t threads) {
        rows.push_back({id, title, [=, team = setting.crew->get()] {
                          const Mapping mapping(kind, size);
                          const Space space(mapping.base(), size);
                          return time_job({&kPopulateVerb, space.get(), team, nullptr, threads, 0});
                        }});
      });
  const auto alone = [&](const char *id, const char *title, void (*work)(char *, uint64_t)) {
    rows.push_back({id, title, [=] {
                      const Mapping mapping(kind, size);
                      return time_alone(size, [&] { work(mapping.base(), size); });
                    }});
  };
  const uint64_t grain = std::max(page_bytes(kind), kSliceGrain);
  // Whoever knows that pages are large touches each of them once.
  const uint64_t step = is_pool_kind(kind) ? page_bytes(kind) : kSmallestPage;
  const auto plain = [&](const std::string &id, const std::string &title, uint32_t count,
                         const std::function<void(char *, uint64_t)> &work) {
    rows.push_back({with_threads(id, count), title + ", " + std::to_string(count) + " plain", [=] {
                      const Mapping mapping(kind, size);
                      return time_on_threads(count, size, grain, [&](const Slice &slice) {
                        work(mapping.base() + slice.begin, slice.bytes);
                      });
                    }});
  };
  const uint32_t most = setting.counts.back();
  alone("madv_populate", "MADV_POPULATE_WRITE, one call", populate_or_throw);
  for (const uint32_t count : setting.counts) {
    if (count > 1) plain("madv_populate", "MADV_POPULATE_WRITE", count, populate_or_throw);
  }
  if (is_brief) return rows;
  const auto touch_pages = [=](char *base, uint64_t bytes) { touch(base, bytes, step); };
  plain("touch", "touch loop", 1, touch_pages);
  if (most > 1) plain("touch", "touch loop", most, touch_pages);
  alone("memset", "memset of fresh memory",
        [](char *base, uint64_t bytes) { std::memset(base, 0, bytes); });
  return rows;
}

std::vector<JobRow> release_rows(PageKind kind, uint64_t size, const Setting &setting) {
  std::vector<JobRow> rows;
  for_each_count(
      setting.counts, "release",
      [&](const std::string &id, const std::string &title, uint32_t threads) {
        rows.push_back({id, title, [=, team = setting.crew->get()] {
                          const Mapping mapping(kind, size);
                          populate_or_throw(mapping.base(), size);
                          const Space space(mapping.base(), size);
                          return time_job({&kReleaseVerb, space.get(), team, nullptr, threads, 0});
                        }});
      });
  rows.push_back({"madv_dontneed", "MADV_DONTNEED, one call", [=] {
                    const Mapping mapping(kind, size);
                    populate_or_throw(mapping.base(), size);
                    return time_alone(size, [&] { release(mapping.base(), size); });
                  }});
  return rows;
}

class Populate : public JobTour {
 public:
  Populate(const Options &options, JobBook &book, const Crew &crew, std::vector<uint32_t> counts,
           Progress &progress)
      : JobTour(options, book, kUsualSeconds),
        setting_{&crew, std::move(counts)},
        progress_(progress) {}

  void plan() {
    plan_places();
    if (!is_reset_wanted()) return;
    plan_sparse();
    time().expect(kSparseWeight);
  }

  void measure_all() {
    measure_places();
    if (is_reset_wanted()) measure_sparse();
  }

 private:
  // How long a round may take decides: a thread populates 1 to 2 GB of 4 KiB pages a second, 7 to
  // 25 GB of the others. Two of the largest pages, for two threads.
  UsualSizes usual_sizes(PageKind kind) const override {
    switch (kind) {
      case PageKind::k1g:
        return {{2 * kGiB}, page_bytes(kind)};
      case PageKind::k2m:
        return {{256 * kMiB}, page_bytes(kind)};
      case PageKind::kThp:
        return {{128 * kMiB}, page_bytes(kind)};
      case PageKind::k4k:
        return {{64 * kMiB}, page_bytes(kind)};
    }
    return {};
  }
  // The largest pages take most of the time, and unless they are what was asked for, the rows that
  // matter have to do.
  bool is_brief(PageKind kind) const { return kind == PageKind::k1g && options().pages.empty(); }
  double weight(PageKind kind, uint64_t size) const override {
    const double both = fresh_weight(kind, size) + release_weight(kind, size);
    return is_brief(kind) ? fresh_weight(kind, size) : both;
  }

  void measure_place(const JobPlace &place) override {
    const std::string title = place.title();
    const NodeBinding binding(place.node);
    for (const uint64_t size : place.sizes) {
      progress_.show("reserving and warming " + format_size(size) + " on " + title);
      const std::unique_ptr<PageReservation> reservation =
          reserve_pages(place.kind, size, place.node);
      warm(place, size);
      progress_.show("measuring " + format_size(size) + " on " + title);
      measure_size(place, size);
    }
  }

  // Untimed: the host backs the memory, the team finds its knee.
  void warm(const JobPlace &place, uint64_t size) {
    const Mapping mapping(place.kind, size);
    const Space space(mapping.base(), size);
    time_job({&kPopulateVerb, space.get(), setting_.crew->get(), nullptr, 0, 0});
    if (place.kind != PageKind::kThp) return;
    const uint64_t huge = huge_bytes(mapping.base(), size);
    if (huge * 100 < size * kEnoughHugePercent) {
      book().note("transparent huge pages: the kernel gave " + format_size_rounded(huge) + " of " +
                  format_size_rounded(size) +
                  ": write madvise to /sys/kernel/mm/transparent_hugepage/enabled, and 1 to "
                  "/proc/sys/vm/compact_memory");
    }
  }

  // The team finds the knee of release before it is timed.
  void release_untimed(PageKind kind, uint64_t size) {
    const Mapping mapping(kind, size);
    populate_or_throw(mapping.base(), size);
    const Space space(mapping.base(), size);
    time_job({&kReleaseVerb, space.get(), setting_.crew->get(), nullptr, 0, 0});
  }

  void measure_size(const JobPlace &place, uint64_t size) {
    const auto cell = [&](const char *state) {
      return JobCell{place.kind, place.node, size, state, ""};
    };
    JobResult fresh = measure(cell("fresh"), fresh_weight(place.kind, size),
                              fresh_rows(place.kind, size, setting_, is_brief(place.kind)));
    mark_knee(fresh, "populate", setting_.crew->has_knee(HPZ_VERB_POPULATE));
    std::string text = "== " + format_size(size) + " " + place_title(fresh.cell) + "\n\n";
    text += "fresh mappings made resident: THE KERNEL CLEARS; " + std::to_string(fresh.rounds()) +
            " rounds\n" + render_jobs(fresh, "madv_populate");
    const std::string knee = setting_.crew->knee(HPZ_VERB_POPULATE);
    text += "knee of populate: " + knee + "\n";
    book().context(
        "knee_populate_" + std::string(page_kind_id(place.kind)) + node_suffix(place.node), knee);
    book().keep(std::move(fresh));

    if (is_brief(place.kind)) {
      text += "(more rows with --pages " + std::string(page_kind_id(place.kind)) + ")\n";
    } else if (can_release(place.kind)) {
      release_untimed(place.kind, size);
      JobResult released = measure(cell("resident"), release_weight(place.kind, size),
                                   release_rows(place.kind, size, setting_));
      mark_knee(released, "release", setting_.crew->has_knee(HPZ_VERB_RELEASE));
      text += "\nresident pages given back; " + std::to_string(released.rounds()) + " rounds\n" +
              render_jobs(released, "madv_dontneed") +
              "knee of release: " + setting_.crew->knee(HPZ_VERB_RELEASE) + "\n";
      book().keep(std::move(released));
    } else {
      book().note("this kernel does not give back " + std::string(page_kind_title(place.kind)) +
                  ": release needs Linux 5.18");
    }
    progress_.show("");
    book().print(text, jobs_legend(kLegend));
  }

  // It is of anonymous memory, and a lot of it: not where only the pools' pages were asked for.
  bool is_reset_wanted() const {
    return options().pages.empty() || options().set_bytes.has_value() ||
           !std::all_of(options().pages.begin(), options().pages.end(), is_pool_kind);
  }

  void plan_sparse() {
    const MemoryLimit limit = memory_limit();
    // One part for the whole, which is resident, and a little for what is sparse.
    const uint64_t room = limit.bytes - limit.bytes / 16;
    const uint64_t fits = largest_that_fits(room);
    sparse_bytes_ = options().set_bytes.value_or(std::min(kUsualSparseBytes, fits));
    if (sparse_bytes_ < kLeastSparseBytes || sparse_bytes_ % kSliceGrain != 0) {
      throw Refusal("sparse memory of " + format_size(sparse_bytes_) +
                    " shows nothing: use --set "
                    "of at least " +
                    format_size(kLeastSparseBytes) + " and a multiple of 2MiB");
    }
    if (sparse_bytes_ > room) {
      throw Refusal("sparse memory of " + format_size(sparse_bytes_) +
                    ", and as much beside it, "
                    "does not fit the " +
                    format_size_rounded(room) + " that " + limit.reason + " leaves: use --set " +
                    format_size(fits));
    }
    if (!options().set_bytes && sparse_bytes_ < kUsualSparseBytes) {
      book().note("reset is measured on " + format_size(sparse_bytes_) + " instead of " +
                  format_size(kUsualSparseBytes) + ", for " + limit.reason + " leaves " +
                  format_size_rounded(limit.bytes) + ": " + limit.remedy);
    }
  }

  struct Reset {
    std::unique_ptr<SparseMemory> memory;
    std::unique_ptr<Space> space;
    uint64_t resident_before = 0, resident_after = 0;  // of the last sample
    int64_t most_growth = 0;                           // of all
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
  };

  Sample take_reset(Reset &reset, uint32_t threads) const {
    reset.memory->dirty();
    reset.resident_before = reset.memory->resident();
    const Sample sample =
        time_job({&kResetVerb, reset.space->get(), setting_.crew->get(), nullptr, threads, 0},
                 &reset.report);
    reset.resident_after = reset.memory->resident();
    reset.most_growth =
        std::max(reset.most_growth, static_cast<int64_t>(reset.resident_after) -
                                        static_cast<int64_t>(reset.resident_before));
    if (!reset.memory->reads_zero()) {
      throw std::runtime_error("memory does not read zero after hpz_space_reset");
    }
    return sample;
  }

  void measure_sparse() {
    const std::string size = format_size(sparse_bytes_);
    // The memory that zero has to clear is all there: it is never timed on fresh pages. Huge ones,
    // which make it fast.
    const Mapping whole(PageKind::kThp, sparse_bytes_);
    constexpr uint64_t kStep = 256 * kMiB;
    for (uint64_t at = 0; at < sparse_bytes_; at += kStep) {
      progress_.show("warming " + format_size_rounded(at) + " of " + size);
      const Space step(whole.base() + at, std::min(kStep, sparse_bytes_ - at));
      time_job({&kPopulateVerb, step.get(), setting_.crew->get(), nullptr, 0, 0});
    }
    const Space whole_space(whole.base(), sparse_bytes_);
    std::vector<JobRow> rows;
    const auto add_zero = [&](const std::string &id, const std::string &title, uint32_t threads) {
      rows.push_back({id, "zero of the whole, " + title, [&, threads] {
                        return time_job({&kZeroVerb, whole_space.get(), setting_.crew->get(),
                                         nullptr, threads, 0});
                      }});
    };
    const uint32_t fewest = setting_.counts.front();
    add_zero(with_threads("zero_whole", fewest), "team, " + std::to_string(fewest), fewest);
    add_zero("zero_whole_auto", "team, the knee", 0);

    std::vector<Reset> resets;
    for (const PageKind kind : {PageKind::k4k, PageKind::kThp}) {
      Reset reset;
      reset.memory = std::make_unique<SparseMemory>(kind, sparse_bytes_);
      reset.space = std::make_unique<Space>(reset.memory->base(), sparse_bytes_);
      resets.push_back(std::move(reset));
    }
    for (Reset &reset : resets) {
      take_reset(reset, 0);  // untimed: its first touch, and the knee of reset
      reset.most_growth = 0;
      const std::string kind(page_kind_id(reset.memory->kind()));
      const auto add_reset = [&](const std::string &id, const std::string &title,
                                 uint32_t threads) {
        rows.push_back({id, "reset " + kind + ", " + title,
                        [this, &reset, threads] { return take_reset(reset, threads); }});
      };
      for_each_count(setting_.counts, "reset_" + kind, add_reset);
    }
    progress_.show("measuring reset of " + size);
    JobResult result = measure({PageKind::kThp, kAnyNode, sparse_bytes_, "sparse", "anonymous"},
                               kSparseWeight, rows);
    mark_knee(result, "zero_whole", setting_.crew->has_knee(HPZ_VERB_ZERO));
    for (const Reset &reset : resets) {
      mark_knee(result, "reset_" + std::string(page_kind_id(reset.memory->kind())),
                setting_.crew->has_knee(HPZ_VERB_RESET));
    }
    progress_.show("");

    std::string text =
        "== reset of " + size +
        " of anonymous memory, every hundredth page of it touched, against zero of " + size +
        " that are all resident; " + std::to_string(result.rounds()) + " rounds\n\n" +
        render_jobs(result, with_threads("zero_whole", setting_.counts.front()));
    for (const Reset &reset : resets) {
      const std::string kind(page_kind_id(reset.memory->kind()));
      text += kind + ": " + format_size_rounded(reset.memory->touched_bytes()) + " touched in " +
              std::to_string(reset.memory->places()) + " places, cleared " +
              format_size_rounded(reset.report.cleared_bytes) + ", skipped " +
              format_size_rounded(reset.report.skipped_bytes) + "; resident " +
              format_size_rounded(reset.resident_before) + " before, " +
              format_size_rounded(reset.resident_after) + " after\n";
      const auto keep = [&](const std::string &key, uint64_t value) {
        book().context("reset_" + kind + "_" + key, std::to_string(value));
      };
      keep("touched_bytes", reset.memory->touched_bytes());
      keep("cleared_bytes", reset.report.cleared_bytes);
      keep("resident_before_bytes", reset.resident_before);
      keep("resident_after_bytes", reset.resident_after);
      keep("most_resident_growth_bytes", static_cast<uint64_t>(reset.most_growth));
    }
    text += "knee of reset: " + setting_.crew->knee(HPZ_VERB_RESET) + "\n";
    book().print(text, jobs_legend(kLegend));
    book().keep(std::move(result));
  }

  static constexpr uint64_t kLeastSparseBytes = 16 * kMiB;

  Setting setting_;
  Progress &progress_;
  uint64_t sparse_bytes_ = 0;
};

int run(const Options &options) {
  refuse_more_than_cpus(options.threads);
  JobBook book(options);
  const Crew crew(options.threads.empty() ? 0 : options.threads.back());
  const uint32_t workers = crew.info().threads;
  book.team(workers);
  Progress progress;
  Populate populate(options, book, crew, thread_counts(options.threads, workers), progress);
  populate.plan();
  populate.measure_all();
  book.finish(populate.seconds());
  return kExitOk;
}

}  // namespace

const Experiment kPopulate = {
    "populate",
    "",
    "fresh mappings made resident, given back; reset of sparse memory",
    0,
    "--size --pages --threads --set --repetitions --seconds --json",
    "  pages 4k, thp, 2m and 1g; 64MiB on 4k, 128MiB on thp, 256MiB on 2m, 2GiB on 1g\n",
    run,
};

}  // namespace hpz::bench
