// SPDX-License-Identifier: BSD-2-Clause
#include "bench/page_map.h"

#include "bench/crew.h"

namespace hpz::bench {

PageMap::PageMap(uint64_t bytes, uint64_t page_bytes, hpz_page_state state,
                 uint64_t subpage_bytes) {
  hpz_map_options options = HPZ_MAP_OPTIONS_INIT;
  options.len = bytes;
  options.page_bytes = page_bytes;
  options.subpage_bytes = subpage_bytes;
  options.initial_state = static_cast<int32_t>(state);
  check_call(hpz_map_create(&options, &map_), "hpz_map_create");
}

PageMap::~PageMap() {
  hpz_map_destroy(map_);
}

hpz_map_counts PageMap::counts() const {
  hpz_map_counts counts = HPZ_MAP_COUNTS_INIT;
  check_call(hpz_map_counts_get(map_, &counts), "hpz_map_counts_get");
  return counts;
}

void PageMap::set(uint64_t offset, uint64_t bytes, hpz_page_state state) {
  check_call(hpz_map_set(map_, offset, bytes, state), "hpz_map_set");
}

void PageMap::set_dirty_bitmap(const std::vector<uint64_t> &words) {
  check_call(hpz_map_set_dirty_bitmap(map_, 0, words.data(), words.size() * 64),
             "hpz_map_set_dirty_bitmap");
}

hpz_job_report PageMap::zero(hpz_space *space, uint64_t offset, uint64_t bytes) {
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  check_call(hpz_map_zero(map_, space, nullptr, offset, bytes, nullptr, &report), "hpz_map_zero");
  return report;
}

hpz_job_report PageMap::populate(hpz_space *space, uint64_t offset, uint64_t bytes) {
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  check_call(hpz_map_populate(map_, space, nullptr, offset, bytes, nullptr, &report),
             "hpz_map_populate");
  return report;
}

}  // namespace hpz::bench
