// SPDX-License-Identifier: BSD-2-Clause
#include "bench/jobs.h"

#include <hpzero/hpzero.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "bench/json_schema.h"
#include "bench/limits.h"
#include "bench/nodes.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/warnings.h"

namespace hpz::bench {
namespace {

// More only when somebody asks.
constexpr int kManyRounds = 51;

// Less is done by the calling thread, whatever team there is.
constexpr uint64_t kSmallestJob = kMiB;

constexpr const char *kLegend =
    "GB/s: decimal; median of the rounds +- half the distance of the quartiles. ratio: median of\n"
    "ratios within a round. team: in at most so many threads; 'the knee' is threads = 0, where "
    "the\n"
    "team stops at as many as still help, if it has found how many that are. plain: std::threads,\n"
    "each with one slice, started and joined within the time.\n";

template <class Value> double median_of(const std::vector<Sample> &samples, Value value) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const Sample &sample : samples) values.push_back(static_cast<double>(value(sample)));
  return median(std::move(values));
}

std::string bytes_or_dash(const JobRowResult &row, uint64_t Sample::*bytes) {
  const bool is_told = std::any_of(row.samples.begin(), row.samples.end(), [](const Sample &s) {
    return s.local_bytes + s.remote_bytes > 0;
  });
  if (!is_told) return "-";
  const double middle = median_of(row.samples, [&](const Sample &s) { return s.*bytes; });
  return format_size_rounded(static_cast<uint64_t>(middle));
}

}  // namespace

std::string time_taken(double measured_seconds, uint64_t since_ns) {
  const double all = static_cast<double>(now_ns() - since_ns) / 1e9;
  return "measured for " + decimals(measured_seconds, 1) +
         " s; reserving and warming memory took " +
         decimals(std::max(0.0, all - measured_seconds), 1) + " s more";
}

std::string job_name(const JobRow &row, const JobCell &cell) {
  const std::string where = !cell.where.empty()
                                ? cell.where
                                : std::string(page_kind_id(cell.pages)) + node_suffix(cell.node);
  return row.id + "/" + format_size(cell.size) + "/" + cell.state + "/" + where;
}

std::string place_title(const JobCell &cell) {
  return "on " + std::string(page_kind_title(cell.pages)) + node_title(cell.node);
}

std::string with_threads(const std::string &id, uint32_t count) {
  return id + "_t" + std::to_string(count);
}

void for_each_count(const std::vector<uint32_t> &counts, const std::string &id,
                    const AddTeamRow &add) {
  for (const uint32_t count : counts) {
    add(with_threads(id, count), "team, " + std::to_string(count), count);
  }
  add(id + "_auto", "team, the knee", 0);
}

JobResult measure_jobs(Rounds &rounds, const JobCell &cell, const std::vector<JobRow> &rows,
                       const Patience &patience) {
  std::vector<Task> tasks;
  tasks.reserve(rows.size());
  for (const JobRow &row : rows) tasks.push_back({job_name(row, cell), row.take});
  std::vector<std::vector<Sample>> samples = run_rounds(rounds, tasks, patience);
  JobResult result{cell, {}};
  for (size_t i = 0; i < rows.size(); ++i) {
    result.rows.push_back({rows[i].id, rows[i].title, std::move(samples[i])});
  }
  return result;
}

void mark_knee(JobResult &result, const std::string &id, bool is_found) {
  for (JobRowResult &row : result.rows) {
    if (row.id == id + "_auto" && !is_found) row.title += " (not found)";
  }
}

std::string jobs_legend(const char *more) {
  return std::string(kLegend) + more;
}

std::string render_jobs(const JobResult &result, const std::string &reference) {
  const auto against = std::find_if(result.rows.begin(), result.rows.end(),
                                    [&](const JobRowResult &row) { return row.id == reference; });
  TextTable table;
  table.add_row({"", "threads", "GB/s", "ratio", "CPU s/GiB", "local", "remote"});
  for (const JobRowResult &row : result.rows) {
    if (row.samples.empty()) continue;
    const Summary summary = summarize(rates(row.samples));
    table.add_row(
        {row.title, decimals(median_of(row.samples, [](const Sample &s) { return s.threads; }), 0),
         format_rate(summary.median) + " +- " + decimals(summary.spread * 100, 0) + "%",
         against == result.rows.end() ? "-"
                                      : format_ratio(paired_ratio(row.samples, against->samples)),
         decimals(median_of(row.samples, cpu_seconds_per_gib), 3),
         bytes_or_dash(row, &Sample::local_bytes), bytes_or_dash(row, &Sample::remote_bytes)});
  }
  return table.text();
}

