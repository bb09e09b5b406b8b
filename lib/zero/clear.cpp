// SPDX-License-Identifier: BSD-2-Clause
#include "lib/zero/clear.h"

#include <string.h>

// MemorySanitizer's own entry, present only in programs that it instruments: stores by assembly, or
// by a library that was built without it, are invisible to it.
extern "C" __attribute__((weak)) void __msan_unpoison(const volatile void *, size_t);

namespace hpz {
namespace {

void tell_sanitizer(const void *at, size_t len) noexcept {
  if (__msan_unpoison != nullptr) __msan_unpoison(at, len);
}

char *bytes(void *at) noexcept {
  return static_cast<char *>(at);
}

// Slices of large ranges begin on page boundaries, so that no two lanes walk the same page.
constexpr size_t kSliceGrain = 4096;

void clear_body(const Kernel &kernel, char *at, size_t body) noexcept {
  const Lanes cut = split_lanes(kernel, body);
  void *lane[kMaxLanes];
  for (uint32_t i = 0; i < cut.lanes; ++i) lane[i] = at + i * cut.slice;
  kernel.fn(lane, cut.lanes, cut.slice);
  if (cut.rest != 0) {
    void *const rest = at + cut.lanes * cut.slice;
    kernel.fn(&rest, 1, cut.rest);
  }
}

void fence_for(const Kernel &kernel) noexcept {
  if ((kernel.flags & kNeedsFence) != 0) store_fence();
}

bool are_whole_lines(void *const *pages, size_t count, size_t page_bytes) noexcept {
  uintptr_t low_bits = page_bytes;
  for (size_t i = 0; i < count; ++i) low_bits |= reinterpret_cast<uintptr_t>(pages[i]);
  return (low_bits & (kLineBytes - 1)) == 0;
}

// Pages of any alignment: the kernel gets what is whole lines in every one of them.
void clear_ragged_pages(const Kernel &kernel, void *const *pages, size_t count,
                        size_t page_bytes) noexcept {
  if (page_bytes < 2 * kLineBytes) {
    for (size_t i = 0; i < count; ++i) memset(pages[i], 0, page_bytes);
    return;
  }
  const size_t body = (page_bytes - (kLineBytes - 1)) & ~(kLineBytes - 1);
  constexpr size_t kBatch = 4 * kMaxLanes;
  void *lane[kBatch];
  for (size_t done = 0; done < count;) {
    const size_t batch = count - done < kBatch ? count - done : kBatch;
    for (size_t i = 0; i < batch; ++i) {
      char *const page = bytes(pages[done + i]);
      const size_t head = (0 - reinterpret_cast<uintptr_t>(page)) & (kLineBytes - 1);
      memset(page, 0, head);
      memset(page + head + body, 0, page_bytes - head - body);
      lane[i] = page + head;
    }
    kernel.fn(lane, batch, body);
    done += batch;
  }
}

}  // namespace

Lanes split_lanes(const Kernel &kernel, size_t body) noexcept {
  if (kernel.lanes == 1 || body < kernel.lanes_from_bytes) return {1, body, 0};
  const size_t share = body / kernel.lanes;
  const size_t grain = share >= 4 * kSliceGrain ? kSliceGrain : kLineBytes;
  const size_t slice = share & ~(grain - 1);
  return {kernel.lanes, slice, body - kernel.lanes * slice};
}

void store_range(const Kernel &kernel, void *dst, size_t len) noexcept {
  const Edges edges = split_edges(reinterpret_cast<uintptr_t>(dst), len);
  if (edges.head != 0) memset(dst, 0, edges.head);
  if (edges.body != 0) {
    char *const body = bytes(dst) + edges.head;
    clear_body(kernel, body, edges.body);
    if (edges.tail != 0) memset(body + edges.body, 0, edges.tail);
  }
  // The edges, too: compilers put such short calls of memset in line, where it cannot see them.
  tell_sanitizer(dst, len);
}

void store_pages(const Kernel &kernel, void *const *pages, size_t count,
                 size_t page_bytes) noexcept {
  if (count == 0 || page_bytes == 0) return;
  if (are_whole_lines(pages, count, page_bytes)) {
    kernel.fn(pages, count, page_bytes);
  } else {
    clear_ragged_pages(kernel, pages, count, page_bytes);
  }
  if (__msan_unpoison != nullptr) {
    for (size_t i = 0; i < count; ++i) tell_sanitizer(pages[i], page_bytes);
  }
}

void clear_range(const Kernel &kernel, void *dst, size_t len) noexcept {
  store_range(kernel, dst, len);
  fence_for(kernel);
}

void clear_pages(const Kernel &kernel, void *const *pages, size_t count,
                 size_t page_bytes) noexcept {
  store_pages(kernel, pages, count, page_bytes);
  fence_for(kernel);
}

}  // namespace hpz
