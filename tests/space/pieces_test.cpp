// SPDX-License-Identifier: BSD-2-Clause
//
// Extents to pieces, pieces to chunks: by tables and by properties over invented addresses.
#include "lib/space/pieces.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/support/settings.h"

namespace hpz::test {
namespace {

char *address(uintptr_t at) {
  return reinterpret_cast<char *>(at);
}

std::vector<hpz_extent> list(const Array<Piece> &pieces) {
  std::vector<hpz_extent> out;
  for (const Piece &piece : pieces)
    out.push_back({reinterpret_cast<uintptr_t>(piece.at), piece.bytes});
  return out;
}

RangeList ranges_of(const std::vector<hpz_range> &ranges) {
  RangeList out;
  EXPECT_EQ(out.assign(ranges.data(), ranges.size()), 0);
  return out;
}

std::vector<hpz_extent> find(const RangeList &ranges, const std::vector<hpz_extent> &extents) {
  Array<Piece> pieces;
  EXPECT_EQ(ranges.find(extents.data(), extents.size(), pieces), 0);
  return list(pieces);
}

TEST(Ranges, bad_ones_are_refused) {
  RangeList out;
  const auto assign = [&](const std::vector<hpz_range> &ranges) {
    return out.assign(ranges.data(), ranges.size());
  };
  EXPECT_EQ(assign({{nullptr, 1}}), -EINVAL);
  EXPECT_EQ(assign({{address(UINTPTR_MAX - 4095), 4097}}), -EINVAL) << "wraps";
  EXPECT_EQ(assign({{address(UINTPTR_MAX - 4095), 4096}}), 0) << "ends at the very end";
  EXPECT_EQ(assign({{address(0x1000), SIZE_MAX}}), -EINVAL);
  EXPECT_EQ(assign({{address(0x3000), 0x1000}, {address(0x2000), 0x1001}}), -EINVAL) << "overlap";
  EXPECT_EQ(assign({{address(0x3000), 0x1000}, {address(0x3000), 0x1000}}), -EINVAL) << "twice";
  EXPECT_EQ(assign({{address(0x3000), 0x1000}, {address(0x2000), 0x1000}}), 0) << "neighbours";
  EXPECT_EQ(assign({{address(0x3000), 0x1000}, {address(0x3800), 0}}), 0) << "length 0";
  EXPECT_EQ(out.assign(nullptr, 1), -EINVAL);
  EXPECT_EQ(out.assign(nullptr, 0), 0);
  EXPECT_EQ(out.bytes(), 0u);
}

TEST(Extents, bad_ones_are_refused) {
  const RangeList ranges = ranges_of({{address(0x10000), 0x1000}, {address(0x20000), 0x1000}});
  Array<Piece> out;
  const auto find_one = [&](uint64_t offset, uint64_t len) {
    const hpz_extent extent = {offset, len};
    return ranges.find(&extent, 1, out);
  };
  EXPECT_EQ(find_one(0, 0x2001), -EINVAL);
  EXPECT_EQ(find_one(0x2000, 1), -EINVAL);
  EXPECT_EQ(find_one(0x2000, 0), 0) << "nothing, at the end";
  EXPECT_EQ(find_one(0x2001, 0), -EINVAL);
  EXPECT_EQ(find_one(1, UINT64_MAX), -EINVAL) << "wraps";
  EXPECT_EQ(ranges.find(nullptr, 1, out), -EINVAL);
}

TEST(Extents, become_memory_in_order_and_once) {
  const RangeList ranges = ranges_of({{address(0x20000), 0x1000}, {address(0x10000), 0x1000}});
  EXPECT_THAT(list(ranges.pieces()), testing::SizeIs(2));
  Array<Piece> all;
  ASSERT_EQ(ranges.find(nullptr, 0, all), 0);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].at, address(0x10000));
  EXPECT_EQ(all[1].offset, 0x1000u);
  const hpz_extent none = {};
  ASSERT_EQ(ranges.find(&none, 0, all), 0);
  EXPECT_TRUE(all.empty()) << "an empty list that is there means nothing";

  const auto across = find(ranges, {{0xf00, 0x200}});
  ASSERT_EQ(across.size(), 2u);
  EXPECT_EQ(across[0].offset, 0x20f00u);
  EXPECT_EQ(across[0].len, 0x100u);
  EXPECT_EQ(across[1].offset, 0x10000u);

  const auto merged = find(ranges, {{0x300, 0x100}, {0x100, 0x100}, {0x200, 0x180}, {0x110, 1}});
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].offset, 0x20100u);
  EXPECT_EQ(merged[0].len, 0x300u);

  const RangeList neighbours = ranges_of({{address(0x10000), 0x1000}, {address(0x11000), 0x1000}});
  EXPECT_EQ(find(neighbours, {{0, 0x2000}}).size(), 1u) << "merged where the memory follows on";
}

