// SPDX-License-Identifier: BSD-2-Clause
//
// The space's verbs for programs of the map alone: names that their call_verb is given. Their
// results differ, or a linker might make one function of them.
#include "lib/space/space.h"

namespace hpz {

int zero_space(const VerbCall &, hpz_job_report &) noexcept {
  return -1;
}
int populate_space(const VerbCall &, hpz_job_report &) noexcept {
  return -2;
}
int release_space(const VerbCall &, hpz_job_report &) noexcept {
  return -3;
}

}  // namespace hpz
