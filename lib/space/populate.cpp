// SPDX-License-Identifier: BSD-2-Clause
//
// The verb populate: the kernel clears, while it faults in.
#include <errno.h>

#include "lib/space/backed.h"
#include "lib/space/space.h"
#include "lib/space/touch.h"
#include "lib/space/verb_job.h"

namespace hpz {
namespace {

TaskOutcome populate_chunk(void *context, size_t index) noexcept {
  auto &job = *static_cast<VerbJob *>(context);
  const Chunk &chunk = job.chunk(index);
  TaskOutcome outcome;
  for_each_part(job.pieces(), chunk, [&](char *at, uint64_t bytes, uint64_t offset) {
    const TouchResult touched = touch_pages(at, bytes);
    outcome.done_bytes += touched.done_bytes;
    outcome.error = touched.error;
    if (touched.error != 0) outcome.bad_offset = offset + touched.done_bytes;
    return touched.error == 0;
  });
  job.populated.fetch_add(outcome.done_bytes, std::memory_order_relaxed);
  job.count_locality(index, outcome.done_bytes);
  return outcome;
}

}  // namespace

int populate_space(const VerbCall &call, hpz_job_report &report) noexcept {
  if (call.space.backing.ops != nullptr) return populate_backed(call, report);
  VerbJob job(call, HPZ_VERB_POPULATE);
  int error = job.find_pieces();
  if (error != 0) return error;
  error = job.cut(job.page_bytes(nullptr));
  if (error != 0) return error;
  return job.execute({populate_chunk, &job}, report);
}

}  // namespace hpz
