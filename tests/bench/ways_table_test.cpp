// SPDX-License-Identifier: BSD-2-Clause
//
// The table of ways to clear a file's memory: which row is compared with which.
#include "bench/ways_table.h"

#include <gmock/gmock.h>

#include "bench/sizes.h"

namespace hpz::bench {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

JobRowResult row(const std::string &id, double us) {
  Sample s;
  s.ranges = 8;
  s.bytes = 8 * 2 * kMiB;
  s.ns = 8 * us * 1e3;
  return {id, "<" + id + ">", {s}};
}

std::string stosb(const char *id) {
  return std::string(id) + kStosbSuffix;
}

// Every figure is another one, so that a wrong row shows.
JobResult result() {
  JobResult r;
  r.rows = {row(kMappedPieces, 1000),
            row(kFencedPieces, 330),
            row(kBarrierPieces, 220),
            row(kPieces, 200),
            row(kDirect, 100),
            row(kSpaceDirect, 125),
            row("window_64MiB", 250),
            row(kPunch, 50),
            row(stosb(kMappedPieces), 800),
            row(stosb(kBarrierPieces), 480),
            row(stosb(kPieces), 400)};
  return r;
}

TEST(WaysTable, SavingsAreAgainstTheMappingOfTheSameColumn) {
  const std::string text = render_ways(result(), "avx9_nt");
  EXPECT_THAT(
      text, ContainsRegex("avx9_nt +\\+- +saved +rate by space_direct +rep_stosb +\\+- +saved\n"));
  EXPECT_THAT(text, ContainsRegex("<mapped_pieces> +1\\.00 ms +0\\.00 ns +0 % +0\\.12 +800 us +"
                                  "0\\.00 ns +0 %\n"));
  EXPECT_THAT(text, ContainsRegex("<barrier_pieces> +220 us +0\\.00 ns +78 % +0\\.57 +480 us +"
                                  "0\\.00 ns +40 %\n"));
  EXPECT_THAT(text, ContainsRegex("<pieces> +200 us .* 400 us +0\\.00 ns +50 %\n"));
  EXPECT_THAT(text, ContainsRegex("<direct> +100 us +0\\.00 ns +90 % +1\\.25 +- +- +-\n"));
  EXPECT_THAT(text, ContainsRegex("<window_64MiB> +250 us +0\\.00 ns +75 % +0\\.50 +- +- +-\n"));
  // The second column has no lines of its own.
  EXPECT_THAT(text, Not(HasSubstr(kStosbSuffix)));
}

TEST(WaysTable, ConclusionsNameTheirRows) {
  const std::string text = conclude_ways(result());
  EXPECT_THAT(text, HasSubstr("address takes 0.10 of a mapping for each piece\n"));
  EXPECT_THAT(text, HasSubstr("address takes 0.25 of rep_stosb piece by piece\n"));
  EXPECT_THAT(text, HasSubstr("with compiler barriers, piece by piece takes 1.10 of the same"));
  EXPECT_THAT(text,
              HasSubstr("with compiler barriers, piece by piece takes 2.20 of the whole extent\n"));
  EXPECT_THAT(text, HasSubstr("with full fences, piece by piece takes 1.65 of the same"));
}

TEST(WaysTable, WithoutPiecesNothingIsSaved) {
  JobResult r = result();
  std::erase_if(r.rows, [](const JobRowResult &one) { return one.id.starts_with(kMappedPieces); });
  EXPECT_THAT(
      render_ways(r, "k"),
      ContainsRegex("<barrier_pieces> +220 us +0\\.00 ns +- +0\\.57 +480 us +0\\.00 ns +-\n"));
  EXPECT_THAT(conclude_ways(r), Not(HasSubstr("a mapping")));
}

TEST(WaysTable, WindowsAreWholePagesAndNoLargerThanThePiece) {
  EXPECT_THAT(windows_for(4 * kKiB, 2 * kMiB), ElementsAre(4 * kKiB, 64 * kKiB, 2 * kMiB));
  // Of 4 KiB there would be 262144.
  EXPECT_THAT(windows_for(4 * kKiB, kGiB), ElementsAre(64 * kKiB, 2 * kMiB, 64 * kMiB, 256 * kMiB));
  EXPECT_THAT(windows_for(64 * kKiB, 2 * kMiB), ElementsAre(64 * kKiB, 2 * kMiB));
  EXPECT_THAT(windows_for(2 * kMiB, 2 * kMiB), ElementsAre(2 * kMiB));
  EXPECT_THAT(windows_for(2 * kMiB, kGiB), ElementsAre(2 * kMiB, 64 * kMiB, 256 * kMiB));
  EXPECT_THAT(windows_for(kGiB, 2 * kGiB), IsEmpty());
}

}  // namespace
}  // namespace hpz::bench
