// SPDX-License-Identifier: BSD-2-Clause
//
// What stands behind a space that is more than mapped memory: an embedder's callbacks (custom.cpp)
// or a file (file.cpp). The verbs over it are in backed_*.cpp.
#ifndef HPZERO_LIB_SPACE_BACKING_H
#define HPZERO_LIB_SPACE_BACKING_H

#include <stddef.h>
#include <stdint.h>

namespace hpz {

// Some 1 % of the time that it takes to clear so much goes into mapping it.
inline constexpr uint64_t kUsualWindowBytes = uint64_t{64} << 20;

// Positions are offsets of the space plus Backing::skew, so that pages lie at multiples of their
// size. Results are 0 or a negative errno value. Several threads at once call all but destroy.
struct BackingOps {
  // Whether [position, position + bytes) is still there; before each chunk, for all that lies
  // between its first byte and its last one. An error: nothing is done to the chunk, and bad_at,
  // which comes in as position, is the first position that is not there. Null: it always is.
  int (*check)(void *self, uint64_t position, uint64_t bytes, uint64_t *bad_at) noexcept;
  // Makes whole pages addressable for the calling thread: at most Backing::window_bytes. Unmapped
  // by the same thread, the last one first. Not called where Backing::lasting is set. Null, and
  // nothing lasting: what clear leaves is -EOPNOTSUPP.
  int (*map)(void *self, uint64_t position, uint64_t bytes, char **at) noexcept;
  void (*unmap)(void *self, uint64_t position, uint64_t bytes, char *at) noexcept;
  // Clears any bytes without a mapping, if this space does such things: done_bytes (which comes in
  // as 0) of the beginning, also with an error; without one the rest is mapped and cleared. For
  // zero, reset, and the edges that release leaves; cut at page boundaries, so that a call is for
  // whole pages or for a part of one: a file system takes the former only. Counts as skipped_bytes.
  // Null: nothing is.
  int (*clear)(void *self, uint64_t position, uint64_t bytes, uint64_t *done_bytes) noexcept;
  // Makes the whole pages resident. Null: mapped and touched.
  int (*populate)(void *self, uint64_t position, uint64_t bytes) noexcept;
  // Whether there is a release here: 0, or why not; once, before anything is done, edges included.
  // Null: there is, if the next one is not null.
  int (*begin_release)(void *self) noexcept;
  // Gives whole pages back: they read zero afterwards. Null: -EOPNOTSUPP, before anything is done.
  int (*release)(void *self, uint64_t position, uint64_t bytes) noexcept;
  // The first run at or behind position, and before end, that may hold something else than zero; it
  // may reach beyond both. None: both are end. Null: nothing is proven.
  int (*find_used)(void *self, uint64_t position, uint64_t end, uint64_t *used_begin,
                   uint64_t *used_end) noexcept;
  void (*destroy)(void *self) noexcept;  // null: there is nothing to do
};

// Chunks never share one of its pages; but those of zero do, where they are larger than 2 MiB and
// there is a lasting mapping.
struct Backing {
  const BackingOps *ops = nullptr;  // null: the space is mapped memory and nothing more
  void *self = nullptr;
  uint64_t skew = 0;          // of offset 0 in its page
  uint64_t page_bytes = 0;    // a power of two, at most 1 TiB
  uint64_t window_bytes = 0;  // mapped in one call, a multiple of page_bytes
  uint32_t most_windows = 1;  // that a thread may have at a time
  bool zero_skips = false;    // zero, too, leaves alone what find_used does not find
  // What zero, reset and release clear through a mapping is touched first, for a store to it may be
  // a signal: a shortage, the end of the file. -EFAULT of the touch where check finds the bytes to
  // be there is a shortage, -ENOMEM.
  bool is_touched_first = false;
  char *lasting = nullptr;    // where the page of offset 0 is mapped, and all that follow
  uint64_t end = UINT64_MAX;  // no page reaches beyond this position, though it be shorter for it
};

// Whether BackingOps::clear is asked first; may: also where there could be a mapping.
inline bool clears_unmapped(const Backing &backing, bool may) noexcept {
  return backing.ops->clear != nullptr && (may || backing.ops->map == nullptr);
}

}  // namespace hpz

#endif
