// SPDX-License-Identifier: BSD-2-Clause
//
// Rows that are whole jobs, by teams, by threads or by one thread: taking their samples in rounds,
// and their table. What a job does is the experiment's.
#ifndef HPZERO_BENCH_JOBS_H
#define HPZERO_BENCH_JOBS_H

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "bench/atomic_file.h"
#include "bench/clock.h"
#include "bench/context.h"
#include "bench/measure.h"
#include "bench/options.h"
#include "bench/rounds.h"
#include "bench/statistics.h"

namespace hpz::bench {

struct JobRow {
  std::string id, title;
  std::function<Sample()> take;
};

struct JobCell {
  PageKind pages = PageKind::k4k;
  int node = kAnyNode;
  uint64_t size = 0;
  std::string state;  // in JSON's names
  std::string where;  // there, instead of kind and node: rows on several kinds
};

struct JobRowResult {
  std::string id, title;
  std::vector<Sample> samples;
};

struct JobResult {
  JobCell cell;
  std::vector<JobRowResult> rows;
  size_t rounds() const { return rows.empty() ? 0 : rows.front().samples.size(); }
};

std::string job_name(const JobRow &row, const JobCell &cell);  // row/size/state/pages

// Slices of plain threads meet there: page faults and chunks of everybody else do.
inline constexpr uint64_t kSliceGrain = 2 << 20;

std::string with_threads(const std::string &id, uint32_t count);  // "team_t2"

// A row of a team for each number of threads, and one for the knee: id, title, threads.
using AddTeamRow = std::function<void(const std::string &, const std::string &, uint32_t)>;
void for_each_count(const std::vector<uint32_t> &counts, const std::string &id,
                    const AddTeamRow &add);

JobResult measure_jobs(Rounds &rounds, const JobCell &cell, const std::vector<JobRow> &rows,
                       const Patience &patience);

// Says in the title of the rows that leave the number of threads to the team (id + "_auto") whether
// it found its knee by now.
void mark_knee(JobResult &result, const std::string &id, bool is_found);

// "on 2 MiB pages (hugetlb), node 1"
std::string place_title(const JobCell &cell);

// What the columns of render_jobs mean, and what the experiment has to say beyond that.
std::string jobs_legend(const char *more);

// Threads that worked, rate, ratio to reference, CPU time, local and remote bytes. Pure.
std::string render_jobs(const JobResult &result, const std::string &reference);

// Time shared out among cells by weight: those to come are all known when it begins.
// A cell that is slower than thought takes from the others, but not all that they have: so many
// times its share.
inline constexpr double kMostOverdraft = 2;

class JobTime {
 public:
  // seconds 0: rounds decide; rounds 0: time does. least_rounds: of each cell, whatever is left.
  JobTime(double seconds, int rounds, int least_rounds);
  // Of jobs: one round of each in any case.
  JobTime(const Options &options, double usual_seconds);

  void expect(double weight) { weights_ += weight; }
  Patience next(double weight) const;
  void spent(double weight, double seconds);  // also of a cell that was left out: 0 seconds
  double used() const { return used_; }

 private:
  double seconds_;
  int rounds_, least_rounds_;
  double weights_ = 0, used_ = 0;
};

// One cell of those that time is shared among, and the time it took spent. exact_rounds: so many,
// whatever time that takes; 0: as many as it allows.
JobResult measure_cell(Rounds &rounds, JobTime &time, const JobCell &cell, double weight,
                       const std::vector<JobRow> &rows, int exact_rounds = 0);

// The last line of what was measured, and how long all of it took since then.
std::string time_taken(double measured_seconds, uint64_t since_ns);

// What an experiment of jobs says around its cells: the machine, once and with the first table (a
// refusal comes alone); notes and warnings at the end; the file.
class JobBook {
 public:
  explicit JobBook(const Options &options);  // throws Refusal for a file that cannot be written

