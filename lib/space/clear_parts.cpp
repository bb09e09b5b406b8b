// SPDX-License-Identifier: BSD-2-Clause
#include "lib/space/clear_parts.h"

#include <algorithm>

#include "arch/arch.h"
#include "lib/space/pages.h"
#include "lib/zero/clear.h"

namespace hpz {
namespace {

struct OneRange {
  const Kernel *kernel;
  MemorySpan span;
};
void store_one(void *argument) {
  const auto &one = *static_cast<const OneRange *>(argument);
  store_range(*one.kernel, one.span.begin, one.span.bytes);
}

}  // namespace

bool PartClearer::add(char *at, uint64_t bytes) noexcept {
  if (result_.error != 0) return false;
  parts_[count_++] = {at, bytes};
  held_bytes_ += bytes;
  // A large part is cleared at once: it needs no company.
  if (count_ == kMostParts || bytes > kSmallBytes) flush();
  return result_.error == 0;
}

void PartClearer::store(void *argument) noexcept {
  const auto &self = *static_cast<const PartClearer *>(argument);
  void *pages[kMostParts];
  for (size_t i = 0; i < self.count_;) {
    const size_t bytes = self.parts_[i].bytes;
    size_t alike = 0;
    while (i + alike < self.count_ && self.parts_[i + alike].bytes == bytes) {
      pages[alike] = self.parts_[i + alike].begin;
      ++alike;
    }
    if (bytes > kSmallBytes || alike == 1) {
      for (size_t k = 0; k < alike; ++k) {
        store_range(self.bands_.find(bytes), self.parts_[i + k].begin, bytes);
      }
    } else {
      store_pages(self.bands_.find(self.chunk_bytes_), pages, alike, bytes);
    }
    i += alike;
  }
}

void PartClearer::flush() noexcept {
  if (count_ == 0) return;
  const Fault fault = run_claimable(
      parts_, count_, [](void *self) { store(self); }, this);
  if (fault.error == 0) {
    result_.done_bytes += held_bytes_;
  } else {
    flush_page_by_page();
  }
  count_ = 0;
  held_bytes_ = 0;
}

// A fault was claimed somewhere, with lanes at work on several places: what is done is known only
// if it is done again in order.
void PartClearer::flush_page_by_page() noexcept {
  const uintptr_t page = base_page_bytes();
  for (size_t i = 0; i < count_; ++i) {
    for (uint64_t done = 0; done < parts_[i].bytes;) {
      char *const at = parts_[i].begin + done;
      const uint64_t to_edge = page - (reinterpret_cast<uintptr_t>(at) & (page - 1));
      OneRange one = {&bands_.find(page), {at, std::min(to_edge, parts_[i].bytes - done)}};
      const Fault fault = run_claimable(&one.span, 1, store_one, &one);
      if (fault.error != 0) {
        result_.error = fault.error;
        result_.bad_at = at;
        return;
      }
      done += one.span.bytes;
      result_.done_bytes += one.span.bytes;
    }
  }
}

ClearResult PartClearer::finish() noexcept {
  if (result_.error == 0) flush();
  store_fence();
  return result_;
}

}  // namespace hpz
