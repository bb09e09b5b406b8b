// SPDX-License-Identifier: BSD-2-Clause
#include "lib/space/pieces.h"

#include <errno.h>

#include <algorithm>

namespace hpz {
namespace {

uintptr_t address_of(const char *at) noexcept {
  return reinterpret_cast<uintptr_t>(at);
}

// In order of offsets; overlapping and adjacent ones become one.
void merge(Array<hpz_extent> &extents) noexcept {
  const auto before = [](const hpz_extent &a, const hpz_extent &b) { return a.offset < b.offset; };
  if (!std::is_sorted(extents.begin(), extents.end(), before)) {
    std::sort(extents.begin(), extents.end(), before);
  }
  size_t kept = 0;
  for (const hpz_extent &extent : extents) {
    if (extent.len == 0) continue;
    if (kept != 0 && extent.offset <= extents[kept - 1].offset + extents[kept - 1].len) {
      hpz_extent &last = extents[kept - 1];
      last.len = std::max(last.len, extent.offset + extent.len - last.offset);
    } else {
      extents[kept++] = extent;
    }
  }
  (void)extents.resize(kept);  // never grows
}

// In order and apart already, as most lists are: they need no copy.
bool are_merged(const hpz_extent *extents, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    if (extents[i].len == 0) return false;
    if (i != 0 && extents[i].offset <= extents[i - 1].offset + extents[i - 1].len) return false;
  }
  return true;
}

}  // namespace

MemoryBounds bounds_of(const Array<Piece> &pieces) noexcept {
  MemoryBounds bounds = {UINTPTR_MAX, 0};
  for (const Piece &piece : pieces) {
    bounds.begin = std::min(bounds.begin, address_of(piece.at));
    bounds.end = std::max(bounds.end, address_of(piece.at) + piece.bytes);
  }
  return bounds;
}

int RangeList::assign(const hpz_range *ranges, size_t count) noexcept {
  if (ranges == nullptr && count != 0) return -EINVAL;
  Array<Piece> by_address;
  uint64_t offset = 0;
  pieces_.clear();
  for (size_t i = 0; i < count; ++i) {
    if (ranges[i].len == 0) continue;
    const Piece piece = {static_cast<char *>(ranges[i].base), ranges[i].len, offset};
    uintptr_t last;
    if (piece.at == nullptr ||
        __builtin_add_overflow(address_of(piece.at), piece.bytes - 1, &last)) {
      return -EINVAL;
    }
    if (!pieces_.push_back(piece) || !by_address.push_back(piece)) return -ENOMEM;
    offset += piece.bytes;
  }
  std::sort(by_address.begin(), by_address.end(),
            [](const Piece &a, const Piece &b) { return address_of(a.at) < address_of(b.at); });
  for (size_t i = 1; i < by_address.size(); ++i) {
    const Piece &before = by_address[i - 1];
    if (address_of(by_address[i].at) - address_of(before.at) < before.bytes) return -EINVAL;
  }
  return 0;
}

uint64_t RangeList::bytes() const noexcept {
  return pieces_.empty() ? 0 : pieces_.back().offset + pieces_.back().bytes;
}

int RangeList::find(const hpz_extent *extents, size_t count, Array<Piece> &out) const noexcept {
  const hpz_extent all = {0, bytes()};
  if (extents == nullptr) {
    if (count != 0) return -EINVAL;
    extents = &all;
    count = 1;
  }
  for (size_t i = 0; i < count; ++i) {
    uint64_t end;
    if (__builtin_add_overflow(extents[i].offset, extents[i].len, &end) || end > bytes()) {
      return -EINVAL;
    }
  }
  Array<hpz_extent> merged;
  if (!are_merged(extents, count)) {
    if (!merged.assign(extents, count)) return -ENOMEM;
    merge(merged);
    extents = merged.data();
    count = merged.size();
  }

  out.clear();
  if (!out.reserve(count)) return -ENOMEM;
  size_t range = 0;  // both lists are in order of offsets
  for (size_t i = 0; i < count; ++i) {
    const hpz_extent extent = extents[i];
    uint64_t at = extent.offset;
    const uint64_t end = extent.offset + extent.len;
    while (at < end) {
      while (pieces_[range].offset + pieces_[range].bytes <= at) ++range;
      const Piece &piece = pieces_[range];
      const uint64_t skip = at - piece.offset;
      const uint64_t bytes = std::min(end - at, piece.bytes - skip);
      char *const memory = piece.at + skip;
      if (!out.empty() && out.back().at + out.back().bytes == memory &&
          out.back().offset + out.back().bytes == at) {
        out.back().bytes += bytes;
      } else if (!out.push_back({memory, bytes, at})) {
        return -ENOMEM;
      }
      at += bytes;
    }
  }
  return 0;
}

