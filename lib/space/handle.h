// SPDX-License-Identifier: BSD-2-Clause
//
// The public handle of a space, and the way in that all callers of a verb take.
#ifndef HPZERO_LIB_SPACE_HANDLE_H
#define HPZERO_LIB_SPACE_HANDLE_H

#include <errno.h>
#include <hpzero/space.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/space/space.h"

struct hpz_space {
  hpz::Space space;
};

namespace hpz {

using Verb = int (*)(const VerbCall &, hpz_job_report &) noexcept;

// Checks the arguments, as space.h has it, and runs the verb.
int call_verb(Verb verb, const hpz_space *space, hpz_team *team, const hpz_extent *extents,
              size_t count, const hpz_job_options *options, hpz_job_report *report,
              const DoneObserver &observer = {}, bool keeps_pages = false) noexcept;

// The arguments are wrong, or it is another process's team: the caller's report stays as it was. A
// backing that fails in this way fails like any other.
inline bool is_refusal(const hpz_job_report &report) noexcept {
  return (report.error == -EINVAL || report.error == -ECHILD) &&
         report.first_bad_offset == UINT64_MAX;
}

}  // namespace hpz

#endif
