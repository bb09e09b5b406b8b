// SPDX-License-Identifier: BSD-2-Clause
//
// Cells of a file of samples, and the plan that it names; rows in the order of tables.
#include "bench/recorded_cells.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "bench/figure_words.h"
#include "bench/row_titles.h"
#include "recorded.h"

namespace hpz::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ResultsFile parse(const std::vector<test::Keys> &entries, const test::Keys &context = {}) {
  return parse_results(test::results_text(entries, test::usual_context(context)), "x.json");
}

std::vector<std::string> rows_of(const RecordedCell &cell) {
  std::vector<std::string> rows;
  for (const RecordedTask *const task : cell.rows) rows.push_back(task->row);
  return rows;
}

TEST(RecordedCells, HoldRowsOfOneSizeStateAndPages) {
  const ResultsFile file =
      parse({test::entry("memset/4KiB/cold/2m", 0), test::entry("hpz_zero/4KiB/cold/2m", 0),
             test::entry("memset/8KiB/cold/2m", 0), test::entry("memset/4KiB/cold/4k", 0),
             test::entry("cancel/call", 0)});
  const std::vector<RecordedCell> cells = cells_of(file);
  ASSERT_EQ(cells.size(), 4u);
  EXPECT_THAT(rows_of(cells[0]), ElementsAre("hpz_zero", "memset"));
  EXPECT_EQ(cells[0].size_bytes, 4096u);
  EXPECT_EQ(cells[3].state, "call");
  EXPECT_EQ(cells[0].find("memset")->name, "memset/4KiB/cold/2m");
  EXPECT_EQ(cells[0].find("nobody"), nullptr);
}

TEST(RecordedCells, RatiosAreOfTheSameRounds) {
  const ResultsFile file = parse(
      {test::timed_entry("a/4KiB/cold/2m", 0, 100), test::timed_entry("a/4KiB/cold/2m", 2, 300),
       test::timed_entry("b/4KiB/cold/2m", 1, 1), test::timed_entry("b/4KiB/cold/2m", 2, 600)});
  const RecordedCell cell = cells_of(file).front();
  EXPECT_DOUBLE_EQ(rate_ratio(*cell.find("a"), *cell.find("b")), 2);
  EXPECT_DOUBLE_EQ(time_ratio(*cell.find("a"), *cell.find("b")), 0.5);
}

TEST(RecordedCells, RatiosOfNoCommonRoundAreNone) {
  const ResultsFile file =
      parse({test::entry("a/4KiB/cold/2m", 0), test::entry("b/4KiB/cold/2m", 1)});
  const RecordedCell cell = cells_of(file).front();
  EXPECT_EQ(rate_ratio(*cell.find("a"), *cell.find("b")), 0);
}

TEST(RecordedPlan, ReadsBandsAndTheProbe) {
  const ResultsFile file =
      parse({test::entry("memset/4KiB/cold/2m", 0)},
            {{"hpzero_plan_auto", "\"a_st to 36KiB, b_st to 48MiB, c_nt above\""},
             {"hpzero_plan_stream", "\"memset to 1KiB, d_nt above\""},
             {"hpzero_probe", "\"256KiB to 48MiB, 247 ticks\""}});
  const RecordedPlan plan(file);
  EXPECT_EQ(plan.kernel("recycled", 36 << 10), "a_st");
  EXPECT_EQ(plan.kernel("recycled", (36 << 10) + 1), "b_st");
  EXPECT_EQ(plan.kernel("cold", 128 << 10), "b_st");
  EXPECT_EQ(plan.kernel("cold", 256 << 10), "d_nt");
  EXPECT_EQ(plan.kernel("recycled", 256 << 10), "b_st");
  EXPECT_EQ(plan.kernel("cold", uint64_t{1} << 40), "c_nt");
}

TEST(RecordedPlan, TellsNothingWhereTheTextIsNone) {
  for (const char *const text : {"", "a", "a to", "a to b, c above", "a b c d", "to to to to"}) {
    const ResultsFile file = parse({test::entry("memset/4KiB/cold/2m", 0)},
                                   {{"hpzero_plan_auto", "\"" + std::string(text) + "\""},
                                    {"hpzero_probe", "\"" + std::string(text) + "\""}});
    EXPECT_THAT(RecordedPlan(file).kernel("cold", 4096), IsEmpty()) << text;
  }
}

TEST(Subjects, AreToldByWhatACellHolds) {
  const auto subject = [](const std::string &name, const test::Keys &more = {}) {
    const ResultsFile file = parse({test::entry(name, 0, more)});
    return subject_of(cells_of(file).front());
  };
  EXPECT_EQ(subject("memset/4KiB/cold/2m"), CellSubject::kSizes);
  EXPECT_EQ(subject("team_t2/1GiB/touched/2m.node1"), CellSubject::kThreads);
  EXPECT_EQ(subject("populate_t1/1GiB/fresh/2m"), CellSubject::kThreads);
  EXPECT_EQ(subject("direct/2MiB/cold/thp"), CellSubject::kParts);
  EXPECT_EQ(subject("memset/8B/call/hot"), CellSubject::kCalls);
  EXPECT_EQ(subject("pool_on/2GiB/once/2m", {{"median_ns", "5.0"}}), CellSubject::kWaits);
  EXPECT_EQ(subject("memset/1GiB/same_thread/2m", {{"l2_pass_ns", "5.0"}}),
            CellSubject::kBystanders);
  EXPECT_EQ(subject("memset/1GiB/cold/2m", {{"l2_pass_ns", "5.0"}}), CellSubject::kSizes);
  EXPECT_EQ(subject("cancel/call"), CellSubject::kOther);
  EXPECT_EQ(subject("x/1GiB/waltz/ballroom"), CellSubject::kOther);
}

TEST(RowFamilies, AreNamesAndThreads) {
  EXPECT_EQ(family_of("team_t16").name, "team");
  EXPECT_EQ(family_of("team_t16").threads, 16u);
  for (const char *const alone : {"memset", "_t2", "a_t", "a_t0", "a_t99999999999", "a_tx", ""}) {
    EXPECT_EQ(family_of(alone).name, alone);
    EXPECT_EQ(family_of(alone).threads, 0u);
  }
}

TEST(RowTitles, AreInTheOrderOfTablesAndThreads) {
  std::vector<std::string> rows = {"memset_t2", "team_t16", "zz", "team_t2", "hpz_zero", "memset"};
  std::sort(rows.begin(), rows.end(), is_row_before);
  EXPECT_THAT(rows, ElementsAre("hpz_zero", "team_t2", "team_t16", "memset", "memset_t2", "zz"));
  EXPECT_EQ(row_title("team_t2"), "hpz_space_zero, a team, 2 threads");
  EXPECT_EQ(row_title("populate"), "hpz_space_populate alone");
  EXPECT_EQ(row_title("populate_t1"), "hpz_space_populate, a team, 1 thread");
  EXPECT_EQ(row_title("rep_stosb_per_4KiB"), "REP STOSB per 4 KiB");
  EXPECT_EQ(row_title("who?"), "who?");
}

TEST(PagesTitles, NameTheNode) {
  EXPECT_EQ(pages_title("2m.node3"), "2 MiB pages (hugetlb), node 3");
  EXPECT_EQ(pages_title("ballroom"), "ballroom");
  EXPECT_EQ(pages_title(""), "");
}

}  // namespace
}  // namespace hpz::bench
