// SPDX-License-Identifier: BSD-2-Clause
//
// Ways to clear a piece of a file's memory: through a temporary mapping for each 4 KiB, at an
// address that it has already, through windows, by the file system. What they cost is the table's
// (ways_table.h).
#ifndef HPZERO_BENCH_WAYS_H
#define HPZERO_BENCH_WAYS_H

#include <cstdint>
#include <vector>

#include "bench/file_memory.h"
#include "bench/jobs.h"
#include "bench/walk.h"

namespace hpz::bench {

struct WaysRequest {
  PageKind kind = PageKind::k4k;
  uint64_t size = 0;                   // of the piece
  size_t ranges = 1;                   // pieces in a sample
  const FileMemory *memory = nullptr;  // that pieces are taken from
  Walk *walk = nullptr;                // over it
  FileMemory *spare = nullptr;         // for holes: memory of at least a sample
  Walk *spare_walk = nullptr;          // over it
};

// What a temporary mapping is of: 4 KiB, or a page where those are larger.
uint64_t piece_bytes();
// Pages of the kernel's pools cannot be mapped in pieces.
constexpr bool can_map_pieces(PageKind kind) {
  return !is_pool_kind(kind);
}

// One row for each way, and one more, with kStosbSuffix, for those that clear 4 KiB at a time. All
// of them clear by the plan's kernel; make it one and the same (HPZ_KERNEL) for all lengths first.
// Each is tried before it is returned: throws std::runtime_error where one leaves bytes.
std::vector<JobRow> way_rows(const WaysRequest &request);

}  // namespace hpz::bench

#endif
