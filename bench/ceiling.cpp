// SPDX-License-Identifier: BSD-2-Clause
#include "bench/ceiling.h"

#include <hpzero/hpzero.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "bench/plan.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/threads.h"
#include "bench/workloads.h"

namespace hpz::bench {
namespace {

// Bytes of a try for each thread, and tries of each. Starting threads is part of the time.
constexpr uint64_t kTryBytes = 32 * kMiB;
constexpr int kTries = 2;

constexpr size_t kSingleContenders = 3, kMixedContenders = 2;

bool is_faster(const WriterRate &a, const WriterRate &b) {
  return a.gb_per_s > b.gb_per_s;
}

void write_slice(const Writer &writer, char *base, const Slice &slice) {
  if (writer.second.empty()) {
    if (slice.bytes > 0) zero_with(writer.kernel.c_str(), base + slice.begin, slice.bytes);
    return;
  }
  for (uint64_t at = slice.begin, end = slice.begin + slice.bytes; at < end;) {
    const uint64_t piece = at / kSliceGrain;
    const uint64_t next = std::min(end, (piece + 1) * kSliceGrain);
    zero_with((piece % 2 == 0 ? writer.kernel : writer.second).c_str(), base + at, next - at);
    at = next;
  }
}

Sample take(const Writer &writer, const CeilingPlace &place, uint64_t bytes) {
  char *const base = place.windows.next(bytes);
  return time_on_threads(writer.threads, bytes, kSliceGrain,
                         [&](const Slice &slice) { write_slice(writer, base, slice); });
}

double try_out(const Writer &writer, const CeilingPlace &place) {
  const uint64_t bytes = std::min(place.bytes, kTryBytes * writer.threads);
  double best = 0;
  for (int i = 0; i < kTries; ++i) best = std::max(best, gb_per_s(take(writer, place, bytes)));
  return best;
}

uint64_t threads_of(const JobRowResult &row) {
  uint64_t most = 1;
  for (const Sample &sample : row.samples) most = std::max(most, sample.threads);
  return most;
}

uint64_t most_threads_of(const JobResult &result) {
  uint64_t most = 1;
  for (const JobRowResult &row : result.rows) most = std::max(most, threads_of(row));
  return most;
}

double median_rate(const JobRowResult &row) {
  return summarize(rates(row.samples)).median;
}

struct Share {
  const JobRowResult *row;
  double part;
};

// Of rows of at most so many threads.
std::vector<Share> shares_of(const JobResult &result, const std::vector<std::string> &judged,
                             const JobRowResult &ceiling, uint64_t most_threads) {
  std::vector<Share> shares;
  for (const std::string &id : judged) {
    for (const JobRowResult &row : result.rows) {
      if (row.id != id || row.samples.empty() || threads_of(row) > most_threads) continue;
      shares.push_back({&row, paired_ratio(row.samples, ceiling.samples)});
    }
  }
  return shares;
}

std::vector<uint64_t> thread_limits(const JobResult &result) {
  const uint64_t most = most_threads_of(result);
  return most > 1 ? std::vector<uint64_t>{1, most} : std::vector<uint64_t>{1};
}

}  // namespace

char *Windows::next(uint64_t bytes) const {
  if (*next_ + bytes > bytes_) *next_ = 0;
  char *const window = base_ + *next_;
  *next_ += bytes;
  return window;
}

bool passes_caches(const hpz_kernel_info &kernel) {
  return (kernel.roles & (HPZ_ROLE_STREAM | HPZ_ROLE_BULK)) == HPZ_ROLE_STREAM;
}

std::string Writer::id() const {
  return kCeilingPrefix + with_threads(second.empty() ? kernel : kernel + "+" + second, threads);
}

std::string Writer::title() const {
  return (second.empty() ? kernel : kernel + " and " + second + " mixed") + ", " +
         std::to_string(threads) + " plain";
}

std::vector<Writer> mixes_of(const std::vector<WriterRate> &singles) {
  // Each kernel by its best number of threads.
  std::vector<WriterRate> kernels;
  std::set<uint32_t> counts;
  for (const WriterRate &single : singles) {
    counts.insert(single.writer.threads);
    const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const WriterRate &k) {
      return k.writer.kernel == single.writer.kernel;
    });
    if (found == kernels.end()) {
      kernels.push_back(single);
    } else if (is_faster(single, *found)) {
      *found = single;
    }
  }
  std::stable_sort(kernels.begin(), kernels.end(), is_faster);
  std::vector<std::pair<std::string, std::string>> pairs;
  for (size_t i = 1; i < std::min<size_t>(kernels.size(), 3); ++i) {
    pairs.emplace_back(kernels[0].writer.kernel, kernels[i].writer.kernel);
  }
  const auto fastest = [&](bool is_streaming) {
    return std::find_if(kernels.begin(), kernels.end(), [&](const WriterRate &kernel) {
      return kernel.is_streaming == is_streaming;
    });
  };
  const auto streaming = fastest(true), cached = fastest(false);
  if (streaming != kernels.end() && cached != kernels.end()) {
    std::pair pair(streaming->writer.kernel, cached->writer.kernel);
    const std::pair turned(pair.second, pair.first);
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end() &&
        std::find(pairs.begin(), pairs.end(), turned) == pairs.end()) {
      pairs.push_back(std::move(pair));
    }
  }
  std::vector<Writer> mixes;
  for (const auto &[kernel, second] : pairs) {
    for (const uint32_t count : counts) mixes.push_back({kernel, second, count});
  }
  return mixes;
}

