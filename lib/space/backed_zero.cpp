// SPDX-License-Identifier: BSD-2-Clause
//
// The verbs zero and reset over a backing: all bytes, or those that it does not know to read zero.
#include <errno.h>

#include <algorithm>

#include "lib/space/backed.h"
#include "lib/space/backed_clear.h"
#include "lib/space/pages.h"
#include "lib/zero/dispatch.h"

namespace hpz {
namespace {

struct Clearing {
  VerbJob *job;
  const Plan *plan;
  const Backing *backing;
  bool asks;  // clears what find_used finds alone
  bool may_unmapped;
};

// Clears what of [position, end) is used. Nothing that is said of it is believed but what makes
// sense: bytes would stay as they are, or the asking go on for ever.
bool clear_used(const Backing &backing, uint64_t position, uint64_t end,
                BackedClearer &clearer) noexcept {
  while (position < end) {
    uint64_t used_begin = end, used_end = end;
    const int error = backing.ops->find_used(backing.self, position, end, &used_begin, &used_end);
    if (error != 0) return clearer.fail(error, position);
    if (used_begin >= end && used_end >= used_begin) return true;  // none
    if (used_begin >= used_end || used_end <= position) return clearer.fail(-EPROTO, position);
    used_begin = std::max(used_begin, position);
    position = std::min(used_end, end);
    if (!clearer.add(used_begin, position - used_begin)) return false;
  }
  return true;
}

TaskOutcome clear_chunk(void *context, size_t index) noexcept {
  const auto &clearing = *static_cast<const Clearing *>(context);
  const Backing &backing = *clearing.backing;
  VerbJob &job = *clearing.job;
  if (const TaskOutcome there = check_backing(backing, job, index); there.error != 0) return there;
  const Chunk &chunk = job.chunk(index);
  const Selection &selection = clearing.plan->selection;
  BackedClearer clearer(backing, job.is_window(index) ? selection.cached : selection.stream,
                        chunk.bytes, clearing.may_unmapped);
  for_each_part(job.pieces(), chunk, [&](char *, uint64_t bytes, uint64_t offset) {
    const uint64_t position = offset + backing.skew;
    return clearing.asks ? clear_used(backing, position, position + bytes, clearer)
                         : clearer.add(position, bytes);
  });
  clearer.flush();
  return conclude(backing, job, index, clearer.result());
}

int clear_backed(Clearing &clearing, uint64_t page_bytes, hpz_job_report &report) noexcept {
  VerbJob &job = *clearing.job;
  clearing.plan = settled_plan();
  if (clearing.plan == nullptr) return -ENOMEM;
  int error = job.find_pieces();
  if (error == 0) error = job.split_touch_window();
  if (error == 0) error = job.cut(page_bytes);
  if (error != 0) return error;
  return job.execute({clear_chunk, &clearing}, report);
}

}  // namespace

int zero_backed(const VerbCall &call, hpz_job_report &report) noexcept {
  const Backing &backing = call.space.backing;
  VerbJob job(call, HPZ_VERB_ZERO);
  const bool asks = backing.zero_skips && backing.ops->find_used != nullptr;
  // Without a mapping its pages may go: by holes, or from the page cache.
  const bool may_unmapped = !call.keeps_pages;
  Clearing clearing = {&job, nullptr, &backing, asks, may_unmapped};
  // As for mapped memory, the threads share the work within a larger page; but what clears whole
  // pages without a mapping is to get them whole.
  const bool shares = call.space.has_addresses() && !clears_unmapped(backing, may_unmapped);
  const uint64_t page = shares ? std::min(backing.page_bytes, kHugePageBytes) : backing.page_bytes;
  return clear_backed(clearing, page, report);
}

int reset_backed(const VerbCall &call, hpz_job_report &report) noexcept {
  const Backing &backing = call.space.backing;
  VerbJob job(call, HPZ_VERB_RESET);
  const bool asks = backing.ops->find_used != nullptr;
  if (!asks) job.add_flag(HPZ_JOB_NO_PROOF);
  Clearing clearing = {&job, nullptr, &backing, asks, true};
  return clear_backed(clearing, backing.page_bytes, report);
}

}  // namespace hpz
