// SPDX-License-Identifier: BSD-2-Clause
//
// Warnings: each in its situation, none without, and all with something to do.
#include "bench/warnings.h"

#include <gmock/gmock.h>

#include "bench/sizes.h"

namespace hpz::bench {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Sample sample(uint64_t bytes, double ns) {
  Sample s;
  s.bytes = bytes;
  s.ns = ns;
  s.ranges = s.sections = 1;
  return s;
}

CellResult cell(MemoryState state, uint64_t size, std::vector<Sample> samples) {
  CellResult result;
  result.cell = {PageKind::k4k, state, size};
  result.rows.push_back({"memset", "memset", RowKind::kKernel, std::move(samples)});
  return result;
}

Circumstances quiet() {
  Circumstances circumstances;
  circumstances.caches = {32 * kKiB, kMiB, 32 * kMiB};
  circumstances.smallest_cold_set_bytes = kGiB;
  circumstances.governor = "performance";
  circumstances.cpus = 8;
  return circumstances;
}

CellResult quiet_cell() {
  return cell(MemoryState::kCold, kGiB,
              {sample(kGiB, 1e8), sample(kGiB, 1e8), sample(kGiB, 1.01e8)});
}

std::vector<std::string> found(const std::vector<CellResult> &results,
                               const Circumstances &circumstances) {
  const std::vector<std::string> warnings = find_warnings(results, circumstances);
  for (const std::string &warning : warnings) {
    // What is wrong, a colon, what to do.
    const size_t colon = warning.rfind(": ");
    EXPECT_NE(colon, std::string::npos) << warning;
    EXPECT_LT(colon + 10, warning.size()) << warning;
  }
  return warnings;
}

TEST(Warnings, NoneForAQuietRun) {
  EXPECT_THAT(found({quiet_cell()}, quiet()), IsEmpty());
}

TEST(Warnings, BuffersThatAreCacheAreCalledCache) {
  const auto small =
      cell(MemoryState::kHot, kMiB, {sample(kMiB, 1e5), sample(kMiB, 1e5), sample(kMiB, 1e5)});
  EXPECT_THAT(found({small}, quiet()), Contains(HasSubstr("1MiB show caches")));
  Circumstances circumstances = quiet();
  circumstances.smallest_cold_set_bytes = 64 * kMiB;
  EXPECT_THAT(found({quiet_cell()}, circumstances), Contains(HasSubstr("--set 128MiB")));
}

TEST(Warnings, NoiseFaultsPreemptionFewRounds) {
  EXPECT_THAT(found({cell(MemoryState::kCold, kGiB,
                          {sample(kGiB, 1e8), sample(kGiB, 2e8), sample(kGiB, 3e8)})},
                    quiet()),
              Contains(HasSubstr("quartiles")));
  CellResult faulted = quiet_cell();
  faulted.rows[0].samples[0].faults = 1;
  EXPECT_THAT(found({faulted}, quiet()), Contains(HasSubstr("page faults")));
  CellResult fresh = faulted;
  fresh.cell.state = MemoryState::kFresh;
  EXPECT_THAT(found({fresh}, quiet()), Not(Contains(HasSubstr("page faults"))));
  CellResult preempted = quiet_cell();
  preempted.rows[0].samples[0].preempted = 1;
  EXPECT_THAT(found({preempted}, quiet()), Contains(HasSubstr("interrupted")));
  EXPECT_THAT(found({cell(MemoryState::kCold, kGiB, {sample(kGiB, 1e8)})}, quiet()),
              Contains(HasSubstr("--size 1GiB")));
}

TEST(Warnings, OfJobsNameTheirOptions) {
  Circumstances circumstances = quiet();
  circumstances.are_jobs = true;
  circumstances.has_size_list = false;
  circumstances.smallest_cold_set_bytes = 64 * kMiB;
  const auto few = cell(MemoryState::kCold, 8 * kGiB, {sample(kGiB, 1e8)});
  const std::vector<std::string> warnings = found({few}, circumstances);
  EXPECT_THAT(warnings, Contains(HasSubstr("the buffer of 64MiB")));
  EXPECT_THAT(warnings, Contains(HasSubstr("use --size 128MiB")));
  EXPECT_THAT(warnings, Contains(HasSubstr("rounds: run again with a larger --seconds")));
  EXPECT_THAT(warnings, Not(Contains(HasSubstr("--size 8GiB"))));
}

TEST(Warnings, OfCachesAreForWhoHasNothingOfMemoryBesideThem) {
  const auto near = cell(MemoryState::kRecycled, kMiB, {sample(kMiB, 1e5)});
  const auto cold = cell(MemoryState::kCold, kMiB, {sample(kMiB, 1e5)});
  EXPECT_THAT(found({near}, quiet()), Contains(HasSubstr("show caches")));
  EXPECT_THAT(found({near, cold}, quiet()), Not(Contains(HasSubstr("show caches"))));
}

TEST(Warnings, AreKeptAsOneText) {
  EXPECT_EQ(joined_warnings({}), "");
  EXPECT_EQ(joined_warnings({"one: do", "two: do"}), "one: do; two: do");
}

TEST(Warnings, SubtractionThatIsLarge) {
  CellResult result = quiet_cell();
  for (Sample &s : result.rows[0].samples) s.clock_ns = s.ns / 10;
  EXPECT_THAT(found({result}, quiet()), Contains(HasSubstr("subtracted")));
}

TEST(Warnings, Machine) {
  Circumstances circumstances = quiet();
  circumstances.governor = "powersave";
  EXPECT_THAT(found({quiet_cell()}, circumstances), Contains(HasSubstr("powersave")));
  circumstances = quiet();
  circumstances.governor = "unknown";
  EXPECT_THAT(found({quiet_cell()}, circumstances), IsEmpty());
  circumstances.cpus = 1;
  EXPECT_THAT(found({quiet_cell()}, circumstances), Contains(HasSubstr("single CPU")));
  circumstances = quiet();
  circumstances.is_pinned = false;
  EXPECT_THAT(found({quiet_cell()}, circumstances), Contains(HasSubstr("taskset")));
  circumstances = quiet();
  circumstances.stolen_part = 0.05;
  EXPECT_THAT(found({quiet_cell()}, circumstances), Contains(HasSubstr("5 %")));
}

}  // namespace
}  // namespace hpz::bench