std::vector<Writer> contenders(std::vector<WriterRate> singles, std::vector<WriterRate> mixes) {
  std::stable_sort(singles.begin(), singles.end(), is_faster);
  std::stable_sort(mixes.begin(), mixes.end(), is_faster);
  std::vector<Writer> chosen;
  // The fastest alone is the limit of one thread.
  const auto alone = std::find_if(singles.begin(), singles.end(),
                                  [](const WriterRate &s) { return s.writer.threads == 1; });
  if (alone != singles.end()) chosen.push_back(alone->writer);
  const auto choose = [&](const std::vector<WriterRate> &rates, size_t count) {
    for (size_t i = 0; i < std::min(count, rates.size()); ++i) {
      if (std::find(chosen.begin(), chosen.end(), rates[i].writer) == chosen.end()) {
        chosen.push_back(rates[i].writer);
      }
    }
  };
  choose(singles, kSingleContenders);
  choose(mixes, kMixedContenders);
  return chosen;
}

std::vector<JobRow> ceiling_rows(const CeilingPlace &place) {
  std::vector<WriterRate> singles, mixes;
  for (const hpz_kernel_info &kernel : all_kernels()) {
    if (kernel.missing != nullptr) continue;
    for (const uint32_t count : place.counts) {
      const Writer writer{kernel.id, "", count};
      singles.push_back({writer, try_out(writer, place), passes_caches(kernel)});
    }
  }
  for (const Writer &writer : mixes_of(singles)) {
    mixes.push_back({writer, try_out(writer, place), false});
  }
  std::vector<JobRow> rows;
  for (const Writer &writer : contenders(std::move(singles), std::move(mixes))) {
    rows.push_back({writer.id(), writer.title(),
                    [writer, place] { return take(writer, place, place.bytes); }});
  }
  return rows;
}

void add_ceiling_rows(std::vector<JobRow> &rows, const CeilingPlace &place) {
  const std::string prefix = kCeilingPrefix;
  for (JobRow &row : ceiling_rows(place)) {
    if (std::none_of(rows.begin(), rows.end(),
                     [&](const JobRow &r) { return prefix + r.id == row.id; })) {
      rows.push_back(std::move(row));
    }
  }
}

const JobRowResult *find_ceiling(const JobResult &result, uint64_t most_threads) {
  const JobRowResult *best = nullptr;
  for (const JobRowResult &row : result.rows) {
    if (row.samples.empty() || threads_of(row) > most_threads) continue;
    if (best == nullptr || median_rate(row) > median_rate(*best)) best = &row;
  }
  return best;
}

std::string render_ceiling(const JobResult &result, const std::vector<std::string> &judged) {
  std::string text;
  for (const uint64_t threads : thread_limits(result)) {
    const JobRowResult *const ceiling = find_ceiling(result, threads);
    if (ceiling == nullptr) continue;
    text +=
        "limit, " +
        (threads == 1 ? std::string("1 thread") : "up to " + std::to_string(threads) + " threads") +
        ": " + format_rate(median_rate(*ceiling)) + " GB/s (" + ceiling->title + ")";
    const char *separator = "; of it: ";
    for (const auto &[row, part] : shares_of(result, judged, *ceiling, threads)) {
      text += separator + row->title + " " + format_ratio(part);
      separator = ", ";
    }
    text += "\n";
  }
  return text;
}

ContextEntries describe_ceiling(const JobResult &result, const std::vector<std::string> &judged,
                                const std::string &suffix) {
  ContextEntries entries;
  for (const uint64_t threads : thread_limits(result)) {
    const JobRowResult *const ceiling = find_ceiling(result, threads);
    if (ceiling == nullptr) continue;
    const std::string key = (threads == 1 ? "limit_one_thread" : "limit") + suffix;
    entries.emplace_back(key, ceiling->id);
    entries.emplace_back(key + "_gb_per_s", decimals(median_rate(*ceiling), 3));
    for (const auto &[row, part] : shares_of(result, judged, *ceiling, threads)) {
      entries.emplace_back(key + "_reached_by_" + row->id, decimals(part, 4));
    }
  }
  return entries;
}

}  // namespace hpz::bench
