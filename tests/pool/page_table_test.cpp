// SPDX-License-Identifier: BSD-2-Clause
//
// The records of pages: where they are, they stay, whatever is added and freed.
#include "lib/pool/page_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace hpz::test {
namespace {

TEST(PageTable, records_stay_where_they_are) {
  PageTable table;
  std::vector<Page *> all;
  for (uint32_t i = 0; i < 1000; ++i) {
    Page *const page = table.allocate();
    ASSERT_NE(page, nullptr);
    EXPECT_EQ(page->id, i);
    all.push_back(page);
  }
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(table.find(i), all[i]);
  EXPECT_EQ(table.find(1000), nullptr);
  EXPECT_EQ(table.find(UINT32_MAX), nullptr);
  EXPECT_EQ(table.find(UINT64_MAX), nullptr);
  table.free(*all[500]);
  EXPECT_EQ(table.find(500), all[500]) << "tickets of the past are looked up, too";
  EXPECT_EQ(table.allocate(), all[500]);
  EXPECT_EQ(table.allocate()->id, 1000u);
}

}  // namespace
}  // namespace hpz::test
