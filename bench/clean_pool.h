// SPDX-License-Identifier: BSD-2-Clause
//
// A pool of the library on one kind of pages, of one node, and the states that a measurement begins
// with: all pages clean, or all of them dirty.
#ifndef HPZERO_BENCH_CLEAN_POOL_H
#define HPZERO_BENCH_CLEAN_POOL_H

#include <hpzero/hpzero.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "bench/crew.h"
#include "bench/pages.h"

namespace hpz::bench {

struct CleanPoolRequest {
  PageKind kind = PageKind::k4k;
  int node = kAnyNode;
  uint64_t bytes = 0;   // a multiple of the kind's pages
  int filler_cpu = -1;  // -1: all that the calling thread may use
  uint32_t flags = 0;   // HPZ_POOL_*, beyond those that the kind needs
};

class CleanPool {
 public:
  // Filling is off. Throws Refusal for memory that cannot be had.
  explicit CleanPool(const CleanPoolRequest &request);
  ~CleanPool();
  CleanPool(const CleanPool &) = delete;
  CleanPool &operator=(const CleanPool &) = delete;

  size_t pages() const { return pages_; }
  uint64_t page_bytes() const { return page_bytes_; }

  // take_options: of its node and of no other. take throws where there is none.
  hpz_take_options take_options(uint32_t flags = 0) const;
  void take(const hpz_take_options &options, hpz_page &page) const {
    const int taken = hpz_pool_take(pool_, &options, &page, 1);
    if (taken != 1) check_call(taken < 0 ? taken : -EAGAIN, "hpz_pool_take");
  }
  void give(const std::vector<hpz_page> &pages, uint32_t flags = 0) const;
  void give(const hpz_page &page, uint32_t flags) const {
    check_call(hpz_pool_give(pool_, &page, 1, flags), "hpz_pool_give");
  }

  // Whatever is clean becomes dirty; how many pages these were.
  size_t make_dirty() const;

  void set_filling(bool is_on) const;
  // Nothing is taken. Filling goes on, or is off, when they return.
  void fill_all() const;
  void dirty_all() const;

  hpz_pool_stats stats() const;

 private:
  hpz_pool *pool_ = nullptr;
  int node_;
  size_t pages_;
  uint64_t page_bytes_;
};

}  // namespace hpz::bench

#endif
