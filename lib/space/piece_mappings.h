// SPDX-License-Identifier: BSD-2-Clause
//
// The mappings behind a job's pieces, looked up once, and what follows from their kinds.
#ifndef HPZERO_LIB_SPACE_PIECE_MAPPINGS_H
#define HPZERO_LIB_SPACE_PIECE_MAPPINGS_H

#include <errno.h>

#include <algorithm>

#include "lib/space/mappings.h"
#include "lib/space/pieces.h"

namespace hpz {

struct MappingCheck {
  int error = 0;  // -EFAULT: not mapped, -EACCES: not writable
  uint64_t bad_offset = UINT64_MAX;
};

class PieceMappings {
 public:
  // Reads them. Not 0: nothing is known.
  int read(const Array<Piece> &pieces) noexcept {
    if (pieces.empty()) return 0;
    const MemoryBounds bounds = bounds_of(pieces);
    const int error = read_mappings(bounds.begin, bounds.end, mappings_);
    is_known_ = error == 0;
    return error;
  }

  // The first byte of the pieces that is not mapped writable.
  MappingCheck check(const Array<Piece> &pieces) const noexcept {
    MappingCheck result;
    for (const Piece &piece : pieces) {
      for_each_mapping(piece.at, piece.bytes,
                       [&](const Mapping *mapping, const char *at, uint64_t) {
                         if (mapping != nullptr && mapping->is_writable) return true;
                         result.error = mapping == nullptr ? -EFAULT : -EACCES;
                         result.bad_offset = piece.offset + static_cast<uint64_t>(at - piece.at);
                         return false;
                       });
      if (result.error != 0) break;
    }
    return result;
  }

  // Of the mappings that hold some of the pieces; 0: not known.
  uint64_t largest_page_bytes(const Array<Piece> &pieces) const noexcept {
    uint64_t largest = 0;
    for (const Piece &piece : pieces) {
      for_each_mapping(piece.at, piece.bytes, [&](const Mapping *mapping, const char *, uint64_t) {
        if (mapping != nullptr) largest = std::max(largest, mapping->page_bytes);
        return true;
      });
    }
    return largest;
  }

  // Calls visit(mapping, at, bytes) for each part of the memory in one mapping, as long as it
  // returns true; mapping is null where there is none, or nothing is known.
  template <class Visit>
  bool for_each_mapping(char *at, uint64_t bytes, Visit visit) const noexcept {
    while (bytes != 0) {
      const auto address = reinterpret_cast<uintptr_t>(at);
      const Mapping *const mapping = is_known_ ? find_mapping(mappings_, address) : nullptr;
      const uint64_t part =
          mapping != nullptr ? std::min<uint64_t>(bytes, mapping->end - address) : bytes;
      if (!visit(mapping, at, part)) return false;
      at += part;
      bytes -= part;
    }
    return true;
  }

 private:
  Array<Mapping> mappings_;
  bool is_known_ = false;
};

}  // namespace hpz

#endif
