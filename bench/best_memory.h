// SPDX-License-Identifier: BSD-2-Clause
//
// Memory for experiments that want one kind of pages and not all: the best that can be had.
#ifndef HPZERO_BENCH_BEST_MEMORY_H
#define HPZERO_BENCH_BEST_MEMORY_H

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/memory.h"
#include "bench/progress.h"

namespace hpz::bench {

struct BestMemory {
  uint64_t set_bytes = 0;        // wanted
  bool is_asked_for = false;     // less is a refusal
  const char *option = "--set";  // that makes it smaller
  int node = kAnyNode;           // for where its pages lie see NodeBinding
};

// Of the kinds, or of 2m, thp and 4k if there are none, the first that there is. Throws Refusal.
std::unique_ptr<Arena> obtain_best_memory(std::vector<PageKind> kinds, const BestMemory &wanted,
                                          const Progress &progress);

}  // namespace hpz::bench

#endif
