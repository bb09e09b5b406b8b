// SPDX-License-Identifier: BSD-2-Clause
//
// From the caller's extents to pieces of memory, and from these to chunks: where a job is cut.
// Pure.
#ifndef HPZERO_LIB_SPACE_PIECES_H
#define HPZERO_LIB_SPACE_PIECES_H

#include <hpzero/space.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/team/array.h"

namespace hpz {

// Memory that follows on in the space and in the address space.
struct Piece {
  char *at;
  uint64_t bytes;
  uint64_t offset;  // in the space
};

struct MemoryBounds {
  uintptr_t begin, end;  // of all pieces, with what lies between them
};
MemoryBounds bounds_of(const Array<Piece> &pieces) noexcept;

// Consecutive bytes of a list of pieces.
struct Chunk {
  size_t piece;   // the first
  uint64_t skip;  // bytes of it that belong to chunks before
  uint64_t bytes;
};

// The ranges of a space with their offsets, zero-length ones left out.
class RangeList {
 public:
  // -EINVAL: a range wraps, begins at NULL or overlaps another. -ENOMEM.
  int assign(const hpz_range *ranges, size_t count) noexcept;
  uint64_t bytes() const noexcept;
  const Array<Piece> &pieces() const noexcept { return pieces_; }

  // The memory of the extents, in the order of their offsets, each byte once; neighbours merged
  // where their memory follows on. extents null and count 0: all. -EINVAL: an extent wraps or ends
  // beyond the space, or extents is null and count is not 0. -ENOMEM.
  int find(const hpz_extent *extents, size_t count, Array<Piece> &out) const noexcept;

 private:
  Array<Piece> pieces_;
};

// Makes a piece of its own of what of [at, at + bytes) lies in one of the pieces. Its index, or
// pieces.size() if there is no such byte. -ENOMEM as SIZE_MAX.
size_t split_off(Array<Piece> &pieces, const char *at, uint64_t bytes) noexcept;

struct Cut {
  uint64_t chunk_bytes;  // wanted, a multiple of grain
  uint64_t grain;      // a power of two: no two chunks hold bytes of one aligned block of this size
  size_t alone;        // index of a piece that is a chunk by itself (whatever the grain); SIZE_MAX
  size_t most_pieces;  // in a chunk
};
// False: no memory.
[[nodiscard]] bool cut_chunks(const Array<Piece> &pieces, const Cut &cut,
                              Array<Chunk> &out) noexcept;

// Calls visit(at, bytes, offset) for each part of the chunk in order, as long as it returns true.
template <class Visit>
bool for_each_part(const Array<Piece> &pieces, const Chunk &chunk, Visit visit) noexcept {
  uint64_t skip = chunk.skip, left = chunk.bytes;
  for (size_t i = chunk.piece; left != 0; ++i) {
    const uint64_t bytes = pieces[i].bytes - skip < left ? pieces[i].bytes - skip : left;
    if (!visit(pieces[i].at + skip, bytes, pieces[i].offset + skip)) return false;
    left -= bytes;
    skip = 0;
  }
  return true;
}

}  // namespace hpz

#endif
