// SPDX-License-Identifier: BSD-2-Clause
#include "lib/pool/page_table.h"

#include <stdlib.h>

#include <new>

namespace hpz {

PageTable::~PageTable() {
  for (std::atomic<Page *> &block : blocks_) ::free(block.load(std::memory_order_relaxed));
}

PageTable::Place PageTable::place_of(uint64_t id) noexcept {
  // Blocks end at kFirst * (2^(i + 1) - 1).
  const uint64_t from_first = id / kFirst + 1;
  const auto block = static_cast<uint32_t>(63 - __builtin_clzll(from_first));
  return {block, id - kFirst * ((uint64_t{1} << block) - 1)};
}

Page *PageTable::allocate() noexcept {
  if (free_ != nullptr) {
    Page *const page = free_;
    free_ = page->next;
    page->next = nullptr;
    return page;
  }
  const uint64_t id = size_.load(std::memory_order_relaxed);
  const Place place = place_of(id);
  if (place.block >= kBlocks || id > UINT32_MAX) return nullptr;
  Page *records = blocks_[place.block].load(std::memory_order_relaxed);
  if (records == nullptr) {
    const uint64_t count = uint64_t{kFirst} << place.block;
    void *const memory = aligned_alloc(alignof(Page), count * sizeof(Page));
    if (memory == nullptr) return nullptr;
    records = static_cast<Page *>(memory);
    blocks_[place.block].store(records, std::memory_order_release);
  }
  // Made one by one: a block for as many pages again costs no memory before there are any.
  Page *const page = new (records + place.index) Page;
  page->id = static_cast<uint32_t>(id);
  size_.store(id + 1, std::memory_order_release);
  return page;
}

void PageTable::free(Page &page) noexcept {
  page.base = nullptr;
  page.region = nullptr;
  page.next = free_;
  free_ = &page;
}

Page *PageTable::find(uint64_t id) noexcept {
  if (id >= size_.load(std::memory_order_acquire)) return nullptr;
  const Place place = place_of(id);
  return blocks_[place.block].load(std::memory_order_acquire) + place.index;
}

}  // namespace hpz
