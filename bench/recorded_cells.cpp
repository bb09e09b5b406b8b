// SPDX-License-Identifier: BSD-2-Clause
#include "bench/recorded_cells.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

#include "bench/refusal.h"
#include "bench/row_titles.h"
#include "bench/sizes.h"
#include "bench/statistics.h"

namespace hpz::bench {
namespace {

// Of the text of a context, which may be anything. 0: no size.
uint64_t size_or_zero(std::string_view text) {
  try {
    return parse_size(text);
  } catch (const Refusal &) {
    return 0;
  }
}

}  // namespace

const RecordedTask *RecordedCell::find(std::string_view row) const {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const RecordedTask *task) { return task->row == row; });
  return found == rows.end() ? nullptr : *found;
}

std::vector<RecordedCell> cells_of(const ResultsFile &file) {
  std::vector<RecordedCell> cells;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> places;
  for (const RecordedTask &task : file.tasks) {
    const auto [place, is_new] =
        places.emplace(std::tuple(task.size, task.state, task.pages), cells.size());
    if (is_new) cells.push_back({task.size, task.state, task.pages, task.size_bytes, {}});
    cells[place->second].rows.push_back(&task);
  }
  for (RecordedCell &cell : cells) {
    std::sort(cell.rows.begin(), cell.rows.end(), [](const RecordedTask *a, const RecordedTask *b) {
      return is_row_before(a->row, b->row);
    });
  }
  return cells;
}

double rate_ratio(const RecordedTask &a, const RecordedTask &b) {
  std::vector<Sample> first, second;
  auto other = b.samples.begin();
  for (const RecordedSample &sample : a.samples) {
    while (other != b.samples.end() && other->round < sample.round) ++other;
    if (other == b.samples.end()) break;
    if (other->round != sample.round) continue;
    first.push_back(sample.sample);
    second.push_back(other->sample);
  }
  return paired_ratio(first, second);
}

double time_ratio(const RecordedTask &a, const RecordedTask &b) {
  return rate_ratio(b, a);
}

double counted(const RecordedTask &task, std::string_view name) {
  std::vector<double> values;
  for (const RecordedSample &sample : task.samples) {
    for (const auto &[key, value] : sample.sample.more) {
      if (key == name) values.push_back(value);
    }
  }
  return median(std::move(values));
}

// "avx512_st to 36KiB, rep_stosb to 48MiB, avx512_nt above"
RecordedPlan::Bands RecordedPlan::read_bands(const std::string &text) {
  Bands bands;
  std::istringstream words(text);
  std::string kernel, word;
  while (words >> kernel >> word) {
    if (word == "above" || word == "above,") {
      bands.push_back({UINT64_MAX, kernel});
      continue;
    }
    if (word != "to" || !(words >> word)) return {};
    if (word.ends_with(",")) word.pop_back();
    const uint64_t upto = size_or_zero(word);
    if (upto == 0) return {};
    bands.push_back({upto, kernel});
  }
  return bands;
}

std::string RecordedPlan::find(const Bands &bands, uint64_t size) {
  for (const Band &band : bands) {
    if (size <= band.upto) return band.kernel;
  }
  return "";
}

RecordedPlan::RecordedPlan(const ResultsFile &file)
    : automatic_(read_bands(file.context_value("hpzero_plan_auto"))),
      stream_(read_bands(file.context_value("hpzero_plan_stream"))) {
  // "256KiB to 48MiB, 247 ticks"; others begin with "off".
  std::istringstream words(file.context_value("hpzero_probe"));
  std::string from, to, upto;
  if (!(words >> from >> to >> upto) || to != "to" || !upto.ends_with(",")) return;
  upto.pop_back();
  probe_from_ = size_or_zero(from);
  probe_upto_ = size_or_zero(upto);
}

std::string RecordedPlan::kernel(std::string_view state, uint64_t size) const {
  const bool is_far = state == "cold" || state == "fresh";
  if (is_far && size >= probe_from_ && size <= probe_upto_) return find(stream_, size);
  return find(automatic_, size);
}

}  // namespace hpz::bench
