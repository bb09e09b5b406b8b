// SPDX-License-Identifier: BSD-2-Clause
//
// Rows of holes: the next ones are made elsewhere, and none are left. That ways clear all of their
// memory, they check themselves.
#include "bench/ways.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "bench/sizes.h"
#include "bench/ways_table.h"
#include "tests/support/settings.h"

namespace hpz::bench {
namespace {

constexpr uint64_t kSize = 64 * kKiB;
constexpr size_t kRanges = 2, kPieceCount = 8;
constexpr uint64_t kBytes = kPieceCount * kSize;

blkcnt_t blocks(const FileMemory &memory) {
  struct stat status = {};
  EXPECT_EQ(fstat(memory.fd(), &status), 0);
  return status.st_blocks;
}

size_t dirty_pieces(const FileMemory &memory) {
  size_t count = 0;
  for (uint64_t at = 0; at < kBytes; at += kSize) count += memory.base()[at] != 0;
  return count;
}

void expect_to_move_on(const JobRow &row, FileMemory &spare) {
  SCOPED_TRACE(row.id);
  std::memset(spare.base(), 0xA5, kBytes);
  const blkcnt_t full = blocks(spare);
  for (size_t left = kPieceCount; left > 0;) {
    const Sample sample = row.take();
    EXPECT_EQ(sample.ranges, kRanges);
    EXPECT_EQ(sample.bytes, kRanges * kSize);
    EXPECT_GT(sample.ns, 0);
    // An emulator knows nothing of MADV_POPULATE_WRITE, and says that it was done.
    if (!test::is_set("HPZERO_TEST_EMULATOR")) {
      EXPECT_EQ(blocks(spare), full);
    }
    left -= kRanges;
    ASSERT_EQ(dirty_pieces(spare), left);
  }
}

TEST(Ways, HolesAreElsewhereEachTimeAndFilledAgain) {
  const FileMemory memory(PageKind::k4k, kBytes, [](uint64_t) {});
  FileMemory spare(PageKind::k4k, kBytes, [](uint64_t) {});
  SampleShape shape;
  shape.ranges = kRanges;
  shape.distinct = kPieceCount;
  Walk walk(memory.base(), PageKind::k4k, MemoryState::kCold, kSize, shape);
  Walk spare_walk(spare.base(), PageKind::k4k, MemoryState::kCold, kSize, shape);
  const auto rows = way_rows({PageKind::k4k, kSize, kRanges, &memory, &walk, &spare, &spare_walk});
  for (const std::string id : {kPunch, kPunchPopulate}) {
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const JobRow &candidate) { return candidate.id == id; });
    ASSERT_NE(row, rows.end()) << id;
    expect_to_move_on(*row, spare);
  }
}

}  // namespace
}  // namespace hpz::bench