JobTime::JobTime(double seconds, int rounds, int least_rounds)
    : seconds_(seconds), rounds_(rounds), least_rounds_(least_rounds) {}

JobTime::JobTime(const Options &options, double usual_seconds)
    : JobTime(options.seconds.value_or(options.repetitions.value_or(0) > 0 ? 0 : usual_seconds),
              options.repetitions.value_or(0), 1) {}

Patience JobTime::next(double weight) const {
  Patience patience;
  patience.least_rounds = least_rounds_;
  patience.min_rounds = rounds_ > 0 ? rounds_ : static_cast<int>(kRoundsToTrust);
  patience.max_rounds = rounds_ > 0 ? rounds_ : kManyRounds;
  if (seconds_ > 0) {
    const uint64_t now = now_ns();
    const double left = std::max(0.0, seconds_ - used_);
    const double share = left * weight / std::max(weights_, weight);
    patience.deadline_ns = now + static_cast<uint64_t>(share * 1e9);
    patience.last_ns = now + static_cast<uint64_t>(std::min(left, kMostOverdraft * share) * 1e9);
  }
  return patience;
}

void JobTime::spent(double weight, double seconds) {
  weights_ -= weight;
  used_ += seconds;
}

JobResult measure_cell(Rounds &rounds, JobTime &time, const JobCell &cell, double weight,
                       const std::vector<JobRow> &rows, int exact_rounds) {
  const uint64_t begin = now_ns();
  Patience patience = time.next(weight);
  if (exact_rounds > 0) {
    patience = Patience();
    patience.min_rounds = patience.max_rounds = exact_rounds;
  }
  JobResult result = measure_jobs(rounds, cell, rows, patience);
  time.spent(weight, static_cast<double>(now_ns() - begin) / 1e9);
  return result;
}

JobBook::JobBook(const Options &options)
    : command_(options.command), stolen_before_(stolen_time()) {
  if (options.json) {
    json_path_ = *options.json;
    json_.emplace(json_path_, "--json");
  }
  hpz_init(nullptr);
  machine_ = describe_machine(kNotPinned);
}

void JobBook::pin_thread() {
  cpu_ = pin_to_one_cpu();
  is_pinning_refused_ = cpu_ == kNotPinned;
  machine_ = describe_machine(cpu_);
}

void JobBook::team(uint32_t workers) {
  if (workers == 0) note("no worker could be started: team rows are the calling thread's");
  context("team_threads", std::to_string(workers));
}

