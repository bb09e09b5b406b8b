// SPDX-License-Identifier: BSD-2-Clause
//
// The size rules of public structs (the caller's may be of another version than ours).
#ifndef HPZERO_LIB_PLAN_OPTIONS_H
#define HPZERO_LIB_PLAN_OPTIONS_H

#include <stddef.h>
#include <string.h>

namespace hpz {

// No struct of ours comes near it: a wild size (of a struct that was not initialised) is refused,
// not walked.
inline constexpr size_t kLargestStruct = 4096;

// Input: copies what the caller has into out, which holds the defaults. A shorter struct leaves the
// rest at its default; a longer one is fine if the part that we do not know is all zero. False: it
// is not, or size cannot be that of such a struct.
template <class T> bool read_options(const void *from, size_t size, T &out) noexcept {
  // Fields end where others of their alignment begin: any other size would cut one.
  if (size < sizeof(size_t) || size > kLargestStruct || size % alignof(T) != 0) return false;
  const auto *const bytes = static_cast<const unsigned char *>(from);
  for (size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) return false;
  }
  memcpy(&out, from, size < sizeof(T) ? size : sizeof(T));
  out.size = sizeof(T);
  return true;
}

// Output: writes min(size, ours) bytes and zeroes what the caller has beyond, its size kept. False:
// size cannot be that of such a struct.
inline bool is_info_size(size_t size) noexcept {
  return size >= sizeof(size_t) && size <= kLargestStruct;
}
template <class T> bool write_info(T *to, T info) noexcept {
  if (to == nullptr || !is_info_size(to->size)) return false;
  const size_t size = to->size;
  info.size = size;
  memcpy(static_cast<void *>(to), &info, size < sizeof(T) ? size : sizeof(T));
  if (size > sizeof(T)) memset(reinterpret_cast<char *>(to) + sizeof(T), 0, size - sizeof(T));
  return true;
}

}  // namespace hpz

#endif
