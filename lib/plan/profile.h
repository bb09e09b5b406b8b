// SPDX-License-Identifier: BSD-2-Clause
//
// A measured profile: the bands that "hpzero-bench tune" found on a machine, as a text file.
//
//   hpzero-profile 1
//   # comment
//   cpu GenuineIntel-6-143-8
//   cached 36864 avx512_st
//   cached max rep_stosb
//   stream max avx512_nt
//   probe 262144 50331648
//
// Ascending bands per policy, the last one "max", eight in all; one probe line, its two numbers
// equal for no probe. Everything else is an error, and a file with an error has no effect at all.
#ifndef HPZERO_LIB_PLAN_PROFILE_H
#define HPZERO_LIB_PLAN_PROFILE_H

#include <string_view>

#include "lib/plan/plan.h"

namespace hpz {

inline constexpr size_t kMaxProfileBytes = 64 * 1024;

struct ProfileError {
  int error = 0;      // 0 or a negative errno value
  unsigned line = 0;  // 0: the file as a whole
  const char *reason = "";
};

// Pure: text in, bands out. -EBADMSG what is no profile; -ENODEV one of another CPU, or one that
// names a kernel that cannot run here. On error out is not to be used.
ProfileError parse_profile(std::string_view text, std::span<const Kernel> table,
                           FeatureSet features, const char *identity, Selection &out) noexcept;

// Reads the file whole into buffer (kMaxProfileBytes): regular files only, opened without blocking.
// Result: bytes read or a negative errno value (-EFBIG too large, -EBADMSG not a regular file).
long read_profile(const char *path, char *buffer) noexcept;

}  // namespace hpz

#endif
