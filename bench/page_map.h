// SPDX-License-Identifier: BSD-2-Clause
//
// The library's map of what is known to be zero as a C++ value, and its verbs.
#ifndef HPZERO_BENCH_PAGE_MAP_H
#define HPZERO_BENCH_PAGE_MAP_H

#include <hpzero/hpzero.h>

#include <cstdint>
#include <vector>

#include "bench/statistics.h"

namespace hpz::bench {

class PageMap {
 public:
  // subpage_bytes 0: the library's.
  PageMap(uint64_t bytes, uint64_t page_bytes, hpz_page_state state, uint64_t subpage_bytes = 0);
  ~PageMap();
  PageMap(const PageMap &) = delete;
  PageMap &operator=(const PageMap &) = delete;

  hpz_map_counts counts() const;

  // All of these throw what the library refuses.
  void set(uint64_t offset, uint64_t bytes, hpz_page_state state);
  void set_dirty_bitmap(const std::vector<uint64_t> &words);
  // On the calling thread alone; what the map knew already is not cleared, and the report says so.
  hpz_job_report zero(hpz_space *space, uint64_t offset, uint64_t bytes);
  hpz_job_report populate(hpz_space *space, uint64_t offset, uint64_t bytes);

 private:
  hpz_map *map_ = nullptr;
};

}  // namespace hpz::bench

#endif
