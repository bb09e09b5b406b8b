// SPDX-License-Identifier: BSD-2-Clause
//
// Clearing bytes of a backing: by itself, or by our kernels where it is mapped.
#ifndef HPZERO_LIB_SPACE_BACKED_CLEAR_H
#define HPZERO_LIB_SPACE_BACKED_CLEAR_H

#include <stddef.h>
#include <stdint.h>

#include "lib/plan/plan.h"
#include "lib/space/backing.h"
#include "lib/space/clear_parts.h"

namespace hpz {

// What the clears so far have come to. All bytes before the bad one are done.
struct BackedResult {
  uint64_t cleared_bytes = 0;  // by our kernels
  int error = 0;
  uint64_t bad_position = 0;
};

// Collects bytes, in the order of their positions, as parts of windows: of whole pages that hold
// some of them, and none that does not. When it has as many as a thread may, it maps them one after
// the other, clears them, fences once and unmaps them in the reverse order.
//
// Small ones are mapped all before they are cleared, so that the kernels interleave them: pages of
// 4 KiB are 1.2 times as fast by twos, 2.0 times by 64. Large ones are cleared as they come, so
// that the next is mapped while the stores to the last one drain, which is as fast as one at a
// time: windows of 1 to 64 MiB 0.93 to 1.04 times by twos, with quartiles 10 to 30 % apart.
class BackedClearer {
 public:
  // chunk_bytes: that of the chunk, by which small parts choose their kernel. may_unmapped: bytes
  // may be cleared without a mapping also where there could be one.
  BackedClearer(const Backing &backing, const Bands &bands, uint64_t chunk_bytes,
                bool may_unmapped = true) noexcept;

  // False: there was an error, or is now. Nothing more is done then.
  bool add(uint64_t position, uint64_t bytes) noexcept;
  bool flush() noexcept;  // clears what is left
  // An error of what the caller wanted at this position, behind all that was added.
  bool fail(int error, uint64_t position) noexcept;
  const BackedResult &result() const noexcept { return result_; }  // nothing is left

 private:
  static constexpr size_t kMostParts = PartClearer::kMostParts, kMostWindows = kMostParts;
  struct Window {
    uint64_t position, bytes;
    char *at;
  };
  struct Part {
    uint64_t position, bytes;
  };

  bool add_by_itself(uint64_t begin, uint64_t end) noexcept;
  bool add_mapped(uint64_t position, uint64_t bytes) noexcept;
  bool hold(uint64_t position, uint64_t &bytes) noexcept;
  bool map(Window &window) noexcept;
  bool clear_part(PartClearer &clearer, const Part &part, char *at) noexcept;

  const Backing &backing_;
  const Bands &bands_;
  const uint64_t chunk_bytes_;
  const bool clears_unmapped_;
  const size_t most_windows_;
  Window windows_[kMostWindows];
  Part parts_[kMostParts];
  size_t window_count_ = 0, part_count_ = 0;
  BackedResult result_;
  int stop_error_ = 0;  // of a map or a touch, while windows are mapped
  uint64_t stop_position_ = 0;
};

}  // namespace hpz

#endif
