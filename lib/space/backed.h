// SPDX-License-Identifier: BSD-2-Clause
//
// A space over a backing: how it is made, its verbs, and what these have in common.
#ifndef HPZERO_LIB_SPACE_BACKED_H
#define HPZERO_LIB_SPACE_BACKED_H

#include <hpzero/space.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/space/backing.h"
#include "lib/space/space.h"
#include "lib/space/touch.h"
#include "lib/space/verb_job.h"

namespace hpz {

struct BackedResult;  // backed_clear.h

// The space of len bytes from position Backing::skew on; it destroys the backing when it is
// destroyed. -EINVAL: more than there are positions; -ENOMEM: the backing is still the caller's.
int make_backed_space(const Backing &backing, uint64_t len, hpz_space **out) noexcept;

int zero_backed(const VerbCall &call, hpz_job_report &report) noexcept;
int populate_backed(const VerbCall &call, hpz_job_report &report) noexcept;
int reset_backed(const VerbCall &call, hpz_job_report &report) noexcept;
int release_backed(const VerbCall &call, hpz_job_report &report) noexcept;

// Those of [begin, end) that are the backing's whole pages; none: both are end.
struct WholePages {
  uint64_t begin, end;
};
WholePages whole_pages(const Backing &backing, uint64_t begin, uint64_t end) noexcept;

// touch_pages of what is mapped of a backing. A shortage and the end of a file look the same to the
// kernel; the backing knows.
TouchResult touch_backing(const Backing &backing, uint64_t position, const char *at,
                          uint64_t bytes) noexcept;

// Whether all of the chunk is still there: an outcome without error, else that of the task.
TaskOutcome check_backing(const Backing &backing, const VerbJob &job, size_t index) noexcept;
// Counts what has become of a chunk: of what is done, our kernels have cleared a part, the rest is
// skipped.
TaskOutcome conclude(const Backing &backing, VerbJob &job, size_t index,
                     const BackedResult &result) noexcept;

}  // namespace hpz

#endif
