// SPDX-License-Identifier: BSD-2-Clause
//
// What rows are called in the report: JSON has their ids alone, and in no order. Pure.
#ifndef HPZERO_BENCH_ROW_TITLES_H
#define HPZERO_BENCH_ROW_TITLES_H

#include <cstdint>
#include <string>
#include <string_view>

namespace hpz::bench {

// The id without "_t2", and that number; 0: there is none.
struct RowFamily {
  std::string name;
  uint32_t threads = 0;
};
RowFamily family_of(std::string_view id);

// The id itself where nothing better is known.
std::string row_title(std::string_view id);
std::string family_title(std::string_view family);

// Whether a comes before b in tables: as experiments have them, then by name, then by threads.
bool is_row_before(std::string_view a, std::string_view b);

}  // namespace hpz::bench

#endif
