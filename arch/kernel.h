// SPDX-License-Identifier: BSD-2-Clause
//
// The kernel contract in types. A kernel file includes this and nothing else of the project; what a
// kernel must and must not do is in arch/README.md.
#ifndef HPZERO_ARCH_KERNEL_H
#define HPZERO_ARCH_KERNEL_H

#include <stddef.h>
#include <stdint.h>

namespace hpz {

// Every kernel clears whole lines of this size; the caller clears what is left at the edges.
inline constexpr size_t kLineBytes = 64;

// Clears [lanes[i], lanes[i] + len) for i in [0, count): lanes 64-byte aligned, len a non-zero
// multiple of 64, count at least 1. Does not fence.
using KernelFn = void (*)(void *const *lanes, size_t count, size_t len) noexcept;

using FeatureSet = uint64_t;  // bits numbered by position in features.def

enum Role : uint32_t {
  kNoRole = 0,  // listed, measured and forceable, never chosen
  kCached = 1,  // ordinary stores: the lines stay in cache
  kBulk = 2,    // long extents that fit a cache; lane count 1 where it must see all of it
  kStream = 4,  // past the caches
  kLibc = 8,    // the C library's own: for short ranges, and where nothing is known
};

enum KernelFlag : uint32_t {
  kOrdered = 0,
  kNeedsFence = 1,  // weakly ordered stores: store_fence() before anybody is told
};

struct Kernel {
  const char *id;
  const char *summary;
  KernelFn fn;
  FeatureSet needs;  // may run only where all of these are there
  FeatureSet avoid;  // should not run where any of these is there
  uint32_t roles;    // Role bits
  uint32_t flags;    // KernelFlag bits
  uint32_t lanes;    // how many slices of one range it wants; its loop may take them in groups
  uint64_t lanes_from_bytes;  // shorter ranges stay whole
};

inline constexpr uint32_t kMaxLanes = 16;

}  // namespace hpz

// The loop of every kernel that stores line by line: groups of width lanes, line after line, each
// line of the group stored before the next (which hides page walks and memory latency), then the
// lanes that are left, one after the other. STORE is a statement that clears the line at `line`, a
// char pointer.
//
// A macro because the statement needs the target attribute of the function around it, which neither
// a template nor a lambda inherits (gcc refuses to inline it, clang drops the attribute).
#define HPZ_CLEAR_LINES(lanes, count, len, width, STORE)                              \
  do {                                                                                \
    size_t hpz_lane = 0;                                                              \
    for (; hpz_lane + (width) <= (count); hpz_lane += (width)) {                      \
      for (size_t hpz_at = 0; hpz_at < (len); hpz_at += kLineBytes) {                 \
        _Pragma("GCC unroll 16") for (size_t hpz_i = 0; hpz_i < (width); ++hpz_i) {   \
          char *const line = static_cast<char *>((lanes)[hpz_lane + hpz_i]) + hpz_at; \
          STORE;                                                                      \
        }                                                                             \
      }                                                                               \
    }                                                                                 \
    for (; hpz_lane < (count); ++hpz_lane) {                                          \
      char *line = static_cast<char *>((lanes)[hpz_lane]);                            \
      for (char *const hpz_end = line + (len); line != hpz_end; line += kLineBytes) { \
        STORE;                                                                        \
      }                                                                               \
    }                                                                                 \
  } while (0)

#endif
