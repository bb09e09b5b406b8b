// SPDX-License-Identifier: BSD-2-Clause
//
// The records of all pages of a pool, by number. They never move, so that a ticket, which names one
// by number, can be looked up without a lock.
#ifndef HPZERO_LIB_POOL_PAGE_TABLE_H
#define HPZERO_LIB_POOL_PAGE_TABLE_H

#include <stdint.h>

#include <atomic>

#include "lib/pool/page.h"

namespace hpz {

// One thread at a time adds and frees; any thread finds.
class PageTable {
 public:
  PageTable() noexcept = default;
  ~PageTable();
  PageTable(const PageTable &) = delete;
  PageTable &operator=(const PageTable &) = delete;

  // A record that nobody uses, absent; null: no memory.
  Page *allocate() noexcept;
  // It may be used again: for another page, whose tickets are others.
  void free(Page &page) noexcept;
  // Null: there has never been such a page.
  Page *find(uint64_t id) noexcept;

 private:
  // Block i has kFirst << i records: 2^32 of them in 26 blocks.
  static constexpr uint32_t kFirst = 64, kBlocks = 26;
  struct Place {
    uint32_t block;
    uint64_t index;
  };
  static Place place_of(uint64_t id) noexcept;

  std::atomic<Page *> blocks_[kBlocks] = {};
  std::atomic<uint64_t> size_{0};
  Page *free_ = nullptr;  // by Page::next
};

}  // namespace hpz

#endif
