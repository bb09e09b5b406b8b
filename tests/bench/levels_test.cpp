// SPDX-License-Identifier: BSD-2-Clause
//
// Levels of the machine: by which rows, and between which files.
#include "bench/levels.h"

#include <gmock/gmock.h>

#include "tests/bench/recorded.h"

namespace hpz::bench {
namespace {

using test::Keys;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ResultsFile file(const Keys &context) {
  return parse_results(
      test::results_text({test::entry("memset/4KiB/cold/2m", 0)}, test::usual_context(context)),
      "x.json");
}

std::vector<RowRatio> rows(const std::vector<std::pair<std::string, double>> &ratios,
                           const std::string &cell = "4KiB/cold/2m") {
  std::vector<RowRatio> list;
  for (const auto &[row, ratio] : ratios) list.push_back({row + "/" + cell, ratio});
  return list;
}

TEST(Levels, OneMachineSaysTheSameOfItself) {
  const Keys machine = {{"host_name", "\"a\""}, {"linux", "\"6.1\""}, {"cpu_model", "\"m\""}};
  EXPECT_TRUE(is_one_machine(file(machine), file(machine)));
  for (const char *key : {"host_name", "linux", "cpu_model", "clock_source"}) {
    Keys other = machine;
    other.emplace_back(key, "\"b\"");
    EXPECT_FALSE(is_one_machine(file(machine), file(other))) << key;
  }
  Keys other = machine;
  other.emplace_back("hpzero_version", "\"9\"");
  EXPECT_TRUE(is_one_machine(file(machine), file(other)));
}

TEST(Levels, OneLibraryHasTheSameBytes) {
  const Keys one = {{"hpzero_library", "\"0123456789abcdef\""}};
  EXPECT_TRUE(is_one_library(file(one), file(one)));
  EXPECT_FALSE(is_one_library(file(one), file({{"hpzero_library", "\"1123456789abcdef\""}})));
  for (const char *const choice : {"hpzero_plan_auto", "mapping_kernel"}) {
    Keys told = one;
    told.emplace_back(choice, "\"rep_stosb\"");
    EXPECT_FALSE(is_one_library(file(one), file(told))) << choice;
  }
  EXPECT_FALSE(is_one_library(file({}), file({})));
  const Keys unknown = {{"hpzero_library", "\"unknown\""}};
  EXPECT_FALSE(is_one_library(file(unknown), file(unknown)));
}

TEST(Levels, OneLibrarysRowsAllCalibrate) {
  const auto levels =
      levels_of(rows({{"memset", 1.1}, {"a", 1.1}, {"b", 1.08}, {"c", 1.12}, {"d", 2}}), true);
  ASSERT_THAT(levels, SizeIs(1));
  EXPECT_DOUBLE_EQ(levels.at("4KiB/cold/2m").ratio, 1.1);
  EXPECT_EQ(levels.at("4KiB/cold/2m").rows, 5u);
}

// Half the rows are bound by memory, which became slower: neither half stands out. One that does,
// in a cell whose rows agree, does by little.
TEST(Levels, WhatStandsOutDependsOnTheOthers) {
  const auto stands_out = [](const std::vector<std::pair<std::string, double>> &ratios) {
    return levels_of(rows(ratios), true).at("4KiB/cold/2m").stands_out();
  };
  EXPECT_GT(stands_out({{"a", 0.9}, {"b", 0.9}, {"c", 0.91}, {"d", 1}, {"e", 1}, {"f", 1.01}}),
            1.15);
  EXPECT_LT(stands_out({{"a", 0.99}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1.01}, {"f", 0.7}}), 1.05);
  EXPECT_DOUBLE_EQ(stands_out({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}}), 1);
  EXPECT_DOUBLE_EQ(stands_out({{"memset", 0.5}, {"b", 1}}), 1);
}

// Of another library whose rows all are twice as fast, that is what is to be seen.
TEST(Levels, OtherwiseRowsThatAreNotTheLibrarys) {
  const auto several = rows({{"memset", 1.02}, {"a", 2}, {"b", 2}, {"c", 2}, {"d", 2}});
  const auto levels = levels_of(several, false);
  EXPECT_DOUBLE_EQ(levels.at("4KiB/cold/2m").ratio, 1.02);
  EXPECT_EQ(levels.at("4KiB/cold/2m").rows, 1u);
  EXPECT_THAT(levels_of(rows({{"a", 2}, {"b", 2}}), false), IsEmpty());
  // Of two rows, one that became faster would be half the level.
  EXPECT_THAT(levels_of(rows({{"a", 2}, {"b", 1}}), true), IsEmpty());
  EXPECT_DOUBLE_EQ(levels_of(rows({{"a", 2}, {"memset", 1}}), true).at("4KiB/cold/2m").ratio, 1);
}

TEST(Levels, EachCellHasItsOwn) {
  std::vector<RowRatio> all = rows({{"memset", 1.2}});
  for (const RowRatio &row : rows({{"memset", 0.9}}, "4KiB/cold/1g")) all.push_back(row);
  const auto levels = levels_of(all, false);
  EXPECT_DOUBLE_EQ(levels.at("4KiB/cold/2m").ratio, 1.2);
  EXPECT_DOUBLE_EQ(levels.at("4KiB/cold/1g").ratio, 0.9);
}

}  // namespace
}  // namespace hpz::bench
