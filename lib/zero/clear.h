// SPDX-License-Identifier: BSD-2-Clause
//
// From a range of any alignment to kernel calls: edges, lanes, one fence.
#ifndef HPZERO_LIB_ZERO_CLEAR_H
#define HPZERO_LIB_ZERO_CLEAR_H

#include "arch/arch.h"

namespace hpz {

// [dst, dst + len) as bytes before the first whole line, whole lines, bytes after the last one.
// Ranges that hold no whole line are all head.
struct Edges {
  size_t head, body, tail;
};
constexpr Edges split_edges(uintptr_t dst, size_t len) noexcept {
  const size_t head = (0 - dst) & (kLineBytes - 1);
  if (len < head + kLineBytes) return {len, 0, 0};
  const size_t body = (len - head) & ~(kLineBytes - 1);
  return {head, body, len - head - body};
}

// How a body of whole lines is cut into lanes: lanes slices of slice bytes, then rest bytes.
struct Lanes {
  uint32_t lanes;
  size_t slice, rest;
};
Lanes split_lanes(const Kernel &kernel, size_t body) noexcept;

// Everything of the range by this kernel, its edges by memset; fenced.
void clear_range(const Kernel &kernel, void *dst, size_t len) noexcept;

// Every page by this kernel, interleaved, fenced once.
void clear_pages(const Kernel &kernel, void *const *pages, size_t count,
                 size_t page_bytes) noexcept;

// The same without the fence, for callers that do several of them: store_fence() before anybody is
// told.
void store_range(const Kernel &kernel, void *dst, size_t len) noexcept;
void store_pages(const Kernel &kernel, void *const *pages, size_t count,
                 size_t page_bytes) noexcept;

}  // namespace hpz

#endif
