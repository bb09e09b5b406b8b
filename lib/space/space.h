// SPDX-License-Identifier: BSD-2-Clause
//
// The space, a call of one of its verbs, and the verbs.
#ifndef HPZERO_LIB_SPACE_SPACE_H
#define HPZERO_LIB_SPACE_SPACE_H

#include <hpzero/space.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/space/backing.h"
#include "lib/space/pieces.h"
#include "lib/team/team.h"

namespace hpz {

struct Space {
  RangeList ranges;
  uint64_t page_bytes = 0;  // 0: to be found out
  Backing backing;          // none: the ranges are all there is

  // Whether the ranges are memory. Else they are positions of the backing, which tell where its
  // pages begin and nothing more: no such address is ever used.
  bool has_addresses() const noexcept {
    return backing.ops == nullptr || backing.lasting != nullptr;
  }
};

// Who is told, by the threads that work on a job, of what the verb's promise holds from then on: by
// extents of the space, each when the stores to it are fenced.
struct DoneObserver {
  void (*done)(void *context, uint64_t offset, uint64_t bytes) noexcept = nullptr;  // null: nobody
  void *context = nullptr;
};

// What a call was given, checked.
struct VerbCall {
  const Space &space;
  Team *team;  // null: the calling thread alone
  Team::Call &team_call;
  const hpz_extent *extents;
  size_t count;
  hpz_job_options options;
  DoneObserver observer;
  // zero: what is resident stays so, whatever the space's options allow, where it can be mapped.
  bool keeps_pages = false;
};

// The verbs, each in a file of its own. The report is complete whatever they return.
int zero_space(const VerbCall &call, hpz_job_report &report) noexcept;
int populate_space(const VerbCall &call, hpz_job_report &report) noexcept;
int reset_space(const VerbCall &call, hpz_job_report &report) noexcept;
int release_space(const VerbCall &call, hpz_job_report &report) noexcept;

}  // namespace hpz

#endif
