// SPDX-License-Identifier: BSD-2-Clause
//
// Maps as the tests of this folder make them.
#ifndef HPZERO_TESTS_MAP_MAP_FIXTURE_H
#define HPZERO_TESTS_MAP_MAP_FIXTURE_H

#include <hpzero/map.h>
#include <stdint.h>

#include <memory>

namespace hpz::test {

using MapPointer = std::unique_ptr<hpz_map, decltype(&hpz_map_destroy)>;

// A failure of the test if there is none.
MapPointer make_map(uint64_t len, uint64_t page_bytes, uint64_t subpage_bytes,
                    hpz_page_state initial);

hpz_map_counts counts_of(const hpz_map *map);

}  // namespace hpz::test

#endif
