// SPDX-License-Identifier: BSD-2-Clause
#include "bench/agenda.h"

#include <algorithm>

#include "bench/limits.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/walk.h"

namespace hpz::bench {
namespace {

// The promise is less than 15 seconds, and a round that was begun is finished.
constexpr double kDefaultSeconds = 13.5;
// For a list of sizes and states that somebody wrote out: this much for each.
constexpr double kSecondsPerCell = 1.0;

std::vector<uint64_t> default_sizes(PageKind kind, MemoryState state) {
  const bool is_pool = is_pool_kind(kind);
  switch (state) {
    case MemoryState::kHot:
      return {4 * kKiB, 64 * kKiB, kMiB};
    case MemoryState::kFresh:
      return {4 * kKiB, 2 * kMiB, 16 * kMiB};
    case MemoryState::kRecycled:
      if (!is_pool) return {4 * kKiB, kMiB};
      return {4 * kKiB, 64 * kKiB, kMiB, 32 * kMiB};
    case MemoryState::kCold:
      if (!is_pool) return {4 * kKiB, 64 * kKiB, 2 * kMiB};
      if (kind == PageKind::k2m) return {4 * kKiB, 64 * kKiB, kMiB, 2 * kMiB, 32 * kMiB};
      return {4 * kKiB, 64 * kKiB, kMiB, 2 * kMiB, 32 * kMiB, kGiB};
  }
  return {};
}

uint64_t fresh_bytes_of(const Cell &cell, const Caches &caches) {
  if (cell.state != MemoryState::kFresh) return 0;
  const SampleShape shape = shape_sample(cell.state, cell.size, 0, caches);
  return shape.ranges * range_stride(cell.state, cell.size);
}

// Adds the cells of one kind that fit, or refuses.
PageAgenda plan_kind(PageKind kind, const Options &options, const Caches &caches,
                     const MemoryLimit &capacity, std::vector<std::string> &left_out) {
  const uint64_t page = page_bytes(kind);
  const std::string title(page_kind_title(kind));
  PageAgenda agenda;
  agenda.memory.kind = kind;
  agenda.memory.is_asked_for = !options.pages.empty();
  if (options.set_bytes && round_up(*options.set_bytes, page) > capacity.bytes) {
    throw Refusal("a set of " + format_size(*options.set_bytes) + " on " + title +
                  " does not fit the " + format_size_rounded(capacity.bytes) + " that " +
                  capacity.reason + " leaves: use --set " +
                  format_size(largest_that_fits(capacity.bytes)));
  }
  bool has_cold = false;
  std::vector<MemoryState> states = options.states;
  if (states.empty()) states = {MemoryState::kRecycled, MemoryState::kCold};
  for (const MemoryState state : states) {
    const std::vector<uint64_t> sizes =
        options.sizes.empty() ? default_sizes(kind, state) : options.sizes;
    for (const uint64_t size : sizes) {
      const Cell cell{kind, state, size};
      const uint64_t set = round_up(least_set_bytes(state, size, caches), page);
      const uint64_t fresh = round_up(fresh_bytes_of(cell, caches), page);
      if (set + fresh > capacity.bytes) {
        const std::string what = format_size(size) + " " + std::string(state_id(state)) + " on " +
                                 title + " does not fit the " +
                                 format_size_rounded(capacity.bytes) + " that " + capacity.reason +
                                 " leaves";
        if (!options.sizes.empty()) {
          throw Refusal(what + ": use sizes up to " +
                        format_size(largest_that_fits(capacity.bytes)) + ", or " + capacity.remedy);
        }
        left_out.push_back(what + ": " + capacity.remedy + " to see it");
        continue;
      }
      agenda.memory.least_bytes = std::max(agenda.memory.least_bytes, set);
      agenda.memory.fresh_bytes = std::max(agenda.memory.fresh_bytes, fresh);
      has_cold = has_cold || state == MemoryState::kCold;
      agenda.cells.push_back(cell);
    }
  }
  agenda.memory.set_bytes = agenda.memory.least_bytes;
  if (has_cold) {
    const uint64_t room = capacity.bytes - std::min(capacity.bytes, agenda.memory.fresh_bytes);
    // Whole mebibytes, to be read by people.
    const uint64_t unit = std::max(page, kMiB);
    const uint64_t set = options.set_bytes.value_or(std::min(kUsualSetBytes, room / unit * unit));
    agenda.memory.set_bytes = std::max(set, agenda.memory.least_bytes);
    if (options.set_bytes) {
      agenda.memory.least_bytes = std::max(agenda.memory.least_bytes, round_up(set, page));
    }
  }
  return agenda;
}

}  // namespace

double time_weight(const Cell &cell) {
  // Up to 16 MiB all rounds take about as long (walk.cpp), beyond they grow with the size, where
  // fewer of them have to do.
  constexpr double kFewerBy = 4;
  constexpr double kEqualUpTo = static_cast<double>(16 * kMiB) * kFewerBy;
  return std::max(1.0, static_cast<double>(cell.size) / kEqualUpTo);
}

Agenda make_agenda(const Options &options, const Caches &caches) {
  Agenda agenda;
  std::vector<PageKind> kinds = options.pages;
  if (kinds.empty()) kinds.assign(std::begin(kAllPageKinds), std::end(kAllPageKinds));
  const MemoryLimit limit = memory_limit();
  size_t cells = 0;
  std::string refusal;
  for (const PageKind kind : kinds) {
    const MemoryLimit capacity = limit_on_pages(kind, limit);
    if (capacity.bytes < page_bytes(kind)) {
      const std::string what = std::string(page_kind_title(kind)) + " do not fit the " +
                               format_size_rounded(capacity.bytes) + " that " + capacity.reason +
                               " leaves";
      if (!options.pages.empty()) throw Refusal(what + ": use --pages of a smaller kind");
      agenda.left_out.push_back(what + ": " + capacity.remedy + " to see them");
      continue;
    }
    try {
      PageAgenda page = plan_kind(kind, options, caches, capacity, agenda.left_out);
      cells += page.cells.size();
      if (!page.cells.empty()) agenda.kinds.push_back(std::move(page));
    } catch (const Refusal &trouble) {
      // What fits on no kind of pages at all is refused below.
      if (!options.pages.empty()) throw;
      refusal = trouble.what();
      agenda.left_out.push_back(refusal);
    }
  }
  if (agenda.kinds.empty()) {
    throw Refusal(!refusal.empty() ? refusal
                                   : "not even the smallest default fits free memory: free some");
  }
  agenda.rounds = options.repetitions.value_or(0);
  const bool is_spelled_out = !options.sizes.empty() || !options.states.empty();
  const double usual = is_spelled_out
                           ? std::max(kDefaultSeconds, kSecondsPerCell * static_cast<double>(cells))
                           : kDefaultSeconds;
  agenda.seconds = options.seconds.value_or(agenda.rounds > 0 ? 0 : usual);
  return agenda;
}

}  // namespace hpz::bench
