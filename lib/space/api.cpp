// SPDX-License-Identifier: BSD-2-Clause
//
// space.h: checks, and hands over.
#include <errno.h>
#include <hpzero/space.h>
#include <stdlib.h>

#include <new>

#include "lib/plan/options.h"
#include "lib/space/handle.h"
#include "lib/space/pages.h"
#include "lib/space/space.h"
#include "lib/team/clock.h"
#include "lib/team/handle.h"

using namespace hpz;

int hpz::call_verb(Verb verb, const hpz_space *space, hpz_team *team, const hpz_extent *extents,
                   size_t count, const hpz_job_options *options, hpz_job_report *report,
                   const DoneObserver &observer, bool keeps_pages) noexcept {
  if (space == nullptr) return -EINVAL;
  if (report != nullptr && !is_info_size(report->size)) return -EINVAL;
  hpz_job_options known = HPZ_JOB_OPTIONS_INIT;
  if (options != nullptr && !read_options(options, options->size, known)) return -EINVAL;
  if (known.flags != 0 || known.reserved != 0 || known.node < -1) return -EINVAL;
  Team *const its_team = team != nullptr ? team_of(team) : nullptr;
  if (its_team != nullptr && !its_team->is_of_this_process()) return -ECHILD;

  const uint64_t started_ns = monotonic_ns();
  hpz_job_report own = HPZ_JOB_REPORT_INIT;
  Team::Call team_call(its_team);
  const VerbCall call = {space->space, its_team, team_call, extents,
                         count,        known,    observer,  keeps_pages};
  const int error = verb(call, own);
  own.error = error;
  if (own.wall_ns == 0) own.wall_ns = monotonic_ns() - started_ns;  // refused before it began
  if (report != nullptr && !is_refusal(own)) write_info(report, own);
  return error;
}

extern "C" {

int hpz_space_direct(const struct hpz_range *ranges, size_t count,
                     const struct hpz_space_options *options, struct hpz_space **out) noexcept {
  if (out == nullptr) return -EINVAL;
  hpz_space_options known = HPZ_SPACE_OPTIONS_INIT;
  if (options != nullptr && !read_options(options, options->size, known)) return -EINVAL;
  if (known.flags != 0 || known.reserved != 0 || known.window_bytes != 0) return -EINVAL;
  if (known.page_bytes != 0 && !is_page_size(known.page_bytes)) return -EINVAL;
  // What some CPUs let a program keep in the top byte of a pointer (arm64), no system call accepts.
  for (size_t i = 0; i < count && ranges != nullptr; ++i) {
    if (reinterpret_cast<uintptr_t>(ranges[i].base) >> 56 != 0) return -EINVAL;
  }
  void *const memory = malloc(sizeof(hpz_space));
  if (memory == nullptr) return -ENOMEM;
  auto *const space = new (memory) hpz_space;
  space->space.page_bytes = known.page_bytes;
  const int error = space->space.ranges.assign(ranges, count);
  if (error != 0) {
    hpz_space_destroy(space);
    return error;
  }
  *out = space;
  return 0;
}

void hpz_space_destroy(struct hpz_space *space) noexcept {
  if (space == nullptr) return;
  const Backing &backing = space->space.backing;
  if (backing.ops != nullptr && backing.ops->destroy != nullptr) {
    backing.ops->destroy(backing.self);
  }
  space->~hpz_space();
  free(space);
}

int hpz_space_zero(struct hpz_space *space, struct hpz_team *team, const struct hpz_extent *extents,
                   size_t count, const struct hpz_job_options *options,
                   struct hpz_job_report *report) noexcept {
  return call_verb(zero_space, space, team, extents, count, options, report);
}

int hpz_space_populate(struct hpz_space *space, struct hpz_team *team,
                       const struct hpz_extent *extents, size_t count,
                       const struct hpz_job_options *options,
                       struct hpz_job_report *report) noexcept {
  return call_verb(populate_space, space, team, extents, count, options, report);
}

int hpz_space_reset(struct hpz_space *space, struct hpz_team *team,
                    const struct hpz_extent *extents, size_t count,
                    const struct hpz_job_options *options, struct hpz_job_report *report) noexcept {
  return call_verb(reset_space, space, team, extents, count, options, report);
}

int hpz_space_release(struct hpz_space *space, struct hpz_team *team,
                      const struct hpz_extent *extents, size_t count,
                      const struct hpz_job_options *options,
                      struct hpz_job_report *report) noexcept {
  return call_verb(release_space, space, team, extents, count, options, report);
}

}  // extern "C"
