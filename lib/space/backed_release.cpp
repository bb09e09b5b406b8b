// SPDX-License-Identifier: BSD-2-Clause
//
// The verb release over a backing: whole pages are given back, what is left of others is cleared.
#include <errno.h>

#include <algorithm>

#include "lib/space/backed.h"
#include "lib/space/backed_clear.h"
#include "lib/zero/dispatch.h"

namespace hpz {
namespace {

struct Releasing {
  VerbJob *job;
  const Plan *plan;
  const Backing *backing;
};

bool release_part(const Backing &backing, uint64_t begin, uint64_t end,
                  BackedClearer &clearer) noexcept {
  const WholePages pages = whole_pages(backing, begin, end);
  if (pages.begin != begin && !clearer.add(begin, pages.begin - begin)) return false;
  if (pages.begin == end) return true;
  // What is done counts up to the first error: the edges before it come first.
  if (!clearer.flush()) return false;
  const int error = backing.ops->release(backing.self, pages.begin, pages.end - pages.begin);
  if (error != 0) return clearer.fail(error, pages.begin);
  return pages.end == end || clearer.add(pages.end, end - pages.end);
}

int begin_release(const Backing &backing) noexcept {
  if (backing.ops->begin_release != nullptr) return backing.ops->begin_release(backing.self);
  return backing.ops->release != nullptr ? 0 : -EOPNOTSUPP;
}

TaskOutcome release_chunk(void *context, size_t index) noexcept {
  const auto &releasing = *static_cast<const Releasing *>(context);
  const Backing &backing = *releasing.backing;
  VerbJob &job = *releasing.job;
  if (const TaskOutcome there = check_backing(backing, job, index); there.error != 0) return there;
  const Chunk &chunk = job.chunk(index);
  BackedClearer clearer(backing, releasing.plan->selection.stream, chunk.bytes);
  for_each_part(job.pieces(), chunk, [&](char *, uint64_t bytes, uint64_t offset) {
    const uint64_t position = offset + backing.skew;
    return release_part(backing, position, position + bytes, clearer);
  });
  clearer.flush();
  return conclude(backing, job, index, clearer.result());
}

}  // namespace

int release_backed(const VerbCall &call, hpz_job_report &report) noexcept {
  VerbJob job(call, HPZ_VERB_RELEASE);
  const Releasing releasing = {&job, settled_plan(), &call.space.backing};
  if (releasing.plan == nullptr) return -ENOMEM;
  int error = job.find_pieces();
  if (error == 0) error = begin_release(*releasing.backing);
  if (error == 0) error = job.cut(releasing.backing->page_bytes);
  if (error != 0) return error;
  return job.execute({release_chunk, const_cast<Releasing *>(&releasing)}, report);
}

}  // namespace hpz
