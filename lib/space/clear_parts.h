// SPDX-License-Identifier: BSD-2-Clause
//
// Clearing the parts of a chunk: batched, fenced once, claimable.
#ifndef HPZERO_LIB_SPACE_CLEAR_PARTS_H
#define HPZERO_LIB_SPACE_CLEAR_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/plan/plan.h"
#include "lib/team/fault.h"

namespace hpz {

// What a run of clears has come to.
struct ClearResult {
  uint64_t done_bytes = 0;       // of the parts in their order, surely zero
  int error = 0;                 // a claimed fault behind them
  const char *bad_at = nullptr;  // ... and where
};

// Collects parts and clears them when there are enough: small ones of equal length that follow each
// other interleaved, the others by lanes. After an error it clears nothing more.
class PartClearer {
 public:
  static constexpr size_t kMostParts = 64;  // in a batch: four times what a kernel interleaves

  // The bands of the policy; the extent that decides for small parts is the whole chunk.
  PartClearer(const Bands &bands, uint64_t chunk_bytes) noexcept
      : bands_(bands), chunk_bytes_(chunk_bytes) {}

  bool add(char *at, uint64_t bytes) noexcept;  // false: there was an error, or is now
  ClearResult finish() noexcept;                // clears what is left, and fences

 private:
  // Interleaving hides page walks: 2.6x for pages of 4 KiB, 2.3x still for this much (Granite
  // Rapids, hpz_zero_pages). Larger ones have lanes enough of their own.
  static constexpr uint64_t kSmallBytes = 64 * 1024;

  static void store(void *argument) noexcept;
  void flush() noexcept;
  void flush_page_by_page() noexcept;

  const Bands &bands_;
  const uint64_t chunk_bytes_;
  MemorySpan parts_[kMostParts];
  size_t count_ = 0;
  uint64_t held_bytes_ = 0;
  ClearResult result_;
};

}  // namespace hpz

#endif