void JobBook::print(const std::string &text, const std::string &legend) {
  if (!std::exchange(has_heading_, true)) {
    std::printf("%s\n%s\n", render_context(machine_).c_str(), legend.c_str());
  }
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

// Those of 'run' that mean something here: caches, noise, few rounds, a hypervisor's own time.
std::vector<std::string> JobBook::warnings() const {
  std::vector<CellResult> cells;
  for (const JobResult &result : results_) {
    CellResult cell;
    cell.cell = {result.cell.pages, MemoryState::kCold, result.cell.size};
    for (const JobRowResult &row : result.rows) {
      cell.rows.push_back({row.id, row.title, RowKind::kBaseline, row.samples});
    }
    cells.push_back(std::move(cell));
  }
  Circumstances circumstances;
  circumstances.are_jobs = !is_set_;
  circumstances.has_size_list = is_set_;
  circumstances.caches = caches();
  circumstances.smallest_cold_set_bytes = smallest_buffer_;
  circumstances.governor = governor(cpu_);
  circumstances.is_pinned = !is_pinning_refused_;
  circumstances.cpus = online_cpus();
  circumstances.stolen_part = stolen_part_since(stolen_before_);
  std::vector<std::string> all = warnings_;
  for (std::string &line : find_warnings(cells, circumstances)) all.push_back(std::move(line));
  return all;
}

void JobBook::finish(double measured_seconds) {
  std::printf("%s\n", time_taken(measured_seconds, begin_ns_).c_str());
  for (const std::string &line : notes_) std::printf("note: %s\n", line.c_str());
  const std::vector<std::string> all = warnings();
  for (const std::string &line : all) std::printf("warning: %s\n", line.c_str());
  if (!json_) return;
  for (const auto &[key, value] : machine_) rounds_.add_context(key, value);
  for (const auto &[key, value] : more_) rounds_.add_context(key, value);
  rounds_.add_context(std::string(kWarningsKey), joined_warnings(all));
  json_->commit(rounds_.json(command_));
  std::printf("wrote %s\n", json_path_.c_str());
}

std::vector<uint64_t> sizes_that_fit(const Options &options, PageKind kind, int node,
                                     const UsualSizes &usual, JobBook &book) {
  MemoryLimit limit = limit_on_pages(kind, memory_limit(), node);
  limit.bytes /= usual.copies;
  const uint64_t page = page_bytes(kind);
  const std::string title(page_kind_title(kind));
  std::vector<uint64_t> sizes = options.sizes;
  if (sizes.empty()) {
    for (const uint64_t size : usual.sizes) {
      const uint64_t here = std::min(size, largest_that_fits(limit.bytes));
      if (std::find(sizes.begin(), sizes.end(), here) == sizes.end()) sizes.push_back(here);
    }
  }
  std::vector<uint64_t> fitting;
  for (const uint64_t size : sizes) {
    std::string trouble;
    const std::string what = format_size(size) + " on " + title;
    if (size < kSmallestJob) {
      trouble = what + " is no work for several threads: use sizes from " +
                format_size(kSmallestJob) + " on";
    } else if ((size + page - 1) / page > limit.bytes / page) {
      trouble =
          what + " does not fit the " + format_size_rounded(limit.bytes) + " that " + limit.reason +
          " leaves" +
          (usual.copies > 1 ? " for each of " + std::to_string(usual.copies) + " copies" : "") +
          ": use sizes up to " + format_size(largest_that_fits(limit.bytes)) + ", or " +
          limit.remedy;
    } else if (size % usual.grain != 0) {
      trouble = what + " is no whole number of pages: use multiples of " + format_size(usual.grain);
    }
    if (trouble.empty()) {
      fitting.push_back(size);
    } else if (!options.sizes.empty() && !options.pages.empty()) {
      throw Refusal(trouble);
    } else {
      book.note(trouble);
    }
  }
  return fitting;
}

std::string JobPlace::title() const {
  return std::string(page_kind_title(kind)) + node_title(node);
}

void JobTour::plan_places() {
  std::vector<PageKind> kinds = options_.pages;
  if (kinds.empty()) kinds = usual_kinds();
  for (const PageKind kind : kinds) {
    for (const int node : nodes_with_memory()) {
      JobPlace place{kind, node, sizes_that_fit(options_, kind, node, usual_sizes(kind), book_)};
      if (place.sizes.empty()) continue;
      for (const uint64_t size : place.sizes) time_.expect(weight(kind, size));
      places_.push_back(std::move(place));
    }
  }
  if (places_.empty()) {
    throw Refusal(book_.notes().empty() ? "nothing to measure: use other options"
                                        : book_.notes().back());
  }
}

uint64_t JobTour::smallest_size() const {
  uint64_t smallest = UINT64_MAX;
  for (const JobPlace &place : places_) smallest = std::min(smallest, place.sizes.front());
  return smallest;
}

void JobTour::measure_places() {
  for (const JobPlace &place : places_) {
    try {
      measure_place(place);
    } catch (const Refusal &refusal) {
      if (!options_.pages.empty()) throw;
      book_.note(std::string("not measured: ") + refusal.what());
      for (const uint64_t size : place.sizes) time_.spent(weight(place.kind, size), 0);
    }
  }
  if (book_.is_empty()) throw Refusal(book_.notes().back());
}

JobResult JobTour::measure(const JobCell &cell, double weight, const std::vector<JobRow> &rows,
                           int usual_rounds) {
  const bool is_asked_for = options_.seconds || options_.repetitions;
  return measure_cell(book_.rounds(), time_, cell, weight, rows, is_asked_for ? 0 : usual_rounds);
}

}  // namespace hpz::bench
