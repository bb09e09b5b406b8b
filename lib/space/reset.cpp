// SPDX-License-Identifier: BSD-2-Clause
//
// The verb reset: what is proven to read zero is left alone, the rest is cleared by our kernels.
#include <errno.h>

#include <algorithm>

#include "lib/space/backed.h"
#include "lib/space/clear_parts.h"
#include "lib/space/pages.h"
#include "lib/space/piece_mappings.h"
#include "lib/space/residency.h"
#include "lib/space/space.h"
#include "lib/space/touch.h"
#include "lib/space/verb_job.h"
#include "lib/zero/dispatch.h"

namespace hpz {
namespace {

// An absent page of such memory reads zero.
bool is_provable(const Mapping &mapping, const Residency &residency) noexcept {
  return residency.can_prove() && mapping.is_anonymous && mapping.has_flags &&
         !mapping.has_userfaultfd && !mapping.is_special &&
         (!mapping.is_hugetlb || residency.can_scan());
}

struct Resetting {
  VerbJob *job;
  const Plan *plan;
  PieceMappings mappings;
  Residency residency;
};

// One chunk's progress through its parts, in order.
class ChunkReset {
 public:
  ChunkReset(const Resetting &resetting, size_t index) noexcept
      : resetting_(resetting),
        clearer_(resetting.job->is_window(index) ? resetting.plan->selection.cached
                                                 : resetting.plan->selection.stream,
                 resetting.job->chunk(index).bytes) {}

  bool part(char *at, uint64_t bytes) noexcept {
    return resetting_.mappings.for_each_mapping(
        at, bytes, [&](const Mapping *mapping, char *where, uint64_t in_mapping) {
          if (mapping != nullptr && is_provable(*mapping, resetting_.residency)) {
            return clear_dirty(*mapping, where, in_mapping);
          }
          return touch_and_clear(where, in_mapping);
        });
  }

  uint64_t skipped() const noexcept { return skipped_; }
  // error, and where: of a page that could not be had, or of a fault that was claimed.
  ClearResult finish() noexcept {
    ClearResult result = clearer_.finish();
    if (result.error == 0) {
      result.error = error_;
      result.bad_at = bad_at_;
    }
    return result;
  }

 private:
  bool clear_dirty(const Mapping &mapping, char *at, uint64_t bytes) noexcept {
    const uintptr_t page = base_page_bytes();
    const auto begin = reinterpret_cast<uintptr_t>(at);
    const uintptr_t end = begin + bytes;
    const uintptr_t last = (end + (page - 1)) & ~(page - 1);
    DirtyRuns runs(resetting_.residency, begin & ~(page - 1), last);
    for (uintptr_t here = begin; here < end;) {
      DirtyRun run;
      if (runs.next(run) != 0) run = {here, last, false};  // nothing is proven
      const uintptr_t dirty = std::clamp(run.begin, here, end);
      const uintptr_t clean = std::clamp(run.end, here, end);
      skipped_ += dirty - here;
      if (clean > dirty) {
        char *const where = at + (dirty - begin);
        // A resident private huge page may be one that fork shares: its copy may not be had.
        const bool is_safe = run.is_resident && !mapping.is_hugetlb;
        if (!(is_safe ? clearer_.add(where, clean - dirty)
                      : touch_and_clear(where, clean - dirty))) {
          return false;
        }
      }
      here = clean;
    }
    return true;
  }

  // A store to what is not resident may be a signal: past the end of a file, a shortage, poison.
  bool touch_and_clear(char *at, uint64_t bytes) noexcept {
    const TouchResult touched = touch_pages(at, bytes);
    if (touched.error != 0) {
      error_ = touched.error;
      bad_at_ = at + touched.done_bytes;
    }
    if (touched.done_bytes != 0 && !clearer_.add(at, touched.done_bytes)) return false;
    return touched.error == 0;
  }

  const Resetting &resetting_;
  PartClearer clearer_;
  uint64_t skipped_ = 0;
  int error_ = 0;
  const char *bad_at_ = nullptr;
};

TaskOutcome reset_chunk(void *context, size_t index) noexcept {
  const auto &resetting = *static_cast<const Resetting *>(context);
  VerbJob &job = *resetting.job;
  ChunkReset chunk(resetting, index);
  for_each_part(job.pieces(), job.chunk(index),
                [&](char *at, uint64_t bytes, uint64_t) { return chunk.part(at, bytes); });
  const ClearResult cleared = chunk.finish();
  TaskOutcome outcome = {cleared.done_bytes + chunk.skipped(), cleared.error, kNoOffset};
  if (cleared.error != 0) {
    // What was skipped while that part waited for others lies behind it, and is not told of as done
    // for the part that is not.
    outcome.bad_offset = job.offset_of(index, cleared.bad_at);
    outcome.done_bytes = job.bytes_before(index, outcome.bad_offset);
  }
  job.cleared.fetch_add(cleared.done_bytes, std::memory_order_relaxed);
  job.skipped.fetch_add(outcome.done_bytes - cleared.done_bytes, std::memory_order_relaxed);
  job.count_locality(index, cleared.done_bytes);
  return outcome;
}

}  // namespace

int reset_space(const VerbCall &call, hpz_job_report &report) noexcept {
  if (call.space.backing.ops != nullptr) return reset_backed(call, report);
  VerbJob job(call, HPZ_VERB_RESET);
  Resetting resetting = {&job, settled_plan(), {}, {}};
  if (resetting.plan == nullptr) return -ENOMEM;
  int error = job.find_pieces();
  if (error != 0) return error;
  const bool is_known = resetting.mappings.read(job.pieces()) == 0;
  if (!is_known || !resetting.residency.can_prove()) job.add_flag(HPZ_JOB_NO_PROOF);
  if (is_known) {
    const MappingCheck check = resetting.mappings.check(job.pieces());
    if (check.error != 0) {
      report.first_bad_offset = check.bad_offset;
      return check.error;
    }
  }
  error = job.split_touch_window();
  if (error == 0) error = job.cut(job.page_bytes(&resetting.mappings));
  if (error != 0) return error;
  return job.execute({reset_chunk, &resetting}, report);
}

}  // namespace hpz
