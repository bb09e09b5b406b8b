// SPDX-License-Identifier: BSD-2-Clause
#include "tests/map/map_fixture.h"

#include <gtest/gtest.h>

namespace hpz::test {

MapPointer make_map(uint64_t len, uint64_t page_bytes, uint64_t subpage_bytes,
                    hpz_page_state initial) {
  hpz_map_options options = HPZ_MAP_OPTIONS_INIT;
  options.len = len;
  options.page_bytes = page_bytes;
  options.subpage_bytes = subpage_bytes;
  options.initial_state = static_cast<int32_t>(initial);
  hpz_map *map = nullptr;
  EXPECT_EQ(hpz_map_create(&options, &map), 0);
  return {map, hpz_map_destroy};
}

hpz_map_counts counts_of(const hpz_map *map) {
  hpz_map_counts counts = HPZ_MAP_COUNTS_INIT;
  EXPECT_EQ(hpz_map_counts_get(map, &counts), 0);
  return counts;
}

}  // namespace hpz::test
