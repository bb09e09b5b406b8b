// SPDX-License-Identifier: BSD-2-Clause
//
// Choosing among rows: a pure function of table, features, caches, profile and environment.
#include <string.h>

#include "lib/plan/plan.h"

namespace hpz {

void Bands::append(uint64_t upto, const Kernel &kernel) noexcept {
  const uint64_t below = count == 0 ? 0 : band[count - 1].upto;
  if (upto <= below) return;
  if (count > 0 && band[count - 1].kernel == &kernel) {
    band[count - 1].upto = upto;
  } else if (count < kMaxBands) {
    band[count++] = {upto, &kernel};
  }
}

const Kernel *best_of_role(std::span<const Kernel> table, FeatureSet features, Role role) noexcept {
  const Kernel *avoided = nullptr;
  for (const Kernel &row : table) {
    if ((row.roles & role) == 0 || missing_features(row, features) != 0) continue;
    if (avoided_for(row, features) == 0) return &row;
    if (avoided == nullptr) avoided = &row;
  }
  return avoided;
}

const Kernel *find_kernel(std::span<const Kernel> table, const char *id) noexcept {
  if (id == nullptr) return nullptr;
  for (const Kernel &row : table) {
    if (strcmp(row.id, id) == 0) return &row;
  }
  return nullptr;
}

Selection select(const SelectInput &input) noexcept {
  if (input.forced != nullptr) {
    Selection only;
    only.cached.append(kNoLimit, *input.forced);
    only.stream.append(kNoLimit, *input.forced);
    return only;
  }
  if (input.profile != nullptr) return *input.profile;
  return built_in_bands(input.table, input.features, input.caches, input.tuning);
}

}  // namespace hpz
