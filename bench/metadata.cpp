// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench metadata: what it costs to know which memory is zero. Opening a map with and without
// detail of its subpages, marking one from a dirty bitmap, clearing one subpage of a large page.
#include <hpzero/hpzero.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>

#include "bench/clock.h"
#include "bench/crew.h"
#include "bench/experiment.h"
#include "bench/jobs.h"
#include "bench/limits.h"
#include "bench/memory.h"
#include "bench/page_map.h"
#include "bench/progress.h"
#include "bench/published.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/threads.h"
#include "bench/times.h"

namespace hpz::bench {
namespace {

constexpr const char *kLegend =
    "Mean and standard deviation of the time for all of it. One thread. Maps are of address space\n"
    "alone: there is no memory behind them, but in the case of the cleared subpage.\n";

// It aims at less than 15 seconds.
constexpr double kUsualSeconds = 10;
constexpr double kOpenWeight = 2, kBitmapWeight = 3, kSubpageWeight = 1;

constexpr uint64_t kSubpage = 4 * kKiB;

// As in what was published.
constexpr uint64_t kOpenPages = 500;
constexpr uint64_t kOpenPageBytes = kGiB;

constexpr uint64_t kUsualBitmapOf = 512 * kGiB;
constexpr unsigned kDirtyPercent = 1;

// --- Opening -------------------------------------------------------------------------------------

struct Opened {
  hpz_map_counts lazy = HPZ_MAP_COUNTS_INIT;
  hpz_map_counts eager = HPZ_MAP_COUNTS_INIT;
  uint64_t array_bytes = 0;
};

constexpr uint64_t kOpenBytes = kOpenPages * kOpenPageBytes;

void open(std::optional<PageMap> &map) {
  map.emplace(kOpenBytes, kOpenPageBytes, HPZ_PAGE_ZERO, kSubpage);
}

Sample open_lazily(Opened &opened) {
  std::optional<PageMap> map;  // closed after the clock has stopped
  const Sample sample = time_alone(kOpenBytes, [&] { open(map); });
  opened.lazy = map->counts();
  return sample;
}

// The same map, made to have the detail of every page by one dirty subpage in each.
Sample open_eagerly(Opened &opened) {
  std::optional<PageMap> map;
  const Sample sample = time_alone(kOpenBytes, [&] {
    open(map);
    for (uint64_t at = 0; at < kOpenBytes; at += kOpenPageBytes) {
      map->set(at, kSubpage, HPZ_PAGE_DIRTY);
    }
  });
  opened.eager = map->counts();
  return sample;
}

// What a program without such a map has: a byte of state for each subpage, all initialised.
Sample open_array(Opened &opened) {
  constexpr uint64_t kStates = kOpenBytes / kSubpage;
  std::unique_ptr<unsigned char[]> states;
  const Sample sample = time_alone(kOpenBytes, [&] {
    states.reset(new unsigned char[kStates]);
    std::memset(states.get(), HPZ_PAGE_ZERO, kStates);
    // Somebody will read them: not to be left out.
    __asm__ volatile("" : : "r"(states.get()) : "memory");
  });
  opened.array_bytes = kStates;
  return sample;
}

// --- Marking -------------------------------------------------------------------------------------

// Bits of KVM's layout, kDirtyPercent of them set, anywhere.
std::vector<uint64_t> make_bitmap(uint64_t of_bytes) {
  std::vector<uint64_t> words(of_bytes / kSubpage / 64);
  std::mt19937_64 random(1);
  const uint64_t bits = words.size() * 64;
  for (uint64_t set = 0; set < bits * kDirtyPercent / 100;) {
    const uint64_t bit = random() % bits;
    const uint64_t mask = uint64_t{1} << bit % 64;
    if ((words[bit / 64] & mask) != 0) continue;
    words[bit / 64] |= mask;
    ++set;
  }
  return words;
}

struct Marked {
  uint64_t page_bytes = 0;
  std::unique_ptr<PageMap> map;
  uint64_t memory_bytes = 0;  // of the map, when it was marked
};

// Counting 134 million states takes longer than marking them: not of every sample.
void check_marks(const hpz_map_counts &counts, const std::vector<uint64_t> &words) {
  const uint64_t expected = words.size() * 64 * kDirtyPercent / 100 * kSubpage;
  if (counts.dirty_bytes != expected) {
    throw std::runtime_error("hpz_map_set_dirty_bitmap marked " +
                             std::to_string(counts.dirty_bytes) + " bytes instead of " +
                             std::to_string(expected));
  }
}

Sample mark(PageMap &map, const std::vector<uint64_t> &words) {
  return time_alone(words.size() * sizeof(uint64_t), [&] { map.set_dirty_bitmap(words); });
}

// --- One dirty subpage ---------------------------------------------------------------------------

// A page of 1 GiB of which a few subpages are there: the map names the one that is to be cleared.
class LargePage {
 public:
  LargePage()
      : base_(reserve()),
        space_(base_, kGiB, kSubpage),
        map_(kGiB, kGiB, HPZ_PAGE_ZERO, kSubpage) {}
  ~LargePage() { munmap(base_, kGiB); }
  LargePage(const LargePage &) = delete;
  LargePage &operator=(const LargePage &) = delete;

