// SPDX-License-Identifier: BSD-2-Clause
//
// The verb zero: every byte, by our kernels.
#include <errno.h>

#include <algorithm>

#include "lib/space/backed.h"
#include "lib/space/clear_parts.h"
#include "lib/space/pages.h"
#include "lib/space/space.h"
#include "lib/space/verb_job.h"
#include "lib/zero/dispatch.h"

namespace hpz {
namespace {

struct Zeroing {
  VerbJob *job;
  const Plan *plan;
};

TaskOutcome zero_chunk(void *context, size_t index) noexcept {
  const auto &zeroing = *static_cast<const Zeroing *>(context);
  VerbJob &job = *zeroing.job;
  const Chunk &chunk = job.chunk(index);
  const Selection &selection = zeroing.plan->selection;
  PartClearer clearer(job.is_window(index) ? selection.cached : selection.stream, chunk.bytes);
  for_each_part(job.pieces(), chunk,
                [&](char *at, uint64_t bytes, uint64_t) { return clearer.add(at, bytes); });
  const ClearResult cleared = clearer.finish();
  job.cleared.fetch_add(cleared.done_bytes, std::memory_order_relaxed);
  job.count_locality(index, cleared.done_bytes);
  TaskOutcome outcome = {cleared.done_bytes, cleared.error, kNoOffset};
  if (cleared.error != 0) outcome.bad_offset = job.offset_of(index, cleared.bad_at);
  return outcome;
}

}  // namespace

int zero_space(const VerbCall &call, hpz_job_report &report) noexcept {
  if (call.space.backing.ops != nullptr) return zero_backed(call, report);
  VerbJob job(call, HPZ_VERB_ZERO);
  const Zeroing zeroing = {&job, settled_plan()};
  if (zeroing.plan == nullptr) return -ENOMEM;
  int error = job.find_pieces();
  if (error == 0) error = job.split_touch_window();
  // Within a larger page the threads share the work: it is there already, or faulted in as a whole
  // by the first of them.
  if (error == 0) error = job.cut(std::min(call.space.page_bytes, kHugePageBytes));
  if (error != 0) return error;
  return job.execute({zero_chunk, const_cast<Zeroing *>(&zeroing)}, report);
}

}  // namespace hpz
