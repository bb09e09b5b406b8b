// SPDX-License-Identifier: BSD-2-Clause
//
// The limit: the highest rate at which memory is written here, by any kernel, by any mix of two, by
// any number of threads. What hpz_zero and teams reach of it is the answer to "could it be faster".
#ifndef HPZERO_BENCH_CEILING_H
#define HPZERO_BENCH_CEILING_H

#include <hpzero/hpzero.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/jobs.h"

namespace hpz::bench {

// Of the ids of rows that only the limit is looked for with.
inline constexpr const char *kCeilingPrefix = "limit_";

// Threads that clear neighbouring slices; with a second kernel every other 2 MiB by that one.
struct Writer {
  std::string kernel, second;
  uint32_t threads = 1;

  std::string id() const;     // "limit_avx512_nt_t2", "limit_avx512_nt+movnti_t2"
  std::string title() const;  // as those of plain threads
  friend bool operator==(const Writer &, const Writer &) = default;
};

struct WriterRate {
  Writer writer;
  double gb_per_s = 0;
  bool is_streaming = false;  // its kernel is one of those that pass the caches
};

// Whether it always does: instructions that clear blocks may, and may not. Not whether it needs a
// fence, which on arm64 none does. Pure.
bool passes_caches(const hpz_kernel_info &kernel);

// Pairs worth trying: the fastest kernel with the two that follow it, and the fastest that streams
// with the fastest that does not; for each number of threads. Pure.
std::vector<Writer> mixes_of(const std::vector<WriterRate> &singles);

// The fastest few of both sorts: what is measured beside all other rows. Pure.
std::vector<Writer> contenders(std::vector<WriterRate> singles, std::vector<WriterRate> mixes);

// Memory in which every job gets the part behind that of the job before, from the beginning again
// at the end: where all of it is larger than the caches, nobody finds there what another has just
// written. Copies go on together.
class Windows {
 public:
  Windows(char *base, uint64_t bytes)
      : base_(base), bytes_(bytes), next_(std::make_shared<uint64_t>(0)) {}
  char *next(uint64_t bytes) const;  // so many, at most all

 private:
  char *base_;
  uint64_t bytes_;
  std::shared_ptr<uint64_t> next_;
};

struct CeilingPlace {
  Windows windows;
  uint64_t bytes = 0;            // of a row
  std::vector<uint32_t> counts;  // of threads
};

// Tries every kernel with every number of threads, shortly; the rows of those that might be the
// limit.
std::vector<JobRow> ceiling_rows(const CeilingPlace &place);
// Adds those of them that are not among the rows already, without the prefix.
void add_ceiling_rows(std::vector<JobRow> &rows, const CeilingPlace &place);

// The row with the highest median among those of at most so many threads; nullptr if none was
// measured. Pure.
const JobRowResult *find_ceiling(const JobResult &result, uint64_t most_threads);

// A line for one thread and one for as many as there are, and the parts that the rows reach which
// are judged: medians of ratios within a round. Pure.
std::string render_ceiling(const JobResult &result, const std::vector<std::string> &judged);
// The same for the context of JSON.
ContextEntries describe_ceiling(const JobResult &result, const std::vector<std::string> &judged,
                                const std::string &suffix);

}  // namespace hpz::bench

#endif