  // Several calls in one sample, each on another subpage: what one takes is the middle one.
  Sample take() {
    constexpr int kCalls = 21;
    std::vector<double> ns;
    for (int i = 0; i < kCalls; ++i) {
      at_ = (at_ + kStride) % kGiB;
      std::memset(base_ + at_, 0xA5, kSubpage);
      map_.set(at_, kSubpage, HPZ_PAGE_DIRTY);
      const uint64_t begin = now_ns();
      const hpz_job_report report = map_.zero(space_.get(), 0, kGiB);
      ns.push_back(static_cast<double>(now_ns_all_stored() - begin));
      if (report.cleared_bytes != kSubpage || hpz_is_zero(base_ + at_, kSubpage) != 1) {
        throw std::runtime_error("hpz_map_zero cleared " + std::to_string(report.cleared_bytes) +
                                 " bytes instead of one subpage");
      }
    }
    Sample sample;
    sample.bytes = kSubpage;
    sample.ranges = sample.sections = 1;
    sample.ns = std::max(median(std::move(ns)), 1.0);
    return sample;
  }

 private:
  // 64 subpages, one after the other.
  static constexpr uint64_t kStride = kGiB / 64;

  static char *reserve() {
    void *const base = mmap(nullptr, kGiB, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) throw Refusal("no 1 GiB of address space: raise ulimit -v");
    madvise(base, kGiB, MADV_NOHUGEPAGE);
    return static_cast<char *>(base);
  }

  char *base_;
  uint64_t at_ = 0;
  Space space_;
  PageMap map_;
};

// --- The experiment ------------------------------------------------------------------------------

class Metadata {
 public:
  Metadata(const Options &options, JobBook &book, Progress &progress)
      : options_(options), book_(book), progress_(progress), time_(options, kUsualSeconds) {}

  void plan() {
    for (const double weight : {kOpenWeight, kBitmapWeight, kSubpageWeight}) time_.expect(weight);
    if (options_.sizes.size() > 1) {
      throw Refusal("'metadata' marks one bitmap: write --size " +
                    format_size(options_.sizes.back()));
    }
    const MemoryLimit limit = memory_limit();
    uint64_t most = kUsualBitmapOf;
    while (most > kLeastBitmapOf && needed_bytes(most) > limit.bytes) most /= 2;
    bitmap_of_ = options_.sizes.empty() ? most : options_.sizes.front();
    if (bitmap_of_ < kLeastBitmapOf || bitmap_of_ % kLeastBitmapOf != 0) {
      throw Refusal("a bitmap of " + format_size(bitmap_of_) +
                    " is marked in no time: use multiples of " + format_size(kLeastBitmapOf));
    }
    if (needed_bytes(bitmap_of_) > limit.bytes) {
      throw Refusal("maps of " + format_size(bitmap_of_) + " need " +
                    format_size_rounded(needed_bytes(bitmap_of_)) + ", which does not fit the " +
                    format_size_rounded(limit.bytes) + " that " + limit.reason +
                    " leaves: use --size " + format_size(most));
    }
    if (options_.sizes.empty() && most < kUsualBitmapOf) {
      book_.note("a bitmap of " + format_size(most) + " is marked instead of " +
                 format_size(kUsualBitmapOf) + ", for " + limit.reason + " leaves " +
                 format_size_rounded(limit.bytes) + ": " + limit.remedy);
    }
  }

