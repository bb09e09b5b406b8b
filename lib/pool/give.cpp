// SPDX-License-Identifier: BSD-2-Clause
//
// Giving pages back.
#include <errno.h>

#include "lib/pool/pool.h"

namespace hpz {

int Pool::give_one(const hpz_page &given, uint32_t flags) noexcept {
  const auto generation = static_cast<uint32_t>(given.ticket >> 32);
  Page *const page = table_.find(given.ticket & UINT32_MAX);
  if (page == nullptr || generation == 0) return -EINVAL;
  PoolNode &node = *nodes_[page->node.load(std::memory_order_relaxed)];
  const bool is_dropped = source_.is_exported && (flags & HPZ_GIVE_SOLE_OWNER) == 0;
  const bool is_cleared = (flags & HPZ_GIVE_CLEAR) != 0;
  MappedMemory dropped;
  FutexWord *word = nullptr;
  bool has_too_many = false, is_bad = false;
  const int error = node.locked([&] {
    // Of another node now, or of another taking: its number has been used again.
    if (page->node.load(std::memory_order_relaxed) != node.index) return -ESTALE;
    if (page->generation != generation) {
      const auto since = static_cast<int32_t>(page->generation - generation);
      return since > 0 ? -ESTALE : -EINVAL;  // of the past, or of none
    }
    if (page->state != PoolPageState::kTaken) return -ESTALE;
    if (page->base != given.base) return -EINVAL;
    is_bad = page->is_bad;
    if (is_dropped) {
      node.pages.begin_given(*page);
      dropped = page->region->memory;
      page->region->memory = {};
      page->base = nullptr;
      page->fd = -1;
      page->has_memory = false;
      page->chunks.close();  // nothing is there to be cleared
    } else if (is_cleared) {
      node.pages.begin_given(*page);
    } else {
      node.pages.give(*page, (flags & HPZ_GIVE_UNWRITTEN) != 0 && page->was_zero);
      word = whom_to_wake(node);
    }
    has_too_many = node.has_too_many();
    node.events.look(node.pages.counts());
    return 0;
  });
  if (error != 0) return error;
  if (is_dropped) unmap_memory(dropped, unit_bytes_);
  if (is_cleared) {
    (void)clear_for_pool(node, *page, is_dropped && !is_bad);
  } else if (is_dropped) {
    leave({node, *page, false, false});
    wake_filler(node);
  } else {
    if (word != nullptr) futex_wake(*word, 1);
    tell_waiters();
    if (has_too_many) drop_spares(node);
  }
  return 0;
}

int Pool::give(const hpz_page *pages, size_t count, uint32_t flags) noexcept {
  const size_t size = pages->size;
  int result = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto *const at =
        reinterpret_cast<const hpz_page *>(reinterpret_cast<const char *>(pages) + i * size);
    const int error = give_one(*at, flags);
    if (result == 0) result = error;
  }
  return result;
}

}  // namespace hpz
