// SPDX-License-Identifier: BSD-2-Clause
#include "bench/ways_table.h"

#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/times.h"
#include "bench/workloads.h"

namespace hpz::bench {
namespace {

bool is_second_column(const std::string &id) {
  return id.ends_with(kStosbSuffix);
}

void add_figures(std::vector<std::string> &line, const JobRowResult *row,
                 const JobRowResult *mapped) {
  if (row == nullptr) {
    line.insert(line.end(), {"-", "-", "-"});
    return;
  }
  const MeanDeviation time = time_ns(row->samples);
  line.push_back(format_time(time.mean));
  line.push_back(format_time(time.deviation));
  line.push_back(mapped == nullptr ? "-" : format_saved(time_part(row->samples, mapped->samples)));
}

std::string sentence(const JobResult &result, const std::string &what, const std::string &id,
                     const std::string &against_id, const std::string &against) {
  const JobRowResult *const row = measured_row(result, id);
  const JobRowResult *const other = measured_row(result, against_id);
  if (row == nullptr || other == nullptr) return "";
  const double part = time_part(row->samples, other->samples);
  return what + " takes " + format_part(part) + " of " + against;
}

}  // namespace

std::vector<uint64_t> windows_for(uint64_t page, uint64_t size) {
  // Each is mapped and unmapped: more of them, and a sample of 1 GiB takes seconds.
  constexpr uint64_t kMostWindows = 16'384;
  std::vector<uint64_t> windows;
  for (const uint64_t window : {4 * kKiB, 64 * kKiB, 2 * kMiB, 64 * kMiB, 256 * kMiB}) {
    if (window % page == 0 && window <= size && size / window <= kMostWindows) {
      windows.push_back(window);
    }
  }
  return windows;
}

std::string render_ways(const JobResult &result, const std::string &kernel) {
  const JobRowResult *const mapped = measured_row(result, kMappedPieces);
  const JobRowResult *const stosb_mapped =
      measured_row(result, std::string(kMappedPieces) + kStosbSuffix);
  const JobRowResult *const direct = measured_row(result, kSpaceDirect);
  TextTable table;
  table.add_row(
      {"", kernel, "+-", "saved", "rate by space_direct", kPerPieceKernel, "+-", "saved"});
  for (const JobRowResult &row : result.rows) {
    if (row.samples.empty() || is_second_column(row.id)) continue;
    std::vector<std::string> line = {row.title};
    add_figures(line, &row, mapped);
    line.push_back(direct == nullptr ? "-"
                                     : format_ratio(paired_ratio(row.samples, direct->samples)));
    add_figures(line, measured_row(result, row.id + kStosbSuffix), stosb_mapped);
    table.add_row(std::move(line));
  }
  return table.text();
}

std::string conclude_ways(const JobResult &result) {
  std::string text;
  const auto add = [&](const std::string &line) {
    if (!line.empty()) text += line + "\n";
  };
  const std::string whole = "the whole extent at its address";
  add(sentence(result, whole, kDirect, kMappedPieces, "a mapping for each piece"));
  add(sentence(result, whole, kDirect, std::string(kPieces) + kStosbSuffix,
               std::string(kPerPieceKernel) + " piece by piece"));
  add(sentence(result, "with compiler barriers, piece by piece", kBarrierPieces, kPieces,
               "the same without"));
  add(sentence(result, "with compiler barriers, piece by piece", kBarrierPieces, kDirect,
               "the whole extent"));
  add(sentence(result, "with full fences, piece by piece", kFencedPieces, kPieces,
               "the same without"));
  return text;
}

}  // namespace hpz::bench