  void measure_all() {
    measure_open();
    measure_bitmap();
    measure_subpage();
  }

  double seconds() const { return time_.used(); }

 private:
  static constexpr uint64_t kLeastBitmapOf = kGiB;

  // Of marking: a byte for each 4 KiB where pages are of 4 KiB, bits and what finds them where they
  // are of 2 MiB, and the bitmap itself.
  static uint64_t needed_bytes(uint64_t of_bytes) {
    const uint64_t subpages = of_bytes / kSubpage;
    return subpages + subpages / 2;
  }

  JobResult measure(const JobCell &cell, double weight, const std::vector<JobRow> &rows) {
    return measure_cell(book_.rounds(), time_, cell, weight, rows);
  }

  void measure_open() {
    progress_.show("opening maps");
    Opened opened;
    std::vector<JobRow> rows = {
        {"open_lazy", "hpz_map_create", [&] { return open_lazily(opened); }},
        {"open_eager", "... and one subpage of each page marked",
         [&] { return open_eagerly(opened); }},
        {"open_array", "a byte for each subpage, initialised", [&] { return open_array(opened); }},
    };
    constexpr uint64_t kArrayBytes = kOpenBytes / kSubpage;
    const MemoryLimit limit = memory_limit();
    if (limit.bytes < kArrayBytes + kArrayBytes / 4) {
      book_.note("not measured: " + rows.back().title + ", for " + limit.reason + " leaves " +
                 format_size_rounded(limit.bytes) + ": " + limit.remedy);
      rows.pop_back();
    }
    for (const JobRow &row : rows) row.take();  // untimed: first use
    JobResult result = measure({PageKind::k1g, kAnyNode, kOpenBytes, "opened", "address_space"},
                               kOpenWeight, rows);
    progress_.show("");
    TimeTable table = {"open_lazy", "lazy", "memory", {}};
    table.remarks["open_lazy"] = format_size_rounded(opened.lazy.memory_bytes);
    table.remarks["open_eager"] = format_size_rounded(opened.eager.memory_bytes);
    table.remarks["open_array"] = format_size_rounded(opened.array_bytes);
    book_.context("open_lazy_memory_bytes", std::to_string(opened.lazy.memory_bytes));
    book_.context("open_lazy_detail_bytes", std::to_string(opened.lazy.detail_bytes));
    book_.context("open_eager_memory_bytes", std::to_string(opened.eager.memory_bytes));
    book_.context("open_eager_detail_bytes", std::to_string(opened.eager.detail_bytes));
    const std::string text =
        "== a map of " + std::to_string(kOpenPages) + " pages of " + format_size(kOpenPageBytes) +
        ", subpages of " + format_size(kSubpage) + "; " + std::to_string(result.rounds()) +
        " rounds\n\n" + render_times(result, table) + conclude_open(result) +
        "published, kernel, descriptors of all subpages and of those in use: " +
        kPublishedOpen.words + "\n";
    book_.print(text, kLegend);
    book_.keep(std::move(result));
  }

  static std::string conclude_open(const JobResult &result) {
    const JobRowResult *const lazy = measured_row(result, "open_lazy");
    const JobRowResult *const eager = measured_row(result, "open_eager");
    if (lazy == nullptr || eager == nullptr) return "";
    return "opened without detail: " + format_part(time_part(lazy->samples, eager->samples)) +
           " of the time with all of it\n";
  }

