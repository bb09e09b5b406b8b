// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench bystander: what clearing costs those who do not clear.
#include <hpzero/hpzero.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "bench/best_memory.h"
#include "bench/bystander_rounds.h"
#include "bench/experiment.h"
#include "bench/jobs.h"
#include "bench/limits.h"
#include "bench/peers.h"
#include "bench/progress.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/threads.h"

namespace hpz::bench {
namespace {

constexpr const char *kLegend =
    "How many times as long as warm it takes to read a working set, medians; 1.00 costs nothing.\n"
    "same: of the thread that clears, afterwards. other: of another thread, meanwhile. together:\n"
    "geometric mean, what 'tune' prefers stream kernels by if they are within 5 % of the best.\n";

constexpr const char *kPublished =
    "known, Zen 5 with 32 MiB: half the last level after 1 GiB: nothing 1.9, streaming 1.9-2.3,\n"
    "  memset 2.6, REP STOSB per 4 KiB and plain stores 3.2-3.7; half of L2 after 32 MiB:\n"
    "  streaming 1.05, memset 1.05, REP STOSB per 4 KiB and plain stores 4.5-5.9\n";

constexpr double kUsualSeconds = 25;
constexpr uint64_t kUsualSize = kGiB;

uint64_t size_to_clear(const Options &options) {
  if (options.sizes.size() > 1) {
    throw Refusal("'bystander' clears one size: write --size " + format_size(options.sizes.back()));
  }
  return options.sizes.empty() ? kUsualSize : options.sizes.front();
}

Rows rows_to_measure(const Options &options, JobBook &book) {
  Rows rows = options.kernels.empty() ? make_rows() : make_rows(options.kernels);
  if (options.has_peers) {
    Peers peers = make_peers();
    for (const std::string &note : peers.notes) book.note(note);
    // Another process's clearing is no matter of this one's working sets.
    std::erase_if(peers.rows, [](const auto &row) { return row->takes_own_samples(); });
    std::move(peers.rows.begin(), peers.rows.end(), std::back_inserter(rows));
  }
  return rows;
}

int run(const Options &options) {
  const uint64_t wanted = size_to_clear(options);
  JobBook book(options);
  Rows rows = rows_to_measure(options, book);
  const std::vector<int> usable = usable_cpu_numbers();
  book.pin_thread();
  const Neighbour neighbour = find_neighbour(book.cpu(), usable);
  if (neighbour.cpu < 0) book.note("nothing of other threads: there is no other CPU to use");

  Progress progress;
  BestMemory memory;
  memory.set_bytes = wanted;
  memory.is_asked_for = !options.sizes.empty();
  memory.option = "--size";
  const std::unique_ptr<Arena> arena = obtain_best_memory(options.pages, memory, progress);
  if (!arena->shortfall().empty()) book.note(arena->shortfall());
  const uint64_t size = arena->bytes() >= wanted ? wanted : largest_that_fits(arena->bytes());
  if (size < wanted) {
    book.note("cleared is " + format_size(size) + " instead of " + format_size(wanted) +
              ", for there is no more memory: free some");
  }
  const Caches levels = caches();
  const uint64_t room = memory_limit().bytes / 2;
  if (options.set_bytes && *options.set_bytes > room) {
    throw Refusal("a working set of " + format_size(*options.set_bytes) + " does not fit the " +
                  format_size_rounded(room) + " that are left: use a smaller --set");
  }
  const BystanderSizes sizes = bystander_sizes(levels, size, room, options.set_bytes);
  if (!sizes.note.empty()) book.note(sizes.note);
  progress.show("filling working sets");
  Bystanders bystanders(sizes, neighbour.cpu);
  std::vector<Row *> suiting;
  for (const auto &row : rows) {
    const Cell cell = {arena->kind(), MemoryState::kCold, size};
    if (row->suits(cell) && row->ready(cell)) suiting.push_back(row.get());
    if (!row->trouble().empty()) book.note("not measured: " + row->trouble());
  }
  if (suiting.empty()) {
    throw Refusal("none of these rows clears " + format_size(size) +
                  " at a time: use another --kernel or --size");
  }
  book.context("bystander_l2_bytes", std::to_string(sizes.l2_bytes));
  book.context("bystander_llc_bytes", std::to_string(sizes.llc_bytes));
  book.context("bystander_neighbour", neighbour.cpu < 0 ? "none" : neighbour.title);

  JobTime time(options, kUsualSeconds);
  BystanderResults results =
      measure_bystanders(book.rounds(), time, *arena, size, suiting, bystanders, progress);
  for (JobResult &cell : results.cells) book.keep(std::move(cell));
  std::string text = "== " + format_size(size) + " cleared, " + arena->summary() +
                     "\nworking sets: " + format_size_rounded(sizes.l2_bytes) + " (half of L2), " +
                     format_size_rounded(sizes.llc_bytes) + " (" +
                     (options.set_bytes    ? "--set"
                      : sizes.note.empty() ? "half the last level"
                                           : "see the note") +
                     "); other thread: " + (neighbour.cpu < 0 ? "none" : neighbour.title) + "\n\n" +
                     render_bystanders(results.rows) + kPublished;
  book.print(text, kLegend);
  for (const std::string &line :
       bystander_warnings(results.rows, kBystanderControl, sizes, "use a smaller --set")) {
    book.warn(line);
  }
  book.finish(time.used());
  return kExitOk;
}

}  // namespace

const Experiment kBystander = {
    "bystander",
    "",
    "what clearing costs others, in what they have in the caches",
    0,
    "--kernel --size --pages --set --peers --repetitions --seconds --json",
    "  pages 2m, else thp, else 4k; 1GiB\n",
    run,
};

}  // namespace hpz::bench
