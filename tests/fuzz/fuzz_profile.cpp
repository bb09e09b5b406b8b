// SPDX-License-Identifier: BSD-2-Clause
//
// The profile parser on any text. What it accepts must be sound: a plan is made of it.
#include <string.h>

#include "lib/plan/profile.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace hpz;
  // A copy of its own, so that a read beyond the end is seen.
  char *const text = static_cast<char *>(malloc(size));
  if (size != 0) memcpy(text, data, size);
  Selection selection;
  constexpr FeatureSet kAllButOne = ~FeatureSet{1};
  const ProfileError e =
      parse_profile({text, size}, kernels(), kAllButOne, "Some-1-2-3", selection);
  free(text);
  HPZ_REQUIRE(e.reason != nullptr);
  if (e.error != 0) {
    HPZ_REQUIRE(e.error < 0 && e.reason[0] != '\0');
    return 0;
  }
  for (const Bands *const bands : {&selection.cached, &selection.stream}) {
    HPZ_REQUIRE(bands->count >= 1 && bands->count <= kMaxBands);
    HPZ_REQUIRE(bands->band[bands->count - 1].upto == kNoLimit);
    uint64_t below = 0;
    for (uint32_t i = 0; i < bands->count; ++i) {
      HPZ_REQUIRE(bands->band[i].upto > below);
      below = bands->band[i].upto;
      HPZ_REQUIRE(missing_features(*bands->band[i].kernel, kAllButOne) == 0);
    }
    for (const uint64_t len : {uint64_t{0}, uint64_t{1}, uint64_t{4096}, kNoLimit}) {
      HPZ_REQUIRE(bands->find(len).id != nullptr);
    }
  }
  HPZ_REQUIRE(selection.cached.count + selection.stream.count <= kMaxBands);
  HPZ_REQUIRE(selection.probe_from >= 16384 && selection.probe_from <= selection.probe_upto);
  return 0;
}