  void measure_bitmap() {
    progress_.show("marking dirty bitmaps");
    const std::vector<uint64_t> words = make_bitmap(bitmap_of_);
    std::vector<Marked> marked(2);
    marked[0].page_bytes = kSubpage;
    marked[1].page_bytes = 2 * kMiB;
    std::vector<JobRow> rows;
    for (Marked &one : marked) {
      const std::string name = format_size(one.page_bytes);
      const auto open = [this, &one] {
        one.map.reset();  // never two of them
        one.map = std::make_unique<PageMap>(bitmap_of_, one.page_bytes, HPZ_PAGE_ZERO, kSubpage);
      };
      rows.push_back({"mark_first_" + name, "pages of " + name + ", a new map", [&, open] {
                        open();
                        return mark(*one.map, words);
                      }});
      rows.push_back({"mark_" + name, "pages of " + name + ", a map in use", [&, open] {
                        if (!one.map) {
                          open();
                          mark(*one.map, words);
                        }
                        one.map->set(0, bitmap_of_, HPZ_PAGE_ZERO);
                        return mark(*one.map, words);
                      }});
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].take();  // untimed: first use
      Marked &one = marked[i / 2];
      const hpz_map_counts counts = one.map->counts();
      check_marks(counts, words);
      one.memory_bytes = counts.memory_bytes;
    }
    JobResult result = measure({PageKind::k4k, kAnyNode, bitmap_of_, "marked", "address_space"},
                               kBitmapWeight, rows);
    progress_.show("");
    TextTable table;
    table.add_row({"", "GB/s of bitmap", "+-", "mean", "memory"});
    for (size_t i = 0; i < result.rows.size(); ++i) {
      const JobRowResult &row = result.rows[i];
      if (row.samples.empty()) continue;
      const Summary summary = summarize(rates(row.samples));
      table.add_row({row.title, format_rate(summary.median),
                     decimals(summary.spread * 100, 0) + "%",
                     format_time(time_ns(row.samples).mean),
                     format_size_rounded(marked[i / 2].memory_bytes)});
    }
    const std::string text =
        "== a dirty bitmap of " + format_size(bitmap_of_) + ", a bit for each " +
        format_size(kSubpage) + ", " + std::to_string(kDirtyPercent) +
        " % of them set at random: " + format_size(words.size() * sizeof(uint64_t)) + "; " +
        std::to_string(result.rounds()) + " rounds\n\n" + table.text();
    book_.print(text, kLegend);
    book_.keep(std::move(result));
  }

  void measure_subpage() {
    progress_.show("clearing subpages");
    LargePage page;
    const std::vector<JobRow> rows = {
        {"zero_subpage", "hpz_map_zero of the page", [&] { return page.take(); }}};
    for (int i = 0; i < 4; ++i) page.take();  // untimed: all 64 are there then
    JobResult result =
        measure({PageKind::k4k, kAnyNode, kGiB, "one_dirty", ""}, kSubpageWeight, rows);
    progress_.show("");
    const std::string text = "== one dirty subpage of " + format_size(kSubpage) +
                             " in a page of 1GiB, on memory of 4 KiB pages; " +
                             std::to_string(result.rounds()) + " rounds\n\n" +
                             render_times(result, {"", "", "", {}});
    book_.print(text, kLegend);
    book_.keep(std::move(result));
  }

  const Options &options_;
  JobBook &book_;
  Progress &progress_;
  JobTime time_;
  uint64_t bitmap_of_ = 0;
};

int run(const Options &options) {
  JobBook book(options);
  book.pin_thread();
  Progress progress;
  Metadata metadata(options, book, progress);
  metadata.plan();
  metadata.measure_all();
  book.finish(metadata.seconds());
  return kExitOk;
}

}  // namespace

const Experiment kMetadata = {
    "metadata",
    "",
    "what a map of known zeroes costs: opened, marked, asked",
    0,
    "--size --repetitions --seconds --json",
    "  a bitmap that covers --size 512GiB, or other multiples of 1GiB;\n"
    "  500 pages of 1GiB opened, without memory behind them\n",
    run,
};

}  // namespace hpz::bench