  Rounds &rounds() { return rounds_; }
  void context(const std::string &key, const std::string &value) { more_.emplace_back(key, value); }
  void note(const std::string &line) { notes_.push_back(line); }
  const std::vector<std::string> &notes() const { return notes_; }
  // Beside those that the figures give rise to: what was measured is not what was to be.
  void warn(const std::string &line) { warnings_.push_back(line); }

  // The smallest buffer, or set of which a part is cleared at a time, whose figures are to be those
  // of memory: a warning if it fits caches.
  void smallest_buffer(uint64_t bytes) { smallest_buffer_ = bytes; }
  void smallest_set(uint64_t bytes) {
    smallest_buffer_ = std::min(bytes, is_set_ ? smallest_buffer_ : bytes);
    is_set_ = true;
  }

  void team(uint32_t workers);
  // The calling thread stays on its CPU: for experiments without teams and threads.
  void pin_thread();
  int cpu() const { return cpu_; }  // that it stays on, -1 for none

  void print(const std::string &text, const std::string &legend);
  void keep(JobResult result) { results_.push_back(std::move(result)); }
  bool is_empty() const { return results_.empty(); }

  void finish(double measured_seconds);  // of all since this book was begun

 private:
  static constexpr int kNotPinned = -1;

  std::vector<std::string> warnings() const;

  const uint64_t begin_ns_ = now_ns();
  std::optional<AtomicFile> json_;
  std::string command_, json_path_;
  Rounds rounds_;
  ContextEntries machine_, more_;
  std::vector<std::string> notes_, warnings_;
  std::vector<JobResult> results_;
  uint64_t smallest_buffer_ = 0;
  bool is_set_ = false;
  int cpu_ = kNotPinned;
  bool is_pinning_refused_ = false;
  StolenTime stolen_before_;
  bool has_heading_ = false;
};

// What an experiment measures on one kind of pages if nothing was asked for.
struct UsualSizes {
  std::vector<uint64_t> sizes;  // each of them smaller where it does not fit
  uint64_t grain = 1;           // sizes are multiples of it
  uint64_t copies = 1;          // of so much memory that are wanted at a time
};

// What of the sizes asked for, or of the default, fits memory on those pages; each left out is a
// note, or a Refusal where kind and size were asked for.
std::vector<uint64_t> sizes_that_fit(const Options &options, PageKind kind, int node,
                                     const UsualSizes &usual, JobBook &book);

// Pages of one kind on one node, and the sizes that are measured there.
struct JobPlace {
  PageKind kind = PageKind::k4k;
  int node = kAnyNode;
  std::vector<uint64_t> sizes;

  std::string title() const;
};

// An experiment that measures jobs at all places that were asked for or, if none was, at all that
// there are. What it measures there is its own.
class JobTour {
 public:
  JobTour(const Options &options, JobBook &book, double usual_seconds)
      : options_(options), book_(book), time_(options, usual_seconds) {}
  virtual ~JobTour() = default;
  JobTour(const JobTour &) = delete;
  JobTour &operator=(const JobTour &) = delete;

  // Both throw Refusal where nothing is left to measure, or for what was asked for.
  void plan_places();
  void measure_places();

  double seconds() const { return time_.used(); }

 protected:
  virtual std::vector<PageKind> usual_kinds() const {
    return {std::begin(kAllPageKinds), std::end(kAllPageKinds)};
  }
  virtual UsualSizes usual_sizes(PageKind kind) const = 0;
  virtual double weight(PageKind kind, uint64_t size) const = 0;  // of all cells of that size
  virtual void measure_place(const JobPlace &place) = 0;

  // One cell, in its part of the time; usual_rounds: exactly so many, unless time or rounds were
  // asked for.
  JobResult measure(const JobCell &cell, double weight, const std::vector<JobRow> &rows,
                    int usual_rounds = 0);

  const Options &options() const { return options_; }
  JobBook &book() { return book_; }
  JobTime &time() { return time_; }
  uint64_t smallest_size() const;  // of all places

 private:
  const Options &options_;
  JobBook &book_;
  JobTime time_;
  std::vector<JobPlace> places_;
};

}  // namespace hpz::bench

#endif
