// SPDX-License-Identifier: BSD-2-Clause
#include "bench/best_memory.h"

#include <algorithm>

#include "bench/limits.h"
#include "bench/refusal.h"
#include "bench/sizes.h"

namespace hpz::bench {

std::unique_ptr<Arena> obtain_best_memory(std::vector<PageKind> kinds, const BestMemory &wanted,
                                          const Progress &progress) {
  const bool are_asked_for = !kinds.empty();
  if (kinds.empty()) kinds = {PageKind::k2m, PageKind::kThp, PageKind::k4k};
  for (size_t i = 0; i < kinds.size(); ++i) {
    ArenaRequest request;
    request.kind = kinds[i];
    request.node = wanted.node;
    request.is_asked_for = are_asked_for;
    const uint64_t capacity = limit_on_pages(kinds[i], memory_limit(), wanted.node).bytes;
    request.set_bytes =
        wanted.is_asked_for ? wanted.set_bytes : std::min(wanted.set_bytes, capacity);
    if (wanted.is_asked_for) request.least_bytes = request.set_bytes;
    try {
      if (request.set_bytes > capacity || capacity < page_bytes(kinds[i])) {
        throw Refusal("a set of " + format_size(std::max(request.set_bytes, page_bytes(kinds[i]))) +
                      " does not fit the " + format_size_rounded(capacity) +
                      " that are free: use a smaller " + wanted.option + " or smaller --pages");
      }
      return std::make_unique<Arena>(
          request, [&](uint64_t done) { progress.show("warming " + format_size_rounded(done)); });
    } catch (const Refusal &) {
      if (i + 1 == kinds.size()) throw;
    }
  }
  throw Refusal("no memory to measure on: free some");
}

}  // namespace hpz::bench
