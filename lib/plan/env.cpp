// SPDX-License-Identifier: BSD-2-Clause
#include "lib/plan/env.h"

#include <stdlib.h>
#include <string.h>

namespace hpz {
namespace {

// Longer ones mean nothing, and would only cost the first call its time.
constexpr size_t kMaxValueBytes = 4096;

const char *value_of(const char *name) noexcept {
  const char *const value = secure_getenv(name);
  if (value == nullptr || *value == '\0') return nullptr;
  return strnlen(value, kMaxValueBytes) < kMaxValueBytes ? value : nullptr;
}

}  // namespace

Environment read_environment() noexcept {
  return {value_of("HPZ_KERNEL"), value_of("HPZ_CPU_DISABLE"), value_of("HPZ_PROFILE")};
}

FeatureSet parse_features(const char *list, std::span<const char *const> names,
                          bool &unknown) noexcept {
  FeatureSet found = 0;
  unknown = false;
  if (list == nullptr) return 0;
  while (*list != '\0') {
    const size_t length = strcspn(list, ",");
    bool known = length == 0;  // "a,,b" and a trailing comma name nothing
    for (size_t i = 0; i < names.size(); ++i) {
      if (strlen(names[i]) == length && memcmp(names[i], list, length) == 0) {
        found |= FeatureSet{1} << i;
        known = true;
      }
    }
    if (!known) unknown = true;
    list += length;
    if (*list == ',') ++list;
  }
  return found;
}

}  // namespace hpz
