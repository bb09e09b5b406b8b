// SPDX-License-Identifier: BSD-2-Clause
//
// How much memory this process may take: what is free, and what the control groups leave.
#ifndef HPZERO_BENCH_LIMITS_H
#define HPZERO_BENCH_LIMITS_H

#include <cstdint>
#include <string>

#include "bench/pages.h"

namespace hpz::bench {

struct MemoryLimit {
  uint64_t bytes = 0;  // that may be taken, a margin already left to everybody else
  std::string reason;  // "free memory" or "the memory cgroup limit"
  std::string remedy;  // what would make it more
};

// root: where /proc and the mounted control groups are looked for; "" but in tests.
MemoryLimit memory_limit(const std::string &root = "");

// As that, on one kind of pages: those that lie in its pool already are not free memory any more,
// and were set aside for us. With a node, no more than is free there. root: as above, but for
// pools.
MemoryLimit limit_on_pages(PageKind kind, const MemoryLimit &limit, int node = kAnyNode,
                           const std::string &root = "");

// Why so much is not to be had on these pages, and what would help: "free memory leaves no 64MiB:
// free some memory". Empty if it is.
std::string lacks(PageKind kind, uint64_t bytes);

uint64_t largest_that_fits(uint64_t bytes);  // the largest power of two, from 1 KiB

}  // namespace hpz::bench

#endif
