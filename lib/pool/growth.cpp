// SPDX-License-Identifier: BSD-2-Clause
//
// How many pages there are: growing, all or nothing, and shrinking, with memory given back to the
// kernel.
#include <errno.h>
#include <stdlib.h>

#include <algorithm>
#include <new>

#include "lib/pool/huge_pages.h"
#include "lib/pool/pool.h"

namespace hpz {

// What a node is about to get.
struct Pool::Growth {
  Array<Page *> pages;
  Array<hpz_range> ranges;
  uint64_t refilled = 0;   // the first of the pages, which were holes
  Region *made = nullptr;  // for the others
};

// --- Regions -------------------------------------------------------------------------------------

// Of memory that is mapped already; the pages are absent. -ENOMEM: the memory is still the caller's
// to unmap.
int Pool::make_region(uint32_t node, const MappedMemory &memory, uint64_t bytes,
                      Region **out) noexcept {
  void *const place = malloc(sizeof(Region));
  if (place == nullptr) return -ENOMEM;
  auto *const region = new (place) Region;
  const uint64_t count = bytes / unit_bytes_;
  bool is_enough = region->pages.reserve(count);
  for (uint64_t i = 0; is_enough && i < count; ++i) {
    Page *const page = table_.allocate();
    is_enough = page != nullptr && region->pages.push_back(page);
    if (!is_enough) break;
    page->base = memory.base + i * unit_bytes_;
    page->region = region;
    page->fd = memory.fd;
    page->was_zero = true;
    page->is_hole = false;
    page->node.store(node, std::memory_order_relaxed);
  }
  if (!is_enough) {
    forget_region(region);  // it has no memory yet
    return -ENOMEM;
  }
  region->memory = memory;
  region->bytes = bytes;
  *out = region;
  return 0;
}

// It is in no list, and all its pages are absent.
void Pool::forget_region(Region *region) noexcept {
  for (Page *const page : region->pages) table_.free(*page);
  unmap_memory(region->memory, region->bytes);
  region->~Region();
  free(region);
}

// A page that has just become absent gives its memory back.
void Pool::make_hole(Page &page) noexcept {
  Region *const region = page.region;
  if (region->pages.size() != 1) page.was_zero = drop_memory(source_, page.base, unit_bytes_);
  const MutexLock lock(regions_lock_);
  page.is_hole = true;
  --region->present;
  if (region->present != 0) return;
  Region **at = &regions_;
  while (*at != region) at = &(*at)->next;
  *at = region->next;
  forget_region(region);
}

// --- Growing -------------------------------------------------------------------------------------

int Pool::may_grow(const PoolNode &node, uint64_t pages) const noexcept {
  if (leave_pages_ == 0) return 0;
  const int64_t free = free_huge_pages("", source_.page_bytes, node.id);
  if (free < 0) return 0;  // nobody tells: the kernel's refusal is all there is
  const uint64_t wanted = pages * (unit_bytes_ / source_.page_bytes);
  const auto there = static_cast<uint64_t>(free);
  return there < wanted || there - wanted < leave_pages_ ? -EDQUOT : 0;
}

// Holes of the node's regions, then new ones.
int Pool::plan_growth(const PoolNode &node, uint64_t pages, Growth &growth) noexcept {
  const MutexLock lock(regions_lock_);
  if (!growth.pages.reserve(pages)) return -ENOMEM;
  for (Region *region = regions_; region != nullptr; region = region->next) {
    for (Page *const page : region->pages) {
      if (growth.pages.size() == pages) break;
      if (!page->is_hole || page->node.load(std::memory_order_relaxed) != node.index) continue;
      if (!growth.ranges.push_back({page->base, unit_bytes_})) return -ENOMEM;
      (void)growth.pages.push_back(page);  // reserved above
      page->is_hole = false;
      ++region->present;
      ++growth.refilled;
    }
  }
  while (growth.pages.size() < pages) {
    const uint64_t bytes = std::min((pages - growth.pages.size()) * unit_bytes_, region_bytes_);
    MappedMemory memory;
    Region *region = nullptr;
    int error = map_memory(source_, bytes, memory);
    if (error != 0) return error;
    error = make_region(node.index, memory, bytes, &region);
    if (error != 0) {
      unmap_memory(memory, bytes);
      return error;
    }
    region->next = growth.made;
    growth.made = region;
    if (!growth.ranges.push_back({memory.base, bytes})) return -ENOMEM;
    for (Page *const page : region->pages) (void)growth.pages.push_back(page);
  }
  return 0;
}

void Pool::undo_growth(Growth &growth) noexcept {
  for (uint64_t i = 0; i < growth.refilled; ++i) make_hole(*growth.pages[i]);
  const MutexLock lock(regions_lock_);
  while (growth.made != nullptr) {
    Region *const region = growth.made;
    growth.made = region->next;
    forget_region(region);
  }
}

void Pool::commit_growth(PoolNode &node, Growth &growth) noexcept {
  for (const hpz_range &range : growth.ranges) {
    const uint64_t obtained =
        obtained_page_bytes(source_, static_cast<const char *>(range.base), range.len);
    if (obtained < obtained_bytes_.load()) obtained_bytes_.store(obtained);
  }
  {
    const MutexLock lock(regions_lock_);
    while (growth.made != nullptr) {
      Region *const region = growth.made;
      growth.made = region->next;
      region->present = region->pages.size();
      region->next = regions_;
      regions_ = region;
    }
  }
  for (Page *const page : growth.pages) {
    node.locked([&] {
      node.pages.add(*page, page->was_zero);
      node.events.look(node.pages.counts());
    });
  }
  wake_filler(node);
  tell_waiters();
}

int Pool::grow(PoolNode &node, uint64_t pages) noexcept {
  int error = may_grow(node, pages);
  if (error != 0) return error;
  Growth growth;
  error = plan_growth(node, pages, growth);
  if (error == 0) {
    const Population how = {has_many_nodes_ ? node.id : -1, team_, nullptr};
    uint32_t report_flags = 0;
    error = populate_memory(source_, growth.ranges.data(), growth.ranges.size(), how, report_flags);
    if ((report_flags & HPZ_JOB_NO_PLACEMENT) != 0) flags_.fetch_or(HPZ_POOL_NO_PLACEMENT);
  }
  // Others may have been as fast.
  if (error == 0) error = may_grow(node, 0);
  if (error == 0) {
    commit_growth(node, growth);
  } else {
    undo_growth(growth);
  }
  return error;
}

// --- Shrinking -----------------------------------------------------------------------------------

// Those that nobody has. The filler has begun nothing while there were too many.
void Pool::drop_spares(PoolNode &node) noexcept {
  for (;;) {
    Page *const page = node.locked([&]() -> Page * {
      if (!node.has_too_many()) return nullptr;
      Page *const spare = node.pages.pop_spare();
      node.events.look(node.pages.counts());
      return spare;
    });
    if (page == nullptr) break;
    make_hole(*page);
  }
  wake_filler(node);
}

void Pool::shrink(PoolNode &node) noexcept {
  Filler &filler = node.filler;
  filler.pausers.fetch_add(1, std::memory_order_relaxed);
  for (;;) {
    drop_spares(node);
    uint32_t rests = 0;
    enum { kDone, kAgain, kWaits };
    const int then = node.locked([&] {
      rests = filler.rests.load(std::memory_order_relaxed);
      if (!node.has_too_many()) return int{kDone};
      if (filler.current != nullptr) return int{kWaits};
      return node.pages.has_spare() ? int{kAgain} : int{kDone};  // what it has left meanwhile
    });
    if (then == kDone) break;
    if (then == kAgain) continue;
    filler.lift();
    futex_wait(filler.rests, rests, 0);
  }
  filler.pausers.fetch_sub(1, std::memory_order_relaxed);
  wake_filler(node);
}

int Pool::resize_node(PoolNode &node, uint64_t pages) noexcept {
  if (source_.backing == HPZ_BACKING_RANGE) return -EOPNOTSUPP;
  if (most_pages_ != 0 && pages > most_pages_) return -EDQUOT;
  if (pages >= UINT32_MAX || pages > kMostBytes / unit_bytes_) return -EINVAL;
  uint64_t target_before = 0;
  const uint64_t usable = node.locked([&] {
    target_before = node.target;
    node.target = std::max(node.target, pages);  // none of what comes is too many
    return node.pages.counts().usable();
  });
  int error = 0;
  if (pages > usable) error = grow(node, pages - usable);
  node.locked([&] { node.target = error == 0 ? pages : target_before; });
  // After an error: what came back meanwhile was not too many then.
  if (error != 0 || pages < usable) {
    shrink(node);
  } else {
    wake_filler(node);  // what was too many may be so no longer
  }
  return error;
}

int Pool::resize(int32_t node, uint64_t pages) noexcept {
  const MutexLock lock(growth_);
  return for_nodes(node, [&](PoolNode &each) { return resize_node(each, pages); });
}

}  // namespace hpz