TEST(SplitOff, leaves_what_is_before_and_behind) {
  Array<Piece> pieces;
  ASSERT_TRUE(pieces.push_back({address(0x1000), 0x1000, 0}));
  ASSERT_TRUE(pieces.push_back({address(0x8000), 0x1000, 0x1000}));
  EXPECT_EQ(split_off(pieces, address(0x5000), 16), pieces.size()) << "not there";
  const size_t own = split_off(pieces, address(0x8100), 0x200);
  ASSERT_EQ(own, 2u);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[1].bytes, 0x100u);
  EXPECT_EQ(pieces[2].offset, 0x1100u);
  EXPECT_EQ(pieces[3].at, address(0x8300));
  EXPECT_EQ(pieces[3].offset, 0x1300u);
  EXPECT_EQ(split_off(pieces, address(0x1000), 0x10000), 0u) << "all of a piece";
  EXPECT_EQ(pieces.size(), 4u);
}

// Whatever is cut, chunks hold every byte once and in order, no two of them share a block, and they
// are about as large as wanted.
TEST(Chunks, properties) {
  SCOPED_TRACE("HPZERO_TEST_SEED=" + std::to_string(seed()));
  std::mt19937_64 random(seed());
  const auto up_to = [&](uint64_t most) { return random() % (most + 1); };
  for (int round = 0; round < 3000; ++round) {
    const uint64_t grain = uint64_t{4096} << up_to(9);
    const uint64_t chunk_bytes = grain * (1 + up_to(7));
    Array<Piece> pieces;
    uintptr_t at = 0x10000000 + up_to(grain);
    uint64_t offset = 0;
    const size_t count = 1 + up_to(30);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t bytes = 1 + (up_to(3) == 0 ? up_to(5 * chunk_bytes) : up_to(grain));
      ASSERT_TRUE(pieces.push_back({address(at), bytes, offset}));
      at += bytes + 1 + (up_to(1) == 0 ? up_to(100) : up_to(3 * grain));
      offset += bytes + 7;
    }
    const size_t alone = up_to(4) == 0 ? up_to(count - 1) : SIZE_MAX;
    const size_t most_pieces = 1 + up_to(8);
    Array<Chunk> chunks;
    ASSERT_TRUE(cut_chunks(pieces, {chunk_bytes, grain, alone, most_pieces}, chunks));

    size_t piece = 0;
    uint64_t done = 0;
    uintptr_t last_block = 0;
    bool was_alone = false;
    for (const Chunk &chunk : chunks) {
      ASSERT_NE(chunk.bytes, 0u);
      ASSERT_EQ(chunk.piece, piece);
      ASSERT_EQ(chunk.skip, done);
      const bool is_alone = chunk.piece == alone;
      uintptr_t first = 0, end = 0;
      size_t parts = 0;
      for_each_part(pieces, chunk, [&](const char *part, uint64_t bytes, uint64_t its_offset) {
        const auto begin = reinterpret_cast<uintptr_t>(part);
        if (first == 0) first = begin;
        end = begin + bytes;
        EXPECT_EQ(part, pieces[piece].at + done);
        EXPECT_EQ(its_offset, pieces[piece].offset + done);
        done += bytes;
        if (done == pieces[piece].bytes) {
          ++piece;
          done = 0;
        }
        ++parts;
        return true;
      });
      if (!is_alone && !was_alone) {
        EXPECT_GT(first / grain, last_block) << "shares a block with the chunk before";
      }
      if (!is_alone) {
        EXPECT_LE(chunk.bytes, chunk_bytes + 2 * grain);
      }
      last_block = (end - 1) / grain;
      was_alone = is_alone;
    }
    ASSERT_EQ(piece, pieces.size());
    ASSERT_EQ(done, 0u);
  }
}

TEST(Chunks, of_an_aligned_range_are_as_wanted) {
  constexpr uint64_t kMiB = 1 << 20;
  Array<Piece> pieces;
  ASSERT_TRUE(pieces.push_back({address(0x40000000), 1024 * kMiB, 0}));
  Array<Chunk> chunks;
  ASSERT_TRUE(cut_chunks(pieces, {32 * kMiB, 2 * kMiB, SIZE_MAX, 4096}, chunks));
  ASSERT_EQ(chunks.size(), 32u);
  for (const Chunk &chunk : chunks) EXPECT_EQ(chunk.bytes, 32 * kMiB);
}

// To the last byte of the address space.
TEST(Chunks, end_where_addresses_end) {
  Array<Piece> pieces;
  ASSERT_TRUE(pieces.push_back({address(UINTPTR_MAX - 0xfffff), 0x100000, 0}));
  Array<Chunk> chunks;
  ASSERT_TRUE(cut_chunks(pieces, {0x10000, 0x1000, SIZE_MAX, 16}, chunks));
  EXPECT_EQ(chunks.size(), 16u);
}

}  // namespace
}  // namespace hpz::test