size_t split_off(Array<Piece> &pieces, const char *at, uint64_t bytes) noexcept {
  const uintptr_t begin = address_of(at);
  const uintptr_t end = begin + bytes < begin ? UINTPTR_MAX : begin + bytes;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece whole = pieces[i];
    const uintptr_t first = address_of(whole.at);
    if (begin < first || begin - first >= whole.bytes) continue;
    const uint64_t before = begin - first;
    const uint64_t inside = std::min<uint64_t>(end - begin, whole.bytes - before);
    const uint64_t behind = whole.bytes - before - inside;
    const size_t size = pieces.size();
    const size_t more = (before != 0 ? 1u : 0u) + (behind != 0 ? 1u : 0u);
    if (!pieces.resize(size + more)) return SIZE_MAX;
    std::copy_backward(pieces.begin() + i + 1, pieces.begin() + size, pieces.end());
    size_t to = i;
    if (before != 0) pieces[to++] = {whole.at, before, whole.offset};
    const size_t own = to++;
    pieces[own] = {whole.at + before, inside, whole.offset + before};
    if (behind != 0) {
      pieces[to] = {whole.at + before + inside, behind, whole.offset + before + inside};
    }
    return own;
  }
  return pieces.size();
}

bool cut_chunks(const Array<Piece> &pieces, const Cut &cut, Array<Chunk> &out) noexcept {
  const uintptr_t mask = cut.grain - 1;
  Chunk chunk = {};
  size_t held = 0;    // pieces in it
  uintptr_t end = 0;  // of its memory
  const auto close = [&] {
    if (chunk.bytes != 0 && !out.push_back(chunk)) return false;
    chunk = {};
    held = 0;
    return true;
  };
  out.clear();
  for (size_t i = 0; i < pieces.size(); ++i) {
    const uintptr_t begin = address_of(pieces[i].at);
    const uintptr_t last = begin + (pieces[i].bytes - 1);  // the end itself may wrap
    if (i == cut.alone) {
      if (!close() || !out.push_back({i, 0, pieces[i].bytes})) return false;
      continue;
    }
    for (uint64_t done = 0; done < pieces[i].bytes;) {
      const uintptr_t at = begin + done;
      const uint64_t left = pieces[i].bytes - done;
      const bool is_full = chunk.bytes >= cut.chunk_bytes || held >= cut.most_pieces;
      const bool shares_block = chunk.bytes != 0 && ((at ^ (end - 1)) & ~mask) == 0;
      if (is_full && !shares_block && !close()) return false;
      if (chunk.bytes == 0) chunk = {i, done, 0};
      // Up to where the chunk is full, then to the end of that block.
      const uint64_t room = chunk.bytes < cut.chunk_bytes && !(is_full && shares_block)
                                ? cut.chunk_bytes - chunk.bytes
                                : 1;
      uint64_t take = left;
      if (room < left) {
        const uintptr_t stop = (at + (room - 1)) | mask;  // the block's last byte
        take = stop >= last ? left : stop - at + 1;
        // Not a whole block over what was wanted, if one block less is not nothing.
        if (take > room && take < left && take > cut.grain) take -= cut.grain;
      }
      chunk.bytes += take;
      ++held;
      done += take;
      end = at + take;
      if (done < pieces[i].bytes && !close()) return false;
    }
  }
  return close();
}

}  // namespace hpz
